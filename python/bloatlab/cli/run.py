"""`run` and `simulate`: plan runs, execute them and print results."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.analysis.claims import claims_of, note_claims
from bloatlab.analysis.judged import verdicts
from bloatlab.analysis.ranked import of_plan
from bloatlab.cli.console import complain, console, counted, patience, progress_bar, say
from bloatlab.cli.dry_run import show_plan
from bloatlab.cli.options import Output, Points, Telling
from bloatlab.cli.ranking import print_ranking, weights_of
from bloatlab.cli.tables import paragraph
from bloatlab.cli.values import assignments, axis, named, value
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.ranking import Ranking, describe
from bloatlab.experiments.suite import Suite
from bloatlab.experiments.weighing import EQUAL, Weights
from bloatlab.judges import Verdict
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, RunRecord, Store, Writer
from bloatlab.store.remote import Place, is_url, shown
from bloatlab.store.remote.secrets import without_secrets
from bloatlab.sweeps import ExperimentSource, PlannedRun, Source, Summary, execute, plan_all
from bloatlab.sweeps.suite import preview_all

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130
MOST_REASONS = 10
MOST_COMPARED = 2000
"""Runs of a sweep whose points are compared on the terminal. Of a larger one only the first rows are read."""
NEXT = "next: "
MANY_RUNS = 40
"""Runs above which their rate is printed."""


def command_line() -> str:
    """The command as the user typed it, for the hint how to resume. Passwords and keys in URLs are left out."""
    return without_secrets(" ".join(["bloatlab", *(shlex.quote(word) for word in sys.argv[1:])]))


def run_points(source: Source, points: Points, output: Output, settings: RunSettings) -> int:
    """Makes the runs of `run` or `simulate` and returns the exit code."""
    base = {name: named(name, value, text) for name, text in assignments(points.set_, "--set").items()}
    given = {name: named(name, axis, text) for name, text in assignments(points.sweep, "--sweep").items()}
    keep = Keep.usual(points.packets)
    if points.dry_run:
        found, swept = preview_all(source, base, given, replications=points.replications, seed=points.seed)
        return show_plan(source.name, found, list(swept), keep, output, settings)
    with patience("planning the runs", silent=output.quiet or output.json):
        runs, axes = plan_all(source, base, given, replications=points.replications, seed=points.seed, keep=keep)
    experiment = source.experiment if isinstance(source, ExperimentSource) else None
    weights = weights_of(output.weigh, {source.name: experiment})
    job = Job(source.name, runs, source.stored(axes), experiment, weights)
    return carry_out(job, output.directory(source.name), output, settings)


@dataclass(frozen=True)
class Job:
    """Planned runs."""

    name: str
    runs: Sequence[PlannedRun]
    axes: Mapping[str, Sequence[Any]]
    """The values of each swept parameter as they are stored, in the order of the user."""
    experiment: Experiment | None
    weights: Weights = EQUAL
    """Weights of the ranking."""


def carry_out(job: Job, directory: Place, output: Output, settings: RunSettings) -> int:
    """Makes the runs, prints their results and returns the exit code."""

    def after(writer: Writer, summary: Summary) -> None:
        if job.experiment is not None:
            note_claims(writer, job.experiment, summary.measured, summary)

    with progress_bar(len(job.runs), quiet=output.json, silent=output.quiet) as tell:
        summary = execute(
            job.runs,
            directory,
            settings,
            progress=tell,
            ended=told if output.verbose else None,
            command=command_line(),
            axes=job.axes,
            after=after,
        )
    complain_of(summary)
    if summary.interrupted:
        return interrupted(f"{summary.finished} of {summary.total} runs", directory)
    _tell(job, summary, directory, output)
    if summary.failed:
        complain(f"{len(summary.failed)} of {summary.total} runs failed; the store holds the reasons")
    if summary.suspect:
        complain(f"{len(summary.suspect)} of {summary.total} runs are suspect; the store holds the reasons")
    return 1 if summary.failed or summary.suspect else 0


def complain_of(summary: Summary) -> None:
    """Prints which runs failed or are suspect, and why."""
    for what, runs in (("failed", summary.failed), ("is suspect", summary.suspect)):
        for planned, reason in runs[:MOST_REASONS]:
            complain(f"run {planned.run_id} (seed {planned.seed}) {what}: {reason}")


def interrupted(kept: str, directory: Place) -> int:
    """Prints how many runs are kept after an interrupt and how to resume. Returns the exit code."""
    complain(f"interrupted; {kept} are kept in {shown(directory)}. Resume with: {command_line()}")
    return INTERRUPTED


def _tell(job: Job, summary: Summary, directory: Place, output: Output) -> None:
    store = Store(directory)
    done = summary.measured
    if output.json:
        metrics = store.run_metrics([planned.run_id for planned in done])
        ranking = of_plan(job.experiment, done, metrics, job.weights)
        judged = verdicts(store, list(metrics), metrics)
        print_json(job.name, done, metrics, claims_of(job.experiment, done, store), ranking, judged=judged)
        return
    if not done:
        return
    out = console()
    more = _answer(job, done, store, output, out)
    if output.quiet:
        report_line(directory, output, job.weights)
        return
    for line in _made(job, summary, directory, output):
        say(out, line)
    if others := _others(store, done):
        say(out, f"{shown(directory)} also holds {others}; another --out keeps them apart")
    if line := report_line(directory, output, job.weights):
        out.print(line, soft_wrap=True)
    say_next(out, directory, _figure(job, done), more)


def _figure(job: Job, done: Sequence[PlannedRun]) -> str:
    """The figure that shows most of the results."""
    if len(done) == 1:
        return "time_series"
    drawn = job.experiment.figures if job.experiment is not None else ()
    return next((name for name in ("goodput_delay", "fronts") if name in drawn), "delay_throughput")


def _answer(job: Job, done: Sequence[PlannedRun], store: Store, output: Output, out: Console) -> str:
    """Prints the verdict and the table. Returns what `--all` would add; empty if nothing."""
    from bloatlab.cli.summary import FEW_ROWS, many_runs, one_run, points_of, rows_of
    from bloatlab.cli.verdict import verdict_of, verdict_of_sweep

    if job.experiment is not None and (job.experiment.criteria or isinstance(job.experiment, Suite)):
        metrics = store.run_metrics([planned.run_id for planned in done])
        if (ranking := of_plan(job.experiment, done, metrics, job.weights)) is not None:
            for line in _question(job.experiment, done, store):
                say(out, line)
            out.print()
            print_ranking(out, job.name, ranking, len(done), everything=output.all)
            return ""
    if len(done) == 1:
        metrics = store.run_metrics([done[0].run_id])[done[0].run_id]
        lines = verdict_of(store, done[0], metrics)
        for line in lines:
            say(out, line)
        if output.all or not lines:
            one_run(job.name, done[0], metrics).print(out)
            return ""
        return "every metric"
    rows = rows_of(done, job.axes)
    compared = len(done) <= MOST_COMPARED
    listed = rows if output.all or compared else rows[:FEW_ROWS]
    metrics = store.run_metrics([planned.run_id for row in listed for planned in row])
    points = points_of(listed, metrics, job.axes)
    answered = _question(job.experiment, done, store) if job.experiment is not None else _best_value(job, done, store)
    for line in answered:
        say(out, line)
    if answered:
        out.print()
    # The answer of an experiment already compares the values of its axes.
    if not answered or set(job.axes) - set(job.experiment.axes() if job.experiment else ()):
        for line in verdict_of_sweep(points) if compared else [f"{len(rows):,} points, which the page compares"]:
            say(out, line, "  ")
        out.print()
    title = f"{job.name}: {counted(len(done), 'run')}"
    many_runs(title, points, len(rows), out.width, None if output.all else FEW_ROWS).print(out)
    return "" if output.all or len(rows) <= FEW_ROWS else "every row"


def _question(experiment: Experiment, done: Sequence[PlannedRun], store: Store) -> list[str]:
    """The answer to the experiment's question; empty if it has none, or if the packages of the report are missing."""
    try:
        from bloatlab.report import answers
    except ImportError:
        return []
    found = experiment.answer(answers.read_runs(store, experiment.name, {planned.run_id for planned in done}))
    return [" ".join(found)] if found else []


def _best_value(job: Job, done: Sequence[PlannedRun], store: Store) -> list[str]:
    """Which value of a sweep of several parameters is best; empty for one parameter, whose points say it."""
    try:
        from bloatlab.report import answers
    except ImportError:
        return []
    read = answers.read_runs(store, job.name, {planned.run_id for planned in done})
    return [" ".join(answers.by_value(read))] if len(read.varying) > 1 else []


def _made(job: Job, summary: Summary, directory: Place, output: Output) -> Iterator[str]:
    """Lines on how the runs were made."""
    made = "simulated" if all(planned.engine.reproducible for planned in job.runs) else "run"
    how = f"{summary.done:,} {made}" + (f", {summary.read:,} read from the store" if summary.read else "")
    rate = f" ({summary.done / summary.wall_s:.0f} runs/s)" if summary.done > MANY_RUNS else ""
    yield f"{how} in {summary.wall_s:.2f} s{rate}; results in {shown(directory)}"
    if output.verbose:
        engines = {f"engine {planned.engine.name}, version {planned.engine_version}" for planned in summary.runs}
        yield from sorted(engines)
        if not is_url(directory):
            yield f"the store is {Path(directory).resolve()}"


def say_next(out: Console, directory: Place, figure: str, more: str = "") -> None:
    """Prints what to look at next, in lines that fit the width.

    Args:
        out: Where.
        directory: The results.
        figure: The figure that shows most of them.
        more: What `--all` would print; empty if nothing.
    """
    command = f"bloatlab figure {shlex.quote(shown(directory))} {figure} -o {figure}.svg"
    # A command that does not fit beside the word has its own line, and is not broken if it fits there.
    if len(NEXT) + len(command) <= out.width:
        out.print(NEXT + command, soft_wrap=True)
    else:
        out.print(NEXT.rstrip(), soft_wrap=True)
        # Backslashes, so that the lines can be copied as one command.
        lines = paragraph(command, out.width - 4).splitlines()
        out.print("  " + " \\\n  ".join(lines), soft_wrap=True)
    if more:
        say(out, f"{' ' * len(NEXT)}--all prints {more}")


def told(planned: PlannedRun, ended: RunRecord) -> None:
    """Prints a run that has ended, for `--verbose`."""
    how = "" if ended.reason is None else (": is suspect" if ended.suspect else ": failed")
    complain(f"run {planned.run_id} (seed {planned.seed}): {ended.wall_s:.2f} s, {ended.events:,} events{how}")


def _others(store: Store, done: Sequence[PlannedRun]) -> str:
    """The runs in a store of other experiments than those of `done`, such as `3 runs of deep-buffers`. Empty: there are none."""
    runs = store.runs()
    mine = runs.filter(runs["run_id"].is_in([planned.run_id for planned in done]))["experiment"].unique()
    others = runs.filter(~runs["experiment"].is_in(mine.implode()))["experiment"].value_counts().sort("experiment")
    return " and ".join(f"{count} run{'s' if count > 1 else ''} of {name}" for name, count in others.iter_rows())


def report_line(directory: Place, telling: Telling, weights: Weights = EQUAL) -> str:
    """Makes the page. Returns a line with its path, or with the reason why there is none; empty if it is not wanted.

    Raises:
        StoreError: The page cannot be written; the results are safe.
    """
    if telling.no_report:
        return ""
    with patience("making the page", silent=telling.quiet):
        try:
            from bloatlab.report import make_report
        except ImportError as error:
            return without_page(error)
        page = make_report(directory, weights)
    return f"report: {page}" + (f" (and in {shown(directory)})" if is_url(directory) else "")


def without_page(error: ImportError) -> str:
    """A line that says why no page can be made."""
    if error.name in {"altair", "jinja2", "vl_convert"}:
        return "no report: pip install 'bloatlab[report]'"
    return f"no report: {error}"


def print_json(
    name: str,
    runs: Sequence[PlannedRun],
    metrics: Mapping[str, Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]],
    ranking: Ranking | None = None,
    findings: Sequence[Mapping[str, Any]] = (),
    *,
    judged: Mapping[str, Verdict],
) -> None:
    """Prints the JSON object of `--json`."""
    described = [
        {
            "run_id": run.run_id,
            "engine": run.engine.name,
            "parameters": run.parameters,
            "seed": run.seed,
            "repetition": run.repetition,
            **metrics[run.run_id],
            "judges": judged[run.run_id].described(),
        }
        for run in runs
    ]
    # `dumps` is faster than `dump`, because it encodes in C.
    document: dict[str, Any] = {"experiment": name, "runs": described, "claims": list(claims)}
    if ranking is not None:
        document["ranking"] = describe(ranking)
    if findings:
        document["findings"] = list(findings)
    sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
