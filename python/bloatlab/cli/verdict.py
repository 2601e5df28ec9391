"""What `run` prints of a single run: the verdict, the main numbers, and where the rest is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bloatlab.errors import StoreError
from bloatlab.store import Store
from bloatlab.sweeps import PlannedRun


def verdict_of(store: Store, run: PlannedRun, metrics: Mapping[str, Any]) -> list[str]:
    """Lines for the terminal. Empty if the run has no tables, or if the packages of the report are missing.

    Args:
        store: The results.
        run: The run.
        metrics: Its metrics, as `--json` has them.
    """
    try:
        from bloatlab.analysis.judged import verdicts
        from bloatlab.figures import source
        from bloatlab.judges import line_of
        from bloatlab.report import text, verdict
    except ImportError:
        return []
    if not store.has_tables(run.run_id):
        return []
    import polars as pl

    try:
        tables = source.of_run(store, run.run_id)
    except StoreError:
        return []
    judged = verdict.of_run(tables, store.metrics().filter(pl.col("run_id") == run.run_id))
    numbers = [f"{name} {value}" for name, value in judged.numbers]
    pings = [
        f"RTT of {probe}: median {text.with_unit(values['p50_rtt'], 'ms')}, 95th percentile "
        f"{text.with_unit(values.get('p95_rtt'), 'ms')}"
        for probe, values in metrics.get("probe_metrics", {}).items()
        if "p50_rtt" in values
    ]
    scores = line_of(verdicts(store, [run.run_id], {run.run_id: metrics})[run.run_id])
    grade = f"grade {judged.grade}: " if judged.grade else ""
    found = [f"{grade}{judged.sentence}", "; ".join(numbers), *pings, scores]
    return [*filter(None, found), "every metric: --all"]
