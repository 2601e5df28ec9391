"""Claims of an experiment held against runs: for `--json`, for the store, for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab.experiments.base import Experiment, Verdict, plain
from bloatlab.store import Store, Writer
from bloatlab.sweeps.executor import Summary
from bloatlab.sweeps.plan import PlannedRun


def published_runs(experiment: Experiment | None, runs: Sequence[PlannedRun]) -> dict[str, PlannedRun]:
    """The runs among these that are the source's set-up, its parameters and its seed, by case; empty if one is missing."""
    if experiment is None or not experiment.claims:
        return {}
    found = {}
    for case, parameters in experiment.published_runs().items():
        wanted = plain(parameters)
        for run in runs:
            if run.parameters == wanted and run.seed == experiment.reproduce_seed:
                found[case] = run
                break
        else:
            return {}
    return found


def describe(verdict: Verdict) -> dict[str, Any]:
    """A verdict in the form of `--json`; `tolerance` is the largest difference that holds, in the claim's unit."""
    return {
        "name": verdict.claim.name,
        "bound": verdict.claim.bound,
        "published": verdict.claim.published,
        "measured": verdict.measured,
        "tolerance": verdict.claim.tolerance,
        "holds": verdict.holds,
    }


def claims_of(
    experiment: Experiment | None, runs: Sequence[PlannedRun], metrics: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Verdicts on the claims, if the published set-up is among the runs."""
    published = published_runs(experiment, runs)
    if experiment is None or not published or any(run.run_id not in metrics for run in published.values()):
        return []
    verdicts = experiment.verdicts({case: metrics[run.run_id] for case, run in published.items()})
    return [describe(verdict) for verdict in verdicts if verdict.holds is not None]


def note_claims(writer: Writer, experiment: Experiment, runs: Sequence[PlannedRun], summary: Summary) -> None:
    """Stores the verdicts on the published set-up, with its first run, if it is among the runs."""
    published = published_runs(experiment, runs)
    ids = {case: run.run_id for case, run in published.items()}
    if not ids or any(failed.run_id in ids.values() for failed, _ in summary.failed):
        return
    writer.flush()
    metrics = Store(writer.directory).run_metrics(list(ids.values()))
    first = next(iter(ids.values()))
    rows = [
        (
            experiment.name,
            first,
            verdict.claim.name,
            verdict.claim.unit,
            verdict.claim.published,
            verdict.measured,
            verdict.claim.tolerance,
            verdict.holds,
            verdict.claim.source + (f"; {verdict.claim.note}" if verdict.claim.note else ""),
            verdict.claim.bound,
        )
        for verdict in experiment.verdicts({case: metrics[run_id] for case, run_id in ids.items()})
    ]
    writer.note("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
