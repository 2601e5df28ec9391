"""Judges expectations over the runs of a plan: the worst flow, link or probe of the worst replication counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from bloatlab import language
from bloatlab.errors import ParameterError, unknown
from bloatlab.expectations.expectation import Expectation
from bloatlab.store.metrics import SINGLE
from bloatlab.sweeps.plan import PlannedRun

Metrics = Mapping[str, Any]
"""Metrics of one run in the form of `--json`."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The value that decides."""

    value: float
    entity: str
    """Name of the flow, link or probe; empty for the network and for combined values."""
    run: PlannedRun | None
    """The run that it is from; `None`: it is the mean over the replications."""


@dataclass(frozen=True, slots=True)
class PointJudged:
    """An expectation at one point."""

    runs: Sequence[PlannedRun]
    """The replications."""
    measured: Measured | None
    """The worst value; `None`: a run has no valid result."""
    excess: float
    """How far the worst value is outside of the allowed ones, in the unit of the metric; infinite without a value."""
    failure: str = ""
    """Why there is no value."""

    @property
    def holds(self) -> bool:
        """Whether the expectation holds here."""
        return self.measured is not None and self.excess <= 0


@dataclass(frozen=True, slots=True)
class Judged:
    """An expectation at all its points."""

    expectation: Expectation
    points: Sequence[PointJudged]

    @property
    def holds(self) -> bool:
        """Whether the expectation holds at every point."""
        return all(point.holds for point in self.points)

    @property
    def worst(self) -> PointJudged:
        """The point that is worst."""
        return max(self.points, key=lambda point: point.excess)


def points_of(expectation: Expectation, runs: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    """The replications of each point to which an expectation applies. Checks that each point has what it names.

    Raises:
        ParameterError: No point meets its `where`, or a scenario has no flow, link or probe of its name.
    """
    points: dict[str, list[PlannedRun]] = {}
    for run in runs:
        points.setdefault(run.scenario, []).append(run)
    try:
        chosen = [of for of in points.values() if expectation.where is None or expectation.where(of[0].parameters)]
    except ParameterError as error:
        raise ParameterError(f"{expectation.place}.{error}") from error
    if not chosen:
        raise ParameterError(f"{expectation.place}.where: no point meets this condition")
    for of in chosen:
        _check_entities(expectation, of[0].scenario)
    return chosen


def _check_entities(expectation: Expectation, scenario: str) -> None:
    """Finds a wrong name before the runs are made."""
    reading = expectation.reading
    (scope,) = reading.scopes if reading.criterion is None else ("",)
    if reading.entity == "*" or scope in ("", *SINGLE):
        return
    plan = language.plan(scenario)
    if scope == "link":
        names = set(plan.links)
    else:
        added = (effect.flow.name for change in plan.timeline for effect in change.effects if effect.flow is not None)
        names = {*(flow.name for flow in plan.flows), *added}
    if not any(reading.matches(scope, name, reading.metric) for name in names):
        raise ParameterError(f"{expectation.place}.metric: {reading.text}: {unknown(scope, reading.entity, names)}")


def judge(
    expectation: Expectation,
    points: Iterable[Sequence[PlannedRun]],
    metrics: Mapping[str, Metrics],
    invalid: Mapping[str, str],
) -> Judged:
    """Judges an expectation.

    Args:
        expectation: The expectation.
        points: The replications of each point, as `points_of` gives them.
        metrics: The metrics of each run with a valid result, by its `run_id`.
        invalid: Why each other run has no valid result.

    Raises:
        ParameterError: A run has no value of the metric.
    """
    return Judged(expectation, [_at_point(expectation, runs, metrics, invalid) for runs in points])


def _at_point(
    expectation: Expectation, runs: Sequence[PlannedRun], metrics: Mapping[str, Metrics], invalid: Mapping[str, str]
) -> PointJudged:
    for run in runs:
        if run.run_id in invalid:
            why = f"run {run.run_id} (seed {run.seed}) has no valid result: {invalid[run.run_id]}"
            return PointJudged(runs, None, float("inf"), why)
    values = {run.run_id: _values(expectation, run, metrics[run.run_id]) for run in runs}
    if expectation.statistic == "mean":
        by_entity: dict[str, list[float]] = {}
        for of in values.values():
            for entity, value in of.items():
                by_entity.setdefault(entity, []).append(value)
        found = [Measured(fmean(of), entity, None) for entity, of in by_entity.items()]
    else:
        found = [Measured(value, entity, run) for run in runs for entity, value in values[run.run_id].items()]
    worst = max(found, key=lambda measured: expectation.excess(measured.value))
    return PointJudged(runs, worst, expectation.excess(worst.value))


def _values(expectation: Expectation, run: PlannedRun, metrics: Metrics) -> dict[str, float]:
    """The values to judge in a run: one for each flow, link or probe with this metric, or their combination."""
    reading = expectation.reading
    if not expectation.each:
        value = reading.of(metrics)
        found = {} if value is None else {"": value}
    else:
        (scope,) = reading.scopes
        entities = metrics.get(f"{scope}_metrics", {})
        found = {
            entity: float(values[reading.metric])
            for entity, values in ({"": entities} if scope in SINGLE else entities).items()
            if reading.metric in values and reading.matches(scope, entity, reading.metric)
        }
    if not found:
        raise ParameterError(
            f"{expectation.place}.metric: run {run.run_id} (seed {run.seed}) has no value of `{reading.text}`"
            f"{_there(expectation, metrics)}"
        )
    return found


def _there(expectation: Expectation, metrics: Metrics) -> str:
    """What the run has instead."""
    reading = expectation.reading
    if reading.criterion is not None or (scope := reading.scopes[0]) in SINGLE:
        return ""
    entities = metrics.get(f"{scope}_metrics", {})
    having = [entity for entity, values in entities.items() if reading.metric in values]
    if having:
        return f" ({scope}s with this metric: {', '.join(sorted(having))})"
    return f" (no {scope} has it in this run)"
