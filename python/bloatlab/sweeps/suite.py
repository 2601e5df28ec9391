"""The plan of a suite: the plans of its members, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.suite import Suite
from bloatlab.store.keep import Keep
from bloatlab.sweeps.grid import Grid
from bloatlab.sweeps.plan import PlannedRun, Source, plan
from bloatlab.sweeps.preview import Preview, preview
from bloatlab.sweeps.source import ExperimentSource


def plan_all(
    source: Source,
    base: Mapping[str, Any],
    given: Mapping[str, Sequence[Any]],
    *,
    replications: int | None = 1,
    seed: int = 42,
    keep: Keep = Keep.TABLES,
) -> tuple[list[PlannedRun], dict[str, Sequence[Any]]]:
    """The runs of a source, and their axes. The members of a suite have no common axes.

    The default number of replications is the experiment's if its own axes are swept, and one otherwise.

    Raises:
        ParameterError: A value is not allowed, or a suite's parameter is swept.
        ScenarioError: One of the scenarios is not valid.
        EngineError: The engine cannot run one of them.
    """
    experiment = source.experiment if isinstance(source, ExperimentSource) else None
    if not isinstance(experiment, Suite):
        axes = source.axes(base, given)
        replications = _replications(experiment, axes, given, replications)
        return plan(source, base, axes, replications=replications, seed=seed, keep=keep), axes
    if given:
        raise ParameterError(f"{next(iter(given))}: {experiment.name} sweeps by itself; sweep one of its experiments")
    runs: list[PlannedRun] = []
    replications = 1 if replications is None else replications
    for part in experiment.parts(experiment.resolve(base)):
        member = ExperimentSource(part.experiment, source.plugins, source.engine)
        runs += plan(member, part.base, part.axes, replications=replications, seed=seed, keep=keep)
    return runs, {}


def preview_all(
    source: Source,
    base: Mapping[str, Any],
    given: Mapping[str, Sequence[Any]],
    *,
    replications: int | None = 1,
    seed: int = 42,
) -> tuple[Preview, dict[str, Sequence[Any]]]:
    """The runs of `plan_all` before they are made, and their axes. Imports no plugin, unless the source is a suite.

    Raises as `plan_all` does.
    """
    experiment = source.experiment if isinstance(source, ExperimentSource) else None
    if isinstance(experiment, Suite):
        runs, none = plan_all(source, base, given, replications=replications, seed=seed)
        return Preview.of(runs), none
    axes = source.axes(base, given)
    replications = _replications(experiment, axes, given, replications)
    return preview(source, Grid(axes, base), base, replications=replications, seed=seed), axes


def _replications(
    experiment: Experiment | None, axes: Mapping[str, Any], given: Mapping[str, Any], replications: int | None
) -> int:
    """The number of replications, or the default: the experiment's if its own axes are swept, and one otherwise."""
    if replications is not None:
        return replications
    return experiment.replications if experiment is not None and set(axes) - set(given) else 1
