"""The page of `parity`: how many cells agree, what differs, single runs, and both time series over each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab.parity.judge import Cell as GridCell
from bloatlab.parity.judge import Judged, Word
from bloatlab.parity.study import Found, counts, median_ratio
from bloatlab.parity.words import fixed, label, modes_text, ratio_text, sentence
from bloatlab.report import text
from bloatlab.report.drawing import Drawings
from bloatlab.report.figures import draw_figure
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import Drawn, PlainTable
from bloatlab.report.page import render, write
from bloatlab.store import Store

NAME = "parity.html"
MOST_SERIES = 4
"""Largest number of cells whose time series are drawn."""
MOST_RUNS = 8
"""Largest number of panels with the values of single runs."""
MEANINGS: Mapping[Word, str] = {
    "agrees": "the means differ by no more than the aim",
    "chance": "outside the aim, but chance often gives such samples (p at least 0.05)",
    "differs": "outside the aim, and chance alone does not explain it (p below 0.05)",
    "too few seeds": "outside the aim, and so few runs cannot tell chance from cause",
}
SIDES = ("simulator", "kernel")
TEST = "p: permutation test of the means over the seeds. Values are means ± standard deviations."
DIFFERENCES = "Each mark is a cell. Between the dashed lines, the means differ by no more than the aim."
RUNS = (
    "Each mark is a run with its own seed, the bar is the mean. Marks that lie in groups are modes of a chaotic cell."
)


def make_parity_page(found: Found, directory: Path, command: str) -> Path:
    """Writes the page into the results directory.

    Args:
        found: The comparison.
        directory: The results directory, which has the runs.
        command: The command that repeats it.

    Returns:
        The path of the page.

    Raises:
        StoreError: The page cannot be written.
    """
    drawings = Drawings()
    page = render(
        "parity.html",
        drawings,
        title="The simulator beside a Linux kernel",
        sentence=sentence(found),
        command=command,
        facts=[
            *([("every cell", shared)] if (shared := fixed(found)) else []),
            ("simulator", found.engines[0]),
            ("kernel", found.engines[1]),
        ],
        shares=shares_table(found),
        differences=_drawn(drawings, "parity_differences", differences(found), "Differences", DIFFERENCES),
        outside=outside_table(found),
        judgements=[
            (word, meaning) for word, meaning in MEANINGS.items() if any(one.word == word for one in found.judged)
        ],
        runs=_of_runs(drawings, found),
        series=_series(drawings, Store(directory), found),
        cells=cells_table(found),
    )
    return write(directory / NAME, page)


def shares_table(found: Found) -> PlainTable:
    """One row per metric: its aim, and how many cells have each judgement."""
    words = [word for word, count in counts(found.judged).items() if count or word != "too few seeds"]
    rows = []
    for aim in found.aims:
        judged = found.of(aim)
        of, ratio = counts(judged), median_ratio(judged)
        tally = [Cell(str(of[word]), of[word]) for word in words]
        rows.append(
            [
                Cell(aim.title),
                Cell(aim.text),
                Cell(str(len(judged)), len(judged)),
                *tally,
                Cell(ratio_text(ratio), ratio),
            ]
        )
    columns = ["metric", "aim", "cells", *words, "simulator / kernel (median)"]
    return PlainTable(columns, rows, "Agreement", sortable=True)


def outside_table(found: Found) -> PlainTable | None:
    """What is outside its aim. None if nothing is."""
    outside = found.outside()
    rows = [
        [
            Cell(label(one.cell)),
            Cell(one.aim.heading),
            *_sides(one),
            Cell(ratio_text(one.ratio), one.ratio),
            Cell(text.number(one.p, 2), one.p),
            Cell(one.word),
        ]
        for one in outside
    ]
    columns = ["cell", "metric", "simulator", "kernel", "ratio", "p", "judgement"]
    if any(one.modes for one in outside):
        columns.append("modes")
        rows = [[*row, Cell(modes_text(one))] for row, one in zip(rows, outside, strict=True)]
    return PlainTable(columns, rows, "Outside the aims", sortable=True, note=TEST) if rows else None


def _sides(one: Judged) -> list[Cell]:
    pairs = zip(one.means, one.deviations, strict=True)
    return [Cell(text.interval(mean, sd), mean) for mean, sd in pairs]


def cells_table(found: Found) -> PlainTable:
    """Every metric of every cell."""
    rows = [
        [
            Cell(label(one.cell)),
            Cell(one.aim.heading),
            *_sides(one),
            Cell(ratio_text(one.ratio), one.ratio),
            Cell(one.word),
        ]
        for one in found.judged
    ]
    columns = ["cell", "metric", "simulator", "kernel", "ratio", "judgement"]
    return PlainTable(columns, rows, "Every metric of every cell", sortable=True)


def differences(found: Found) -> dict[str, pl.DataFrame]:
    """The table of `parity_differences`."""
    rows = [
        {
            "metric": one.aim.title,
            "cell": label(one.cell),
            "excess": one.excess,
            "judgement": one.word,
        }
        for one in found.judged
    ]
    return {"differences": pl.DataFrame(rows)}


def _of_runs(drawings: Drawings, found: Found) -> Drawn | None:
    """The values of single runs of what is outside, or of the sojourn times if nothing is."""
    chosen = found.outside() or [one for one in found.judged if one.aim.name == "sojourn"]
    rows = [
        {"panel": f"{label(one.cell)}: {one.aim.title}", "title": one.aim.heading, "side": side, "value": value}
        for one in chosen[:MOST_RUNS]
        for side, values in zip(SIDES, (one.ours, one.theirs), strict=True)
        for value in values
    ]
    more = len(chosen) - MOST_RUNS
    caption = RUNS + (f" {more} more are not drawn." if more > 0 else "")
    return _drawn(drawings, "parity_runs", {"runs": pl.DataFrame(rows)}, "Single runs", caption) if rows else None


def _drawn(drawings: Drawings, name: str, tables: Mapping[str, pl.DataFrame], title: str, caption: str) -> Drawn:
    from bloatlab.figures.charts import parity
    from bloatlab.figures.theme import PHONE, WIDE

    draw: Any = getattr(parity, name)
    pictures = [drawings.add(draw(tables, width=width), f"{name}-{width}") for width in (WIDE, PHONE)]
    return Drawn(name, title, caption, False, pictures)


def _series(drawings: Drawings, store: Store, found: Found) -> list[tuple[str, Drawn]]:
    """Both time series over each other: of the cells that are furthest outside, or of the first ones."""
    from bloatlab.figures import engines, find

    figure = find("engine_series")
    drawn: list[tuple[str, Drawn]] = []
    for cell in _furthest(found)[:MOST_SERIES]:
        tables = engines.of_stores([(side, store, runs) for side, runs in zip(SIDES, cell.runs, strict=True)])
        if tables and figure.applicable(tables):
            drawn.append((label(cell), draw_figure(drawings, figure, tables, f"s{len(drawn)}-")))
    return drawn


def _furthest(found: Found) -> Sequence[GridCell]:
    """The cells with something outside its aim, the furthest first; all cells if there is none."""
    first = {id(one.cell): one.cell for one in found.outside()}
    return list(first.values()) or found.cells
