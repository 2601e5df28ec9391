"""The table that `run` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bloatlab.cli.console import number
from bloatlab.metrics import definitions
from bloatlab.store.metrics import SINGLE

if TYPE_CHECKING:
    from rich.table import Table

    from bloatlab.sweeps.plan import PlannedRun

MOST_ROWS = 40
MOST_ENTITIES = 4
# Heading, scope, metric, and how the values of flows or links are combined.
COLUMNS = (
    ("throughput (Mbit/s)", "flow", "mean_throughput_l4", sum),
    ("sRTT (ms)", "flow", "mean_srtt_l4", fmean),
    ("in flight", "flow", "mean_in_flight_l4", sum),
    ("retransmissions", "flow", "total_retransmissions_l4", sum),
)


def summary_table(
    name: str, runs: Sequence[PlannedRun], metrics: Mapping[str, Mapping[str, Any]], axes: Mapping[str, Any]
) -> Table:
    """The metrics of one run, or a table of several runs with one row each."""
    if len(runs) == 1:
        return one_run(name, runs[0], metrics[runs[0].run_id])
    return many_runs(name, runs, metrics, axes)


def one_run(name: str, run: PlannedRun, metrics: Mapping[str, Any]) -> Table:
    """Every metric of a run, with a column per flow, or with the mean over many flows."""
    from rich.table import Table

    table = Table(title=f"{name}, run {run.run_id}, engine {run.engine.name}, seed {run.seed}")
    table.add_column("metric", no_wrap=True)
    table.add_column("of", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    known = definitions()
    order = {key: place for place, key in enumerate(known)}
    for scope in ("experiment", "flow", "link", "probe", "network"):
        found = metrics.get(f"{scope}_metrics", {})
        entities = {scope: found} if scope in SINGLE else found
        shown = entities
        if len(entities) > MOST_ENTITIES:
            names = dict.fromkeys(metric for values in entities.values() for metric in values)
            shown = {
                f"mean of {len(entities)} {scope}s": {
                    metric: fmean(values[metric] for values in entities.values() if metric in values)
                    for metric in names
                }
            }
        for entity, values in shown.items():
            for metric, value in sorted(values.items(), key=lambda item: order.get((scope, item[0]), len(order))):
                definition = known.get((scope, metric))
                table.add_row(
                    metric, entity, number(value), definition.unit if definition else run.measures.get(metric, "")
                )
        table.add_section()
    return table


def rows_of(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """The runs of each row of the table: all runs of a point if there are replications, otherwise one run."""
    # Intervals need scipy. Without it, each run has a row.
    replicated = len({run.scenario for run in runs}) < len(runs) and find_spec("scipy") is not None
    points: dict[str, list[PlannedRun]] = {}
    for run in runs:
        points.setdefault(run.scenario if replicated else run.run_id, []).append(run)
    return list(points.values())


def many_runs(
    name: str, runs: Sequence[PlannedRun], metrics: Mapping[str, Mapping[str, Any]], axes: Mapping[str, Any]
) -> Table:
    """A table with one row per point: swept parameters, seed or number of runs, and main metrics.

    For several runs, a metric is mean ± half-width.

    `metrics` holds those of the runs in the first rows.
    """
    from rich.table import Table

    rows = rows_of(runs)
    replicated = len(rows) < len(runs)
    left = len(rows) - MOST_ROWS
    notes = ["mean ± half of the 95 % interval (Student's t)"] if replicated else []
    notes += [f"and {left} more {'points' if replicated else 'runs'}: see the report"] * (left > 0)
    table = Table(title=f"{name}, {len(runs)} runs", caption="; ".join(notes) or None)
    for axis in axes:
        table.add_column(axis, no_wrap=True)
    table.add_column("runs" if replicated else "seed", justify="right", no_wrap=True)
    own = runs[0].measures
    usual = [*(heading for heading, *_ in COLUMNS), "sojourn (ms)"]
    for heading in [f"{measure} ({unit})" if unit else measure for measure, unit in own.items()] or usual:
        table.add_column(heading, justify="right")
    for row in rows[:MOST_ROWS]:
        cells = [_text(row[0].parameters.get(axis)) for axis in axes]
        cells.append(str(len(row) if replicated else row[0].seed))
        columns = zip(*(_numbers(metrics[run.run_id], own) for run in row), strict=True)
        table.add_row(*cells, *(_cell([value for value in column if value is not None]) for column in columns))
    return table


def _numbers(metrics: Mapping[str, Any], own: Mapping[str, str]) -> list[float | None]:
    """The metrics of the experiment in a run, or else the main metrics, in the order of the columns."""
    if own:
        return [metrics.get("experiment_metrics", {}).get(measure) for measure in own]
    found: list[float | None] = []
    for _, scope, metric, combine in COLUMNS:
        values = [of[metric] for of in metrics[f"{scope}_metrics"].values() if metric in of]
        found.append(float(combine(values)) if values else None)
    sojourns = [of["mean_sojourn"] for of in metrics["link_metrics"].values() if "mean_sojourn" in of]
    return [*found, max(sojourns) if sojourns else None]


def _cell(values: Sequence[float]) -> str:
    if len(values) < 2:
        return number(values[0]) if values else "-"
    from bloatlab.statistics.intervals import summarise

    found = summarise(values)
    return number(found.mean) + (f" ± {found.t.half_width:.2g}" if found.t else "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
