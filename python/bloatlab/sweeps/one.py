"""One run in memory, without a store."""

from __future__ import annotations

import json

from bloatlab import tables
from bloatlab.engines import Outcome
from bloatlab.errors import StoreError
from bloatlab.result import Result
from bloatlab.sweeps.plan import PlannedRun
from bloatlab.sweeps.record import measured


def simulate(planned: PlannedRun, *, packets: bool = False) -> Result:
    """Makes the run and keeps everything in memory."""
    return result_of(planned, _run(planned, packets), packets=packets)


def result_of(planned: PlannedRun, outcome: Outcome, *, packets: bool = False) -> Result:
    """The result of an outcome, which is kept in memory.

    Args:
        planned: The run.
        outcome: What it gave.
        packets: Whether it recorded its packets; if not, the run is made again when they are asked for.
    """

    def with_packets() -> Outcome:
        if packets:
            return outcome
        if not planned.engine.reproducible:
            raise StoreError(
                f"run {planned.run_id}: its packets were not recorded, and engine {planned.engine.name} gives other "
                "results in each run (packets=True records them)"
            )
        return _run(planned, packets=True)

    made = outcome.tables()
    metrics = json.loads(outcome.metrics_json())
    return Result(
        run_id=planned.run_id,
        experiment=planned.experiment,
        scenario=json.loads(planned.scenario),
        parameters=planned.parameters,
        seed=planned.seed,
        engine=planned.engine.name,
        engine_version=planned.engine_version,
        suspect=outcome.suspect,
        digest=outcome.digest,
        metrics={**metrics, **measured(planned, metrics)},
        load=lambda name: tables.named(planned.run_id, made, name),
        with_packets=with_packets,
        recorded=packets,
    )


def _run(planned: PlannedRun, packets: bool) -> Outcome:
    plugins = planned.plugins or None
    return planned.engine.run(planned.scenario, planned.seed, record_packets=packets, plugins=plugins)
