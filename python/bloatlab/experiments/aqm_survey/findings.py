"""What the verdicts rest on, and the trends and the score table beside our runs of ns-2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

from bloatlab.experiments.aqm_survey import causes, margins, ns2
from bloatlab.experiments.aqm_survey.cases import Point, means
from bloatlab.experiments.aqm_survey.claims import CLAIMS, FITTED, quotient_text, scored
from bloatlab.experiments.aqm_survey.published import RANKS, SFQ_DROP_RATIOS, SLIDE_15, drop_of_rest
from bloatlab.experiments.aqm_survey.scores import Score, scores
from bloatlab.experiments.aqm_survey.setup import CCPS, QUEUES
from bloatlab.experiments.aqm_survey.trends import AQMS, Trend, trends
from bloatlab.experiments.claim import Cases, Kind, judge
from bloatlab.experiments.finding import Finding


def findings(cases: Cases) -> list[Finding]:
    """All of them, the verdicts first."""
    return [counts(cases), other_trends(cases), score_table(cases), drop_ratios(cases), *causes.findings(cases)]


def counts(cases: Cases) -> Finding:
    """The claims by what they rest on, with those whose inputs were fitted apart."""
    verdicts = [judge(claim, cases) for claim in CLAIMS]
    others: tuple[Kind, ...] = ("re-run", "check")
    groups: list[tuple[str, Kind, bool]] = [
        ("stated, nothing fitted to it", "stated", False),
        ("stated, the set-up or the rule for ranks fitted to it", "stated", True),
        *((kind, kind, False) for kind in others),
    ]
    rows = []
    for called, kind, fitted in groups:
        own = [
            verdict for verdict in verdicts if verdict.claim.kind == kind and (verdict.claim.name in FITTED) == fitted
        ]
        if own:
            rows.append((called, str(len(own)), str(sum(verdict.holds is True for verdict in own))))
    apart = {called: (held, number) for called, number, held in rows}
    free, bound = (apart[called] for called, kind, _ in groups if kind == "stated")
    return Finding(
        "Claims that nothing was fitted to are counted apart",
        "The slides have a table of values, trends and a score table.",
        f"{free[0]} of {free[1]} stated claims hold that nothing was fitted to, and {bound[0]} of {bound[1]} to which "
        "the set-up or the rule for ranks was fitted: the values of slide 15, and the score table.",
        ("claims", "number", "hold"),
        tuple(rows),
        "A check is true by construction: the LEFF of queues that only drop when they are full, and the QLEN of SFQ "
        "and DRR over BUF, which they do not use.",
    )


def other_trends(cases: Cases) -> Finding:
    """The trends that do not show in our runs or in those of ns-2, with both numbers."""
    here = cache(lambda point: means(cases, point))
    rows, missing, alone, signed = [], 0, 0, 0
    only_here: list[str] = []
    only_there: list[str] = []
    every = list(trends())
    for trend in every:
        own, again = trend.read(here), in_ns2(trend)
        holds, holds_again = trend.holds(own), None if again is None else trend.holds(again)
        if holds and holds_again is not False:
            continue
        missing += not holds
        signed += not holds and trend.has_sign(own)
        alone += again is None
        if holds and holds_again is False:
            only_here.append(trend.says)
        if holds_again and not holds:
            only_there.append(trend.says)
        rows.append(
            (trend.slides, trend.says, f"{trend.bound} {trend.limit:g}", number(trend, again), number(trend, own))
        )
    both = missing - len(only_there) - alone
    return Finding(
        "Trends that do not show here or in ns-2 2.35",
        "Slides 7 to 20 state a trend each.",
        f"{missing} of {len(every)} trends do not show in our runs. {both} of them do not show in our runs of ns-2 2.35 "
        f"either. {_listed(only_there, 'there but not here')}{_listed(only_here, 'here but not there')}{alone} are of "
        "TCP-NICE, which ns-2 2.35 does not have. LEDBAT, CoDel and CHOKe are plug-ins that we wrote for ns-2, so "
        "agreement "
        "does not exclude a mistake that both share.",
        ("slide", "trend", "needed", "ns-2 2.35", "here"),
        tuple(sorted(rows, key=lambda row: int(row[0].partition(" ")[0]))),
        "Spearman's coefficient over the axis, which must exceed what chance gives with 5 %; otherwise a difference "
        "at the base point, which must be at least the last digit of the slides (0.01 points). Our notes of the "
        f"slides ask only for the sign: {signed} of the trends that do not show have it. ns-2: 100 "
        "seeds at the base point, ten on the axes, five elsewhere.",
    )


def _listed(names: Sequence[str], where: str) -> str:
    """A sentence that names trends; empty without any."""
    return f"{len(names)} show{'s' * (len(names) == 1)} {where} ({'; '.join(names)}). " if names else ""


def in_ns2(trend: Trend) -> float | None:
    """The number that decides a trend, in our runs of ns-2; `None` if it lacks some of them."""
    try:
        return trend.read(ns2.metrics)
    except KeyError:
        return None


def number(trend: Trend, value: float | None) -> str:
    """A number and whether it has the stated sign or order."""
    return "not run" if value is None else f"{value:.3g}, {'holds' if trend.holds(value) else 'does not hold'}"


def score_table(cases: Cases) -> Finding:
    """Ranks, and the values behind them."""
    slides, again, here = slides_scores(), scores({queue: ns2.metrics(Point(queue)) for queue in AQMS}), scored(cases)
    rows = tuple((QUEUES[queue], *(score_text(of[queue]) for of in (slides, again, here))) for queue in AQMS)
    return Finding(
        "SFQ's first place depends on when two queues share a rank",
        "SFQ alone has the best score.",
        f"Best here: {_best(here)}. Best in ns-2 2.35: {_best(again)}. On ranks by fairness: {margins.told(cases)}.",
        ("queue", "slides", "ns-2 2.35", "here"),
        rows,
        "The score, and in brackets the rank by and the value of TCP%, F_TCP + F_CCP, and D_TCP / D_CCP; LEDBAT at "
        "the base point. The slides do not say when queues share a rank; our rule gives the published ranks from the "
        "published values.",
    )


def slides_scores() -> Mapping[str, Score]:
    """The score table of the slides; its ratio of SFQ has more digits than slide 15's values."""
    found = {}
    for queue, ranks in RANKS.items():
        of = SLIDE_15[queue]
        ratio = SFQ_DROP_RATIOS["ledbat"] if queue == "sfq" else of["drop_tcp"] / of["drop_ccp"]
        found[queue] = Score((of["tcp_share"], of["fair_tcp"] + of["fair_ccp"], ratio), ranks)
    return found


def score_text(score: Score) -> str:
    """The score, the ranks and the values."""
    share, fairness, ratio = score.values
    values = (f"{share:.1f}", f"{fairness:.1f}", "infinite" if math.isinf(ratio) else f"{ratio:.3g}")
    return f"{score.total} ({', '.join(f'{rank}: {value}' for rank, value in zip(score.ranks, values, strict=True))})"


def _best(found: Mapping[str, Score]) -> str:
    best = min(score.total for score in found.values())
    names = [QUEUES[queue] for queue, score in found.items() if score.total == best]
    return f"{' and '.join(names)} with {best}"


def drop_ratios(cases: Cases) -> Finding:
    """D_TCP / D_CCP for slides 14 and 17."""
    rows = []
    for queue, ccp in (("choke", "ledbat"), ("drr", "ledbat"), ("sfq", "ledbat"), ("sfq", "lp"), ("sfq", "nice")):
        point = Point(queue, ccp)
        slide = SFQ_DROP_RATIOS[ccp] if queue == "sfq" else SLIDE_15[queue]["drop_tcp"] / SLIDE_15[queue]["drop_ccp"]
        there = "not run" if ccp == "nice" else _with_parts(ns2.metrics(point))
        parts = f" ({SLIDE_15[queue]['drop_tcp']:.2f} / {SLIDE_15[queue]['drop_ccp']:.2f})" if ccp == "ledbat" else ""
        rows.append((QUEUES[queue], CCPS[ccp], f"{slide:.3g}{parts}", there, _with_parts(means(cases, point))))
    drr = [SLIDE_15["drr"]["drop_ccp"], ns2.metrics(Point("drr"))["drop_ccp"], means(cases, Point("drr"))["drop_ccp"]]
    return Finding(
        "CHOKe and DRR do not drop alike, here or in ns-2 2.35",
        "CHOKe and DRR are alike (slide 14). D_TCP / D_CCP of SFQ is 424 with LEDBAT, 1.29 with TCP-LP and 85.52 with "
        "TCP-NICE (slide 17).",
        f"The difference is DRR's D_CCP: {drr[0]:.2f} % on slide 15, {drr[1]:.2f} in ns-2 2.35 and {drr[2]:.2f} here. "
        f"With its DROP, TCP% and D_TCP, slide 15 gives a D_CCP of {drop_of_rest(SLIDE_15['drr']):.2f} %.",
        ("queue", "low priority", "slides", "ns-2 2.35", "here"),
        tuple(rows),
        "D_TCP / D_CCP, and in brackets the two in percent.",
    )


def _with_parts(metrics: Mapping[str, float]) -> str:
    return f"{quotient_text(metrics)} ({metrics['drop_tcp']:.2f} / {metrics['drop_ccp']:.2f})"
