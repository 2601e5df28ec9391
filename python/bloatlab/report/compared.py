"""The page that compares two engines: their metrics, and their time series over each other."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bloatlab.analysis.compare import Comparison, Row
from bloatlab.analysis.compare_text import advice, counts, sentence, shown
from bloatlab.report import text
from bloatlab.report.current import COMPARED
from bloatlab.report.drawing import Drawings
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import PlainTable
from bloatlab.report.opening import openings
from bloatlab.report.page import NAME, draw_figure, render, write
from bloatlab.store import Store
from bloatlab.store.text import readable

MOST_POINTS = 4
"""Largest number of points whose time series are drawn."""
MOST_METRICS = 100


def make_compared_page(store: Store, found: Comparison, command: str, *, everything: bool = False) -> Path:
    """Writes the page into the results directory.

    Args:
        store: The results.
        found: The comparison of two of its engines.
        command: The command that repeats it.
        everything: Whether the table also has the metrics that do not differ.

    Returns:
        The path of the page.

    Raises:
        StoreError: The page cannot be written.
    """
    drawings = Drawings()
    from bloatlab.figures import find, source

    runs = store.runs().filter(pl.col("engine").is_in([found.a, found.b]))
    points = source.points_of_engines(runs)
    figure = find("engine_series")
    firsts = {point: _first_run(runs, point) for point in points[:MOST_POINTS]}
    lab = openings(store, list(firsts.values()))
    drawn = []
    for place, (point, run_id) in enumerate(firsts.items()):
        tables = source.of_engines(store, runs, point)
        if figure.applicable(tables):
            picture = draw_figure(drawings, figure, tables, f"p{place}-")
            drawn.append((_label(store, point, points), picture, lab.links.get(run_id, "")))
    page = render(
        "compare.html",
        drawings,
        title=f"{found.a} and {found.b}",
        sentence=f"{sentence(found, text.number)} {advice(found)}".strip(),
        command=command,
        report=NAME if (store.directory / NAME).is_file() else "",
        drawn=drawn,
        lab_note=lab.note,
        left=max(0, len(points) - MOST_POINTS),
        metrics=metrics_table(found, everything=everything),
        suspect=suspect_table(found),
        notes=notes(found),
    )
    return write(store.directory / COMPARED, page)


def _first_run(runs: pl.DataFrame, point: int) -> str:
    """The finished run of a point with the smallest seed."""
    return str(runs.filter(point=point, status="done").sort("seed", maintain_order=True)["run_id"][0])


def _label(store: Store, point: int, points: list[int]) -> str:
    """The parameters of a point; empty if there is only one point."""
    if len(points) < 2:
        return ""
    runs = store.runs().filter(point=point).head(1).select("run_id")
    of = store.parameters().join(runs, on="run_id", how="semi").filter(pl.col("name") != "engine")
    return ", ".join(
        f"{name} = {'default' if value == 'null' else readable(value)}"
        for name, value in of.select("name", "value").iter_rows()
    )


def metrics_table(found: Comparison, *, everything: bool) -> PlainTable:
    """A table with one row per metric and point that differs, or with all, the largest effect first."""
    several = found.matched > 1
    rows = shown(found, everything=everything)
    columns = ["metric", *(["point"] if several else []), found.a, found.b, "difference", "unit", "change"]
    columns += [f"{100 * found.confidence:g} % interval", "p adjusted"] if found.judged else []
    doubtful = found.judged and len({row.differs for row in rows}) > 1
    columns += ["beyond noise"] * doubtful
    left = len(rows) - MOST_METRICS
    notes = [f"The difference is {found.b} minus {found.a}."]
    notes += [f"{left} more metrics with smaller effects are not shown; `bloatlab compare --json` gives all."] * (
        left > 0
    )
    hidden = len(found.rows) > len(rows)
    notes.append(f"{counts(found)}{'; `bloatlab compare --all` shows them' if hidden else ''}.")
    cells = [_cells(row, several=several, judged=found.judged, doubtful=doubtful) for row in rows[:MOST_METRICS]]
    return PlainTable(
        columns, cells, "Metrics" if everything else "Metrics that differ", sortable=True, note=" ".join(notes)
    )


def _cells(row: Row, *, several: bool, judged: bool, doubtful: bool) -> list[Cell]:
    of = row.difference
    numbers = [Cell(text.number(value), value) for value in (of.mean_a, of.mean_b, of.difference)]
    change = of.difference / abs(of.mean_a) if of.mean_a else None
    cells = [Cell(row.name, row.name), *([Cell(row.point)] if several else []), *numbers, Cell(row.unit)]
    cells.append(Cell(text.percent(change), change))
    if not judged:
        return cells
    interval = f"{text.number(of.interval.low)} to {text.number(of.interval.high)}" if of.interval else text.NONE
    verdict = {True: "yes", False: "no", None: text.NONE}[row.differs]
    cells += [Cell(interval), Cell(text.number(row.p_adjusted, 2), row.p_adjusted)]
    return [*cells, Cell(verdict)] if doubtful else cells


def suspect_table(found: Comparison) -> PlainTable | None:
    """A table of the runs that are left out, and why. None if there are none."""
    rows = [
        [Cell(run.run_id[:10]), Cell(run.engine), Cell(str(run.seed), run.seed), Cell(run.reason)]
        for run in found.suspect
    ]
    return PlainTable(["run", "engine", "seed", "reason"], rows, "Suspect runs, left out") if rows else None


def notes(found: Comparison) -> list[tuple[str, str]]:
    """Facts about the comparison."""
    a, b = found.replications
    versions = found.compared.get("engine_version", ("", ""))
    return [
        (found.a, readable(versions[0])),
        (found.b, readable(versions[1])),
        ("points", str(found.matched)),
        ("replications", f"at least {a} and {b}, {'paired by seed' if found.paired else 'independent'}"),
        ("correction", found.correction.title()),
    ]
