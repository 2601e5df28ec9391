"""The page that compares two engines or two results directories: metrics, and time series over each other."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl

from bloatlab.analysis.compare import Comparison, Row, Side, match
from bloatlab.analysis.compare_text import advice, counts, sentence, shown
from bloatlab.analysis.points import varying
from bloatlab.experiments import phrases
from bloatlab.metrics import for_people
from bloatlab.report import text
from bloatlab.report.current import COMPARED
from bloatlab.report.drawing import Drawings
from bloatlab.report.figures import draw_figure
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import Drawn, PlainTable
from bloatlab.report.opening import openings
from bloatlab.report.page import NAME, render, write
from bloatlab.store import Store
from bloatlab.store.text import readable

MOST_POINTS = 4
"""Largest number of points whose time series are drawn."""
MOST_METRICS = 100
TITLE = "Both over time"
CAPTION = (
    "The runs of both directories: queueing delay at the bottleneck, throughput, window and sRTT of each flow, and RTT of "
    "each probe. Thin lines are single runs, thick lines their mean."
)


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
    from bloatlab.figures import engines, find

    drawings = Drawings()
    runs = engines.by_set_up(store, store.runs().filter(pl.col("engine").is_in([found.a, found.b])))
    points = engines.points_of_engines(runs)
    figure = find("engine_series")
    firsts = {point: _first_run(runs, point) for point in points[:MOST_POINTS]}
    lab = openings(store, list(firsts.values()))
    drawn = []
    for place, (point, run_id) in enumerate(firsts.items()):
        tables = engines.of_engines(store, runs, point)
        if figure.applicable(tables):
            picture = draw_figure(drawings, figure, tables, f"p{place}-")
            drawn.append((_label(store, point, points), picture, lab.links.get(run_id, "")))
    left = max(0, len(points) - MOST_POINTS)
    page = _page(found, drawings, drawn, store, command, left=left, lab_note=lab.note, everything=everything)
    return write(store.directory / COMPARED, page)


def make_page_of_sides(a: Side, b: Side, found: Comparison, command: str, *, everything: bool = False) -> Path:
    """Writes the page that compares two results directories into the second one.

    Args:
        a: The reference.
        b: The side that is compared with it.
        found: The comparison of both.
        command: The command that repeats it.
        everything: Whether the table also has the metrics that do not differ.

    Returns:
        The path of the page. Its name has the name of the first directory, so that each comparison has its own page.

    Raises:
        StoreError: The page cannot be written.
    """
    from bloatlab.figures import engines, find

    drawings = Drawings()
    figure = find("engine_series")
    names = _short(a, b)
    pairs, apart = match(a, b)
    within = varying({point: a.parameters[point] for point in pairs})
    drawn = []
    for place, (point, partner) in enumerate(list(pairs.items())[:MOST_POINTS]):
        sides = zip(names, (a, b), (point, partner), strict=True)
        tables = engines.of_stores([(name, of.store, _with_series(of, at)) for name, of, at in sides])
        if tables and figure.applicable(tables):
            picture = replace(draw_figure(drawings, figure, tables, f"p{place}-"), title=TITLE, caption=CAPTION)
            given = {name: json.loads(a.parameters[point][name]) for name in within if name not in apart}
            drawn.append((phrases.together(given), picture, ""))
    left = max(0, len(pairs) - MOST_POINTS)
    page = _page(
        replace(found, a=names[0], b=names[1]), drawings, drawn, b.store, command,
        left=left, lab_note="", everything=everything,
    )  # fmt: skip
    return write(b.store.directory / name_of_page(a.store), page)


def _short(a: Side, b: Side) -> tuple[str, str]:
    """The names of both directories without those around them, if these differ."""
    one, other = (of.store.directory.resolve().name for of in (a, b))
    return (one, other) if one != other else (a.name, b.name)


def name_of_page(a: Store) -> str:
    """The name of the page that compares a results directory with `a`."""
    name = re.sub(r"[^a-z0-9_-]+", "-", a.directory.resolve().name.lower()).strip("-")
    return f"compare-{name or 'a'}.html"


def _with_series(side: Side, point: int) -> list[str]:
    """The runs of a point whose series are kept."""
    return [run for run in side.runs.filter(point=point)["run_id"].to_list() if side.store.has_tables(run)]


def _page(
    found: Comparison,
    drawings: Drawings,
    drawn: list[tuple[str, Drawn, str]],
    store: Store,
    command: str,
    *,
    left: int,
    lab_note: str,
    everything: bool,
) -> str:
    return render(
        "compare.html",
        drawings,
        title=f"{found.a} and {found.b}",
        sentence=f"{sentence(found, text.number)} {advice(found)}".strip(),
        command=command,
        report=NAME if (store.directory / NAME).is_file() else "",
        drawn=drawn,
        lab_note=lab_note,
        left=left,
        metrics=metrics_table(found, everything=everything),
        suspect=suspect_table(found),
        notes=notes(found),
    )


def _first_run(runs: pl.DataFrame, point: int) -> str:
    """The finished run of a point with the smallest seed."""
    return str(runs.filter(point=point, status="done").sort("seed", maintain_order=True)["run_id"][0])


def _label(store: Store, point: int, points: list[int]) -> str:
    """The parameters of a point; empty if there is only one point."""
    if len(points) < 2:
        return ""
    runs = store.runs().filter(point=point).head(1).select("run_id")
    of = store.parameters().join(runs, on="run_id", how="semi").filter(pl.col("name") != "engine")
    given = {name: json.loads(value) for name, value in of.select("name", "value").iter_rows()}
    words = phrases.short(list(given))
    return phrases.together({words[name]: value for name, value in given.items()})


def metrics_table(found: Comparison, *, everything: bool) -> PlainTable:
    """A table with one row per metric and point that differs, or with all, the largest effect first."""
    several = found.matched > 1
    rows = shown(found, everything=everything)
    columns = ["metric", *(["set-up"] if several else []), found.a, found.b, "difference", "unit", "change"]
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
    factor, unit = for_people(row.metric, row.unit)
    values = [factor * value for value in (of.mean_a, of.mean_b, of.difference)]
    numbers = [Cell(shown, value) for shown, value in zip(text.numbers(values, unit), values, strict=True)]
    change = of.difference / abs(of.mean_a) if of.mean_a else None
    cells = [Cell(row.name, row.name), *([Cell(row.said)] if several else []), *numbers, Cell(unit)]
    cells.append(Cell(text.percent(change), change))
    if not judged:
        return cells
    interval = text.NONE
    if of.interval:
        interval = " to ".join(text.numbers([factor * of.interval.low, factor * of.interval.high], unit))
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
    sides = {found.a: versions[0], found.b: versions[1]} if any(versions) else {}
    return [
        *((name, readable(version)) for name, version in sides.items()),
        *((name, f"{one} and {other}") for name, (one, other) in found.compared.items() if name != "engine_version"),
        ("set-ups", str(found.matched)),
        ("replications", f"at least {a} and {b}, {'paired by seed' if found.paired else 'independent'}"),
        ("correction", found.correction.title()),
    ]
