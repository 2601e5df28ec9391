"""The trends that the slides state, slide by slide: how each is judged, in our runs and in those of ns-2."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bloatlab.experiments.aqm_survey.cases import AXES, Point, along
from bloatlab.experiments.aqm_survey.measures import TITLES
from bloatlab.experiments.aqm_survey.setup import CCPS, QUEUES, RENO, mbps

Metrics = Callable[[Point], Mapping[str, float]]
"""The means of all metrics over the runs of a point, of ours or of ns-2.

Raises:
    KeyError: There are no runs of the point.
"""
Reading = Callable[[Metrics], float]
AQMS = tuple(queue for queue in QUEUES if queue != "fifo")
CRITICAL: Mapping[int, float] = {4: 1.0, 8: 0.643, 10: 0.564}
"""Spearman's coefficient that chance exceeds with a probability of 5 %, one-sided, by number of points."""
LAST_DIGIT = 0.01
"""Of percentages on the slides: the smallest difference that is one."""


@dataclass(frozen=True)
class Trend:
    """A sentence of a slide, and the number that decides whether it holds."""

    slides: str
    says: str
    read: Reading
    limit: float
    bound: Literal["at least", "at most"]
    unit: str = ""

    def holds(self, value: float) -> bool:
        """Whether a value has the stated sign or order."""
        return value >= self.limit if self.bound == "at least" else value <= self.limit

    def has_sign(self, value: float) -> bool:
        """Whether a value has the stated sign, however small it is."""
        return value > 0 if self.bound == "at least" else value < 0


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Spearman's rank correlation; equal values share the mean of their ranks; 0 for constant values."""
    x, y = _ranks(xs), _ranks(ys)
    centre = (len(x) + 1) / 2
    products = [
        math.fsum((a - centre) * (b - centre) for a, b in zip(*pair, strict=True)) for pair in ((x, y), (x, x), (y, y))
    ]
    spread = math.sqrt(products[1] * products[2])
    return products[0] / spread if spread else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [order.index(value) + (order.count(value) + 1) / 2 for value in values]


def over(point: Point, axis: str, name: str) -> Reading:
    """The rank correlation of a metric with an axis through a point."""
    points = along(point, axis)
    return lambda metrics: spearman(range(len(points)), [metrics(one)[name] for one in points])


def opposite(one: Reading, other: Reading) -> Reading:
    """The weaker of two correlations; negative if they have opposite signs."""

    def read(metrics: Metrics) -> float:
        a, b = one(metrics), other(metrics)
        return math.copysign(min(abs(a), abs(b)), a * b)

    return read


def above(points: Sequence[Point], others: Sequence[Point], name: str) -> Reading:
    """Difference between the means of a metric over two sets of points."""

    def read(metrics: Metrics) -> float:
        pairs = zip(points, others, strict=True)
        return math.fsum(metrics(one)[name] - metrics(other)[name] for one, other in pairs) / len(points)

    return read


def beyond(point: Point, others: Sequence[Point], name: str, pick: Callable[[Sequence[float]], float]) -> Reading:
    """Difference between a metric at a point and the smallest or largest at the others."""
    return lambda metrics: metrics(point)[name] - pick([metrics(one)[name] for one in others])


def difference(one: Reading, other: Reading) -> Reading:
    """Difference between two numbers."""
    return lambda metrics: one(metrics) - other(metrics)


def drops_of_ccp(point: Point) -> Reading:
    """D_CCP / D_TCP, which is finite even if the low-priority flows lose nothing."""
    return lambda metrics: metrics(point)["drop_ccp"] / metrics(point)["drop_tcp"]


def correlated(slides: str, says: str, read: Reading, points: int, sign: Literal[1, -1]) -> Trend:
    """A correlation with a sign that chance does not explain."""
    bound: Literal["at least", "at most"] = "at least" if sign > 0 else "at most"
    return Trend(slides, f"{says} (Spearman)", read, sign * CRITICAL[points], bound)


def ordered(slides: str, says: str, read: Reading, sign: Literal[1, -1]) -> Trend:
    """A difference in percentage points with a sign, in the slides' last digit at least."""
    return Trend(slides, says, read, sign * LAST_DIGIT, "at least" if sign > 0 else "at most", "points")


def trends() -> Iterator[Trend]:
    """All of them."""
    yield from _droptail("7", "ledbat")
    yield from _droptail("8", RENO)
    yield from _capacity()
    yield from _base()
    yield from _low_priority()
    yield from _workload()


def _droptail(slide: str, ccp: str) -> Iterator[Trend]:
    """QLEN over BUF with a fixed CAP, and DROP over CAP with a line per BUF."""
    called = "all Reno" if ccp == RENO else CCPS[ccp]
    point = Point("fifo", ccp)
    for cap in along(point, "cap"):
        says = f"DropTail, {called}, {mbps(cap.cap):g} Mbit/s: QLEN grows with BUF"
        yield correlated(slide, says, over(cap, "buf", "qlen"), 4, 1)
    for buf in along(point, "buf"):
        says = f"DropTail, {called}, BUF {buf.buf}: DROP falls with CAP"
        yield correlated(slide, says, over(buf, "cap", "drop"), 8, -1)


def _capacity() -> Iterator[Trend]:
    for ccp, called in CCPS.items():
        yield correlated(
            "9", f"DropTail, {called}: FAIR falls with CAP", over(Point("fifo", ccp), "cap", "fair"), 8, -1
        )
    codel = over(Point("codel"), "cap", "qlen")
    for queue in ("red", "choke", "drr", "sfq"):
        says = f"CoDel: QLEN changes with CAP in the opposite direction of {QUEUES[queue]}'s"
        yield correlated("10", says, opposite(codel, over(Point(queue), "cap", "qlen")), 8, -1)
    for ccp, called in CCPS.items():
        if ccp != "ledbat":
            says = f"DropTail, {called}: QLEN grows with BUF"
            yield correlated("7 to 14", says, over(Point("fifo", ccp), "buf", "qlen"), 4, 1)
        for queue, name in QUEUES.items():
            if (queue, ccp) != ("fifo", "ledbat"):
                says = f"{name}, {called}: DROP falls with CAP"
                yield correlated("7 to 14", says, over(Point(queue, ccp), "cap", "drop"), 8, -1)


def _base() -> Iterator[Trend]:
    codel, choke = Point("codel"), Point("choke")
    lines = {"at the base point": ([codel], [choke])} | {
        f"mean over {axis.upper()}": (along(codel, axis), along(choke, axis)) for axis in AXES
    }
    for where, pair in lines.items():
        yield ordered("7 to 14", f"TCP% of CoDel above CHOKe's, {where}", above(*pair, "tcp_share"), 1)
    drr, others = Point("drr"), [Point(queue) for queue in AQMS if queue != "drr"]
    for name in ("fair", "fair_tcp", "fair_ccp"):
        says = f"DRR: {TITLES[name]} below that of every other AQM"
        yield ordered("13", says, beyond(drr, others, name, min), -1)
    yield ordered("20", "DRR: F_TCP above that of every other AQM", beyond(drr, others, "fair_tcp", max), 1)


def _low_priority() -> Iterator[Trend]:
    signs: Mapping[str, Literal[1, -1]] = {"tcp_share": 1, "leff": -1, "fair_ccp": -1}
    for name, sign in signs.items():
        for queue, called in QUEUES.items():
            says = f"{called}: {TITLES[name]} with TCP-LP {'above' if sign > 0 else 'below'} that with LEDBAT"
            yield ordered("16", says, above([Point(queue, "lp")], [Point(queue)], name), sign)
    for larger, smaller in (("ledbat", "nice"), ("nice", "lp")):
        says = f"SFQ: D_CCP / D_TCP with {CCPS[larger]} below that with {CCPS[smaller]}"
        read = difference(*(drops_of_ccp(Point("sfq", ccp)) for ccp in (larger, smaller)))
        yield Trend("17", says, read, 0, "at most")


def _workload() -> Iterator[Trend]:
    for queue, called in QUEUES.items():
        yield correlated("18", f"{called}: LEFF rises with WLD", over(Point(queue), "wld", "leff"), 10, 1)
    for queue, called in QUEUES.items():
        share, fair = (over(Point(queue), "wld", name) for name in ("tcp_share", "fair"))
        says = f"{called}: TCP% and FAIR change with WLD in opposite directions"
        yield correlated("19", says, opposite(share, fair), 10, -1)
