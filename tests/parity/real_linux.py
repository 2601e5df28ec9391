"""Measures the same scenarios in the simulator and with real Linux hosts, and writes `real_linux.csv`.

    python tests/parity/real_linux.py PART... [--out DIR] [--traces DIR] [--seeds N] [--stored]

The parts are `cells`, `deep-buffers`, `home-router` and `mmwave-aqm`, which needs the authors' traces. Runs in real time take
as long as their scenarios: with three seeds about 30, 7, 12 and 75 minutes. A measurement that was stopped goes on where it
stopped. Each part replaces its own rows of the file.
"""

from __future__ import annotations

import argparse
import csv
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import bloatlab as bl
from bloatlab.experiments.home_router import readings as home_router
from bloatlab.experiments.mmwave import readings as mmwave

CSV = Path(__file__).with_name("real_linux.csv")
HEADER = ("part", "case", "engine", "metric", "mean", "std", "runs", "kernel")
ENGINES = ("sim", "linux")
SYN_TIMEOUT_S = 1.0
"""Time until a lost SYN is sent again (RFC 6298), so that no fetch that lost one is quicker."""

Values = dict[str, float]
Measured = Iterator[tuple[str, str, Values]]
"""Case, engine and values of each run."""


@dataclass(frozen=True)
class Runs:
    """Where runs come from."""

    out: Path
    """Results directory of the part."""
    seeds: int
    traces: Path | None
    stored: bool
    """Whether runs are only read."""

    def of(
        self,
        scenario: Any,
        axes: Mapping[str, Sequence[Any]] | None = None,
        *,
        folder: str = "",
        seed: int = 42,
        **parameters: Any,
    ) -> Iterator[tuple[str, bl.Result]]:
        """Makes or reads the runs of both engines. Gives the engine and the run; suspect runs are left out."""
        out = self.out / folder
        for engine in ENGINES:
            if self.stored:
                store = bl.open(out)
            else:
                store = bl.sweep(
                    scenario, axes, replications=self.seeds, seed=seed, engine=engine, out=out, **parameters
                )
            for run_id in store.runs().filter(engine=engine, status="done")["run_id"]:
                yield engine, store.run(run_id)


def bdp(packets: float) -> str:
    """A limit in bandwidth-delay products of 20 Mbit/s and 40 ms."""
    return f"{round(packets * 20e6 * 0.04 / 8 / 1500)}p"


QUEUES: Mapping[str, Any] = {
    "fifo, 1 BDP": {"kind": "fifo", "limit": bdp(1)},
    "fifo, 4 BDP": {"kind": "fifo", "limit": bdp(4)},
    "codel": "codel",
    "fq_codel": "fq_codel",
    "pie": "pie",
}
CUBIC = {"kind": "cubic", "variant": "linux", "slow_start": "hystart"}
"""As in Linux."""
ALGORITHMS: Mapping[str, Any] = {
    "reno": "reno", "cubic": CUBIC, "bbr": "bbr",
}  # fmt: skip
FLOWS = (1, 4)
"""With four flows, CoDel and PIE are left out: so there are twenty cells."""


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """The twenty cells, by their names."""
    for flows in FLOWS:
        for queue, table in QUEUES.items():
            if flows > 1 and (queue in ("codel", "pie") or queue == "fifo, 4 BDP"):
                continue
            for name, cca in ALGORITHMS.items():
                if flows > 1 and queue == "fq_codel" and name == "bbr":
                    continue
                yield (
                    f"{name}, {queue}, {flows} flow{'s' if flows > 1 else ''}",
                    {
                        "name": "cell",
                        "duration": "30s",
                        "warmup": "5s",
                        "dumbbell": {"rate": "20Mbit/s", "rtt": "40ms", "queue": table},
                        "flows": [{"count": flows, "cca": cca, "start_jitter": "100ms"}],
                    },
                )


def cells(runs: Runs) -> Measured:
    """Twenty cells of queue, congestion control and number of flows: 20 Mbit/s, 40 ms, 25 s after the warm-up."""
    for case, document in documents():
        folder = case.replace(", ", "-").replace(" ", "_")
        yield from ((case, engine, of_flows(run)) for engine, run in runs.of(document, folder=folder))


def deep_buffers(runs: Runs) -> Measured:
    """One flow in a deep FIFO: 16 Mbit/s, 15 ms, 15 s."""
    axes = {"cca": ["reno", CUBIC, "bbr"], "qlen": ["20p", "80p", "320p"]}
    hosts = {"ack_every": 2, "timeout": "linux", "loss_detection": "rack"}
    for engine, run in runs.of("deep-buffers", axes, **hosts):
        cca = run.parameters["cca"]
        name = cca["kind"] if isinstance(cca, dict) else cca
        yield f"{name}, {run.parameters['qlen']}", engine, of_flows(run)


def home_router_(runs: Runs) -> Measured:
    """Both readings of the assignment, with 20 and 100 buffers: 60 s."""
    axes = {"preset": ["template", "col724"], "maxq": [20, 100], "queue": ["fifo"]}
    wanted = ("rtt_p5", "rtt_p50", "rtt_p95", "rtt_max", "fetch_mean", "fetch_std", "fetch_p50", "fetches")
    for engine, run in runs.of("home-router", axes):
        found = home_router.of_run(run)
        values = {name: found[name] for name in wanted}
        fetches = [taken / 1e3 for _, taken in home_router.samples(run, "web")]
        quick = [taken for taken in fetches if taken <= SYN_TIMEOUT_S]
        values |= {"quick_mean": fmean(quick), "slow": float(len(fetches) - len(quick))}
        values["syns"] = run.probe_metrics["web"].get("syn_retransmissions", 0.0)
        values["rtos"] = run.flow_metrics["web"].get("total_rtos_l4", 0.0)
        yield f"{run.parameters['preset']}, {run.parameters['maxq']}", engine, values


def mmwave_aqm(runs: Runs) -> Measured:
    """The four queues with the authors' traces of a static link, a person in the path, and walking: 120 s."""
    axes = {"queue": ["largefifo", "smallfifo", "pie", "fq_codel"], "scenario": ["sl", "lb", "mobb"]}
    wanted = ("srtt_median", "srtt_max", "saturated_apart", "dip_excess", "goodput_share")
    for engine, run in runs.of("mmwave-aqm", axes, seed=1, traces=str(runs.traces)):
        found = mmwave.of_run(run)
        values = {name: found[name] for name in wanted if name in found}
        yield f"{run.parameters['scenario']}, {run.parameters['queue']}", engine, values


def of_flows(run: bl.Result) -> Values:
    """Sum of the throughputs, and means of the other metrics of all flows."""
    flows = run.flow_metrics.values()
    link = run.link_metrics["bottleneck"]
    return {
        "throughput": sum(flow["mean_throughput_l4"] for flow in flows),
        "srtt": fmean(flow["mean_srtt_l4"] for flow in flows),
        "sojourn": link["mean_sojourn"],
        "drops": link["drops"],
        "retransmissions": sum(flow["total_retransmissions_l4"] for flow in flows),
    }


PARTS: Mapping[str, Callable[[Runs], Measured]] = {
    "cells": cells,
    "deep-buffers": deep_buffers,
    "home-router": home_router_,
    "mmwave-aqm": mmwave_aqm,
}


def rows(part: str, measured: Measured) -> Iterator[tuple[Any, ...]]:
    """One row per case, engine and metric."""
    kernel = platform.release().split("-")[0]
    found: dict[tuple[str, str], list[Values]] = {}
    for case, engine, values in measured:
        found.setdefault((case, engine), []).append(values)
    for (case, engine), runs in found.items():
        for metric in runs[0]:
            values = [run[metric] for run in runs if metric in run]
            deviation = stdev(values) if len(values) > 1 else 0.0
            yield part, case, engine, metric, f"{fmean(values):.6g}", f"{deviation:.4g}", len(values), kernel


def read() -> list[dict[str, str]]:
    """The rows of the file."""
    with CSV.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--out", type=Path, default=Path("results/real-linux"))
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--stored", action="store_true", help="only read the runs in the results directory")
    given = parser.parse_args()
    for part in given.parts:
        if part == "mmwave-aqm" and given.traces is None and not given.stored:
            parser.error("mmwave-aqm: give the directory of the authors' traces with --traces")
        runs = Runs(given.out / part, given.seeds, given.traces, given.stored)
        new = list(rows(part, PARTS[part](runs)))
        kept = [tuple(row.values()) for row in read() if row["part"] != part] if CSV.exists() else []
        with CSV.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [HEADER, *sorted([*kept, *new], key=lambda row: list(PARTS).index(row[0]))]
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
