"""The record of a run for the store: its metrics, and the tables that are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bloatlab.store import Keep, RunRecord
from bloatlab.sweeps.plan import PlannedRun

if TYPE_CHECKING:
    from bloatlab.engines import ArrowTable
    from bloatlab.experiments.claim import Metrics

METRIC_TABLES = frozenset({"flow_metrics", "link_metrics", "network_metrics", "probe_metrics"})
"""Tables that repeat the metrics."""


def kept_tables(keep: Keep, tables: Mapping[str, ArrowTable]) -> dict[str, ArrowTable]:
    """The tables of an outcome that are kept."""
    if keep < Keep.TABLES:
        return {}
    return {name: table for name, table in tables.items() if name not in METRIC_TABLES}


def measured(planned: PlannedRun, metrics: Metrics) -> dict[str, Mapping[str, float]]:
    """The experiment's own metrics of a run, in the form of `--json`; empty if it has none."""
    return {} if planned.measure is None else {"experiment_metrics": planned.measure(metrics)}


def done(
    planned: PlannedRun,
    metrics_json: str,
    tables: Mapping[str, ArrowTable],
    *,
    digest: str,
    events: int,
    wall_s: float,
    suspect: str | None = None,
) -> RunRecord:
    """A run that has ended, with what its experiment measures.

    Args:
        planned: The run.
        metrics_json: Its metrics.
        tables: Its tables.
        digest: Their hash.
        events: Events that the engine processed.
        wall_s: Seconds in the engine.
        suspect: Why the engine doubts its own measurement; absent: it does not.

    Raises:
        Exception: Any error of the experiment's `measure`. The run then counts as failed.
    """
    metrics = json.loads(metrics_json)
    own = measured(planned, metrics)
    return _ended(
        planned,
        wall_s,
        metrics=own if planned.keep < Keep.METRICS else {**metrics, **own},
        tables=kept_tables(planned.keep, tables),
        digest=digest,
        events=events,
        reason=None if suspect is None else _one_line(suspect),
        suspect=suspect is not None,
    )


def failed(planned: PlannedRun, error: BaseException | str, wall_s: float) -> RunRecord:
    """A run that failed, with the reason in one line."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return _ended(planned, wall_s, reason=_one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _ended(planned: PlannedRun, wall_s: float, **what: Any) -> RunRecord:
    return RunRecord(
        run_id=planned.run_id,
        experiment=planned.experiment,
        scenario=planned.scenario,
        seed=planned.seed,
        engine=planned.engine.name,
        engine_version=planned.engine_version,
        repetition=planned.repetition,
        parameters=planned.parameters,
        wall_s=wall_s,
        keep=planned.keep,
        **what,
    )
