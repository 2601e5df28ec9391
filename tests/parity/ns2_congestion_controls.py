"""Linux's reno in ns-2 2.35 (`Agent/TCP/Linux`) with greedy flows through DropTail. The reference has no such rows.

`ns2_dumbbell.tcl` made `ns2_congestion_controls.csv`, in the set-up of the DropTail rows of the reference (see
`ns2_queues.py`): their rates, limits, numbers of flows and start times, 40 ms, packets of 1500 B, initial window 2,
minRTO 0.2 s, no delayed ACK, measured from 10 s to 60 s. The reference does not record the rate of the access links;
here they are ten times as fast as the bottleneck.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import ns2_queues
from frame import Cell, Metric, Reference, Row, Run, by_chance, mean, measure, read

REFERENCE = Path(__file__).with_name("ns2_congestion_controls.csv")

METRICS = [
    *(m for m in ns2_queues.METRICS if m.name != "mean_sojourn"),
    Metric("sojourn", "sojourn ms", 0.10, 1.0, "by Little's law: mean queue / departure rate"),
    Metric("retransmissions", "retransmissions", 0.15, 2.0, "all flows; chance: the spread between seeds"),
]
SPREAD = frozenset({"drop_rate", "jain", "retransmissions"})


def scenario(row: Row) -> dict[str, Any]:
    """The row as a scenario."""
    document = ns2_queues.scenario({**row, "rtt_ms": "40", "pkt_bytes": "1500", "dur_s": "60"})
    document["dumbbell"]["access_rate"] = f"{float(row['cap_mbps']) * 10:g}Mbit/s"
    for flow in document["flows"]:
        # This version of Linux sent a segment for every other ACK in recovery. PRR does the same. It has limited transmit.
        flow["tcp"] |= {"recovery": "prr", "limited_transmit": True}
    return document


@cache
def cells_of_reference() -> tuple[Sequence[Row], ...]:
    """The rows of each cell. They differ only in their start times."""
    cells: dict[tuple[str, ...], list[Row]] = {}
    for row in read(REFERENCE):
        cells.setdefault((row["cap_mbps"], row["flows"], row["buf_pkts"]), []).append(row)
    return tuple(cells.values())


def _theirs(row: Row) -> dict[str, float]:
    return {
        "utilization": float(row["ss_utilisation"]),
        "queue": float(row["ss_mean_queue_pkts"]),
        "sojourn": float(row["ss_mean_queue_delay_ms"]),
        "p95_queue": float(row["ss_q95_pkts"]),
        "drop_rate": float(row["ss_drop_rate"]),
        "retransmissions": float(row["ss_retransmissions"]),
        "jain": float(row["ss_jain"]),
    }


def make() -> Iterable[Cell]:
    """Every metric of every cell."""
    wanted = {id(row): Run.of(scenario(row), int(row["seed"])) for rows in cells_of_reference() for row in rows}
    results = measure(wanted.values())
    for rows in cells_of_reference():
        ours, theirs = [results[wanted[id(row)]] for row in rows], [_theirs(row) for row in rows]
        for metric in METRICS:
            if metric.name == "jain" and rows[0]["flows"] == "1":
                continue
            noise = by_chance(ours, theirs, metric.name) if metric.name in SPREAD else 0.0
            us, them = mean(ours, metric.name), mean(theirs, metric.name)
            yield Cell(rows[0], metric, us, them, noise, NS2_CONGESTION_CONTROLS.explain(rows[0], metric))


NS2_CONGESTION_CONTROLS = Reference(
    title="ns-2: Linux's reno",
    intro="""Made with ns-2 2.35 for this page (see `tests/parity/ns2_congestion_controls.py`): DropTail, RTT 40 ms, packets of
1500 bytes, no delayed ACK, initial window 2, measured from 10 s to 60 s. Ours is `reno`. Both sides: the mean over five
start times. This version of Linux waits for one more ACK than its window has segments before the window grows. Windows with
half segments (`whole_segments = false`) grow nearly as slowly.""",
    metrics=METRICS,
    explanations={},
    labels={"Mbit/s": lambda r: r["cap_mbps"], "flows": lambda r: r["flows"], "buffer": lambda r: r["buf_pkts"]},
    section=lambda r: r["aqm"],
    make=make,
)
