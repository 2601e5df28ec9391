"""A second engine for tests: a fluid model of one FIFO queue with greedy flows that add one segment per round trip.

The windows and the queue are numbers that change continuously. When the queue overflows, the largest window is halved.
The seed decides when flows start within the first round trip.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab import units
from bloatlab.engines import Cancelled, Refusal

LIVE = "fluid_engine:Live"
"""The engine in real time, as `--engine` takes it."""
TWO_FLOWS = """
name = "two-flows"
duration = "2s"
dumbbell = { rate = "10Mbit/s", rtt = "20ms", queue = { kind = "fifo", limit = "50p" } }
flows = [{ count = 2, cca = "newreno" }]
"""
STEP_S = 0.001
SEGMENT = 1500
CCAS = ("newreno", "reno")


class Control:
    def __init__(self) -> None:
        self.cancelled = False
        self.progress = 0.0

    def cancel(self) -> None:
        self.cancelled = True


class Outcome:
    suspect: str | None = None

    def __init__(self, tables: Mapping[str, pl.DataFrame], metrics: Mapping[str, Any]) -> None:
        self._tables, self._metrics = tables, metrics
        self.events = tables["link_series"].height
        self.digest = hashlib.sha256("".join(table.write_csv() for table in tables.values()).encode()).hexdigest()

    def tables(self) -> Mapping[str, pl.DataFrame]:
        return self._tables

    def metrics_json(self) -> str:
        return json.dumps(self._metrics)

    def write_pcap(self, path: str, link: str | None = None) -> None:
        Path(path).write_bytes(b"a fluid has no packets")


class Fluid:
    name = "fluid"
    reproducible = True
    concurrency: int | None = None

    def version(self) -> str:
        return "1"

    def available(self) -> str | None:
        return None

    def supports(self, scenario: Mapping[str, Any]) -> Sequence[Refusal]:
        path = scenario.get("dumbbell")
        if path is None:
            return [Refusal("dumbbell", "is the only topology of this engine")]
        refused = [] if path["queue"]["kind"] == "fifo" else [Refusal("dumbbell.queue.kind", "must be fifo")]
        for place, flow in enumerate(scenario["flows"]):
            if flow["traffic"]["kind"] != "greedy":
                refused.append(Refusal(f"flows.{place}.traffic.kind", "must be greedy"))
            if flow["cca"]["kind"] not in CCAS:
                refused.append(Refusal(f"flows.{place}.cca.kind", f"must be one of {', '.join(CCAS)}"))
        return refused

    def control(self) -> Control:
        return Control()

    def run(
        self,
        scenario_json: str,
        seed: int,
        *,
        record_packets: bool = False,
        control: Any = None,
        plugins: Any = None,
    ) -> Outcome:
        scenario = json.loads(scenario_json)
        path = scenario["dumbbell"]
        duration, every = units.duration(scenario["duration"]), units.duration(scenario["sample_interval"])
        capacity = units.rate(path["rate"]) / 8 / SEGMENT
        base = units.duration(path["rtt"])
        limit = float(path["queue"]["limit"].removesuffix("p"))
        flows = [f"flow_{n + 1}" for n in range(sum(flow["count"] for flow in scenario["flows"]))]
        draw = random.Random(seed)
        starts = [draw.uniform(0, base) for _ in flows]
        windows, queue, halved = [10.0] * len(flows), 0.0, [0] * len(flows)
        rows: list[tuple[Any, ...]] = []
        samples: list[tuple[Any, ...]] = []
        for step in range(1, round(duration / STEP_S) + 1):
            if control is not None:
                control.progress = step * STEP_S / duration
                if control.cancelled:
                    raise Cancelled
            now = step * STEP_S
            rtt = base + queue / capacity
            active = [place for place, start in enumerate(starts) if now >= start]
            offered = sum(windows[place] for place in active) / rtt
            queue = max(0.0, queue + (offered - capacity) * STEP_S)
            for place in active:
                windows[place] += STEP_S / rtt
            if queue > limit:
                queue = limit
                largest = max(active, key=windows.__getitem__)
                windows[largest] /= 2
                halved[largest] += 1
            if step % round(every / STEP_S) == 0:
                delay, share = 1e3 * queue / capacity, min(1.0, capacity / offered) if offered else 0.0
                rates = [share * window / rtt * SEGMENT * 8e-6 for window in windows]
                srtt = 1e3 * base + delay
                for place, flow in enumerate(flows):
                    rows.append((now, flow, rates[place], windows[place], srtt, halved[place], delay))
                samples.append((now, "bottleneck", queue, delay, sum(rates), min(1.0, offered / capacity)))
        return outcome(scenario, flows, starts, rows, samples)


def outcome(
    scenario: Mapping[str, Any],
    flows: Sequence[str],
    starts: Sequence[float],
    rows: Sequence[tuple[Any, ...]],
    samples: Sequence[tuple[Any, ...]],
) -> Outcome:
    columns = ["time_s", "flow", "throughput_mbps", "cwnd", "srtt_ms", "retransmissions", "sojourn_ms"]
    of_flows = whole("flow_series", pl.DataFrame(rows, schema=columns, orient="row"))
    columns = ["time_s", "link", "queue_packets", "sojourn_ms", "throughput_mbps", "utilization"]
    of_link = whole("link_series", pl.DataFrame(samples, schema=columns, orient="row"))
    path = scenario["dumbbell"]
    rtt_ms = 1e3 * units.duration(path["rtt"])
    of_flow = {flow: of_flows.filter(flow=flow) for flow in flows}
    tables = {
        "flows": pl.DataFrame({"flow": flows, "start_s": starts}).with_columns(
            cca=pl.lit("reno"),
            traffic=pl.lit("greedy"),
            stop_s=units.duration(scenario["duration"]),
            base_rtt_ms=rtt_ms,
            mss=SEGMENT,
        ),
        "links": pl.DataFrame({"link": ["bottleneck"], "queue": ["fifo"], "delay_ms": [rtt_ms / 2]}).with_columns(
            rate_mbps=units.rate(path["rate"]) / 1e6
        ),
        "flow_series": of_flows,
        "link_series": of_link,
        **{name: whole(name, pl.DataFrame()) for name in ("probes", "probe_series", "histograms")},
    }
    metrics = {
        "flow_metrics": {
            flow: {
                "mean_throughput_l4": series["throughput_mbps"].mean(),
                "mean_srtt_l4": series["srtt_ms"].mean(),
                "total_retransmissions_l4": float(series["retransmissions"].max()),
            }
            for flow, series in of_flow.items()
        },
        "link_metrics": {
            "bottleneck": {name: of_link[column].mean() for name, column in LINK_METRICS.items()},
        },
        "network_metrics": {"agg_throughput": of_link["throughput_mbps"].mean()},
        "probe_metrics": {},
    }
    return Outcome(tables, metrics)


TEXT = {"flow", "link", "probe", "scope", "name", "quantity"}
COLUMNS = {
    "flow_series": "time_s flow throughput_mbps sending_rate_mbps delivery_rate_mbps cwnd ssthresh in_flight srtt_ms "
    "retransmissions sojourn_ms",
    "link_series": "time_s link queue_packets queue_bytes sojourn_ms throughput_mbps utilization drops marks rate_mbps",
    "probes": "probe interval_ms size",
    "probe_series": "time_s probe rtt_ms",
    "histograms": "scope name quantity lower upper weight",
}


def whole(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table with every column; what a fluid does not have is null."""
    kinds = {column: pl.String if column in TEXT else pl.Float64 for column in COLUMNS[name].split()}
    missing = {column: kind for column, kind in kinds.items() if column not in frame.columns}
    return pl.concat([frame, pl.DataFrame(schema=missing)], how="diagonal").select(list(kinds))


LINK_METRICS = {"mean_sojourn": "sojourn_ms", "mean_queue_length": "queue_packets", "utilization": "utilization"}


class Live(Fluid):
    """Like an engine in real time: other results in each run, one run at once, doubts where a test asks for them."""

    name = "live"
    reproducible = False
    concurrency: int | None = 1
    doubts: str | None = None
    running = most = made = 0

    def run(self, scenario_json: str, seed: int, **more: Any) -> Outcome:
        Live.running += 1
        Live.most = max(Live.most, Live.running)
        Live.made += 1
        try:
            made = super().run(scenario_json, random.SystemRandom().getrandbits(60), **more)
        finally:
            Live.running -= 1
        if Live.doubts is not None:
            made.suspect = Live.doubts
        return made
