"""Set-ups that several engines ran, with their results beside each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from statistics import median

import polars as pl

from bloatlab.experiments import phrases
from bloatlab.figures.sweep import Sweep
from bloatlab.report import text
from bloatlab.report.drawing import Drawings
from bloatlab.report.figures import draw_figure
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import MOST_RUNS, Columns, Drawn, PlainTable, SideBySide
from bloatlab.store import Store

FIGURE = "engine_series"
MOST_FIGURES = 2
"""Largest number of set-ups whose time series are drawn."""
Means = Mapping[str, float | None]


def side_by_side(swept: Sweep, columns: Columns, main: str, own: Collection[str]) -> SideBySide | None:
    """The results of the engines beside each other, without figures; `None` if no set-up has runs of several engines.

    Args:
        swept: The finished runs of all engines.
        columns: The results that are compared.
        main: The engine to which the others are compared.
        own: Parameters whose defaults depend on the engine.
    """
    if "engine" not in swept.parameters or not columns:
        return None
    apart = [name for name in swept.parameters if name in own and _one_each(swept, name)]
    names = [name for name in swept.parameters if name not in ("engine", *apart)]
    engines = [main, *(name for name in swept.parameters["engine"] if name != main)]
    means = swept.frame.group_by(*names, "engine", maintain_order=True).agg(pl.col(list(columns)).mean())
    set_ups: dict[tuple[str, ...], dict[str, Means]] = {}
    for row in means.iter_rows(named=True):
        key = tuple(swept.value(row, name) for name in names)
        set_ups.setdefault(key, {})[row["engine"]] = {column: row[column] for column in columns}
    shared = {key: of for key, of in set_ups.items() if len(of) > 1}
    if not shared:
        return None
    there = [engine for engine in engines if any(engine in of for of in shared.values())]
    several = len(shared) > 1
    sentence = (
        f"{phrases.listed(there, len(there))} ran the same {f'{len(shared):,} set-ups' if several else 'set-up'}."
    )
    if several:
        sentence += (
            " The first table has the quotients of their means over all set-ups, the second has the means of each."
        )
    if apart:
        sentence += (
            f" Parameters whose defaults depend on the engine: {'; '.join(_told(swept, name) for name in apart)}."
        )
    titles = {column: title for column, (title, _) in columns.items()}
    return SideBySide(sentence, _ratios(shared, there, titles), _values(names, shared, there, titles), ())


def _one_each(swept: Sweep, name: str) -> bool:
    """Whether each engine has one value of a parameter."""
    return bool(swept.frame.group_by("engine").agg(pl.col(name).n_unique())[name].max() == 1)


def _told(swept: Sweep, name: str) -> str:
    """The value of a parameter with each engine, such as `cca is newreno with sim and reno with linux`."""
    rows = swept.frame.unique("engine", maintain_order=True).iter_rows(named=True)
    each = [f"{phrases.cell(name, swept.value(row, name))} with {row['engine']}" for row in rows]
    return f"{phrases.heading(name)} is {phrases.listed(each, len(each))}"


def _ratios(
    shared: Mapping[tuple[str, ...], Mapping[str, Means]], engines: list[str], titles: Mapping[str, str]
) -> PlainTable:
    """How far the other engines are from the first: the median, and the smallest and largest quotient of the means."""
    main, *others = engines
    shown: dict[str, Callable[[list[float]], float]] = {"quotient": median}
    if len(shared) > 1:
        shown = {"median": median, "smallest": min, "largest": max}
    rows = []
    for other in others:
        for column, title in titles.items():
            pairs = [(of[other][column], of[main][column]) for of in shared.values() if main in of and other in of]
            if found := [theirs / ours for theirs, ours in pairs if theirs is not None and ours]:
                numbers = [of(found) for of in shown.values()]
                rows.append([Cell(title), Cell(f"{other} / {main}"), *(Cell(f"{one:.3f}", one) for one in numbers)])
    return PlainTable(["metric", "engines", *shown], rows, "How far apart the engines are", sortable=True)


def _values(
    names: list[str],
    shared: Mapping[tuple[str, ...], Mapping[str, Means]],
    engines: list[str],
    titles: Mapping[str, str],
) -> PlainTable:
    """The means of each set-up, those of all engines in one cell."""
    rows = []
    for key, of in list(shared.items())[:MOST_RUNS]:
        cells = [Cell(phrases.cell(name, value)) for name, value in zip(names, key, strict=True)]
        for column in titles:
            values = [of[engine][column] if engine in of else None for engine in engines]
            cells.append(Cell(" / ".join(map(text.number, values)), values[0]))
        rows.append(cells)
    left = len(shared) - len(rows)
    note = f"Each cell: {' / '.join(engines)}; {text.NONE} where an engine has no runs or did not measure it."
    note += f" {left:,} more set-ups are not shown." if left else ""
    headings = [*map(phrases.heading, names), *titles.values()]
    return PlainTable(headings, rows, "Means of each set-up", sortable=True, note=note)


def over_time(
    store: Store, drawings: Drawings, runs: pl.DataFrame, labels: Mapping[str, str], prefix: str
) -> list[tuple[str, Drawn]]:
    """Time series of the engines over each other: those of the set-ups of the picked runs, or else of the first set-up.

    Args:
        store: The results.
        drawings: Gets the figures.
        runs: Rows of `runs` of one experiment.
        labels: Runs that the page shows in detail, each with the words that tell its set-up from others.
        prefix: Begins the names of the figures.
    """
    from bloatlab.figures import engines, find

    placed = engines.by_set_up(store, runs)
    shared = engines.points_of_engines(placed)
    of_runs = dict(placed.select("run_id", "point").iter_rows())
    wanted = {of_runs[run]: label for run, label in labels.items() if of_runs.get(run) in shared} or dict.fromkeys(
        shared[:1], ""
    )
    figure = find(FIGURE)
    drawn = []
    for point, label in list(wanted.items())[:MOST_FIGURES]:
        tables = engines.of_engines(store, placed, point)
        if figure.applicable(tables):
            drawn.append((label, draw_figure(drawings, figure, tables, f"{prefix}engines-{point}-")))
    return drawn
