"""The verdicts of stored runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bloatlab import language
from bloatlab.judges import Verdict, ramp
from bloatlab.judges.run import BINS, PROBES, of_run
from bloatlab.store.keep import Keep

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.language import Plan
    from bloatlab.store import Store


def verdicts(store: Store, run_ids: Sequence[str], metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Verdict]:
    """The verdict of each run, from what is stored of it. Nothing is simulated again.

    Args:
        store: The results.
        run_ids: The runs.
        metrics: Their metrics in the form of `--json`.
    """
    import polars as pl

    probes = _rows(store.table("probes", run_ids), PROBES)
    histograms = store.table("histograms", run_ids)
    if not histograms.is_empty():
        mine = (pl.col("scope").cast(pl.String) == "probe") & (pl.col("quantity").cast(pl.String) == "rtt")
        histograms = histograms.filter(mine)
    bins = _rows(histograms, BINS)
    wanted = store.runs().filter(pl.col("run_id").is_in(run_ids)).select("run_id", "experiment", "kept", "point")
    scenarios = dict(store.points().select("point", "scenario").iter_rows())
    plans: dict[int, Plan | None] = {}
    found = {}
    for run_id, experiment, kept, point in wanted.iter_rows():
        if experiment == ramp.EXPERIMENT and kept >= Keep.TABLES:
            # Its series decide, which would be too many to read for all runs of a sweep at once.
            found[run_id] = store.run(run_id).verdict
            continue
        if point not in plans:
            plans[point] = language.stored_plan(json.loads(scenarios[point]))
        judged = of_run(metrics[run_id], plans[point], probes.get(run_id, ()), bins.get(run_id, ()))
        # The grade of a run without an RTT of flows is from the replies to its ping.
        from_series = judged.evidence.increase_ms is None and judged.evidence.ping is not None and kept >= Keep.TABLES
        found[run_id] = store.run(run_id).verdict if from_series else judged
    return found


def _rows(table: pl.DataFrame, columns: Sequence[str]) -> dict[str, list[Any]]:
    """The rows of each run, with these columns. None if the table was not kept."""
    found: dict[str, list[Any]] = {}
    if {"run_id", *columns} <= set(table.columns):
        for run_id, *row in table.select("run_id", *columns).iter_rows():
            found.setdefault(run_id, []).append(tuple(row))
    return found
