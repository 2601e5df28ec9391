"""One run in memory, without a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bloatlab.engines import OutcomeLike, engine
from bloatlab.errors import ParameterError, StoreError
from bloatlab.loading import resolve
from bloatlab.result import Result
from bloatlab.store.identity import canonical
from bloatlab.sweeps.plan import PlannedRun
from bloatlab.sweeps.record import measured

if TYPE_CHECKING:
    from bloatlab.engines import ArrowTable


def simulate(planned: PlannedRun, *, packets: bool = False) -> Result:
    """Runs it and keeps everything in memory."""
    outcome = engine().run(planned.scenario, planned.seed, record_packets=packets, plugins=planned.plugins or None)
    return from_outcome(planned, outcome, packets=packets)


def from_outcome(planned: PlannedRun, outcome: OutcomeLike, *, packets: bool) -> Result:
    """The result that an outcome holds."""
    tables = outcome.tables()
    metrics = json.loads(outcome.metrics_json())

    return Result(
        run_id=planned.run_id,
        experiment=planned.experiment,
        scenario=json.loads(planned.scenario),
        parameters=planned.parameters,
        seed=planned.seed,
        engine_version=planned.engine_version,
        digest=outcome.digest,
        metrics={**metrics, **measured(planned, metrics)},
        load=lambda name: table_of(planned.run_id, tables, name),
        outcome=outcome if packets else None,
        recorded=packets,
    )


def table_of(run_id: str, tables: Mapping[str, ArrowTable], name: str) -> ArrowTable:
    """A table of a run's outcome; raises `StoreError` where it has none of that name."""
    if name not in tables:
        raise StoreError(f"run {run_id}: has no table `{name}` (it has {', '.join(sorted(tables))})")
    return tables[name]


def simulate_again(result: Result, *, packets: bool = True) -> OutcomeLike:
    """Runs a stored run once more; the same engine gives the same tables and packets.

    Raises:
        StoreError: The engine, or a plugin, is not the one that made the run, or the plugin is not allowed.
    """
    version = engine().engine_version()
    if version != result.engine_version:
        raise StoreError(
            f"run {result.run_id}: what was not kept is simulated again, but engine {result.engine_version} made it "
            f"and this is {version}"
        )
    try:
        document, plugins = resolve(result.scenario, result.plugins)
    except ParameterError as error:
        raise StoreError(f"run {result.run_id}: what was not kept is simulated again: {error}") from error
    if document != result.scenario:
        raise StoreError(f"run {result.run_id}: the source of its plugin has changed since")
    return engine().run(canonical(result.scenario), result.seed, record_packets=packets, plugins=plugins or None)
