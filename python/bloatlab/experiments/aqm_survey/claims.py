"""Claims from the slides: slide 15, the trends and the score table; and values of the same runs in ns-2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from bloatlab.experiments.aqm_survey import ns2, trends
from bloatlab.experiments.aqm_survey.cases import FAIR_QUEUES, REPLICATIONS, Point, mean, means
from bloatlab.experiments.aqm_survey.measures import MEASURES, TITLES
from bloatlab.experiments.aqm_survey.published import RANKS, RERUN, SFQ_DROP_RATIOS, SLIDE_15
from bloatlab.experiments.aqm_survey.scores import CRITERIA, Score, scores
from bloatlab.experiments.aqm_survey.setup import CCPS, QUEUES
from bloatlab.experiments.aqm_survey.trends import AQMS
from bloatlab.experiments.claim import Cases, Claim, Kind

S15, AGAIN = "slide 15", "ns-2 run again"
TRENDS, SCORES = "slides 7 to 14", "score table"
ALIKE = "DRR and CHOKe alike: D_TCP / D_CCP of DRR over that of CHOKe"
WINNER = "SFQ has the best score alone: its score less the best of the others'"
FULL = ("fifo", "drr", "sfq")
"""Queues that let nothing go unless they are full. They keep the link busy, so their LEFF of nearly 100 % is a check."""
TOLERANCES: Mapping[str, Mapping[str, tuple[float | None, float | None]]] = {
    # Measure: queue: absolute, relative.
    "leff": dict.fromkeys(QUEUES, (1.5, None)),
    "qlen": dict.fromkeys(("red", "sfq", "drr", "codel"), (None, 0.1)),
    "tcp_share": {"red": (6, None), "choke": (6, None), "codel": (6, None), "sfq": (10, None), "drr": (10, None)},
    "drop": dict.fromkeys(QUEUES, (1.5, None)),
}
IN_NS2: Mapping[str, tuple[float | None, float | None]] = {
    "leff": (1.5, None), "tcp_share": (6, None), "qlen": (None, 0.1), "fair": (5, None), "fair_tcp": (5, None),
    "fair_ccp": (5, None), "drop": (1.5, None), "drop_tcp": (1.5, None), "drop_ccp": (1.5, None),
}  # fmt: skip
"""Absolute and relative tolerances for our runs of ns-2: those of slide 15; ours for fairness and for drops of a class."""
UNITS: Mapping[str, str] = {name: "points" if unit == "%" else unit for name, unit in MEASURES.items()}
"""Unit of claims in percentage points; 1.5 % would mean a share of the value."""
Reading = Callable[[Cases], float | None]


def at(point: Point, name: str) -> Reading:
    """A metric's mean over the runs of a point."""
    return lambda cases: mean(cases, point, name)


def ours(read: trends.Reading) -> Reading:
    """A trend in our runs."""
    return lambda cases: read(cache(lambda point: means(cases, point)))


def drop_ratio(point: Point) -> Reading:
    """D_TCP / D_CCP; `None` if the low-priority flows lose nothing."""

    def read(cases: Cases) -> float | None:
        tcp, ccp = (mean(cases, point, name) for name in ("drop_tcp", "drop_ccp"))
        return tcp / ccp if ccp else None

    return read


def quotient_text(metrics: Mapping[str, float]) -> str:
    """D_TCP / D_CCP as text."""
    if not metrics["drop_ccp"]:
        return "infinite"
    ratio = metrics["drop_tcp"] / metrics["drop_ccp"]
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2f}"


def quotient(one: Reading, other: Reading) -> Reading:
    """A number over another; `None` without one of them."""

    def read(cases: Cases) -> float | None:
        a, b = one(cases), other(cases)
        return None if a is None or not b else a / b

    return read


def place_of(queue: str, criterion: int) -> Reading:
    """Rank of a queue by a criterion of the score."""
    return lambda cases: float(scored(cases)[queue].ranks[criterion])


def total_of(queue: str) -> Reading:
    """A queue's score."""
    return lambda cases: float(scored(cases)[queue].total)


def scored(cases: Cases, ccp: str = "ledbat", replications: range | None = None) -> dict[str, Score]:
    """The score table of our runs, or of some of them."""
    return scores({queue: means(cases, Point(queue, ccp), replications) for queue in AQMS})


def impact_of_buf(queue: str) -> Reading:
    """QLEN with BUF 400 over that with BUF 100, in runs with equal seeds."""
    seeds = range(REPLICATIONS)
    points = (Point(queue), Point(queue, buf=100))

    def read(cases: Cases) -> float:
        large, small = (means(cases, point, seeds)["qlen"] for point in points)
        return large / small

    return read


def lead_of(queue: str) -> Reading:
    """Difference between a queue's score and the best of the others'; negative if it wins alone."""

    def read(cases: Cases) -> float:
        found = {name: score.total for name, score in scored(cases).items()}
        return float(found.pop(queue) - min(found.values()))

    return read


def _table(rows: Mapping[str, Mapping[str, float]], kind: Kind, source: str, suffix: str = "") -> list[Claim]:
    """The measures of the base point that have a tolerance."""
    return [
        Claim(
            f"{QUEUES[queue]}: {TITLES[name]}{suffix}", rows[queue][name], at(Point(queue), name), UNITS[name], source,
            _kind(queue, name, kind), absolute, relative,
        )
        for name in MEASURES for queue, (absolute, relative) in TOLERANCES.get(name, {}).items() if queue in rows
    ]  # fmt: skip


def _kind(queue: str, name: str, kind: Kind) -> Kind:
    return "check" if name == "leff" and queue in FULL else kind


def _slide_15() -> list[Claim]:
    fifo = Claim(
        "DropTail: QLEN, 260 to 330", 295, at(Point("fifo"), "qlen"), "packets", f"{S15}: 305.16", "stated", absolute=35
    )
    return [fifo, *_table(SLIDE_15, "stated", S15)]


def _again() -> list[Claim]:
    found = _table(RERUN, "re-run", f"{AGAIN}, earlier notes", f" ({AGAIN}, earlier)")
    for point in (Point(queue, ccp) for ccp in ("ledbat", "lp") for queue in QUEUES):
        row = ns2.row(point)
        found += [
            Claim(
                again(point, name), row.means[name], at(point, name), UNITS[name], f"{AGAIN}, {row.runs} seeds",
                _kind(point.queue, name, "re-run"), absolute, relative,
            )
            for name, (absolute, relative) in IN_NS2.items()
        ]  # fmt: skip
    lp = ns2.metrics(Point("sfq", "lp"))
    ratio = Claim(
        RATIO_AGAIN, lp["drop_tcp"] / lp["drop_ccp"], drop_ratio(Point("sfq", "lp")), "", AGAIN, "re-run", relative=0.1
    )
    return [*found, ratio]


def again(point: Point, name: str) -> str:
    """The name of a claim about a value of ns-2."""
    ccp = "" if point.ccp == "ledbat" else f" with {CCPS[point.ccp]}"
    return f"{QUEUES[point.queue]}: {TITLES[name]}{ccp} ({AGAIN})"


RATIO_AGAIN = f"SFQ: D_TCP / D_CCP with TCP-LP ({AGAIN})"


def _trends() -> list[Claim]:
    found = [
        Claim(
            trend.says, trend.limit, ours(trend.read), trend.unit, f"slide{'s' * (' ' in trend.slides)} {trend.slides}", "stated",
            absolute=0, bound=trend.bound,
        )
        for trend in trends.trends()
    ]  # fmt: skip
    # As published, SFQ and DRR do not use BUF.
    kinds: Mapping[str, Kind] = dict.fromkeys(FAIR_QUEUES, "check")
    found += [
        Claim(
            f"{QUEUES[queue]}: QLEN with BUF 400 over that with BUF 100", 1,
            impact_of_buf(queue), "", f"{TRENDS}: AQM eliminates the impact of BUF",
            kinds.get(queue, "stated"), relative=0.1,
        )
        for queue in AQMS
    ]  # fmt: skip
    same = f"{TRENDS}: AQM puts Reno and LEDBAT into the same priority"
    found.append(
        Claim("DropTail: TCP%, about 98", 98, at(Point("fifo"), "tcp_share"), "points", same, "stated", absolute=1)
    )
    found += [
        Claim(
            f"{QUEUES[queue]}: TCP%, 52 to 64", 58, at(Point(queue), "tcp_share"), "points", same, "stated", absolute=6
        )
        for queue in AQMS
    ]
    found += [
        Claim(
            f"SFQ: {TITLES[name]} within a class",
            99,
            at(Point("sfq"), name),
            "points",
            TRENDS,
            "stated",
            bound="at least",
        )
        for name in ("fair_tcp", "fair_ccp")
    ]
    found.append(
        Claim(
            ALIKE, _ratio_15("drr") / _ratio_15("choke"), quotient(drop_ratio(Point("drr")), drop_ratio(Point("choke"))),
            "", "slide 14; the value from slide 15", "stated", relative=0.25,
        )
    )  # fmt: skip
    return found


def _ratio_15(queue: str) -> float:
    return SLIDE_15[queue]["drop_tcp"] / SLIDE_15[queue]["drop_ccp"]


def _ranked() -> list[Claim]:
    places = [
        Claim(
            f"{QUEUES[queue]}: rank by {criterion}", RANKS[queue][place], place_of(queue, place), "", SCORES, "stated",
            absolute=0,
        )
        for place, criterion in enumerate(CRITERIA) for queue in AQMS
    ]  # fmt: skip
    totals = [
        Claim(
            f"{QUEUES[queue]}: score", sum(ranks), total_of(queue), "", SCORES, "stated", absolute=0,
        )
        for queue, ranks in RANKS.items()
    ]  # fmt: skip
    winner = Claim(
        WINNER, -1, lead_of("sfq"), "", SCORES, "stated",
        absolute=0, bound="at most",
    )  # fmt: skip
    return [*places, *totals, winner]


def _ratios() -> list[Claim]:
    return [
        Claim(
            f"SFQ: D_TCP / D_CCP with {CCPS[ccp]}", value, drop_ratio(Point("sfq", ccp)), "", "slide 17", "stated", relative=0.1,
        )
        for ccp, value in SFQ_DROP_RATIOS.items()
    ]  # fmt: skip


def _compared() -> list[Claim]:
    judged = {(queue, name) for name, queues in TOLERANCES.items() for queue in queues} | {("fifo", "qlen")}
    return [
        Claim(f"{QUEUES[queue]}: {TITLES[name]}", value, at(Point(queue), name), UNITS[name], S15, "stated")
        for queue, row in SLIDE_15.items() for name, value in row.items() if (queue, name) not in judged
    ]  # fmt: skip


CLAIMS: tuple[Claim, ...] = (*_slide_15(), *_trends(), *_ranked(), *_ratios(), *_again())
COMPARISON: tuple[Claim, ...] = tuple(_compared())
FITTED: frozenset[str] = frozenset(claim.name for claim in (*_slide_15(), *_ranked()) if claim.kind != "check")
"""Claims whose values the set-up or the rule for ranks was fitted to."""
