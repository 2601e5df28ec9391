"""Queues beside ns-2 2.35: greedy flows through DropTail, RED, SFQ and CoDel.

`ns2_queues.csv` has the runs of the reference: RTT 40 ms (18 ms at the bottleneck, 1 ms on each side), packets of 1500 B,
60 s, Sack1 without PRR, initial window 2, minRTO 0.2 s, no delayed ACK. `ss_` columns are measured from 10 s on. CoDel is
RFC 8289 as a plug-in. Each cell of the reference has five seeds, which set the start times; it runs here with the same
start times.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from frame import Cell, Explanation, Metric, Reference, Row, Run, by_chance, mean, measure, read, runs

REFERENCE = Path(__file__).with_name("ns2_queues.csv")
WARMUP = "10s"
RENO = {"kind": "reno", "whole_segments": False}
"""ns-2's windows are real numbers."""

METRICS = [
    Metric("utilization", "utilization", 0.02, 0.0, "bytes sent over the capacity"),
    Metric("queue", "queue packets", 0.10, 0.5, "mean over time"),
    Metric("mean_sojourn", "sojourn ms", 0.10, 1.0, "mean over departures"),
    Metric("p95_queue", "queue p95", 0.10, 1.0, "whole packets"),
    Metric("drop_rate", "drop rate", 0.15, 0.0, "drops / arrivals; chance: the spread between seeds"),
    Metric("jain", "Jain", 0.05, 0.0, "fairness of the flows' throughput; chance: the spread between seeds"),
]


def _one_packet_per_flow(row: Row) -> bool:
    return row["aqm"] == "SFQ" and row["cap_mbps"] == "4.0" and int(row["buf_pkts"]) == 13


EXPLANATIONS = {
    "a": Explanation(
        _one_packet_per_flow,
        frozenset({"utilization"}),
        "SFQ has room for one packet per flow, so part of a segment counts. In ns-2 an ACK adds 1/cwnd of a segment, and "
        "no part is lost when the window is reduced. Ours grows by whole segments. A copy of ours with ns-2's growth "
        "uses 0.806 of the link with one flow, as ns-2 does (0.804).",
    ),
}


def queue(row: Row) -> dict[str, Any]:
    """The queue of the row, as in a scenario."""
    packets, size = int(row["buf_pkts"]), int(row["pkt_bytes"])
    match row["aqm"]:
        case "DropTail":
            # DropTail of ns-2 refuses the packet that would fill it.
            return {"kind": "fifo", "limit": f"{packets - 1}p"}
        case "RED":
            # In bytes, because some thresholds are not whole packets. `gentle` and `wait` are defaults of ns-2.
            thresholds = {
                name: f"{round(float(row[f'red_{name}thresh'.replace('min', '')]) * size)}B" for name in ("min", "max")
            }
            settings = {
                "weight": float(row["red_qw"]),
                "probability": float(row["red_max_p"]),
                "gentle": True,
                "wait": True,
                "idle_sample": True,
            }
            return {"kind": "red", "limit": f"{packets}p", "avpkt": f"{size}B", **thresholds, **settings}
        case "SFQ":
            ns2 = {"service": "packets", "overflow": "share", "classifier": "exact"}
            return {"kind": "sfq", "limit": f"{packets}p", "divisor": int(row["sfq_buckets"]), **ns2}
        case "CoDel":
            times = {name: f"{row[f'codel_{name}_ms']}ms" for name in ("target", "interval")}
            return {"kind": "codel", "limit": f"{packets}p", **times}
    raise ValueError(row["aqm"])


@cache
def cells_of_reference() -> dict[tuple[str, ...], list[Row]]:
    """The rows of each cell. They differ only in their seed."""
    cells: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(read(REFERENCE), key=lambda r: (r["aqm"], float(r["cap_mbps"]), int(r["flows"]))):
        if runs(scenario(row)):
            cells.setdefault(tuple(row[k] for k in ("aqm", "cap_mbps", "flows", "buf_pkts")), []).append(row)
    return cells


def scenario(row: Row) -> dict[str, Any]:
    """The row as a scenario."""
    tcp = {
        # Headers of 52 bytes make packets of 1500 bytes.
        "mss": int(row["pkt_bytes"]) - 52,
        "ack_every": 1,
        "initial_window": 2,
        "min_rto": "200ms",
        "loss_detection": "dupack",
        "tail_loss_probe": False,
        # The reference was run with `singledup_ 0`.
        "limited_transmit": False,
        # ns-2 does not undo reductions.
        "frto": False,
        "undo": False,
        "timeout": "rfc6298",
        "recovery": "classic",
        "send_buffer": "64MB",
        "receive_buffer": "64MB",
    }
    return {
        "name": "ns2",
        "duration": f"{row['dur_s']}s",
        "warmup": WARMUP,
        "dumbbell": {"rate": f"{row['cap_mbps']}Mbit/s", "rtt": f"{row['rtt_ms']}ms", "queue": queue(row)},
        "flows": [{"cca": RENO, "start": f"{start}s", "tcp": tcp} for start in row["starts_s"].split()],
    }


def _theirs(row: Row) -> dict[str, float]:
    names = {
        "utilization": "ss_utilisation",
        "queue": "ss_mean_queue_pkts",
        "mean_sojourn": "ss_mean_queue_delay_ms",
        "p95_queue": "ss_q95_pkts",
        "drop_rate": "ss_drop_rate",
        "jain": "ss_jain",
    }
    return {ours: float(row[theirs]) for ours, theirs in names.items()}


def make() -> Iterable[Cell]:
    """Every metric of every cell whose queue bloatlab has."""
    groups = list(cells_of_reference().values())
    wanted = {id(row): Run.of(scenario(row), int(row["seed"])) for rows in groups for row in rows}
    results = measure(wanted.values())
    for rows in groups:
        ours, theirs = [results[wanted[id(row)]] for row in rows], [_theirs(row) for row in rows]
        for metric in METRICS:
            if metric.name == "jain" and rows[0]["flows"] == "1":
                continue
            noise = by_chance(ours, theirs, metric.name) if metric.name in ("drop_rate", "jain") else 0.0
            us, them = mean(ours, metric.name), mean(theirs, metric.name)
            yield Cell(rows[0], metric, us, them, noise, NS2.explain(rows[0], metric))


NS2 = Reference(
    title="ns-2: queues",
    intro="""RTT 40 ms, packets of 1500 bytes, no delayed ACK, initial window 2, no PRR, measured from 10 s to 60 s. Both sides:
the mean over five start times. DropTail of ns-2 holds one packet less than its limit. CoDel is RFC 8289 as a plug-in.""",
    metrics=METRICS,
    explanations=EXPLANATIONS,
    labels={
        "Mbit/s": lambda r: f"{float(r['cap_mbps']):g}",
        "flows": lambda r: r["flows"],
        "buffer": lambda r: r["buf_pkts"],
    },
    section=lambda r: r["aqm"],
    make=make,
)
