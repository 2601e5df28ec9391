"""`tune`: searches queues and parameters for a link and its traffic."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bloatlab.analysis import tune
from bloatlab.analysis.front import Objective
from bloatlab.analysis.knobs import knobs, queue_path, tc_of
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
from bloatlab.sweeps import ScenarioSource, plan, plan_points

NAME = "tune"


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
    if found.knee is None:
        raise tune.nothing(found, problem)
    if study.json:
        sys.stdout.write(json.dumps(tune.describe(problem, found), allow_nan=False) + "\n")
        return 0
    out = console()
    front_table(problem, found).print(out)
    failed = f", {found.failed} failed" if found.failed else ""
    if not study.quiet:
        out.print(f"{len(found.trials)} trials{failed}; results in {directory}", soft_wrap=True)
    out.print(f"recommended: {found.knee.label}", soft_wrap=True)
    out.print(f"  {tc_of(found.knee.queue)}", soft_wrap=True)
    if line := _page_line(problem, found, directory, study):
        out.print(line, soft_wrap=True)
    return 0


def problem_of(target: Target, goals: Goals, study: Study) -> Problem:
    """The tuning problem that the options describe.

    Raises:
        ParameterError: An option does not fit.
    """
    source = target.source
    base = {name: named(name, value, text) for name, text in assignments(study.set_, "--set").items()}
    if isinstance(source, ScenarioSource):
        path = queue_path(plan_points(source, [{}], base, dry=True)[0].scenario)
    elif target.experiment is None or all(of.name != tune.QUEUE for of in target.experiment.parameters):
        raise ParameterError(f"{source.name}: has no parameter `queue` to tune")
    else:
        path = tune.QUEUE
    if path in base:
        raise ParameterError(f"{path}: is tuned, so it cannot be set; choose the queues to try with --queue")
    queues = list(tune.QUEUES) if goals.queue is None else [name.strip() for name in goals.queue.split(",")]
    if len(set(queues)) < len(queues):
        raise ParameterError("--queue: a queue is given twice")
    for kind in queues:
        knobs(kind)
    ranges = varied(study.vary)
    if goals.minimise or goals.maximise:
        objectives = [Objective(target.reading(text), True) for text in goals.minimise]
        objectives += [Objective(target.reading(text), False) for text in goals.maximise]
    else:
        first = plan(source, {**base, path: queues[0], **{of.name: of.at(0.0) for of in ranges}})
        objectives = tune.objectives_of(json.loads(first[0].scenario), target.reading)
    return Problem(source, base, path, queues, ranges, objectives, study.replications, study.seed)


def front_table(problem: Problem, found: Outcome) -> FittedTable:
    """A table with one row per point of the front: its values and its tc command."""
    columns = [
        Column("#", right=True),
        Column("queue"),
        *(Column(of.title, right=True) for of in problem.objectives),
        Column("on Linux", optional=1),
    ]
    title = f"{problem.source.name}: Pareto front of {len(found.trials)} trials"
    table = FittedTable(columns, title, ["* recommended"], "--json and the page show them")
    for place, of_front in enumerate(found.front, 1):
        star = "*" if found.knee is not None and of_front.number == found.knee.number else ""
        values = [
            number(middle) + (f" ± {half:.2g}" if half is not None else "")
            for middle, half in zip(of_front.values, of_front.half_widths, strict=True)
        ]
        table.add(f"{star}{place}", of_front.label, *values, tc_of(of_front.queue))
    return table


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
