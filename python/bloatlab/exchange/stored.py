"""A stored run as a measurement, for export."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bloatlab import language
from bloatlab.errors import StoreError
from bloatlab.exchange.directions import Directions
from bloatlab.exchange.measurement import Echo, Flow, Loss, Measurement, Plain, Probe, Sample
from bloatlab.loading import NO_PLUGINS, AllowedPlugins

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.language import Plan
    from bloatlab.result import Result
    from bloatlab.store import Store

MEASURED = "measurement"
"""Key of the scenario of an imported run: what is known about the measurement."""
DATAGRAMS = ("cbr", "poisson", "on_off")
"""Kinds of traffic that is sent over UDP, unless they ask for TCP."""


def measurement(
    store: Store, run_id: str, *, exact: bool, plugins: AllowedPlugins = NO_PLUGINS, engine: str | None = None
) -> Measurement:
    """Reads a run.

    Args:
        store: The results directory.
        run_id: The run. An unambiguous prefix is enough.
        exact: Whether each request of a ping is needed with its one-way delays and its loss. They are read from the
            packets, for which the simulator makes the run again. If this is not possible, they are left out, and losses
            have no direction.
        plugins: The plugins that may be imported for that.
        engine: The engine that makes it again, if it is not built in.
    """
    result = store.run(run_id)
    result.plugins = plugins
    if engine is not None:
        result.with_engine(engine)
    row = store.find(result.run_id)
    about: Mapping[str, Any] = result.scenario.get(MEASURED, {})
    plan = language.stored_plan(result.scenario)
    reader = _Reader(result, plan, about)
    packets = _packets(store, result) if exact and plan is not None else None
    flows = reader.flows()
    probes = [reader.probe(row, packets) for row in reader.pings()]
    ends = [one.span[1] for one in flows] + [one.sent_s for probe in probes for one in probe.echoes]
    facts: dict[str, Plain] = {"title": result.experiment, **about.get("facts", {})}
    facts.setdefault("note", f"run {result.run_id} of {result.experiment}, seed {result.seed}")
    if not about and (rpm := result.verdict.judges["rpm"]).value is not None:
        facts |= {"responsiveness": round(rpm.value), "draft_version": rpm.version}
    return Measurement(
        tool=result.engine,
        version=result.engine_version,
        name=str(about.get("name", result.experiment)),
        duration_s=plan.duration_ns / 1e9 if plan is not None else about.get("duration_s", max(ends, default=0.0)),
        flows=flows,
        probes=probes,
        began=about.get("began") if about else datetime.fromisoformat(row["created"]).timestamp(),
        facts=facts,
    )


def _packets(store: Store, result: Result) -> pl.DataFrame | None:
    import polars as pl

    if result.recorded:
        return result.packets.to_polars()
    try:
        outcome = store.origin(result.run_id).simulate(result.plugins, result.given_engine, packets=True)
    except StoreError:
        return None
    return pl.DataFrame(outcome.tables()["packets"])


class _Reader:
    """Reads the flows and the probes of a run."""

    def __init__(self, result: Result, plan: Plan | None, about: Mapping[str, Any]) -> None:
        self.result = result
        self.planned = {flow.name: flow for flow in plan.flows} if plan is not None else {}
        self.stated: Mapping[str, Mapping[str, Any]] = about.get("entities", {})
        self.direction = Directions(plan, self.stated).of

    def _dscp(self, name: str) -> int | None:
        planned = self.planned.get(name)
        return planned.dscp if planned is not None else self.stated.get(name, {}).get("dscp")

    def flows(self) -> list[Flow]:
        """All flows of data, with their samples from start to stop."""
        samples: dict[str, list[Mapping[str, Any]]] = {}
        for row in self.result.flow_series.to_polars().iter_rows(named=True):
            samples.setdefault(row["flow"], []).append(row)
        found = []
        for row in self.result.flows.to_polars().iter_rows(named=True):
            own = self.result.flow_metrics.get(row["flow"], {})
            udp = row["traffic"] in DATAGRAMS and "total_retransmissions_l4" not in own
            found.append(
                Flow(
                    name=row["flow"],
                    direction=self.direction(row["flow"]),
                    samples=_samples(samples.get(row["flow"], []), row),
                    transport="udp" if udp else "tcp",
                    cca=row["cca"],
                    dscp=self._dscp(row["flow"]),
                    mss=row["mss"],
                    base_rtt_ms=row["base_rtt_ms"],
                    mean_mbps=own.get("throughput" if udp else "mean_throughput_l7"),
                    loss_rate=own.get("loss_rate_l4"),
                    jitter_ms=own.get("mean_jitter_l4"),
                )
            )
        return found

    def pings(self) -> list[dict[str, Any]]:
        """Rows of the table of probes without flows that fetch pages."""
        rows = list(self.result.probes.to_polars().iter_rows(named=True))
        kinds = {name: flow.traffic for name, flow in self.planned.items()}
        return [row for row in rows if kinds.get(row["probe"], "ping") == "ping"]

    def probe(self, row: Mapping[str, Any], packets: pl.DataFrame | None) -> Probe:
        """A probe with its requests."""
        name = row["probe"]
        echoes = self._replies(name) if packets is None else self._requests(name, packets)
        lost = self.result.probe_metrics.get(name, {}).get("lost")
        if packets is None and lost and row["interval_ms"]:
            echoes = _with_losses(echoes, row["interval_ms"] / 1e3, int(lost))
        counts = lost is not None and sum(one.rtt_ms is None for one in echoes) == int(lost)
        return Probe(name, echoes, row["interval_ms"], row["size"], self._dscp(name), counts_losses=counts)

    def _replies(self, name: str) -> list[Echo]:
        series = self.result.probe_series.to_polars()
        known = series.columns
        found = [
            Echo(
                row["time_s"] - row["rtt_ms"] / 1e3, row["rtt_ms"],
                row["up_ms"] if "up_ms" in known else None, row["down_ms"] if "down_ms" in known else None,
            )
            for row in series.iter_rows(named=True)
            if row["probe"] == name
        ]  # fmt: skip
        for row in self.stated.get(name, {}).get("losses", []):
            found.append(Echo(row[0], None, loss=row[1]))
        return sorted(found, key=lambda one: one.sent_s)

    def _requests(self, name: str, packets: pl.DataFrame) -> list[Echo]:
        """Each request with its fate, from the packet log. A duplicate counts once."""
        import polars as pl

        mine = packets.filter(pl.col("flow").cast(pl.String) == name).sort("time_ns", maintain_order=True)
        times: dict[tuple[int, int, str], int] = {}
        lost: dict[int, int] = {}
        for at, event, direction, seq in mine.select("time_ns", "event", "direction", "seq").iter_rows():
            if event in ("send", "receive"):
                times.setdefault((seq, direction, event), at)
            elif event in ("drop", "discard"):
                lost.setdefault(seq, direction)
        request_is_down = self.direction(name) == "download"
        found = []
        for (seq, direction, event), sent in times.items():
            if direction != 0 or event != "send":
                continue
            there, back = times.get((seq, 0, "receive")), times.get((seq, 1, "receive"))
            if there is None or back is None:
                loss: Loss = "lost"
                if seq in lost:
                    loss = "lost down" if (lost[seq] == 0) == request_is_down else "lost up"
                found.append(Echo(sent / 1e9, None, loss=loss))
                continue
            one, other = (there - sent) / 1e6, (back - there) / 1e6
            up, down = (other, one) if request_is_down else (one, other)
            found.append(Echo(sent / 1e9, (back - sent) / 1e6, up, down))
        return found


def _samples(rows: list[Mapping[str, Any]], flow: Mapping[str, Any]) -> list[Sample]:
    mss = flow["mss"]
    start = float(flow["start_s"] or 0.0)
    stop = float(flow["stop_s"]) if flow["stop_s"] is not None else float("inf")
    found = []
    previous: float | None = None
    usual = rows[1]["time_s"] - rows[0]["time_s"] if len(rows) > 1 else start
    for row in rows:
        end = row["time_s"]
        begin = previous if previous is not None else end - usual
        previous = end
        if end <= start + 1e-9 or begin >= stop - 1e-9:
            continue

        def octets(name: str, row: Mapping[str, Any] = row) -> float | None:
            return None if row[name] is None or not mss else row[name] * mss

        found.append(
            Sample(
                begin, end, row["throughput_mbps"], row["srtt_ms"], octets("cwnd"), octets("ssthresh"), octets("in_flight"),
                row["delivery_rate_mbps"], None, row["retransmissions"],
            )
        )  # fmt: skip
    return found


def _with_losses(echoes: list[Echo], interval_s: float, most: int) -> list[Echo]:
    """Adds the requests without a reply: those that the interval expects between others."""
    found: list[Echo] = []
    for one in echoes:
        while found and most and one.sent_s - found[-1].sent_s > 1.5 * interval_s:
            found.append(Echo(found[-1].sent_s + interval_s, None, loss="lost"))
            most -= 1
        found.append(one)
    return found
