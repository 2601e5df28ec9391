"""Rankings of planned runs and of the runs of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.analysis import order
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.ranking import Observation, Ranking, observe, rank
from bloatlab.experiments.suite import Suite, overall
from bloatlab.experiments.weighing import EQUAL, Weights
from bloatlab.store import Store
from bloatlab.sweeps.plan import PlannedRun


@dataclass(frozen=True)
class Ranked:
    """A ranking with the runs behind it."""

    ranking: Ranking
    observations: Mapping[str, Observation]
    """By run."""


def of_plan(
    experiment: Experiment | None,
    runs: Sequence[PlannedRun],
    metrics: Mapping[str, Mapping[str, Any]],
    weights: Weights = EQUAL,
) -> Ranking | None:
    """Ranking of planned runs; `None` if the experiment has no criteria or there are fewer than two contenders."""
    if isinstance(experiment, Suite):
        return _overall(experiment, runs, metrics, weights)
    found = _ranked(experiment, {run.run_id: run.parameters for run in runs}, metrics, weights)
    return found.ranking if found else None


def _overall(
    suite: Suite, runs: Sequence[PlannedRun], metrics: Mapping[str, Mapping[str, Any]], weights: Weights
) -> Ranking | None:
    rankings = {
        member.name: of_plan(member, [run for run in runs if run.experiment == member.name], metrics, weights)
        for member in suite.members
    }
    return overall(suite, rankings)


def of_store(store: Store, experiment: Experiment | None, weights: Weights = EQUAL) -> Ranked | None:
    """Ranking of the finished runs of the experiment in a store; `None` as for `of_plan`.

    Where several engines made runs, those of the store's main engine count.
    """
    if experiment is None or not experiment.criteria:
        return None
    parameters = order.runs_of_main_engine(store, experiment.name)
    return _ranked(experiment, parameters, store.run_metrics(list(parameters)), weights)


def overall_of_store(store: Store, suite: Suite, weights: Weights = EQUAL) -> Ranking | None:
    """Ranking over all members of the suite that have runs in a store."""
    return overall_of(suite, {member.name: of_store(store, member, weights) for member in suite.members})


def overall_of(suite: Suite, found: Mapping[str, Ranked | None]) -> Ranking | None:
    """Ranking over the members of the suite, from the rankings of each; a member without runs may be absent."""
    in_order = {member.name: found.get(member.name) for member in suite.members}
    return overall(suite, {name: ranked.ranking if ranked else None for name, ranked in in_order.items()})


def _ranked(
    experiment: Experiment | None,
    parameters: Mapping[str, Mapping[str, Any]],
    metrics: Mapping[str, Mapping[str, Any]],
    weights: Weights,
) -> Ranked | None:
    if experiment is None or not experiment.criteria:
        return None
    runs = [(given, metrics[run_id]) for run_id, given in parameters.items()]
    derived = [parameter.name for parameter in experiment.parameters if parameter.default is None]
    observed = observe(experiment.criteria, experiment.compared, runs, derived)
    ranking = rank(experiment.criteria, observed, experiment.subject, weights)
    if len(ranking.contenders) < 2:
        return None
    return Ranked(ranking, dict(zip(parameters, observed, strict=True)))
