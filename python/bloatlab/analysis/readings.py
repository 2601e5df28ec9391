"""One number per run, as a user names it.

Examples: `link.mean_sojourn`, `flow.bulk_*.p95_sojourn_l4`, `sum:flow.mean_throughput_l7`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Any

from bloatlab.errors import ParameterError, unknown
from bloatlab.experiments.criteria import BOTTLENECK, Criterion
from bloatlab.metrics import definitions
from bloatlab.store.metrics import SCOPES, SINGLE

COMBINE: dict[str, Callable[[Iterable[float]], float]] = {"mean": fmean, "sum": sum, "min": min, "max": max}

_LARGEST = {"max": "largest ", "min": "smallest "}
WORDS = {
    ("probe", "p95_rtt"): "95th percentile of the RTT of {}",
    ("link", "p95_sojourn"): "95th percentile of the sojourn time at {}",
    ("link", "mean_sojourn"): "mean sojourn time at {}",
    ("network", "mean_srtt"): "mean sRTT",
    ("flow", "mean_srtt_l4"): "mean sRTT of {}",
    ("flow", "p95_sojourn_l4"): "95th percentile of the sojourn time of {}",
    ("network", "agg_throughput"): "throughput of all flows",
    ("flow", "mean_throughput_l4"): "throughput of {}",
    ("flow", "mean_throughput_l7"): "goodput of {}",
}
"""The metrics that sentences and headings name, by scope and metric."""


def named(entity: str) -> str:
    """The name of a flow, link or probe in a sentence; a name that is a noun has an article."""
    return f"the {entity}" if entity == BOTTLENECK else entity


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric, the entities that it is read from, and how several values become one."""

    text: str
    """Text of the user."""
    unit: str
    better: str
    """`higher`, `lower` or `none`."""
    scopes: tuple[str, ...]
    entity: str
    """Pattern for the name of the flow, link or probe, with `*` and `?`."""
    metric: str
    combine: str
    criterion: Criterion | None = None
    """Criterion of the experiment, if the text names one."""

    @property
    def words(self) -> str:
        """What it is, such as `95th percentile of the sojourn time at the bottleneck`; its text if it has no words."""
        if self.criterion is not None:
            return self.criterion.title
        known = WORDS.get((self.scopes[0], self.metric)) if len(self.scopes) == 1 else None
        if known is None or (self.combine != "mean" and self.combine not in _LARGEST):
            return self.text
        whose = self.entity.removesuffix("*") or f"{'any' if self.combine in _LARGEST else 'each'} {self.scopes[0]}"
        return f"{_LARGEST.get(self.combine, '')}{known.format(named(whose))}"

    def of(self, metrics: Mapping[str, Any]) -> float | None:
        """The number from the metrics of a run in the form of `--json`; `None` if the run has no such value."""
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
        """Whether this reading includes a row of a store's metrics. The name of the metric may be a pattern too."""
        whose = scope in SINGLE or fnmatchcase(entity, self.entity)
        return scope in self.scopes and whose and fnmatchcase(metric, self.metric)


def reading(text: str, criteria: Sequence[Criterion] = (), measures: Mapping[str, str] | None = None) -> Reading:
    """The reading that a text names: a criterion of the experiment, a metric, or its path in the result.

    `METRIC` reads every flow, link or probe that has it. `SCOPE.ENTITY.METRIC` reads some of them: `SCOPE` is `flow`
    or, as in `--json`, `flow_metrics`; `ENTITY` may contain `*`. A metric of the network is `network.METRIC`. Several
    values become their mean, or with a prefix `sum:`, `min:` or `max:` that.

    Args:
        text: Text of the user.
        criteria: Criteria of the experiment.
        measures: Metrics that the experiment defines, with their units.

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
    """As `reading`, for a text that must name one metric of one scope.

    Raises:
        ParameterError: As for `reading`, or the text names several metrics or scopes.
    """
    found = reading(text, criteria, measures)
    if "*" in found.metric or "?" in found.metric:
        raise ParameterError(f"{text}: must name one metric; `*` and `?` are not allowed in its name")
    if len(found.scopes) > 1:
        several = ", ".join(f"{scope}.{found.metric}" for scope in found.scopes)
        raise ParameterError(f"{text}: several scopes have this metric; name one of {several}")
    return found
