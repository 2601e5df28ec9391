"""The page of a search: the Pareto front as a figure and a table, and the recommended queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab.analysis.advice import advice
from bloatlab.analysis.front import Found, Objective, front
from bloatlab.analysis.knobs import tc_of
from bloatlab.analysis.tune import Outcome, Problem
from bloatlab.report import text
from bloatlab.report.drawing import Drawings
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import Drawn, PlainTable
from bloatlab.report.opening import openings, with_column
from bloatlab.report.page import render, write
from bloatlab.store import Store

NAME = "tune.html"
FIGURE = "pareto.svg"
CAPTION = (
    "Each mark is one trial. Numbered trials, joined by the dashed line, are those of the table that no other beats in both "
    "objectives of the figure. The star is the recommended trial. Better is up and to the right."
)


def tables_of(problem: Problem, found: Outcome) -> dict[str, pl.DataFrame]:
    """The tables for the figure, which shows the first two objectives and their own Pareto front."""
    drawn = {
        of.number for of in front([replace(of, values=of.values[:2]) for of in found.trials], problem.objectives[:2])
    }
    places = {of.number: place for place, of in enumerate(found.front, 1) if of.number in drawn}
    rows = [
        {
            "kind": of.kind,
            "x": of.values[0],
            "y": of.values[1],
            "place": places.get(of.number),
            "knee": found.recommended is not None and of.number == found.recommended.number,
        }
        for of in found.trials
    ]
    numbers = {"x": pl.Float64, "y": pl.Float64, "place": pl.Int64, "knee": pl.Boolean}
    objectives = [{"title": of.title, "minimise": of.minimise} for of in problem.objectives[:2]]
    return {"trials": pl.DataFrame(rows, schema={"kind": pl.String, **numbers}), "objectives": pl.DataFrame(objectives)}


def values(objective: Objective, place: int, trials: Sequence[Found]) -> list[Cell]:
    """A column: the worst value, then the mean of the replications with the half-width of its interval.

    Replications that differ by rounding only have no mean of their own.
    """
    worst = [of.values[place] for of in trials]
    cells = []
    for of, shown in zip(trials, text.numbers(worst, objective.reading.unit), strict=True):
        mean = text.interval(of.means[place], of.half_widths[place])
        noisy = "±" in mean
        cells.append(Cell(f"{shown} (mean {mean})" if noisy else shown, of.values[place]))
    return cells


def make_tuning_page(
    problem: Problem, found: Outcome, directory: Path, commands: Sequence[str]
) -> tuple[Path, Path | None]:
    """Writes the page and, for at least two objectives, the figure.

    Returns:
        Their paths.

    Raises:
        StoreError: The page cannot be written.
    """
    figures: list[Drawn] = []
    saved: Path | None = None
    drawings = Drawings()
    if len(problem.objectives) > 1:
        from bloatlab.figures import pareto, save
        from bloatlab.figures.theme import PHONE, WIDE
        from bloatlab.store.files import write_whole

        tables = tables_of(problem, found)
        pictures = [drawings.add(pareto(tables, width=width), f"pareto-{width}") for width in (WIDE, PHONE)]
        figures.append(Drawn("pareto", "Trials and the Pareto front", CAPTION, False, pictures))
        saved = directory / FIGURE
        write_whole(saved, lambda temporary: save(pareto(tables), temporary))
    runs = [of.runs[0] for of in found.shown]
    lab = openings(Store(directory), [], runs)
    page = render(
        "tune.html",
        drawings,
        title=f"Queues for {problem.source.name}",
        name=problem.source.name,
        sentence=sentence(problem, found),
        tc=tc_of(found.recommended.queue, problem.bottleneck).replace("; ", "\n") if found.recommended else "",
        commands=list(commands),
        figures_drawn=figures,
        front=with_column(front_table(problem, found), runs, lab),
        lab_note=lab.note,
        searched=searched_table(problem),
        notes=notes(problem, found),
    )
    return write(directory / NAME, page), saved


def sentence(problem: Problem, found: Outcome) -> str:
    """The recommended queue, why, and how far it is from the default."""
    return " ".join(advice(problem, found, text.number)) or "Every trial failed."


def front_table(problem: Problem, found: Outcome) -> PlainTable:
    """A table with one row per trial of the front, and rows for the recommended trial and its default."""
    rows = []
    columns = [values(of, place, found.shown) for place, of in enumerate(problem.objectives)]
    for place, of in enumerate(found.shown, 1):
        number = str(place) if place <= len(found.front) else "not on the front"
        star = " (recommended)" if found.recommended is not None and of.number == found.recommended.number else ""
        cells = [column[place - 1] for column in columns]
        rows.append(
            [
                Cell(f"{number}{star}", place),
                Cell(of.label, of.label),
                *cells,
                Cell(tc_of(of.queue, problem.bottleneck, shaped=False)),
            ]
        )
    titles = ["#", "queue", *(of.title for of in problem.objectives), "queue on Linux"]
    return PlainTable(titles, rows, "Pareto front", sortable=True)


def searched_table(problem: Problem) -> PlainTable:
    """The varied parameters with their ranges."""
    from bloatlab.analysis.knobs import knobs

    rows = [
        [Cell(kind), Cell(of.name.partition(".")[2].replace("/", " / ")), Cell(of.text)]
        for kind in problem.queues
        for of in knobs(kind, problem.bottleneck)
    ]
    rows += [[Cell("all"), Cell(of.name), Cell(of.text)] for of in problem.varied]
    return PlainTable(["queue", "parameter", "range"], rows, "Searched parameters")


def notes(problem: Problem, found: Outcome) -> list[tuple[str, Any]]:
    """Facts about the search: objectives, trials, replications, seed."""
    trials = f"{len(found.trials):,}" + (f", {found.failed} failed" if found.failed else "")
    goals = "; ".join(f"{'minimise' if of.minimise else 'maximise'} {of.reading.words}" for of in problem.objectives)
    fixed = ", ".join(f"{name}={value}" for name, value in problem.base.items())
    given = [("set", fixed)] if fixed else []
    return [
        *given,
        ("objectives", goals),
        ("trials", trials),
        ("replications", problem.replications),
        ("seed", problem.seed),
    ]
