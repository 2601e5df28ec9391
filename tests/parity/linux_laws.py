"""Every congestion control beside real Linux: `linux_laws.csv` holds the rows of group C of the reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from frame import Cell, Explanation, Metric, Reference, Row, Run, Values, by_chance, mean, measure
from linux import cells, flows, scenario

REFERENCE = Path(__file__).with_name("linux_laws.csv")

METRICS = [
    Metric("utilization", "utilization", 0.05, 0.0, "bytes that left the queue over the capacity"),
    Metric("srtt", "sRTT ms", 0.05, 0.0, "mean over flows and time"),
    Metric("in_flight", "in flight", 0.05, 0.0, "segments, neither delivered nor lost; mean over flows and time"),
    Metric("retransmissions", "retransmissions", 0.20, 0.0, "all flows; chance: the spread, or a count's error"),
    Metric("jain", "Jain", 0.05, 0.0, "fairness of the flows' goodput; chance: the spread between seeds"),
]

EXPLANATIONS: dict[str, Explanation] = {}


def _theirs(row: Row) -> dict[str, float]:
    """The row in the metrics' names and units."""
    return {
        "utilization": float(row["ss_utilisation"]),
        "srtt": float(row["ss_mean_srtt_ms"] or "nan"),
        "in_flight": float(row["ss_mean_in_flight_segments"] or "nan"),
        "retransmissions": float(row["ss_retransmissions_total"]),
        "jain": float(row["ss_jain"]),
    }


def make() -> Iterable[Cell]:
    """Every metric of every cell whose congestion control there is."""
    groups = sorted(cells(REFERENCE), key=lambda rows: (rows[0]["cc"], int(rows[0]["base_rtt_ms"]), flows(rows[0])))
    wanted = {id(row): Run.of(scenario(row), int(row["seed"])) for rows in groups for row in rows}
    results = measure(wanted.values())
    for rows in groups:
        ours = [results[wanted[id(row)]] for row in rows]
        yield from _compare(rows[0], ours, [_theirs(row) for row in rows])


def _compare(row: Row, ours: Sequence[Values], theirs: Sequence[dict[str, float]]) -> Iterable[Cell]:
    for metric in METRICS:
        if metric.name == "jain" and flows(row) == 1:
            continue
        us, them = mean(ours, metric.name), mean(theirs, metric.name)
        noise = 0.0
        if metric.name in ("retransmissions", "jain"):
            noise = by_chance(ours, theirs, metric.name)
        if metric.name == "retransmissions":
            # Two standard errors of the difference of two means of counts, as of a Poisson process.
            noise = max(noise, 2.0 * math.sqrt(2.0 * them / len(theirs)))
        yield Cell(row, metric, us, them, noise, LINUX_LAWS.explain(row, metric))


LINUX_LAWS = Reference(
    title="Linux: congestion controls",
    intro="""The dumbbell of "Linux: queues" with 50 Mbit/s, `pfifo` and one congestion control a row, 60 s, figures from 20 s on
(`dctcp`: 200 Mbit/s, RED as a step). Both sides: the mean over the same two seeds and start times. Linux's `lp` acts as
`reno` in most rows, because its delay trigger does not fire there.""",
    metrics=METRICS,
    explanations=EXPLANATIONS,
    labels={
        "RTT ms": lambda r: r["base_rtt_ms"],
        "flows": lambda r: str(flows(r)),
        "queue": lambda r: " ".join(r["qdisc"].split()[:3]),
    },
    section=lambda r: r["cc"],
    make=make,
)
