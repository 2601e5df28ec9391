"""The dumbbell of the ns-3 reference as a scenario, and how its rows are compared.

ns-3 3.37, 3.44 and 3.48: access links ten times as fast as the bottleneck, 1502 bytes on the wire, MSS 1448, `delack`
segments per ACK, PRR, SACK, a device ring of one packet, random starts within one second, measured from `warm` to
`stop`. Most cells have three seeds in versions 3.37 and 3.48 and one in 3.44. Ours is compared with the mean over all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bloatlab import units
from frame import Cell, Metric, Reference, Row, Run, Values, by_chance, counted_by_chance, mean, measure, read, runs

CONGESTION_CONTROLS: dict[str, dict[str, Any]] = {
    "TcpNewReno": {"kind": "newreno"},
    # ns-3's was ported from Linux.
    "TcpCubic": {"kind": "cubic", "variant": "linux"},
    "TcpBbr": {"kind": "bbr"},
    "TcpVegas": {"kind": "vegas"},
    "TcpLedbat": {"kind": "ledbat"},
    # As in the papers.
    "TcpWestwoodPlus": {"kind": "westwood", "reduction": "at_loss", "jiffy": "0s"},
    "TcpLp": {"kind": "lp"},
    "TcpDctcp": {"kind": "dctcp"},
}
BY_BYTES = frozenset({"TcpCubic", "TcpBbr", "TcpDctcp", "TcpLedbat"})
"""Algorithms that count the segments of an ACK in congestion avoidance. The others use ns-3's NewReno and count ACKs."""
SEEDS = (1, 2, 3)
COUNTED = frozenset({"drop_rate", "mark_rate"})
KEY = ("cca", "flows", "bw", "rtt", "qdisc", "qlen", "threshold", "ecn", "delack")
"""Columns that distinguish cells. The rows of a cell differ only in version and seed."""

UTILIZATION = Metric("utilization", "utilization", 0.02, 0.0, "bytes sent over the capacity")
SOJOURN = Metric("mean_sojourn", "sojourn ms", 0.10, 1.0, "mean over departures")
SRTT = Metric("srtt", "sRTT ms", 0.10, 1.0, "as for sojourn; mean over flows and time")
IN_FLIGHT = Metric("in_flight", "in flight", 0.10, 1.0, "segments; as for sRTT")
DROP_RATE = Metric(
    "drop_rate", "drop rate", 0.15, 0.0, "drops / (departures + drops); chance: the spread, or the error of a count"
)
MARK_RATE = Metric("mark_rate", "mark rate", 0.15, 0.0, "marks / departures; chance as for drops")
JAIN = Metric("jain", "Jain", 0.05, 0.0, "fairness of the flows' goodput; chance: the spread between seeds")
SHARE = Metric(
    "share", "share of the first", 0.0, 0.05, "goodput of the first group / goodput of all; chance: the spread"
)


def congestion_controls(row: Row) -> list[str]:
    """The congestion controls, which flows use in turn."""
    return row["cca"].split(",")


def rtts(row: Row) -> list[str]:
    """The base RTTs in ms, which flows use in turn."""
    return row["rtt"].split(",")


def uses(*queues: str, control: str = "") -> Callable[[Row], bool]:
    """Tests whether a row has one of these queues and a congestion control whose name contains `control`."""
    return lambda r: r["qdisc"].removesuffix("QueueDisc") in queues and control in r["cca"]


def generation(row: Row) -> str:
    """The versions of a row with LEDBAT, whose window grows only from 3.48 on. Other rows are averaged over versions."""
    if "TcpLedbat" not in congestion_controls(row):
        return ""
    return "3.48" if row["version"].startswith("3.48") else "3.37, 3.44"


def queue(row: Row) -> dict[str, Any]:
    """The queue of the row as in a scenario, with ns-3's defaults."""
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
        case "RedQueueDisc" if threshold := row.get("threshold"):
            # Without an average: marks every packet that finds `threshold` packets or more, and no other.
            step = {"min": f"{int(threshold) - 1}p", "max": f"{threshold}p", "weight": 1.0, "probability": 1.0}
            return {"kind": "red", "limit": limit, "ecn": True, **step}
        case "RedQueueDisc":
            fixed = {"min": "5p", "max": "15p", "weight": 0.002, "probability": 0.02}
            return {"kind": "red", "limit": limit, "ecn": ecn, "gentle": True, "wait": True, **fixed}
        case "ARED":
            return {"kind": "red", "limit": limit, "ecn": ecn, "gentle": True, "wait": True, "adaptive": True}
        case "FqCobaltQueueDisc":
            return {"kind": "fq_cobalt", "limit": limit, "ecn": ecn}
        case "PfifoFastQueueDisc":
            # All traffic has one class, so only one of the three bands is in use.
            return {"kind": "fifo", "limit": limit}
    raise ValueError(row["qdisc"])


def scenario(row: Row) -> dict[str, Any]:
    """The row as a scenario."""
    kinds, base = congestion_controls(row), rtts(row)
    tcp: dict[str, Any] = {
        "mss": 1448,
        "ack_every": int(row["delack"]),
        "send_buffer": f"{row['buf']}B",
        "receive_buffer": f"{row['buf']}B",
        "ecn": row["ecn"] == "1",
        # ns-3 repeats an ECN-setup SYN without a change.
        "ecn_fallback": False,
        "loss_detection": "dupack",
        "tail_loss_probe": False,
        # ns-3 does not undo reductions.
        "frto": False,
        "undo": False,
        # ns-3 sends segments one by one.
        "gso_max_segs": 1,
        "timeout": "rfc6298",
        # ns-3 counts bytes in recovery.
        "recovery": "prr_bytes",
    }
    return {
        "name": "ns3",
        "duration": f"{row['stop']}s",
        "warmup": f"{row['warm']}s",
        "dumbbell": {
            "rate": row["bw"],
            "rtt": f"{base[0]}ms",
            "queue": queue(row),
            "overhead": 2,
            "device_packets": 1,
            "access_rate": f"{units.rate(row['bw']) * 10:.0f}bit/s",
        },
        "flows": [
            {
                "cca": CONGESTION_CONTROLS[kind := kinds[i % len(kinds)]],
                "rtt": f"{base[i % len(base)]}ms",
                "start_jitter": "1s" if int(row["flows"]) > 1 else "0s",
                "tcp": {**tcp, "byte_counting": kind in BY_BYTES},
            }
            for i in range(int(row["flows"]))
        ],
    }


def cells(path: Path, order: Sequence[str]) -> Iterator[list[Row]]:
    """The rows of each cell whose algorithms bloatlab has, sorted by columns."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(read(path), key=lambda r: [r[name] for name in order]):
        if set(congestion_controls(row)) <= set(CONGESTION_CONTROLS) and runs(scenario(row)):
            key = (*(row.get(name, "") for name in KEY), generation(row))
            found.setdefault(key, []).append(row)
    yield from found.values()


def _theirs(row: Row) -> dict[str, float]:
    """The values of a row, with the names and units of the metrics."""
    sent, drops, marks = (float(row[name]) for name in ("fwd_pkts", "drops", "marks"))
    values = {
        "utilization": float(row["util"]),
        "mean_sojourn": float(row["soj_mean_ms"]),
        "srtt": float(row["srtt_ms"]),
        "in_flight": float(row.get("inflight_seg") or "nan"),
        "departures": sent,
        "drop_rate": drops / (sent + drops),
        "mark_rate": marks / sent,
        "jain": float(row["jain"]),
    }
    if groups := row.get("goodput_by_group_mbps"):
        goodputs = [float(group.split("=")[1]) for group in groups.split(";")]
        values["share"] = goodputs[0] / sum(goodputs)
    return values


def _ours(row: Row, values: Values) -> dict[str, float]:
    """The values of a run of ours, with the share of the first group of flows."""
    groups = max(len(congestion_controls(row)), len(rtts(row)))
    goodputs = [values[f"goodput_{i}"] for i in range(int(row["flows"]))]
    return {**values, "share": sum(goodputs[::groups]) / sum(goodputs)}


def compare(reference: Reference, groups: Iterable[Sequence[Row]], seeds: Sequence[int] = SEEDS) -> Iterator[Cell]:
    """Every metric of each group of rows. The rows of a group differ only in version and seed."""
    groups = list(groups)
    wanted = [[Run.of(scenario(rows[0]), seed) for seed in seeds] for rows in groups]
    results = measure(run for each in wanted for run in each)
    for rows, each in zip(groups, wanted, strict=True):
        ours, theirs = [_ours(rows[0], results[run]) for run in each], [_theirs(row) for row in rows]
        for metric in reference.metrics:
            if applies(metric, rows[0]):
                noise = _noise(metric, ours, theirs)
                us, them = mean(ours, metric.name), mean(theirs, metric.name)
                yield Cell(rows[0], metric, us, them, noise, reference.explain(rows[0], metric))


def applies(metric: Metric, row: Row) -> bool:
    """Whether the row has the metric."""
    if metric is MARK_RATE:
        return row["ecn"] == "1"
    if metric is SHARE:
        return len(congestion_controls(row)) + len(rtts(row)) > 2
    return metric is not JAIN or int(row["flows"]) > 1


def _noise(metric: Metric, ours: Sequence[Values], theirs: Sequence[Mapping[str, float]]) -> float:
    """How much the two may differ by chance."""
    if metric.name not in COUNTED | {"jain", "share"}:
        return 0.0
    noise = by_chance(ours, theirs, metric.name)
    if metric.name in COUNTED:
        counted = counted_by_chance(mean(theirs, metric.name), mean(theirs, "departures"), len(ours))
        noise = max(noise, counted)
    return noise
