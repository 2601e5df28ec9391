"""Means over runs that differ only in their seed, with intervals."""

from __future__ import annotations

import polars as pl

from bloatlab.analysis.aggregate import over
from bloatlab.experiments import phrases
from bloatlab.figures.sweep import Sweep
from bloatlab.report import text
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import MOST_RUNS, Columns, PlainTable

NOTE = (
    "Mean over the replications ± half of the 95 % confidence interval (Student's t). A difference smaller than the "
    "intervals may be noise; `bloatlab compare` tests it."
)


def points_table(swept: Sweep, columns: Columns) -> PlainTable | None:
    """A table with one row per point, with the best of each column marked. None if no point has several runs.

    Args:
        swept: The runs.
        columns: Columns for the results.
    """
    if swept.replications < 2 or not columns:
        return None
    names = list(swept.parameters)
    placed = swept.frame.with_columns(pl.struct("series", *names).rank("dense").alias("place"))
    long = placed.unpivot(list(columns), index="place", variable_name="column").drop_nulls("value")
    found = {(row["place"], row["column"]): row for row in over(long, ["place", "column"]).iter_rows(named=True)}
    heads = placed.group_by("place", maintain_order=True).agg(
        *(pl.first(name) for name in names), pl.len().alias("runs")
    )
    best = {
        column: _best([found[place, column]["mean"] for place in heads["place"] if (place, column) in found], better)
        for column, (_, better) in columns.items()
    }
    places = {axis.name: dict(zip(axis.values, axis.numbers, strict=False)) for axis in swept.axes}
    rows = []
    for head in heads.head(MOST_RUNS).iter_rows(named=True):
        cells = [
            Cell(
                phrases.cell(name, swept.value(head, name)),
                places.get(name, {}).get(head[name], swept.value(head, name)),
            )
            for name in names
        ]
        cells.append(Cell(str(head["runs"]), head["runs"]))
        cells += [_cell(found.get((head["place"], column)), best[column]) for column in columns]
        rows.append(cells)
    left = heads.height - len(rows)
    more = f" {left} more rows are not shown; `bloatlab export DIR --csv --summary` writes all." if left else ""
    titles = [*map(phrases.heading, names), "runs", *(title for title, _ in columns.values())]
    return PlainTable(
        titles,
        rows,
        "Means over replications",
        sortable=True,
        note=NOTE + more,
    )


def _best(means: list[float], better: str) -> float | None:
    if better not in ("higher", "lower") or len(set(means)) < 2:
        return None
    return max(means) if better == "higher" else min(means)


def _cell(row: dict[str, float] | None, best: float | None) -> Cell:
    if row is None:
        return Cell(text.NONE)
    mean, high = row["mean"], row["high"]
    return Cell(text.interval(mean, None if high is None else high - mean), mean, mean == best)
