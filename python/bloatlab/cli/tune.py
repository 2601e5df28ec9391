"""`tune`: searches queues and parameters for a link and its traffic."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab import units
from bloatlab.analysis import tune
from bloatlab.analysis.advice import advice
from bloatlab.analysis.bottleneck import CELL, Bottleneck, bottleneck_of
from bloatlab.analysis.front import Objective
from bloatlab.analysis.knobs import knobs, tc_of
from bloatlab.analysis.objectives import objectives_of
from bloatlab.analysis.space import Vary
from bloatlab.analysis.tune import Outcome, Problem
from bloatlab.cli.console import console, number, patience, progress_bar
from bloatlab.cli.options import Study
from bloatlab.cli.run import command_line, interrupted, told
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.cli.target import Target
from bloatlab.cli.values import assignments, named, value
from bloatlab.cli.vary import varied
from bloatlab.errors import ParameterError
from bloatlab.settings import RunSettings
from bloatlab.sweeps import ScenarioSource, Source, plan, plan_points

NAME = "tune"
BUFFER = "cell.buffer"
LEAST_BUFFER_KB = 30
"""Smallest searched RLC buffer of a cell in kB: two initial windows."""
MOST_ROWS = 15
JITTER, LATEST = ".start_jitter", "100ms"


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
    if any(name.endswith(JITTER) for name in problem.base):
        out.print(f"Flows start up to {LATEST} later at random, so that replications differ.")
    for sentence in advice(problem, found, number):
        out.print(sentence)
    for line in tc_of(found.recommended.queue, problem.bottleneck).split("; "):
        out.print(f"  {line}", soft_wrap=True)
    if page := _page_line(problem, found, directory, study):
        out.print(page, soft_wrap=True)
    return 0


def problem_of(target: Target, goals: Goals, study: Study) -> Problem:
    """The tuning problem that the options describe.

    Raises:
        ParameterError: An option does not fit.
    """
    source = target.source
    base = {name: named(name, value, text) for name, text in assignments(study.set_, "--set").items()}
    replications = tune.REPLICATIONS if study.replications is None else study.replications
    ranges = varied(study.vary)
    if isinstance(source, ScenarioSource) and replications > 1:
        base = {**_jitter(source, base), **base}
    bottleneck = _bottleneck(target, {**base, **{of.name: of.at(0.0) for of in ranges if of.name not in base}})
    path = bottleneck.path
    if path in base:
        raise ParameterError(f"{path}: is tuned, so it cannot be set; choose the queues to try with --queue")
    queues = list(tune.QUEUES) if goals.queue is None else [name.strip() for name in goals.queue.split(",")]
    if len(set(queues)) < len(queues):
        raise ParameterError("--queue: a queue is given twice")
    for kind in queues:
        knobs(kind, bottleneck)
    defaults: dict[str, int] = {}
    if path == CELL and BUFFER not in base and all(of.name != BUFFER for of in ranges):
        buffer, defaults = _buffer(source, base)
        ranges = [*ranges, buffer]
    if goals.minimise or goals.maximise:
        objectives = [Objective(target.reading(text), True) for text in goals.minimise]
        objectives += [Objective(target.reading(text), False) for text in goals.maximise]
    else:
        first = plan(source, {**base, path: queues[0], **{of.name: of.at(0.0) for of in ranges}})
        objectives = objectives_of(json.loads(first[0].scenario), bottleneck, target.reading)
    return Problem(source, base, bottleneck, queues, ranges, objectives, replications, study.seed, defaults)


def _jitter(source: ScenarioSource, base: Mapping[str, Any]) -> dict[str, str]:
    """A random start for flows that have none: most scenarios draw no random number, so all replications are equal."""
    flows = json.loads(plan_points(source, [{}], base, dry=True)[0].scenario)["flows"]
    return {
        f"flows.{index}{JITTER}": LATEST for index, of in enumerate(flows) if not units.duration(of["start_jitter"])
    }


def _bottleneck(target: Target, given: Mapping[str, Any]) -> Bottleneck:
    """What is tuned: a queue of the scenario, or the parameter `queue` of the experiment."""
    experiment = target.experiment
    if experiment is None:
        return bottleneck_of(plan_points(target.source, [{**given}], {}, dry=True)[0].scenario)
    if all(of.name != tune.QUEUE for of in experiment.parameters):
        raise ParameterError(
            f"{experiment.name}: has no parameter `queue` to tune (allowed: an experiment with this parameter, or the file "
            "of a scenario)"
        )
    if tune.QUEUE in given:
        return Bottleneck(tune.QUEUE, ())
    return bottleneck_of(plan(target.source, given)[0].scenario, tune.QUEUE)


def _buffer(source: Source, base: Mapping[str, Any]) -> tuple[Vary, dict[str, int]]:
    """The range of the RLC buffer of a cell, up to its size in the scenario, which is the default."""
    document = json.loads(plan_points(source, [{}], base, dry=True)[0].scenario)
    size = max(2, round(units.size(document["cell"]["buffer"]) / 1000))
    return Vary(BUFFER, (), min(size // 2, LEAST_BUFFER_KB), size, "kB", True), {BUFFER: size}


def front_table(problem: Problem, found: Outcome) -> FittedTable:
    """A table with one row per point of the front, and rows for the recommended trial and its default."""
    worst = f", worst of {problem.replications} replications" if problem.replications > 1 else ""
    rows = _rows(found)
    notes = ["* recommended"]
    notes += ["- not on the front"] * (len(found.shown) > len(found.front))
    if left := len(found.shown) - len(rows):
        notes.append(f"the page has {left} more points of the front")
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
