"""`tune`: searches queues and parameters for a link and its traffic."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bloatlab.analysis import tune
from bloatlab.analysis.advice import advice
from bloatlab.analysis.front import Objective
from bloatlab.analysis.knobs import tc_of
from bloatlab.analysis.problem import LATEST, draws_starts
from bloatlab.analysis.problem import problem_of as assembled
from bloatlab.analysis.tune import Outcome, Problem
from bloatlab.cli.console import console, number, patience, progress_bar, say
from bloatlab.cli.options import Study
from bloatlab.cli.run import command_line, interrupted, told
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.cli.target import Target
from bloatlab.cli.values import assignments, named, value
from bloatlab.cli.vary import varied
from bloatlab.settings import RunSettings

NAME = "tune"
MOST_ROWS = 15


@dataclass(frozen=True)
class Goals:
    """The queues and objectives of the search."""

    queue: str | None
    """Queues to try, separated by commas. `None` for the queues that are common in home routers."""
    minimise: Sequence[str]
    maximise: Sequence[str]


def run_tune(name: str, goals: Goals, trials: int, study: Study, settings: RunSettings) -> int:
    """Searches, and prints the front."""
    plugins = study.plugins()
    problem = problem_of(Target.named(name, plugins, settings.find_engine(plugins)), goals, study)
    directory = study.directory(f"{problem.source.name}-{NAME}")
    with progress_bar(trials, "trials", quiet=study.json, silent=study.quiet) as tell:
        ended = told if study.verbose else None
        found = tune.tune(problem, directory, trials, settings, command=command_line(), progress=tell, ended=ended)
    if found.interrupted:
        return interrupted(f"{len(found.trials)} of {trials} trials", directory)
    if found.recommended is None:
        raise tune.nothing(found, problem)
    if study.json:
        sys.stdout.write(json.dumps(tune.describe(problem, found), allow_nan=False) + "\n")
        return 0
    out = console()
    front_table(problem, found).print(out)
    failed = f", {found.failed} failed" if found.failed else ""
    if not study.quiet:
        out.print(f"{len(found.trials)} trials{failed}; results in {directory}", soft_wrap=True)
        if draws_starts(problem):
            say(out, f"Flows start up to {LATEST} later at random, so that replications differ.")
    for sentence in advice(problem, found, number):
        say(out, sentence)
    for line in tc_of(found.recommended.queue, problem.bottleneck).split("; "):
        out.print(f"  {line}", soft_wrap=True)
    if line := _page_line(problem, found, directory, study):
        out.print(line, soft_wrap=True)
    return 0


def problem_of(target: Target, goals: Goals, study: Study) -> Problem:
    """The tuning problem that the options describe.

    Raises:
        ParameterError: An option does not fit.
    """
    base = {name: named(name, value, text) for name, text in assignments(study.set_, "--set").items()}
    objectives = [Objective(target.reading(text), True) for text in goals.minimise]
    objectives += [Objective(target.reading(text), False) for text in goals.maximise]
    queues = None if goals.queue is None else [name.strip() for name in goals.queue.split(",")]
    return assembled(
        target.source,
        target.experiment,
        base,
        queues=queues,
        ranges=varied(study.vary),
        objectives=objectives,
        read=target.reading,
        replications=study.replications,
        seed=study.seed,
    )


def front_table(problem: Problem, found: Outcome) -> FittedTable:
    """A table with one row per point of the front, and rows for the recommended trial and its default."""
    worst = f", worst of {problem.replications} replications" if problem.replications > 1 else ""
    rows = _rows(found)
    notes = ["* recommended"]
    notes += ["- not on the front"] * (len(found.shown) > len(found.front))
    if left := len(found.shown) - len(rows):
        notes.append(f"the page has {left} more trials of the front")
    columns = [
        Column("#", right=True),
        Column("queue"),
        # Headings break at spaces only.
        *(Column(of.title.replace(".", " "), right=True) for of in problem.objectives),
    ]
    title = f"{problem.source.name}: Pareto front of {len(found.trials)} trials{worst}"
    table = FittedTable(columns, title, ["; ".join(notes)])
    for place in rows:
        shown = found.shown[place]
        star = "*" if found.recommended is not None and shown.number == found.recommended.number else ""
        name = str(place + 1) if place < len(found.front) else "-"
        table.add(f"{star}{name}", shown.label, *(number(value) for value in shown.values))
    return table


def _rows(found: Outcome) -> list[int]:
    """The rows of the table, of a long front evenly spread ones, and those that the recommendation is about."""
    points = len(found.front)
    spread = (
        {round(index * (points - 1) / (MOST_ROWS - 1)) for index in range(MOST_ROWS)}
        if points > MOST_ROWS
        else range(points)
    )
    about = (found.choice.recommended, found.choice.best, found.choice.default) if found.choice else ()
    told = {of.number for of in about if of is not None}
    return [place for place, of in enumerate(found.shown) if place in spread or of.number in told]


def _page_line(problem: Problem, found: Outcome, directory: Path, study: Study) -> str:
    """Makes the page. Returns lines with the paths of the page and the figure, or the reason why there is no page.

    Empty if the page or the line is not wanted.
    """
    if study.no_report:
        return ""
    with patience("making the page", silent=study.quiet):
        try:
            from bloatlab.report.tuning import make_tuning_page
        except ImportError:
            return "no page: pip install 'bloatlab[report]'"
        page, figure = make_tuning_page(problem, found, directory, [command_line()])
    if study.quiet:
        return ""
    return f"page: {page}" + (f"\nfigure: {figure}" if figure is not None else "")
