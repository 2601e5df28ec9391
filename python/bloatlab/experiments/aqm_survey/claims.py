"""Claims from the slides: slide 15, the trends and the score table; and values of the same runs in ns-2."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from bloatlab.experiments.aqm_survey.cases import AXES, Point, along, mean, means
from bloatlab.experiments.aqm_survey.measures import MEASURES, TITLES
from bloatlab.experiments.aqm_survey.published import RANKS, RERUN, SLIDE_15
from bloatlab.experiments.aqm_survey.scores import CRITERIA, Score, scores
from bloatlab.experiments.aqm_survey.setup import CCPS, QUEUES
from bloatlab.experiments.claim import Cases, Claim

S15, AGAIN = "slide 15", "ns-2 run again"
TRENDS, SCORES = "slides 7 to 14 and 16 to 19", "score table"
AQMS = tuple(queue for queue in QUEUES if queue != "fifo")
CRITICAL: Mapping[int, float] = {4: 1.0, 8: 0.643, 10: 0.564}
"""Spearman's coefficient that chance exceeds with a probability of 5 %, one-sided, by number of points."""
TOLERANCES: Mapping[str, Mapping[str, tuple[float | None, float | None]]] = {
    # Measure: queue: absolute, relative.
    "leff": dict.fromkeys(QUEUES, (1.5, None)),
    "qlen": dict.fromkeys(("red", "sfq", "drr", "codel"), (None, 0.1)),
    "tcp_share": {"red": (6, None), "choke": (6, None), "codel": (6, None), "sfq": (10, None), "drr": (10, None)},
    "drop": dict.fromkeys(QUEUES, (1.5, None)),
}
SAME = "same priority"
REASONS: Mapping[tuple[str, str], str] = {
    ("codel", SAME): "64.1 %; slide 15 itself has 63.5 %",
    (
        "fifo",
        "lp",
    ): "both leave nearly everything to Reno; TCP-LP of ns-2 has 97 % at this point, LEDBAT on slide 15 98 %",
    ("", "TCP%"): (
        "SFQ and DRR are 1.3 points below CHOKe here, and 0.7 and 1.5 above it on slide 15, and queues less than a point apart "
        "share a rank; in the re-run the order is SFQ 63.3, DRR 62.7, CoDel 59.3, RED 56.1 %"
    ),
    ("", "F_TCP + F_CCP"): (
        "SFQ is first with 200.0 %, but RED, CHOKe and CoDel are less than half a point lower and share its rank (199.5 to "
        "199.6; on slide 15 they have 198.8 to 199.1)"
    ),
}
"""Reasons why claims do not hold, by queue and measure or criterion; found in runs."""
UNITS: Mapping[str, str] = {name: "points" if unit == "%" else unit for name, unit in MEASURES.items()}
"""Unit of claims in percentage points; 1.5 % would mean a share of the value."""
Reading = Callable[[Cases], float | None]


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


def at(point: Point, name: str) -> Reading:
    """A metric's mean over the runs of a point."""
    return lambda cases: mean(cases, point, name)


def trend(point: Point, axis: str, name: str) -> Reading:
    """The rank correlation of a metric with an axis through a point."""
    points = along(point, axis)
    return lambda cases: spearman(range(len(points)), [mean(cases, one, name) for one in points])


def above(points: Sequence[Point], others: Sequence[Point], name: str) -> Reading:
    """Difference between the means of a metric over two sets of points."""

    def read(cases: Cases) -> float:
        pairs = zip(points, others, strict=True)
        return math.fsum(mean(cases, one, name) - mean(cases, other, name) for one, other in pairs) / len(points)

    return read


def ratio(point: Point, other: Point, name: str) -> Reading:
    """Ratio of the means of a metric at two points."""
    return lambda cases: mean(cases, point, name) / mean(cases, other, name)


def place_of(queue: str, criterion: int) -> Reading:
    """Rank of a queue by a criterion of the score."""
    return lambda cases: float(scored(cases)[queue].ranks[criterion])


def total_of(queue: str) -> Reading:
    """A queue's score."""
    return lambda cases: float(scored(cases)[queue].total)


def scored(cases: Cases, ccp: str = "ledbat") -> dict[str, Score]:
    """The score table of our runs."""
    return scores({queue: means(cases, Point(queue, ccp)) for queue in AQMS})


def _slide_15() -> list[Claim]:
    found = []
    for name in MEASURES:
        for queue, (absolute, relative) in TOLERANCES.get(name, {}).items():
            value = SLIDE_15[queue][name]
            unit = UNITS[name]
            read = at(Point(queue), name)
            found.append(
                Claim(
                    f"{QUEUES[queue]}: {TITLES[name]}",
                    value,
                    read,
                    unit,
                    S15,
                    "stated",
                    absolute,
                    relative,
                    note=_why(queue, name),
                )
            )
    fifo = Claim(
        "DropTail: QLEN, 260 to 330", 295, at(Point("fifo"), "qlen"), "packets", f"{S15}: 305.16", "stated", absolute=35
    )
    return [fifo, *found]


def _why(queue: str, name: str) -> str:
    return REASONS.get((queue, name), "")


def _trends() -> list[Claim]:
    found = []
    for ccp, called in CCPS.items():
        found.append(
            Claim(
                f"{called}, DropTail: QLEN grows with BUF (Spearman)", CRITICAL[len(AXES["buf"])],
                trend(Point("fifo", ccp), "buf", "qlen"), "", TRENDS, "stated", bound="at least",
            )
        )  # fmt: skip
        found += [
            Claim(
                f"{called}, {QUEUES[queue]}: DROP falls with CAP (Spearman)", -CRITICAL[len(AXES["cap"])],
                trend(Point(queue, ccp), "cap", "drop"), "", TRENDS, "stated", bound="at most",
            )
            for queue in QUEUES
        ]  # fmt: skip
    found += [
        Claim(
            f"{QUEUES[queue]}: QLEN with BUF 400 over that with BUF 100", 1,
            ratio(Point(queue), Point(queue, buf=100), "qlen"),
            "", f"{TRENDS}: AQM eliminates the impact of BUF", "stated", relative=0.1,
        )
        for queue in AQMS
    ]  # fmt: skip
    same = f"{TRENDS}: AQM puts Reno and LEDBAT into the same priority"
    found.append(
        Claim("DropTail: TCP%, about 98", 98, at(Point("fifo"), "tcp_share"), "points", same, "stated", absolute=1)
    )
    found += [
        Claim(
            f"{QUEUES[queue]}: TCP%, 52 to 64", 58, at(Point(queue), "tcp_share"), "points", same, "stated", absolute=6,
            note=_why(queue, SAME),
        )
        for queue in AQMS
    ]  # fmt: skip
    codel, choke = Point("codel"), Point("choke")
    lines = {"at the base point": ([codel], [choke])} | {
        f"mean over {axis.upper()}": (along(codel, axis), along(choke, axis)) for axis in AXES
    }
    found += [
        Claim(
            f"TCP% of CoDel above CHOKe's, {where}",
            0,
            above(*points, "tcp_share"),
            "points",
            TRENDS,
            "stated",
            bound="at least",
        )
        for where, points in lines.items()
    ]
    found += [
        Claim(
            f"SFQ: {TITLES[name]} within a class", 99, at(Point("sfq"), name), "points", TRENDS, "stated", bound="at least",
        )
        for name in ("fair_tcp", "fair_ccp")
    ]  # fmt: skip
    found += [
        Claim(
            f"{QUEUES[queue]}: TCP% with TCP-LP above that with LEDBAT", 0,
            above([Point(queue, "lp")], [Point(queue)], "tcp_share"), "points", TRENDS, "stated", bound="at least",
            note=_why(queue, "lp"),
        )
        for queue in QUEUES
    ]  # fmt: skip
    return found


def _places() -> list[Claim]:
    return [
        Claim(
            f"{QUEUES[queue]}: rank by {criterion}", RANKS[queue][place],
            place_of(queue, place), "", SCORES, "stated", absolute=0,
            note=_why("", criterion),
        )
        for place, criterion in enumerate(CRITERIA) for queue in AQMS
    ]  # fmt: skip


def _compared() -> list[Claim]:
    judged = {(queue, name) for name, queues in TOLERANCES.items() for queue in queues} | {("fifo", "qlen")}
    rest = [
        Claim(f"{QUEUES[queue]}: {TITLES[name]}", value, at(Point(queue), name), UNITS[name], S15, "stated")
        for queue, row in SLIDE_15.items() for name, value in row.items() if (queue, name) not in judged
    ]  # fmt: skip
    total = [
        Claim(
            f"{QUEUES[queue]}: score", sum(ranks), total_of(queue), "", SCORES, "stated",
        )
        for queue, ranks in RANKS.items()
    ]  # fmt: skip
    again = [
        Claim(f"{QUEUES[queue]}: {TITLES[name]} ({AGAIN})", value, at(Point(queue), name), UNITS[name], AGAIN, "re-run")
        for queue, row in RERUN.items() for name, value in row.items()
    ]  # fmt: skip
    return [*total, *rest, *again]


CLAIMS: tuple[Claim, ...] = (*_slide_15(), *_trends(), *_places())
COMPARISON: tuple[Claim, ...] = tuple(_compared())
