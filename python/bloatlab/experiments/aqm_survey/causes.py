"""What causes the slides' numbers: runs in which one thing differs, here and in ns-2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bloatlab.experiments.aqm_survey import ns2
from bloatlab.experiments.aqm_survey.cases import (
    AT_ONCE,
    BUFS,
    EXACT,
    FAIR_QUEUES,
    LATER,
    PACKETS,
    TOGETHER,
    TWO_PAIRS,
    Point,
    along,
    mean,
    means,
    samples,
)
from bloatlab.experiments.aqm_survey.claims import quotient_text
from bloatlab.experiments.aqm_survey.measures import TITLES
from bloatlab.experiments.aqm_survey.published import RERUN, SFQ_DROP_RATIOS, SLIDE_15
from bloatlab.experiments.aqm_survey.setup import EQUAL, QUEUES
from bloatlab.experiments.claim import Cases
from bloatlab.experiments.finding import Finding

EARLIER = "ns-2 run again, earlier notes"
FAIRNESS = ("tcp_share", "fair", "fair_tcp", "fair_ccp")


def findings(cases: Cases) -> list[Finding]:
    """All four."""
    return [_buffers(cases), _two_causes(cases), _timeouts(cases), _ratio(cases)]


def _buffers(cases: Cases) -> Finding:
    rows = []
    for queue in QUEUES:
        rows.append((f"{QUEUES[queue]}, as published", *_lengths(cases, Point(queue)), *_lengths_in_ns2(Point(queue))))
        if queue in FAIR_QUEUES:
            equal = Point(queue, mode=EQUAL)
            rows.append((f"{QUEUES[queue]}, equal limits", *_lengths(cases, equal), *_lengths_in_ns2(equal)))
    own = {queue: mean(cases, Point(queue), "qlen") for queue in FAIR_QUEUES}
    equal_limits = {queue: mean(cases, Point(queue, mode=EQUAL), "qlen") for queue in FAIR_QUEUES}
    controlled = [mean(cases, Point(queue), "qlen") for queue in ("red", "choke", "codel")]
    again = {queue: ns2.metrics(Point(queue, mode=EQUAL))["qlen"] for queue in FAIR_QUEUES}
    return Finding(
        "For SFQ and DRR the buffer has no impact because it is not used",
        "AQM eliminates the impact of BUF: the queue stays short whatever the buffer.",
        f"True for RED, CHOKe and CoDel, which control the queue to {min(controlled):.1f} to {max(controlled):.1f} "
        "packets. SFQ and DRR do not control the queue: ns-2's SFQ holds 40 packets and its DRR 25,000 bytes, "
        f"whatever the limit. With DropTail's limit of 400 packets, SFQ queues {equal_limits['sfq']:.0f} packets "
        f"instead of {own['sfq']:.1f}, and DRR {equal_limits['drr']:.0f} instead of {own['drr']:.1f} (ns-2 2.35 with "
        f"such limits: {again['sfq']:.0f} and {again['drr']:.0f}). Then the queue grows with BUF as DropTail's does.",
        ("QLEN (packets)", *(f"BUF {packets}" for packets in BUFS), *(f"ns-2, BUF {packets}" for packets in BUFS)),
        tuple(rows),
        "CAP 4 Mbit/s, five of ten flows Reno, the others LEDBAT; means over the runs.",
    )


def _lengths(cases: Cases, point: Point) -> tuple[str, ...]:
    return tuple(f"{mean(cases, one, 'qlen'):.1f}" for one in along(point, "buf"))


def _lengths_in_ns2(point: Point) -> tuple[str, ...]:
    return tuple(f"{ns2.metrics(one)['qlen']:.1f}" for one in along(point, "buf"))


def _two_causes(cases: Cases) -> Finding:
    """DRR's fairness: a shared queue, and LEDBAT's base delay."""
    base, data, own_data = Point("drr"), Point("drr", ns2.DATA), Point(EXACT.queue, ns2.DATA)
    again = (
        ("ns-2 2.35, shared queue", base),
        ("ns-2 2.35, a queue for every flow", EXACT),
        ("ns-2 2.35, shared queue, LEDBAT without the SYN's delay", data),
        ("ns-2 2.35, a queue for every flow, LEDBAT without the SYN's delay", own_data),
        ("ns-2 2.35, two shared queues, LEDBAT without the SYN's delay", replace(TWO_PAIRS, ccp=ns2.DATA)),
    )
    here = (
        ("here, shared queue", base), ("here, a queue for every flow", EXACT), ("here, two shared queues", TWO_PAIRS),
    )  # fmt: skip
    rows = [
        ("slides", *(f"{SLIDE_15['drr'][name]:.1f}" for name in FAIRNESS)),
        (EARLIER, *(f"{RERUN['drr'][name]:.1f}" for name in FAIRNESS)),
        *((called, *(f"{ns2.metrics(point)[name]:.1f}" for name in FAIRNESS)) for called, point in again),
        *((called, *(_spread(cases, point, name) for name in FAIRNESS)) for called, point in here),
    ]
    both, exact, without, neither, _ = (ns2.metrics(point) for _, point in again)
    own = [mean(cases, point, "fair_ccp") for point in (base, EXACT)]
    first, second = ns2.row(base).shared.split("+")
    return Finding(
        "DRR is less fair than SFQ for two reasons: two flows share a queue, and in ns-2 LEDBAT measures its base "
        "delay with the SYN",
        "DRR's fairness within the classes is the lowest of all AQMs.",
        f"ns-2's DRR hashes the number of the source's node to ten queues, and prints that the flows of nodes {first} "
        f"and {second}, a Reno and a LEDBAT flow, share one. The first packet of a flow in ns-2 is a SYN of 40 bytes, "
        "which gets through DRR before the packets of the others, so that LEDBAT's base delay is too short. In ns-2 "
        f"2.35 F_CCP is {neither['fair_ccp']:.1f} % without both causes, {without['fair_ccp']:.1f} with the shared "
        f"queue alone, {exact['fair_ccp']:.1f} with the SYN's delay alone, and {both['fair_ccp']:.1f} with both. Here "
        f"handshakes are not samples, so only the shared queue counts: F_CCP is {own[0]:.1f} % with it and "
        f"{own[1]:.1f} without. FAIR falls with the SYN's delay (from {neither['fair']:.1f} to {exact['fair']:.1f} %) "
        f"more than with the shared queue (to {without['fair']:.1f} %). Two shared queues are nearest to the slides. ns-2 has "
        "them if senders and receivers are numbered in turn.",
        ("DRR", *(f"{TITLES[name]} (%)" for name in FAIRNESS)),
        tuple(rows),
        "Ours: mean (lowest to highest of the runs).",
    )


def _spread(cases: Cases, point: Point, name: str) -> str:
    found = samples(cases, point, name)
    return f"{math.fsum(found) / len(found):.1f} ({min(found):.1f} to {max(found):.1f})"


def _timeouts(cases: Cases) -> Finding:
    """DropTail with other starts, and with rules of Linux in ns-2."""
    names = ("qlen", "fair", "fair_tcp", "fair_ccp", "drop", "drop_tcp", "drop_ccp")
    starts = (
        ("LEDBAT joins at 5 s, each start within 0.1 s", Point("fifo")),
        ("LEDBAT joins at 5 s", TOGETHER),
        ("LEDBAT joins at 10 s", LATER),
        ("all flows start at 0 s", AT_ONCE),
    )
    changes = ((ns2.LINUX_TIMEOUT, "Linux's timeout"), (ns2.LINUX_RECOVERY, "Linux's timeout, recovery at ssthresh"))
    rows = [("slides", *(f"{SLIDE_15['fifo'][name]:.2f}" for name in names))]
    for called, point in starts:
        rows.append((f"ns-2 2.35: {called}", *_numbers(names, ns2.metrics(point))))
        if point == starts[0][1]:
            rows += [
                (f"ns-2 2.35 with {change}: {called}", *_numbers(names, ns2.metrics(point, tcp)))
                for tcp, change in changes
            ]
        rows.append((f"here: {called}", *_numbers(names, means(cases, point))))
    base, once, slide = Point("fifo"), ns2.metrics(AT_ONCE), SLIDE_15["fifo"]
    here, there = means(cases, base), ns2.metrics(base)
    timeout, recovery = (ns2.metrics(base, tcp) for tcp, _ in changes)
    return Finding(
        "With DropTail, ns-2 2.35 and bloatlab differ by the timeout and by the window during recovery",
        "The slides do not state when flows start.",
        "At the base point with DropTail, ns-2 2.35 drops less than the slides and than bloatlab, and its Reno flows "
        f"share less evenly: F_TCP is {there['fair_tcp']:.0f} % there and {here['fair_tcp']:.0f} here. The queue grows "
        "faster than ns-2's retransmission timeout, which is the smoothed RTT plus four deviations. So some flows retransmit "
        "without a loss. Linux's timeout is longer; with it "
        f"ns-2 has F_TCP {timeout['fair_tcp']:.0f} % and DROP {timeout['drop']:.2f} (here {here['drop']:.2f}). D_CCP "
        "depends on whether the queue is full when LEDBAT joins. ns-2 lets the window fall to half of ssthresh during "
        f"recovery, so that the queue is not full at 5 s; with ssthresh itself, D_CCP is {recovery['drop_ccp']:.1f} % there "
        f"(here {here['drop_ccp']:.1f}). If all flows start at 0 s, ns-2 2.35 is near the slides: F_TCP "
        f"{once['fair_tcp']:.1f} % (slides {slide['fair_tcp']:.1f}), DROP {once['drop']:.2f} ({slide['drop']:.2f}), "
        f"D_CCP {once['drop_ccp']:.2f} ({slide['drop_ccp']:.2f}).",
        ("DropTail", *(TITLES[name] for name in names)),
        tuple(rows),
        "In percent, QLEN in packets. Without random starts all runs of ns-2 are alike.",
    )


def _numbers(names: Sequence[str], values: Mapping[str, float]) -> list[str]:
    return [f"{values[name]:.2f}" for name in names]


def _ratio(cases: Cases) -> Finding:
    point = Point("sfq")
    ccp = samples(cases, point, "drop_ccp")
    found, there, earlier = means(cases, point), ns2.row(point), RERUN["sfq"]
    share = 1 - found["tcp_share"] / 100
    none = sum(one == 0 for one in ccp)
    slide = (SLIDE_15["sfq"]["drop_tcp"], SLIDE_15["sfq"]["drop_ccp"], f"{SFQ_DROP_RATIOS['ledbat']:g}")
    rows = [
        ("slides", *slide),
        (EARLIER, earlier["drop_tcp"], earlier["drop_ccp"], quotient_text(earlier)),
        (f"ns-2 2.35, {there.runs} runs", there.means["drop_tcp"], there.means["drop_ccp"], quotient_text(there.means)),
        (f"here, {len(ccp)} runs", found["drop_tcp"], found["drop_ccp"], quotient_text(found)),
    ]
    return Finding(
        "SFQ's ratio of drops is a division by almost 0",
        f"D_TCP / D_CCP of SFQ is {SFQ_DROP_RATIOS['ledbat']:g}, the best of the score table.",
        f"The ratio follows from a D_CCP of {slide[1]:.2f} %. The link carries {PACKETS:,} packets in a run, and "
        f"{100 * share:.0f} % of them belong to LEDBAT here, so {slide[1]:.2f} % is "
        f"{slide[1] / 100 * share * PACKETS:.1f} packets. Of our {len(ccp)} runs {none} lose no packet of LEDBAT; the "
        f"ratio of the means is {quotient_text(found)}. SFQ is first by this criterion, but the value of the ratio is "
        "not reliable.",
        ("SFQ", "D_TCP (%)", "D_CCP (%)", "ratio"),
        tuple((called, f"{tcp:.2f}", f"{low:.4f}", ratio) for called, tcp, low, ratio in rows),
    )
