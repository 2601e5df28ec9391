"""Queues beside ns-3 3.37, 3.44 and 3.48: ten flows at 50 Mbit/s, RTT 40 ms.

`ns3_queues.csv` holds the groups aqm, aqm-ecn and aqm-more of a reference run: access links of 500 Mbit/s, 1502 bytes
on the wire, MSS 1448, `delack` segments per ACK, PRR, SACK, a device ring of one packet, starts drawn from one
second, figures from 10 s to 60 s. Most cells have three seeds in versions 3.37 and 3.48 and one in 3.44: the mean
over all of them stands beside ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from frame import (
    Cell,
    Explanation,
    Metric,
    Reference,
    Row,
    Run,
    by_chance,
    counted_by_chance,
    mean,
    measure,
    read,
    runs,
)

REFERENCE = Path(__file__).with_name("ns3_queues.csv")
LAWS = {
    "TcpNewReno": {"kind": "newreno"},
    # As in Linux, from which it was ported.
    "TcpCubic": {"kind": "cubic", "variant": "linux"},
    "TcpBbr": {"kind": "bbr"},
}
SEEDS = (1, 2, 3)

METRICS = [
    Metric("utilization", "utilization", 0.02, 0.0, "bytes sent over the capacity"),
    Metric("mean_sojourn", "sojourn ms", 0.10, 1.0, "mean over departures"),
    Metric("srtt", "sRTT ms", 0.10, 1.0, "as sojourn; mean over flows and time"),
    Metric("drop_rate", "drop rate", 0.15, 0.0, "drops / (departures + drops); chance: the spread, or a count's error"),
    Metric("mark_rate", "mark rate", 0.15, 0.0, "marks / departures; chance as for drops"),
    Metric("jain", "Jain", 0.05, 0.0, "fairness of the flows' goodput; chance: the spread between seeds"),
]

ALL = frozenset(m.name for m in METRICS)


def _is(*queues: str, law: str = "") -> Callable[[Row], bool]:
    return lambda r: r["qdisc"].removesuffix("QueueDisc") in queues and law in r["cca"]


EXPLANATIONS = {
    "a": Explanation(
        _is("Red"),
        ALL,
        "ns-3 lets RED's average decay over idle time by its attribute LinkBandwidth, which the reference does not"
        " record: the queue idles a tenth of the time here. With the attribute's default of 1.5 Mbit/s our sojourn"
        " time is 0.4 to 0.6 times ns-3's, with the link's own rate 1 to 1.4 times.",
    ),
    "b": Explanation(
        _is("FqCoDel", law="NewReno"),
        ALL,
        "ns-3 fills the link less (0.94 to 0.96): its flows lose in step, as its FQ-CoDel shows CoDel the flow's "
        "own backlog. Ours shows it that of all flows, as Linux does, and is held to Linux.",
    ),
    "c": Explanation(
        _is("FqCoDel", law="Bbr"),
        ALL,
        "BBR of ns-3 3.44 and later keeps a whole BDP queued (see deep-buffers), and 3.37 shares unevenly (Jain "
        "0.7); flow queueing does not hide either.",
    ),
    "d": Explanation(
        _is("Fifo", "PfifoFast", law="Cubic"),
        frozenset({"jain", "drop_rate"}),
        "a FIFO of five bandwidth-delay products overflows every ten seconds: which of the ten flows loses then "
        "decides its share, and there are five such moments in a run.",
    ),
}


def queue(row: Row) -> dict[str, Any]:
    """The row's queue in our words, with ns-3's defaults where they are not ours."""
    ecn = row["ecn"] == "1"
    limit = f"{row['qlen']}p"
    match row["qdisc"]:
        case "FifoQueueDisc":
            return {"kind": "fifo", "limit": limit}
        case "CoDelQueueDisc":
            return {"kind": "codel", "limit": limit, "ecn": ecn}
        case "FqCoDelQueueDisc":
            return {"kind": "fq_codel", "limit": limit, "ecn": ecn}
        case "PieQueueDisc":
            return {"kind": "pie", "limit": limit, "ecn": ecn}
        case "FqPieQueueDisc":
            return {"kind": "fq_pie", "limit": limit, "ecn": ecn}
        case "CobaltQueueDisc":
            return {"kind": "cobalt", "limit": limit, "ecn": ecn}
        case "RedQueueDisc":
            fixed = {"min": "5p", "max": "15p", "weight": 0.002, "probability": 0.02}
            return {"kind": "red", "limit": limit, "ecn": ecn, "gentle": True, "wait": True, **fixed}
        case "ARED":
            return {"kind": "red", "limit": limit, "ecn": ecn, "gentle": True, "wait": True, "adaptive": True}
        case "FqCobaltQueueDisc":
            return {"kind": "fq_cobalt", "limit": limit, "ecn": ecn}
        case "PfifoFastQueueDisc":
            # One class of traffic: one of its three bands is in use.
            return {"kind": "fifo", "limit": limit}
    raise ValueError(row["qdisc"])


def _laws(row: Row) -> list[str]:
    return row["cca"].split(",")


@cache
def cells_of_reference() -> dict[tuple[str, ...], list[Row]]:
    """The rows of each cell, which differ by version and seed only."""
    cells: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(read(REFERENCE), key=lambda r: (r["qdisc"], r["ecn"], r["cca"], r["delack"])):
        if set(_laws(row)) <= set(LAWS) and runs(scenario(row)):
            cells.setdefault(tuple(row[k] for k in ("qdisc", "ecn", "cca", "delack", "qlen")), []).append(row)
    return cells


def scenario(row: Row) -> dict[str, Any]:
    """The row's dumbbell in our words."""
    laws = _laws(row)
    tcp = {
        "mss": 1448,
        "ack_every": int(row["delack"]),
        "send_buffer": f"{row['buf']}B",
        "receive_buffer": f"{row['buf']}B",
        "ecn": row["ecn"] == "1",
        "loss_detection": "dupack",
        "tail_loss_probe": False,
        # It takes no reduction back.
        "frto": False,
        "undo": False,
    }
    return {
        "name": "ns3",
        "duration": f"{row['stop']}s",
        "warmup": f"{row['warm']}s",
        "dumbbell": {
            "rate": row["bw"],
            "rtt": f"{row['rtt']}ms",
            "queue": queue(row),
            "overhead": 2,
            "device_packets": 1,
            "access_rate": "500Mbit/s",
        },
        "flows": [
            {"cca": LAWS[laws[i % len(laws)]], "start_jitter": "1s", "tcp": tcp} for i in range(int(row["flows"]))
        ],
    }


def _theirs(row: Row) -> dict[str, float]:
    sent, drops, marks = (float(row[name]) for name in ("fwd_pkts", "drops", "marks"))
    return {
        "utilization": float(row["util"]),
        "mean_sojourn": float(row["soj_mean_ms"]),
        "srtt": float(row["srtt_ms"]),
        "departures": sent,
        "drop_rate": drops / (sent + drops),
        "mark_rate": marks / sent,
        "jain": float(row["jain"]),
    }


def make() -> Iterable[Cell]:
    """Every metric of every cell whose queue and congestion controls there are."""
    groups = list(cells_of_reference().values())
    wanted = [[Run.of(scenario(rows[0]), seed) for seed in SEEDS] for rows in groups]
    results = measure(run for each in wanted for run in each)
    for rows, each in zip(groups, wanted, strict=True):
        ours, theirs = [results[run] for run in each], [_theirs(row) for row in rows]
        for metric in METRICS:
            if metric.name == "mark_rate" and rows[0]["ecn"] == "0":
                continue
            us, them = mean(ours, metric.name), mean(theirs, metric.name)
            noise = by_chance(ours, theirs, metric.name) if metric.name in ("drop_rate", "mark_rate", "jain") else 0.0
            if metric.name in ("drop_rate", "mark_rate"):
                noise = max(noise, counted_by_chance(them, mean(theirs, "departures"), len(SEEDS)))
            yield Cell(rows[0], metric, us, them, noise, NS3.explain(rows[0], metric))


NS3 = Reference(
    title="ns-3: queues",
    intro="""Ten flows, 50 Mbit/s, RTT 40 ms, 10 s to 60 s. Theirs: the mean over versions 3.37, 3.44, 3.48 and their seeds.
Ours: the mean over three seeds, with ns-3's defaults for each queue and CUBIC as in Linux, from which ns-3's was
ported.""",
    metrics=METRICS,
    explanations=EXPLANATIONS,
    labels={
        "cc": lambda r: r["cca"].replace("Tcp", ""),
        "segments per ACK": lambda r: r["delack"],
        "limit": lambda r: r["qlen"],
    },
    section=lambda r: r["qdisc"].replace("QueueDisc", "") + (" ecn" if r["ecn"] == "1" else ""),
    make=make,
)
