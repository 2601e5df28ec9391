"""The table that `run` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bloatlab.cli.console import number
from bloatlab.metrics import definitions
from bloatlab.store.metrics import SINGLE

if TYPE_CHECKING:
    from rich.table import Table

    from bloatlab.experiments.ranking import Ranking
    from bloatlab.sweeps.plan import PlannedRun

MOST_ROWS = 40
MOST_ENTITIES = 4
# Heading, scope, metric, and how flows or links become one number.
COLUMNS = (
    ("throughput (Mbit/s)", "flow", "mean_throughput_l4", sum),
    ("sRTT (ms)", "flow", "mean_srtt_l4", fmean),
    ("in flight", "flow", "mean_in_flight_l4", sum),
    ("retransmissions", "flow", "total_retransmissions_l4", sum),
)


def summary_table(
    name: str, runs: Sequence[PlannedRun], metrics: Mapping[str, Mapping[str, Any]], axes: Mapping[str, Any]
) -> Table:
    """One run: its metrics. Several: a row each."""
    if len(runs) == 1:
        return one_run(name, runs[0], metrics[runs[0].run_id])
    return many_runs(name, runs, metrics, axes)


def ranking_table(name: str, ranking: Ranking, runs: int) -> Table:
    """A row a contender: its score, and by each criterion that is worth a column its value and rank."""
    from rich.table import Table

    at = f", means over {ranking.points} points" if ranking.points > 1 else ""
    table = Table(title=f"{name}, {runs} runs{at}", caption="score: mean rank over the groups of criteria, 1 is best")
    table.add_column("#", justify="right")
    table.add_column(ranking.subject, no_wrap=True)
    table.add_column("score", justify="right")
    shown = [criterion for criterion in ranking.criteria if not criterion.minor]
    for criterion in shown:
        unit = f" ({criterion.unit})" if criterion.unit else ""
        table.add_column(f"{criterion.title}{unit}", justify="right")
    for row in ranking.contenders:
        cells = (number(row.values[criterion.name]) for criterion in shown)
        table.add_row(str(row.position), row.name, f"{row.score:.2f}", *cells)
    return table


def one_run(name: str, run: PlannedRun, metrics: Mapping[str, Any]) -> Table:
    """Every metric of a run, flows side by side; of many flows the mean over them."""
    from rich.table import Table

    table = Table(title=f"{name}, run {run.run_id}, seed {run.seed}")
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


def many_runs(
    name: str, runs: Sequence[PlannedRun], metrics: Mapping[str, Mapping[str, Any]], axes: Mapping[str, Any]
) -> Table:
    """A row a run: what was swept, the seed, and the main metrics."""
    from rich.table import Table

    left = len(runs) - MOST_ROWS
    note = f"and {left} more runs: the report and the store hold all" if left > 0 else None
    table = Table(title=f"{name}, {len(runs)} runs", caption=note)
    for axis in axes:
        table.add_column(axis, no_wrap=True)
    table.add_column("seed", justify="right", no_wrap=True)
    own = runs[0].measures
    for heading in (f"{measure} ({unit})" if unit else measure for measure, unit in own.items()):
        table.add_column(heading, justify="right")
    for heading, *_ in () if own else COLUMNS:
        table.add_column(heading, justify="right")
    if not own:
        table.add_column("sojourn (ms)", justify="right")
    for run in runs[:MOST_ROWS]:
        cells = [_text(run.parameters.get(axis)) for axis in axes]
        cells.append(str(run.seed))
        if own:
            values = metrics[run.run_id].get("experiment_metrics", {})
            table.add_row(*cells, *(number(values.get(measure)) for measure in own))
            continue
        for _, scope, metric, combine in COLUMNS:
            values = [of[metric] for of in metrics[run.run_id][f"{scope}_metrics"].values() if metric in of]
            cells.append(number(float(combine(values))) if values else "-")
        sojourns = [of["mean_sojourn"] for of in metrics[run.run_id]["link_metrics"].values() if "mean_sojourn" in of]
        cells.append(number(max(sojourns)) if sojourns else "-")
        table.add_row(*cells)
    return table


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
