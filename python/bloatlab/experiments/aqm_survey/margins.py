"""How far queues are apart in the rank by fairness, on which the winner of the score table depends."""

from __future__ import annotations

from dataclasses import dataclass

from bloatlab.experiments.aqm_survey.cases import AT_BASE, REPLICATIONS, Point, samples, standard_error
from bloatlab.experiments.aqm_survey.claims import scored
from bloatlab.experiments.aqm_survey.scores import FAIRNESS_APART
from bloatlab.experiments.aqm_survey.setup import QUEUES
from bloatlab.experiments.claim import Cases

SHARING = ("red", "choke", "codel")
"""Queues that share the second rank by fairness on the slides."""


@dataclass(frozen=True)
class Margin:
    """F_TCP + F_CCP of SFQ minus that of a queue, in points."""

    queue: str
    points: float
    error: float
    """Standard error."""


def margins(cases: Cases) -> list[Margin]:
    """The margins by which SFQ is ahead of RED, CHOKe and CoDel."""
    sfq, found = _sums(cases, "sfq"), []
    for queue in SHARING:
        apart = [one - other for one, other in zip(sfq, _sums(cases, queue), strict=True)]
        found.append(Margin(queue, sum(apart) / len(apart), standard_error(apart)))
    return found


def _sums(cases: Cases, queue: str) -> list[float]:
    parts = (samples(cases, Point(queue), name) for name in ("fair_tcp", "fair_ccp"))
    return [tcp + ccp for tcp, ccp in zip(*parts, strict=True)]


def winners(cases: Cases) -> list[frozenset[str]]:
    """The queues with the best score in each block of ten runs, the number of runs in the source."""
    found = []
    for first in range(0, AT_BASE, REPLICATIONS):
        totals = {
            queue: of.total for queue, of in scored(cases, replications=range(first, first + REPLICATIONS)).items()
        }
        found.append(frozenset(queue for queue, total in totals.items() if total == min(totals.values())))
    return found


def told(cases: Cases) -> str:
    """The margins, their standard errors, the rule for ranks, and the winners in blocks of ten runs."""
    apart = ", ".join(
        f"{one.points:.2f} ({QUEUES[one.queue]}, standard error {one.error:.2f})" for one in margins(cases)
    )
    blocks = winners(cases)
    alone, among = (sum(rule(block) for block in blocks) for rule in (_alone, _among))
    return (
        f"queues share a rank by fairness if less than {FAIRNESS_APART} points apart, a distance fitted to the "
        f"published ranks. SFQ is ahead by {apart} points; in {len(blocks)} blocks of {REPLICATIONS} runs it wins "
        f"alone in {alone} and shares the first place in {among}"
    )


def _alone(block: frozenset[str]) -> bool:
    return block == {"sfq"}


def _among(block: frozenset[str]) -> bool:
    return "sfq" in block and len(block) > 1
