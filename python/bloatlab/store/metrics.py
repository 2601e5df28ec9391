"""Metrics in their two forms: one row per value in the parts, and nested as in `--json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

TABLE = "metrics"
SCOPES = ("flow", "link", "network", "probe", "experiment")
SINGLE = ("network", "experiment")
"""Scopes with a single entity, which has no name."""

Row = tuple[str, str, str, str, float]
"""Run, scope, entity, metric, value."""


def rows(run_id: str, metrics: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """The rows of a run's metrics. JSON has no NaN: a metric without a value is null there and absent here."""
    return [
        (run_id, scope, entity, name, value)
        for scope in SCOPES
        for entity, values in _entities(scope, metrics.get(f"{scope}_metrics", {})).items()
        for name, value in values.items()
        if value is not None
    ]


def _entities(scope: str, metrics: Mapping[str, Any]) -> Mapping[str, Mapping[str, float]]:
    return {scope: metrics} if scope in SINGLE else metrics


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """The rows as the table that is stored: `run_id`, `scope`, `entity`, `metric`, `value`."""
    import polars as pl

    text = dict.fromkeys(("run_id", "scope", "entity", "metric"), pl.String)
    return pl.DataFrame(rows, schema={**text, "value": pl.Float64}, orient="row")


def nested(run_ids: Iterable[str], table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The metrics of each run by scope, entity and name. `experiment_metrics` is only there if the run has some."""
    always = [f"{scope}_metrics" for scope in SCOPES if scope != "experiment"]
    found: dict[str, dict[str, Any]] = {run_id: {scope: {} for scope in always} for run_id in run_ids}
    if not len(table):
        return found
    columns = ("run_id", "scope", "entity", "metric", "value")
    place: tuple[str, str, str] | None = None
    values: dict[str, float] = {}
    # The metrics of an entity are rows one after the other.
    for run_id, scope, entity, metric, value in zip(*(table[name].to_list() for name in columns), strict=True):
        if place != (run_id, scope, entity):
            place = (run_id, scope, entity)
            of = found[run_id].setdefault(f"{scope}_metrics", {})
            values = of if scope in SINGLE else of.setdefault(entity, {})
        values[metric] = value
    return found
