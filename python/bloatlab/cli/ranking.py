"""The ranking that `run` prints: its Pareto front and its values, then who is first and by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bloatlab.cli.console import counted, number, say
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.cli.values import assignments
from bloatlab.errors import ParameterError
from bloatlab.experiments import CATALOGUE
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.ranking import Ranking
from bloatlab.experiments.ranking_text import first, front
from bloatlab.experiments.suite import Suite
from bloatlab.experiments.weighing import EQUAL, Weights

if TYPE_CHECKING:
    from rich.console import Console

    from bloatlab.store import Store

OPTION = "--weigh"


def weights_of(given: Sequence[str], experiments: Mapping[str, Experiment | None]) -> Weights:
    """The weights that `--weigh` gives.

    Args:
        given: `GROUP=WEIGHT`.
        experiments: The experiments whose rankings they are for, by name; `None` for what is no experiment.

    Raises:
        ParameterError: A weight is not a number, there is no such group of criteria, or there is no ranking.
    """
    if not given:
        return EQUAL
    groups = [group for experiment in experiments.values() for group in _groups(experiment)]
    if not groups:
        raise ParameterError(f"{OPTION}: {', '.join(experiments)} has no ranking to weigh")
    try:
        weights = Weights.read(assignments(given, OPTION))
        weights.check(groups)
    except ParameterError as error:
        text = str(error)
        raise ParameterError(text if text.startswith(OPTION) else f"{OPTION} {text}") from error
    return weights


def weights_for(given: Sequence[str], store: Store) -> Weights:
    """The weights that `--weigh` gives for the rankings of a store.

    Raises:
        ParameterError: As for `weights_of`.
    """
    names = store.runs()["experiment"].unique(maintain_order=True).to_list() if given else []
    return weights_of(given, {name: CATALOGUE.get(name) for name in names})


def _groups(experiment: Experiment | None) -> list[str]:
    """The groups of criteria of an experiment; of a suite, those of its members."""
    if isinstance(experiment, Suite):
        return [group for member in experiment.members for group in _groups(member)]
    return [criterion.group for criterion in experiment.criteria] if experiment else []


def print_ranking(out: Console, name: str, ranking: Ranking, runs: int, *, everything: bool = False) -> None:
    """Prints a ranking in tables that fit the width of the console.

    Args:
        out: Where.
        name: Name of the experiment.
        ranking: The ranking.
        runs: Number of its runs.
        everything: Whether all criteria are shown, in as many tables as they need.
    """
    if text := front(ranking, number):
        say(out, text)
        out.print()
    at = f", means over {ranking.points} set-ups" if ranking.points > 1 else ""
    main = _main(ranking)
    left = list(ranking.criteria) if everything else main
    while left:
        shown = _fitting(ranking, left, out.width)
        left = left[len(shown) :] if everything else []
        table = _table(ranking, shown)
        table.title = f"{name}: {counted(runs, 'run')}{at}"
        table.print(out)
        out.print()
    say(out, first(ranking))
    for caveat in ranking.caveats:
        say(out, caveat)
    hints = ["`--weigh GROUP=WEIGHT` changes the weights"]
    if not everything and (more := len(ranking.criteria) - len(main)):
        hints.append(f"`--all` and the page show {more} more {'experiments' if ranking.within else 'criteria'}")
    say(out, "; ".join(hints) + ".")


def _main(ranking: Ranking) -> list[Criterion]:
    """The criteria of the short table: delay, throughput and fairness, or else the first of each group.

    A ranking over experiments has their scores in place of criteria.
    """
    if ranking.within:
        return list(ranking.criteria[:4])
    plane = list(ranking.plane or ())
    fairness = [one for one in ranking.criteria if one.group == "fairness"][:1]
    sparse = [one for one in ranking.criteria if one.group == "sparse flows" and not one.minor][:1]
    if plane:
        return [*plane, *sparse, *fairness]
    first_of = {criterion.group: criterion for criterion in reversed(ranking.criteria) if not criterion.minor}
    return [criterion for criterion in ranking.criteria if first_of.get(criterion.group) is criterion][:4]


def _fitting(ranking: Ranking, criteria: Sequence[Criterion], width: int) -> list[Criterion]:
    """As many of the criteria, from the first, as fit the width. At least one."""
    table = _table(ranking, criteria)
    return list(criteria[: max(1, len(criteria) - len(table.left_out(width)))])


def _table(ranking: Ranking, criteria: Sequence[Criterion]) -> FittedTable:
    """One row per contender: its position, its score, and its values. The last criteria are left out first."""
    front_names = {row.name for row in ranking.front}
    note = "score: weighted mean rank; 1 is best" + ("; *: on the Pareto front" if front_names else "")
    columns = [
        Column("#", right=True),
        Column(ranking.subject),
        *(Column(one.heading, right=True, optional=place) for place, one in enumerate(criteria)),
        Column("score", right=True),
    ]
    table = FittedTable(columns, notes=[note])
    for row in ranking.contenders:
        values = (number(criterion.shown(row.values[criterion.name])) for criterion in criteria)
        star = "*" if row.name in front_names else ""
        table.add(f"{star}{row.position}", row.name, *values, f"{row.score:.2f}")
    return table
