"""Every congestion control beside Linux: `linux_congestion_controls.csv` has the rows of group C of the reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from frame import Cell, Explanation, Metric, Reference, Row, Run, Values, by_chance, counted_by_chance, mean, measure
from linux import cells, flows, scenario

REFERENCE = Path(__file__).with_name("linux_congestion_controls.csv")

METRICS = [
    Metric("utilization", "utilization", 0.05, 0.0, "bytes that left the queue over the capacity"),
    Metric("srtt", "sRTT ms", 0.05, 0.0, "mean over flows and time"),
    Metric(
        "in_flight", "in flight", 0.05, 0.0, "segments that are neither delivered nor lost; mean over flows and time"
    ),
    Metric("retransmissions", "retransmissions", 0.20, 0.0, "all flows; chance: the spread, or the error of a count"),
    Metric("jain", "Jain", 0.05, 0.0, "fairness of the flows' goodput; chance: the spread between seeds"),
]

ALL = frozenset(m.name for m in METRICS)


def _is(row: Row, *kinds: str) -> bool:
    return row["cc"] in kinds


EXPLANATIONS = {
    "a": Explanation(
        lambda r: _is(r, "lp"),
        ALL,
        "No reference: in Linux's runs, the delay trigger of TCP-LP does not fire, so it acts as Reno. Ours yields, "
        "as its paper says. The notes of the reference say the same. These rows do not count for the required "
        "shares.",
    ),
    "b": Explanation(
        lambda r: _is(r, "cdg"),
        ALL,
        "CDG backs off at random, and two seeds are too few to average that out. Over sixteen seeds each, all cells "
        "agree but one flow at 160 ms, which uses 0.45 of the link here (standard deviation 0.10) and 0.39 (0.07) in "
        "Linux. A growth of the RTT by microseconds is enough for a back-off. Without pings, both sides use 0.39, "
        "0.45, 0.54 or 0.87 of the link, depending on the start time, but 9 of 24 runs of Linux use 0.26 to 0.36. If "
        "the ACKs get a jitter of 2 us, there are such runs here too (0.32 and 0.36).",
    ),
    "c": Explanation(
        lambda r: r["base_rtt_ms"] == "160" and r["qdisc"] == "pfifo limit 2642" and flows(r) == 4,
        ALL,
        "Four flows overflow 4 BDP of 160 ms once, in slow start. Until then both sides are equal: with Vegas, "
        "which loses nothing, and YeAH, the throughput of each flow is within 1 % of Linux. As many segments are "
        "lost (veno 3,315, Linux 3,316 to 3,318). The third flow may also lose one of the last segments that it "
        "sends in its recovery, and then its window is reduced again. That happens in one of our two seeds of veno "
        "(sRTT 477 and 550 ms; Linux 549 in both), in one of Linux's two of highspeed (591 and 662 ms; ours 591 in "
        "both), and never in Linux's of illinois (737 ms; ours 632 and 652).",
    ),
    "d": Explanation(
        lambda r: _is(r, "illinois") and r["base_rtt_ms"] in ("40", "160") and flows(r) == 1,
        ALL,
        "A flow alone has one of two courses. At 40 ms and 4 BDP, Illinois has an sRTT of 165.6 to 165.8 ms in seven of "
        "ten seeds, as in Linux's two, and 133.7 to 136.6 in three, one of which is among our two. Alone at 160 ms, it has "
        "an sRTT of 299.0 ms in both our seeds and in one of Linux's. The other seed "
        "of Linux has 229 ms with nearly as many losses (1,776; ours 1,779): its window was reduced once more.",
    ),
    "e": Explanation(
        lambda r: _is(r, "vegas", "yeah") and flows(r) == 4 and r["base_rtt_ms"] in ("10", "40"),
        ALL,
        "The start times decide how four flows share. If they move by 0 to 13 ms, ours has an sRTT of 14.4 to 19.5 "
        "ms for Vegas at 10 ms (Linux 17.8 and 18.2), and 159 to 178 ms for YeAH at 40 ms (Linux 160 and 168). In "
        "three of Linux's four runs of Vegas, a queue dropped a SYN, and that flow started a second later.",
    ),
    "f": Explanation(
        lambda r: (
            (_is(r, "hybla") and (r["base_rtt_ms"], flows(r)) == ("40", 1))
            or (_is(r, "veno", "reno") and (r["base_rtt_ms"], flows(r)) == ("160", 4))
            or (_is(r, "westwood") and (r["base_rtt_ms"], flows(r)) == ("40", 4))
        ),
        ALL,
        "Chance. One of forty seeds of Hybla has an sRTT of 117.7 ms here and all others 164.8 to 165.1 (Linux 165.0 and 165.2). "
        "It is one of our two. Four flows of Veno have 247 to 292 ms in forty seeds, and 248 and 299 in Linux's two. Four "
        "flows of Reno at 160 ms have 249 to 274 ms in ten seeds, and 250 to 287 in twelve of Linux; of Westwood at 40 ms "
        "146 to 164 in ten, and 146 in Linux's two.",
    ),
    "h": Explanation(
        lambda r: flows(r) == 4,
        frozenset({"jain"}),
        "In one minute, four flows with equal RTTs have few losses. Which flow loses decides the shares, in Linux "
        "and here. The notes of the reference advise to compare distributions.",
    ),
}


def _theirs(row: Row) -> dict[str, float]:
    """The values of a row, with the names and units of the metrics."""
    return {
        "utilization": float(row["ss_utilisation"]),
        "srtt": float(row["ss_mean_srtt_ms"] or "nan"),
        "in_flight": float(row["ss_mean_in_flight_segments"] or "nan"),
        "retransmissions": float(row["ss_retransmissions_total"]),
        "jain": float(row["ss_jain"]),
    }


def make() -> Iterable[Cell]:
    """Every metric of every cell whose congestion control bloatlab has."""
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
            noise = max(noise, counted_by_chance(them, 1, len(theirs)))
        yield Cell(row, metric, us, them, noise, LINUX_CONGESTION_CONTROLS.explain(row, metric))


LINUX_CONGESTION_CONTROLS = Reference(
    title="Linux: congestion controls",
    intro="""The dumbbell of "Linux: queues" with 50 Mbit/s, `pfifo` and one congestion control per row, 60 s, measured from 20 s
on (`dctcp`: 200 Mbit/s, RED with a single threshold). Both sides: the mean over the same two seeds and start times. Linux's
`lp` acts as `reno` in most rows, because its delay trigger does not fire there.""",
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
