"""Conclusions of the slides beside our runs, and beside those of ns-2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

from bloatlab.experiments.aqm_survey import ns2
from bloatlab.experiments.aqm_survey.cases import BUFS, EXACT, FAIR_QUEUES, Point, along, mean, means, samples
from bloatlab.experiments.aqm_survey.published import RERUN, SFQ_DROP_RATIOS, SLIDE_15
from bloatlab.experiments.aqm_survey.setup import EQUAL, QUEUES
from bloatlab.experiments.aqm_survey.trends import Trend, trends
from bloatlab.experiments.claim import Cases
from bloatlab.experiments.finding import Finding

PACKETS = 20_000
"""Packets of 1500 bytes that 4 Mbit/s carry in 60 s."""


def findings(cases: Cases) -> list[Finding]:
    """All four."""
    return [_other_trends(cases), _buffers(cases), _collisions(cases), _ratio(cases)]


def _other_trends(cases: Cases) -> Finding:
    """The trends that do not show in our runs or in those of ns-2, with both numbers."""
    here = cache(lambda point: means(cases, point))
    rows, agree, differ, alone = [], 0, [], 0
    for trend in trends():
        own, again = trend.read(here), _in_ns2(trend)
        verdicts = [trend.holds(own), None if again is None else trend.holds(again)]
        if False not in verdicts:
            continue
        if verdicts[0]:
            differ.append(trend.says)
        elif verdicts[1] is None:
            alone += 1
        else:
            agree += not verdicts[1]
        numbers = (_number(trend, again), _number(trend, own))
        rows.append((trend.slides, trend.says, f"{trend.bound} {trend.limit:g}", *numbers))
    missing = sum(not row[-1].endswith("holds") for row in rows)
    others = f" {alone} are of TCP-NICE, which ns-2 2.35 does not have." if alone else ""
    only = f" {len(differ)} trends hold here, but not in ns-2 2.35." if differ else ""
    return Finding(
        "Most trends that do not show here do not show in ns-2 2.35 either",
        "Slides 7 to 20 state a trend each.",
        f"{missing} trends do not show in our runs. {agree} of them do not show in our runs of ns-2 2.35 either, with the same "
        f"set-up, so our simulator is not the reason.{others}{only}",
        ("slide", "trend", "needed", "ns-2 2.35", "here"),
        tuple(sorted(rows, key=lambda row: int(row[0].partition(" ")[0]))),
        "Spearman's coefficient over the axis, which must exceed what chance gives with 5 %; otherwise a difference at the base "
        "point, which must be at least the last digit of the slides (0.01 points). ns-2: five seeds a point, ten at the base "
        "point; LEDBAT, CoDel and CHOKe are plug-ins that we wrote, since Debian's ns-2 lacks them.",
    )


def _in_ns2(trend: Trend) -> float | None:
    try:
        return trend.read(ns2.metrics)
    except KeyError:
        return None


def _number(trend: Trend, value: float | None) -> str:
    return "not run" if value is None else f"{value:.3g}, {'holds' if trend.holds(value) else 'does not hold'}"


def _buffers(cases: Cases) -> Finding:
    rows = []
    for queue in QUEUES:
        rows.append((f"{QUEUES[queue]}, as published", *_lengths(cases, Point(queue))))
        if queue in FAIR_QUEUES:
            rows.append((f"{QUEUES[queue]}, equal limits", *_lengths(cases, Point(queue, mode=EQUAL))))
    own = {queue: mean(cases, Point(queue), "qlen") for queue in FAIR_QUEUES}
    equal = {queue: mean(cases, Point(queue, mode=EQUAL), "qlen") for queue in FAIR_QUEUES}
    controlled = [mean(cases, Point(queue), "qlen") for queue in ("red", "choke", "codel")]
    again = {queue: ns2.metrics(Point(queue, mode=EQUAL))["qlen"] for queue in FAIR_QUEUES}
    return Finding(
        "For SFQ and DRR the buffer has no impact because it is not used",
        "AQM eliminates the impact of BUF: the queue stays short whatever the buffer.",
        f"True for RED, CHOKe and CoDel, which control the queue to {min(controlled):.1f} to {max(controlled):.1f} "
        "packets. SFQ and DRR do not control the queue: ns-2's SFQ holds 40 packets and its DRR 25,000 bytes, whatever "
        f"the limit. With DropTail's limit of 400 packets, SFQ queues {equal['sfq']:.0f} packets instead of "
        f"{own['sfq']:.1f}, and DRR {equal['drr']:.0f} instead of {own['drr']:.1f} (ns-2 2.35 with such limits: "
        f"{again['sfq']:.0f} and {again['drr']:.0f}). Then the queue grows with BUF as DropTail's does.",
        ("QLEN (packets)", *(f"BUF {packets}" for packets in BUFS)),
        tuple(rows),
        "CAP 4 Mbit/s, five of ten flows Reno, the others LEDBAT; means over the runs.",
    )


def _lengths(cases: Cases, point: Point) -> tuple[str, ...]:
    return tuple(f"{mean(cases, one, 'qlen'):.1f}" for one in along(point, "buf"))


def _collisions(cases: Cases) -> Finding:
    names = ("tcp_share", "fair", "fair_tcp", "fair_ccp")
    again = (
        ("ns-2 2.35, a Reno and a LEDBAT flow share one", Point("drr")),
        ("ns-2 2.35, the same, LEDBAT without the SYN's delay", Point("drr", ns2.DATA)),
        ("ns-2 2.35, a queue for every flow", EXACT),
    )
    here = (("here, a Reno and a LEDBAT flow share one", Point("drr")), ("here, a queue for every flow", EXACT))
    rows = [
        ("slides", *(f"{SLIDE_15['drr'][name]:.1f}" for name in names)),
        ("ns-2 run again, earlier notes", *(f"{RERUN['drr'][name]:.1f}" for name in names)),
        *((called, *(f"{ns2.metrics(point)[name]:.1f}" for name in names)) for called, point in again),
        *((called, *(_spread(cases, point, name) for name in names)) for called, point in here),
    ]
    shared, exact = ([mean(cases, point, name) for name in names[2:]] for point in (Point("drr"), EXACT))
    return Finding(
        "DRR is less fair than SFQ because two flows share a queue",
        "DRR's fairness within the classes is the lowest of all AQMs.",
        "ns-2's DRR hashes the number of the source's node to ten buckets. Ten consecutive nodes have different "
        "buckets, except where the number passes a multiple of 16: 15 and 16 share one, and 31 and 32 (ns-2 2.35, ten "
        f"streams through one DRR). A Reno and a LEDBAT flow in one queue give F_TCP {shared[0]:.1f} and F_CCP "
        f"{shared[1]:.1f} %. With a queue for every flow, and all else equal, these are {exact[0]:.1f} and "
        f"{exact[1]:.1f} %. SFQ hashes both addresses, so it may join other flows. In ns-2 2.35 LEDBAT "
        "takes its base delay from the SYN, which gets through DRR before the packets of the others, so it yields more there.",
        ("DRR", "TCP% (%)", "FAIR (%)", "F_TCP (%)", "F_CCP (%)"),
        tuple(rows),
        "Ours: mean (lowest to highest of the runs).",
    )


def _quotient(metrics: Mapping[str, float]) -> str:
    return f"{metrics['drop_tcp'] / metrics['drop_ccp']:,.0f}" if metrics["drop_ccp"] else "infinite"


def _spread(cases: Cases, point: Point, name: str) -> str:
    found = samples(cases, point, name)
    return f"{math.fsum(found) / len(found):.1f} ({min(found):.1f} to {max(found):.1f})"


def _ratio(cases: Cases) -> Finding:
    point = Point("sfq")
    tcp, ccp = samples(cases, point, "drop_tcp"), samples(cases, point, "drop_ccp")
    share = 1 - mean(cases, point, "tcp_share") / 100
    again, earlier = ns2.metrics(point), RERUN["sfq"]
    none = sum(one == 0 for one in ccp)
    low = [f"{a / b:,.0f}" if b else "infinite" for a, b in zip(tcp, ccp, strict=True)]
    whole = f"{mean(cases, point, 'drop_tcp') / mean(cases, point, 'drop_ccp'):,.0f}" if any(ccp) else "infinite"
    rows = [
        (
            "slides",
            f"{SLIDE_15['sfq']['drop_tcp']:.2f}",
            f"{SLIDE_15['sfq']['drop_ccp']:.2f}",
            f"{SFQ_DROP_RATIOS['ledbat']}",
        ),
        (
            "ns-2 run again, earlier notes",
            f"{earlier['drop_tcp']:.2f}",
            f"{earlier['drop_ccp']:.2f}",
            f"{earlier['drop_tcp'] / earlier['drop_ccp']:.0f}",
        ),
        ("ns-2 2.35, ten runs", f"{again['drop_tcp']:.2f}", f"{again['drop_ccp']:.4f}", _quotient(again)),
        *(
            (f"here, run {number}", f"{a:.2f}", f"{b:.4f}", text)
            for number, (a, b, text) in enumerate(zip(tcp, ccp, low, strict=True), 1)
        ),
    ]
    return Finding(
        "SFQ's ratio of drops is a division by almost 0",
        f"D_TCP / D_CCP of SFQ is {SFQ_DROP_RATIOS['ledbat']}, the best of the score table.",
        f"The ratio follows from a D_CCP of 0.01 %. The link carries {PACKETS:,} packets in a run, and "
        f"{100 * share:.0f} % of them belong to LEDBAT here, so 0.01 % is {1e-4 * share * PACKETS:.1f} packets. Of our "
        f"{len(ccp)} runs {none} lose no packet of LEDBAT; the ratio of the means is {whole}. SFQ is first by this "
        "criterion, but the value of the ratio is not reliable.",
        ("SFQ", "D_TCP (%)", "D_CCP (%)", "ratio"),
        tuple(rows),
    )
