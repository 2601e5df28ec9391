"""Sentences about a ranking: what it weighs, its Pareto front, and who is first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bloatlab.experiments.ranking import Contender, Ranking

Format = Callable[[float | None], str]
"""Writes a number."""
MOST = 4
"""Contenders that a sentence names."""


def weighed(ranking: Ranking) -> str:
    """What the score weighs, such as `by delay (weight 2), throughput and loss`."""
    if ranking.within:
        scores = f"by the scores in {len(ranking.criteria)} experiments, equally weighted"
        return f"{scores}; each experiment ranks {_weighed(ranking.within)}"
    return _weighed(ranking.groups)


def _weighed(groups: Mapping[str, float]) -> str:
    counted = {group: weight for group, weight in groups.items() if weight}
    equal = len(set(counted.values())) == 1
    names = [group if equal else f"{group} (weight {weight:g})" for group, weight in counted.items()]
    without = [group for group, weight in groups.items() if not weight]
    return (
        f"by {listed(names)}"
        + (", equally weighted" if equal and len(counted) > 1 else "")
        + (f", without {listed(without)}" if without else "")
    )


def first(ranking: Ranking) -> str:
    """Who is first, by what, and which contenders with a better score are not first."""
    best = ranking.contenders[0]
    at = f" over {ranking.points} set-ups" if ranking.points > 1 else ""
    said = (
        f"{best.name} is first of {len(ranking.contenders)} {weighed(ranking)}. Its mean rank is "
        f"{best.score:.2f}{at}, where 1 means best in everything."
    )
    if above := ranking.outscored:
        one = len(above) == 1
        names = listed([f"{row.name} ({row.score:.2f})" for row in above[:MOST]], more=len(above) - MOST)
        said += f" {names} {'has' if one else 'have'} a better mean rank, but others beat {'it' if one else 'them'} in both "
        said += "delay and throughput in every experiment." if ranking.within else f"{_plane(ranking)}."
    return said


def front(ranking: Ranking, number: Format) -> str:
    """The Pareto front, with its values if it is small; empty if the criteria have no delay or no throughput."""
    if ranking.plane is None:
        return ""
    if len(ranking.front) > MOST:
        names = listed([row.name for row in ranking.front])
        of = f"{len(ranking.front)} of {len(ranking.contenders)}"
        return f"Pareto front: no other contender beats these {of} in both {_plane(ranking)}: {names}, by rising delay."
    values = [f"{row.name} ({_values(ranking, row, number)})" for row in ranking.front]
    return f"Pareto front: no other contender beats {listed(values)} in both {_plane(ranking)}."


def _values(ranking: Ranking, row: Contender, number: Format) -> str:
    return ", ".join(
        f"{number(criterion.shown(row.values[criterion.name]))} {criterion.shown_unit}".rstrip()
        for criterion in ranking.plane or ()
    )


def _plane(ranking: Ranking) -> str:
    return " and ".join(criterion.title for criterion in ranking.plane or ())


def listed(names: Sequence[str], more: int = 0) -> str:
    """Names as in `a, b and c`.

    Args:
        names: The names.
        more: How many others there are.
    """
    every = [*names, f"{more} more"] if more > 0 else list(names)
    return " and ".join(filter(None, [", ".join(every[:-1]), every[-1]])) if every else ""
