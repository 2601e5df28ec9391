"""One number of a run, as a user names it: `link.mean_sojourn`, `flow.bulk_*.p95_sojourn_l4`, `sum:flow.mean_throughput_l7`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Any

from bloatlab.errors import ParameterError, unknown
from bloatlab.experiments.criteria import Criterion
from bloatlab.metrics import definitions
from bloatlab.store.metrics import SCOPES, SINGLE

COMBINE: dict[str, Callable[[Iterable[float]], float]] = {"mean": fmean, "sum": sum, "min": min, "max": max}


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric, of whom, and how several become one number."""

    text: str
    """As the user wrote it."""
    unit: str
    better: str
    """`higher`, `lower` or `none`."""
    scopes: tuple[str, ...]
    entity: str
    """A pattern in the manner of file names."""
    metric: str
    combine: str
    criterion: Criterion | None = None
    """A criterion of the experiment, which reads by itself."""

    def of(self, metrics: Mapping[str, Any]) -> float | None:
        """The number in the metrics of a run in the form of `--json`; `None`: it has no such value."""
        if self.criterion is not None:
            return self.criterion.read(metrics)
        found: list[float] = []
        for scope in self.scopes:
            entities = metrics.get(f"{scope}_metrics", {})
            if scope in SINGLE:
                entities = {"": entities}
            found += [
                float(values[self.metric])
                for entity, values in entities.items()
                if self.metric in values and self.matches(scope, entity, self.metric)
            ]
        return float(COMBINE[self.combine](found)) if found else None

    def matches(self, scope: str, entity: str, metric: str) -> bool:
        """Whether a row of a store's metrics is meant; patterns in the metric's name count too."""
        whose = scope in SINGLE or fnmatchcase(entity, self.entity)
        return scope in self.scopes and whose and fnmatchcase(metric, self.metric)


def reading(text: str, criteria: Sequence[Criterion] = (), measures: Mapping[str, str] | None = None) -> Reading:
    """What a user's text names: a criterion of the experiment, a metric, or its path in the result.

    `METRIC` is that of every flow, link or probe that has it; `SCOPE.ENTITY.METRIC` is that of some, `*` stands for any
    name, and `SCOPE` is `flow` or, as in `--json`, `flow_metrics`; of the network it is `network.METRIC`. Several become
    their mean, or what stands in front: `sum:`, `min:`, `max:`.

    Args:
        text: What the user wrote.
        criteria: Those of the experiment.
        measures: Metrics of the experiment's own, and their units.

    Raises:
        ParameterError: There is no such metric, scope or combination.
    """
    for criterion in criteria:
        if criterion.name == text:
            return Reading(text, criterion.unit, criterion.better, (), "*", text, "mean", criterion)
    combine, colon, path = text.strip().rpartition(":")
    if colon and combine not in COMBINE:
        raise unknown("way to combine", combine, COMBINE)
    scope, dot, rest = path.partition(".")
    entity, metric = "*", path
    scopes: tuple[str, ...] = SCOPES
    if dot:
        scope = scope.removesuffix("_metrics")
        if scope not in SCOPES:
            raise unknown("scope of a metric", scope, SCOPES)
        named, inner, last = rest.rpartition(".")
        entity, metric, scopes = (named if inner else "*"), last, (scope,)
    defined = {key: (of.unit, of.better) for key, of in definitions().items()}
    defined |= {("experiment", name): (unit, "none") for name, unit in (measures or {}).items()}
    known = {key: of for key, of in defined.items() if key[0] in scopes and fnmatchcase(key[1], metric)}
    if not known:
        names = {name for of, name in defined if of in scopes} | {criterion.name for criterion in criteria}
        raise unknown("metric", metric or text, names)
    return Reading(
        text,
        *next(iter(known.values())),
        tuple(scope for scope in SCOPES if any(of == scope for of, _ in known)),
        entity,
        metric,
        combine or "mean",
    )


def number(text: str, criteria: Sequence[Criterion] = (), measures: Mapping[str, str] | None = None) -> Reading:
    """The same where one number is wanted: the text must name one metric of one scope.

    Raises:
        ParameterError: As `reading`, or the text leaves open which.
    """
    found = reading(text, criteria, measures)
    if "*" in found.metric or "?" in found.metric:
        raise ParameterError(f"{text}: must name one metric, without `*` in its name")
    if len(found.scopes) > 1:
        several = ", ".join(f"{scope}.{found.metric}" for scope in found.scopes)
        raise ParameterError(f"{text}: several have this metric (allowed: {several})")
    return found
