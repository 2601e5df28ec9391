"""Claims of an experiment held against runs: for `--json`, for the store, for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab.experiments.base import Experiment, Verdict, plain
from bloatlab.store import Store, Writer
from bloatlab.sweeps.executor import Summary
from bloatlab.sweeps.plan import PlannedRun


def published_run(experiment: Experiment | None, runs: Sequence[PlannedRun]) -> PlannedRun | None:
    """The run among these that is the source's set-up: its parameters and its seed."""
    if experiment is None or not experiment.claims:
        return None
    wanted = plain(experiment.published_run())
    for run in runs:
        if run.parameters == wanted and run.seed == experiment.reproduce_seed:
            return run
    return None


def describe(verdict: Verdict) -> dict[str, Any]:
    """A verdict in the form of `--json`; `tolerance` is the largest difference that holds, in the claim's unit."""
    return {
        "name": verdict.claim.name,
        "published": verdict.claim.published,
        "measured": verdict.measured,
        "tolerance": verdict.claim.tolerance,
        "holds": verdict.holds,
    }


def claims_of(
    experiment: Experiment | None, runs: Sequence[PlannedRun], metrics: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Verdicts on the claims, if the published set-up is among the runs."""
    run = published_run(experiment, runs)
    if experiment is None or run is None or run.run_id not in metrics:
        return []
    return [describe(verdict) for verdict in experiment.verdicts(metrics[run.run_id]) if verdict.holds is not None]


def note_claims(writer: Writer, experiment: Experiment, runs: Sequence[PlannedRun], summary: Summary) -> None:
    """Stores the verdicts on the published set-up, if it is among the runs."""
    run = published_run(experiment, runs)
    if run is None or any(failed is run for failed, _ in summary.failed):
        return
    writer.flush()
    metrics = Store(writer.directory).run_metrics([run.run_id])[run.run_id]
    rows = [
        (
            experiment.name,
            run.run_id,
            verdict.claim.name,
            verdict.claim.unit,
            verdict.claim.published,
            verdict.measured,
            verdict.claim.tolerance,
            verdict.holds,
            verdict.claim.source + (f"; {verdict.claim.note}" if verdict.claim.note else ""),
        )
        for verdict in experiment.verdicts(metrics)
    ]
    writer.note("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
