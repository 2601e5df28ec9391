"""Every queue beside Linux: `linux_queues.csv` has the queue (Q) and mixture (X) rows of the reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

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
)
from linux import cells, flows, qdisc, scenario, uses

REFERENCE = Path(__file__).with_name("linux_queues.csv")

METRICS = [
    Metric("utilization", "utilization", 0.02, 0.0, "bytes that left the queue over the capacity"),
    Metric("sojourn", "sojourn ms", 0.10, 1.0, "mean backlog / departure rate, on both sides; a jiffy is 1 ms"),
    Metric("srtt", "sRTT ms", 0.10, 1.0, "as for sojourn; mean over flows and time"),
    Metric(
        "p95_ping",
        "ping p95 ms",
        0.10,
        2.0,
        "a percentile of 1000 pings; with flow queueing the ping has a separate queue",
    ),
    Metric(
        "drop_rate", "drop rate", 0.15, 0.0, "drops / (departures + drops); chance: a count n has an error of sqrt(n)"
    ),
    Metric("mark_rate", "mark rate", 0.15, 0.0, "marks / departures; chance as for drops"),
    Metric("jain", "Jain", 0.05, 0.0, "fairness of the flows' goodput; chance: the spread between seeds"),
]

ALL = frozenset(m.name for m in METRICS)


def _short_windows(row: Row) -> bool:
    """Whether sixteen flows share a bandwidth-delay product of 83 packets."""
    return row["rate_mbit"] == "50" and row["base_rtt_ms"] == "20" and flows(row) == 16


EXPLANATIONS = {
    "a": Explanation(
        lambda r: r["base_rtt_ms"] == "80" and flows(r) <= (4 if r["rate_mbit"] == "200" else 1),
        ALL,
        "One flow (four at 200 Mbit/s) over 80 ms has only one or two loss epochs of ten seconds per run, so the "
        "first losses decide. At 200 Mbit/s, the two seeds of Linux use 0.98 and 0.79 of the link under pie, and "
        "0.83 and 0.70 under red (ours 0.82 and 0.83). Where nothing is random (pfifo, drr, choke, cake), ours is "
        "within 1 % of Linux. One seed of bfifo is an exception: its first recovery is not followed by a second "
        "one, and it uses 0.88 of the link instead of 0.78 as in Linux.",
    ),
    "b": Explanation(
        lambda r: not uses(r, "sfb") and ((r["rate_mbit"] == "10" and flows(r) >= 4) or _short_windows(r)),
        ALL - {"jain"},
        "Windows are one to six segments, so every timeout and every delayed ACK counts. fq_codel with ECN at 10 Mbit/s, "
        "80 ms and 16 flows differs by chance in the two seeds: ten of ours use 0.902 of the link (standard deviation 0.020), "
        "twelve of Linux 0.901 (0.013). With ten seeds, pfifo with 1000 packets at 10 Mbit/s, 80 ms and 16 flows drops 357 "
        "packets here (45) and 376 in Linux (48).",
    ),
    "c": Explanation(
        lambda r: uses(r, "pfifo", "bfifo", "hhf", "fq", "drr", "sfq"),
        frozenset({"drop_rate", "jain", "p95_ping"}),
        "A queue that drops only when it is full does so once in many seconds. So a run has few loss episodes, and "
        "which flow loses in them decides the shares, in Linux and here. Two seeds are too few to average this out.",
    ),
    "d": Explanation(
        lambda r: "bbr" in r["cc"],
        ALL,
        "BBR beside another algorithm. Two seeds are too few: over ten runs of 40 s through fq_codel, two BBR and two CUBIC "
        "flows wait 10.6 ms here (standard deviation 3.8) and 8.2 ms (1.4) in Linux 7.2.12 in virtual time, and lose 2136 "
        "packets (503) and 1673 (220). With Reno in the place of CUBIC, they wait 13.1 ms (1.3) and 14.4 (1.1), and lose 2835 "
        "packets (180) and 2818 (153).",
    ),
    "e": Explanation(
        lambda r: uses(r, "sfb"),
        ALL,
        "A bin's drop probability rises by 33/65535 with each arrival that finds 20 packets in it, and falls by 3/65535 "
        "with each that finds none. So a flow that sends less keeps its probability longer, and every small difference "
        "grows. Each part agrees alone. Floods and Poisson streams of 8 to 12 Mbit/s through 10 Mbit/s have as many early "
        "drops (5,093 and 5,072; 15,732 and 15,755). With a probability that stays (`decrement 0`) one CUBIC flow uses "
        "0.078, 0.113, 0.187 and 0.345 of the link here and 0.078, 0.115, 0.188 and 0.347 in Linux. Two causes of differences "
        "are mended: a packet that HTB had let go stayed in the queue for 121 ns here, so the third packet of a burst found "
        "one and in Linux none, and the receiver acknowledged two segments where Linux waits for a third. One flow at "
        "50 Mbit/s and 20 ms used 0.640 of the link (200 seeds, standard error 0.005), uses 0.666 now (100 seeds, 0.006), "
        "and 0.684 in Linux (232 seeds, 0.005). At 80 ms, one flow uses 0.371 (0.010) and 0.359 in Linux (132 seeds, "
        "0.008), with 99 and 105 drops, and four use 0.576 (0.007) and 0.576 (0.006), with 240 and 259. So at most 3 % is "
        "left, beside "
        "a standard deviation of 10 to 30 % between runs. Arrivals and departures at the same instant are not the cause: "
        "random delays of 1 and 20 us change nothing.",
    ),
    "f": Explanation(
        lambda r: uses(r, "red", "dualpi2", "codel", "pie") and r["ecn"] == "1",
        frozenset({"drop_rate"}),
        "With ECN, a run has few drops: pings, SYNs, retransmissions, and connections that continue without ECN "
        "because their SYN was lost (RFC 3168 section 6.1.1.1, as in Linux). Which SYN is lost is chance, and one "
        "such connection causes most drops of a run. With red, 10 Mbit/s, 20 ms and 16 flows, the two seeds of "
        "Linux drop 713 and 1091 packets. Marks agree.",
    ),
    "g": Explanation(
        lambda r: uses(r, "pie") and r["ecn"] == "1" and r["base_rtt_ms"] == "80",
        frozenset({"sojourn", "jain"}),
        "Two seeds are too few. At 50 Mbit/s with four flows, packets wait 12.0 to 14.7 ms in ten runs here (mean 13.5) and "
        "12.3 and 13.4 ms in the two of Linux. At 200 Mbit/s with sixteen flows, Jain's index is 0.89 to 0.96 in ten runs "
        "here (mean 0.92), and 0.87 and 0.89 in the two of Linux.",
    ),
}


def _section(row: Row) -> str:
    return qdisc(row) + (" (mixtures)" if row["group"] == "X" else " ecn" if row["ecn"] == "1" else "")


def _short(row: Row) -> str:
    words = row["qdisc"].split(" bandwidth")[0].split(" [")[0].split()[1:]
    return " ".join(word for word in words if word not in ("ecn", "noecn"))


def _theirs(row: Row) -> dict[str, float]:
    """The values of a row, with the names and units of the metrics."""
    sent, drops, marks = (float(row[f"ss_{name}"]) for name in ("sent_pkts", "drops", "marks"))
    return {
        "utilization": float(row["ss_utilisation"]),
        "sojourn": float(row["ss_mean_sojourn_little_ms"] or "nan"),
        "srtt": float(row["ss_mean_srtt_ms"] or "nan"),
        "p95_ping": float(row["ss_p95_ping_rtt_ms"] or "nan"),
        "departures": sent,
        "drop_rate": drops / (sent + drops),
        "mark_rate": marks / sent,
        "jain": float(row["ss_jain"]),
    }


def make() -> Iterable[Cell]:
    """Every metric of every cell whose queue and congestion controls bloatlab has."""
    groups = sorted(cells(REFERENCE), key=lambda rows: (_section(rows[0]), int(rows[0]["rate_mbit"])))
    wanted = {id(row): Run.of(scenario(row), int(row["seed"])) for rows in groups for row in rows}
    results = measure(wanted.values())
    for rows in groups:
        ours = [results[wanted[id(row)]] for row in rows]
        yield from _compare(rows[0], ours, [_theirs(row) for row in rows])


def _compare(row: Row, ours: Sequence[dict[str, float]], theirs: Sequence[dict[str, float]]) -> Iterable[Cell]:
    for metric in METRICS:
        if metric.name == "mark_rate" and row["ecn"] == "0":
            continue
        if metric.name == "jain" and flows(row) == 1:
            continue
        us, them = mean(ours, metric.name), mean(theirs, metric.name)
        if math.isnan(them) or math.isnan(us):
            continue
        noise = by_chance(ours, theirs, metric.name) if metric.name in ("drop_rate", "mark_rate", "jain") else 0.0
        if metric.name in ("drop_rate", "mark_rate"):
            noise = max(noise, counted_by_chance(them, mean(theirs, "departures"), len(theirs)))
        yield Cell(row, metric, us, them, noise, LINUX.explain(row, metric))


LINUX = Reference(
    title="Linux: queues",
    intro="""Linux 7.2 in virtual time: an htb class with the queue as its leaf, netem for the base delay, 30 s, measured from 10
s on (mixtures: 60 s, from 20 s). Both sides: the mean over the same two seeds and start times. Ours: the queue as tc
writes it, inside `htb` with a burst of 1600 B; `header = 14`, MSS 1448, `gso_max_segs = 1`, `quick_acks = 16`,
`ack_tick = "1ms"`, `sack_compression = "1ms"`, `receive_window = "growing"`, CUBIC with `variant = "linux"` and
`slow_start = "hystart"`, and a ping of 98 bytes every 20 ms (±10 %). Only the tolerances of drops, marks and shares include
chance.""",
    metrics=METRICS,
    explanations=EXPLANATIONS,
    labels={
        "Mbit/s": lambda r: r["rate_mbit"],
        "RTT ms": lambda r: r["base_rtt_ms"],
        "flows": lambda r: str(flows(r)),
        "cc": lambda r: r["cc"],
        "settings": _short,
    },
    section=_section,
    make=make,
)
