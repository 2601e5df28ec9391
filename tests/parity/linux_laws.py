"""Every congestion control beside real Linux: `linux_laws.csv` holds the rows of group C of the reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from frame import Cell, Explanation, Metric, Reference, Row, Run, Values, by_chance, counted_by_chance, mean, measure
from linux import cells, flows, rescaled, scenario

REFERENCE = Path(__file__).with_name("linux_laws.csv")

METRICS = [
    Metric("utilization", "utilization", 0.05, 0.0, "bytes that left the queue over the capacity"),
    Metric("srtt", "sRTT ms", 0.05, 0.0, "mean over flows and time"),
    Metric("in_flight", "in flight", 0.05, 0.0, "segments, neither delivered nor lost; mean over flows and time"),
    Metric("retransmissions", "retransmissions", 0.20, 0.0, "all flows; chance: the spread, or a count's error"),
    Metric("jain", "Jain", 0.05, 0.0, "fairness of the flows' goodput; chance: the spread between seeds"),
]

ALL = frozenset(m.name for m in METRICS)


def _is(row: Row, *laws: str) -> bool:
    return row["cc"] in laws


EXPLANATIONS = {
    "a": Explanation(
        lambda r: _is(r, "lp"),
        ALL,
        "no reference: in Linux's runs the delay trigger of TCP-LP does not fire and it acts as Reno, here it does what its "
        "paper says and yields (the notes of the reference say so too). Left out of the shares that are asked for.",
    ),
    "b": Explanation(
        lambda r: _is(r, "cdg"),
        ALL,
        "CDG backs off by chance, and two seeds do not average that out: alone at 160 ms ours uses 0.36 to 0.87 of the link in "
        "thirty seeds (median 0.41), Linux's two 0.39 and 0.68; at 10 ms with 4 BDP ours has 14.8 to 18.4 ms of sRTT in sixteen, "
        "Linux's 16.8 and 17.3, and with four flows 5 to 64 retransmissions in twenty-four (median 30), Linux's 55 and 58. That "
        "Linux's lie in the upper part of ours at 4 BDP may be more than chance; not explained.",
    ),
    "c": Explanation(
        lambda r: r["base_rtt_ms"] == "160" and r["qdisc"] == "pfifo limit 2642" and flows(r) == 4,
        ALL,
        "four flows overflow 4 BDP of 160 ms in slow start, once. Until then all is equal (Vegas, which loses nothing, and YeAH "
        "have each flow's throughput within 1 % of Linux's) and as many segments are lost (veno 3,315, Linux 3,316 to 3,318). "
        "Whether one of the last segments that the third flow sends in its recovery is dropped as well decides whether its "
        "window is cut again: in one of our two seeds of veno (477 and 550 ms of sRTT, Linux's both 549), in one of Linux's two "
        "of highspeed (591 and 662 ms, ours both 591), never in Linux's of illinois (737 ms, ours 632 and 652).",
    ),
    "d": Explanation(
        lambda r: _is(r, "illinois") and r["base_rtt_ms"] == "160" and flows(r) == 1,
        ALL,
        "alone at 160 ms Illinois has 299.0 ms of sRTT in both our seeds and in one of Linux's, and 229 in the other, with as "
        "many losses (1,776; ours 1,779): its window was cut once more.",
    ),
    "e": Explanation(
        lambda r: _is(r, "vegas", "yeah") and flows(r) == 4 and r["base_rtt_ms"] in ("10", "40"),
        ALL,
        "who comes when decides how four flows share: start times moved by 0 to 13 ms give ours 14.4 to 19.5 ms of sRTT for "
        "Vegas at 10 ms (Linux 17.8 and 18.2) and 159 to 178 ms for YeAH at 40 ms (Linux 160 and 168). In three of Linux's four "
        "runs of Vegas a SYN met a full queue, and its flow came a second later.",
    ),
    "f": Explanation(
        lambda r: _is(r, "scalable") and r["base_rtt_ms"] == "10" and flows(r) == 1,
        frozenset({"retransmissions"}),
        "one flow in a short loss cycle: RTTs within 2 % move ours from 185 to 348 retransmissions, Linux has 315.",
    ),
    "g": Explanation(
        lambda r: _is(r, "htcp") and r["base_rtt_ms"] == "160" and flows(r) == 1,
        frozenset({"retransmissions"}),
        "H-TCP alone at 160 ms and 4 BDP loses 200 segments every 12.6 s, three times in the 40 s; Linux's loses 349 and 394 in "
        "them, at the same window. Not explained.",
    ),
    "h": Explanation(
        lambda r: flows(r) == 4,
        frozenset({"jain"}),
        "one minute holds few loss cycles of four flows with equal RTTs; who loses in them decides the shares, in Linux as "
        "here (the notes of the reference: compare distributions).",
    ),
}


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
        ours = [rescaled(row, results[wanted[id(row)]]) for row in rows]
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
            noise = max(noise, counted_by_chance(them, 1, len(theirs)))
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
