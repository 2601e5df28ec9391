"""The verdict of a ranking: who is first and by what, with the values that matter most."""

from __future__ import annotations

from bloatlab.experiments.ranking import Ranking
from bloatlab.experiments.ranking_text import first, front
from bloatlab.report import text
from bloatlab.report.verdict import Verdict


def of_ranking(ranking: Ranking) -> Verdict:
    """The Pareto front, the first contender and what the score weighs, the caveats, and the main values of the first."""
    best = ranking.contenders[0]
    numbers = [
        (f"{ranking.subject}s compared", str(len(ranking.contenders))),
        ("first of the ranking", best.name),
    ]
    fairness = [criterion for criterion in ranking.criteria if criterion.group == "fairness"][:1]
    for criterion in (*(ranking.plane or ()), *fairness):
        if (value := criterion.shown(best.values[criterion.name])) is not None:
            numbers.append((f"its {criterion.title}", text.with_unit(value, criterion.shown_unit)))
    return Verdict("", " ".join(filter(None, [front(ranking, text.number), first(ranking), *ranking.caveats])), numbers)


def of_places(ranking: Ranking) -> Verdict:
    """The first and the last contender over several experiments."""
    best, last = ranking.contenders[0], ranking.contenders[-1]
    leads = sum(1 for place in best.ranks.values() if place < 2)
    sentence = (
        f"{best.name} leads in {leads} of the experiments. {last.name} is last with a mean rank of {last.score:.2f}."
    )
    return Verdict("", " ".join([first(ranking), sentence, *ranking.caveats]), [])
