"""Three conclusions of the slides, and what our runs say of each."""

from __future__ import annotations

import math

from bloatlab.experiments.aqm_survey.cases import BUFS, EXACT, FAIR_QUEUES, Point, along, mean, samples
from bloatlab.experiments.aqm_survey.published import RERUN, SFQ_DROP_RATIO, SLIDE_15
from bloatlab.experiments.aqm_survey.setup import EQUAL, QUEUES
from bloatlab.experiments.base import Cases
from bloatlab.experiments.finding import Finding

PACKETS = 20_000
"""What 4 Mbit/s carry of 1500 bytes in 60 s."""


def findings(cases: Cases) -> list[Finding]:
    """All three."""
    return [_buffers(cases), _collisions(cases), _ratio(cases)]


def _buffers(cases: Cases) -> Finding:
    rows = []
    for queue in QUEUES:
        rows.append((f"{QUEUES[queue]}, as published", *_lengths(cases, Point(queue))))
        if queue in FAIR_QUEUES:
            rows.append((f"{QUEUES[queue]}, equal limits", *_lengths(cases, Point(queue, mode=EQUAL))))
    own = {queue: mean(cases, Point(queue), "qlen") for queue in FAIR_QUEUES}
    equal = {queue: mean(cases, Point(queue, mode=EQUAL), "qlen") for queue in FAIR_QUEUES}
    laws = [mean(cases, Point(queue), "qlen") for queue in ("red", "choke", "codel")]
    return Finding(
        "For SFQ and DRR the buffer has no impact because it is not used",
        "AQM eliminates the impact of BUF: the queue stays short whatever the buffer.",
        f"True of RED, CHOKe and CoDel, whose laws hold {min(laws):.1f} to {max(laws):.1f} packets. SFQ and DRR have no law: "
        "ns-2's SFQ holds 40 packets and its DRR 25,000 bytes, whatever the limit is set to. Where they get the 400 packets that "
        f"DropTail has, SFQ queues {equal['sfq']:.0f} packets instead of {own['sfq']:.1f} and DRR {equal['drr']:.0f} instead of "
        f"{own['drr']:.1f} (ns-2 with such limits: 218 and 306), and the queue grows with BUF as DropTail's does.",
        ("QLEN (packets)", *(f"BUF {packets}" for packets in BUFS)),
        tuple(rows),
        "CAP 4 Mbit/s, five of ten flows Reno, the others LEDBAT; means over the runs.",
    )


def _lengths(cases: Cases, point: Point) -> tuple[str, ...]:
    return tuple(f"{mean(cases, one, 'qlen'):.1f}" for one in along(point, "buf"))


def _collisions(cases: Cases) -> Finding:
    names = ("tcp_share", "fair", "fair_tcp", "fair_ccp")
    rows = [
        ("slides", *(f"{SLIDE_15['drr'][name]:.1f}" for name in names)),
        ("ns-2 run again", *(f"{RERUN['drr'][name]:.1f}" for name in names)),
        *((called, *(_spread(cases, point, name) for name in names)) for called, point in (
            ("here, a Reno and a LEDBAT flow share one", Point("drr")), ("here, a queue for every flow", EXACT),
        )),
    ]  # fmt: skip
    shared, exact = ([mean(cases, point, name) for name in names[2:]] for point in (Point("drr"), EXACT))
    return Finding(
        "DRR is less fair than SFQ because two flows share a queue",
        "DRR's fairness within the classes is the lowest of all AQMs.",
        "ns-2's DRR hashes the number of the source's node to ten buckets. Ten nodes in a row have a bucket each, but for the "
        "two where the number passes a multiple of 16: 15 and 16 share one, 31 and 32 (ns-2 2.35, ten streams through one DRR). "
        f"A Reno and a LEDBAT flow in one queue give F_TCP {shared[0]:.1f} and F_CCP {shared[1]:.1f} %; with a queue for every "
        f"flow, all else equal, they are {exact[0]:.1f} and {exact[1]:.1f} %. SFQ hashes both addresses, and need not join the "
        "same flows.",
        ("DRR", "TCP% (%)", "FAIR (%)", "F_TCP (%)", "F_CCP (%)"),
        tuple(rows),
        "Ours: mean (lowest to highest of the runs).",
    )


def _spread(cases: Cases, point: Point, name: str) -> str:
    found = samples(cases, point, name)
    return f"{math.fsum(found) / len(found):.1f} ({min(found):.1f} to {max(found):.1f})"


def _ratio(cases: Cases) -> Finding:
    point = Point("sfq")
    tcp, ccp = samples(cases, point, "drop_tcp"), samples(cases, point, "drop_ccp")
    share = 1 - mean(cases, point, "tcp_share") / 100
    again = RERUN["sfq"]
    none = sum(one == 0 for one in ccp)
    low = [f"{a / b:,.0f}" if b else "infinite" for a, b in zip(tcp, ccp, strict=True)]
    whole = f"{mean(cases, point, 'drop_tcp') / mean(cases, point, 'drop_ccp'):,.0f}" if any(ccp) else "infinite"
    rows = [
        ("slides", f"{SLIDE_15['sfq']['drop_tcp']:.2f}", f"{SLIDE_15['sfq']['drop_ccp']:.2f}", f"{SFQ_DROP_RATIO}"),
        (
            "ns-2 run again",
            f"{again['drop_tcp']:.2f}",
            f"{again['drop_ccp']:.2f}",
            f"{again['drop_tcp'] / again['drop_ccp']:.0f}",
        ),
        *(
            (f"here, run {number}", f"{a:.2f}", f"{b:.4f}", text)
            for number, (a, b, text) in enumerate(zip(tcp, ccp, low, strict=True), 1)
        ),
    ]
    return Finding(
        "SFQ's ratio of drops has almost nothing below the line",
        f"D_TCP / D_CCP of SFQ is {SFQ_DROP_RATIO}, the best of the score table.",
        f"It rests on a D_CCP of 0.01 %. The link carries {PACKETS:,} packets in a run, of which LEDBAT has {100 * share:.0f} % "
        f"here: 0.01 % is {1e-4 * share * PACKETS:.1f} packets. Of our {len(ccp)} runs {none} lose none of LEDBAT's at all; the "
        f"ratio of the means is {whole}. SFQ's first place by this criterion is safe, the number is not.",
        ("SFQ", "D_TCP (%)", "D_CCP (%)", "ratio"),
        tuple(rows),
    )
