"""`run` and `simulate`: plan runs, execute them and print results."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.analysis.claims import claims_of, note_claims
from bloatlab.analysis.judged import verdicts
from bloatlab.analysis.ranked import of_plan
from bloatlab.cli.console import complain, console, patience, progress_bar
from bloatlab.cli.options import Output, Points
from bloatlab.cli.values import assignments, axis, named, value
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.ranking import Ranking, describe
from bloatlab.experiments.suite import Suite
from bloatlab.judges import Verdict
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store, Writer
from bloatlab.store.remote import Place, is_url, shown
from bloatlab.store.remote.secrets import without_secrets
from bloatlab.sweeps import ExperimentSource, PlannedRun, Source, Summary, execute, plan_all

INTERRUPTED = 130
MOST_REASONS = 10


def command_line() -> str:
    """The command as the user typed it, for the hint how to resume. Passwords and keys in URLs are left out."""
    return without_secrets(" ".join(["bloatlab", *(shlex.quote(word) for word in sys.argv[1:])]))


def run_points(source: Source, points: Points, output: Output, settings: RunSettings) -> int:
    """Makes the runs of `run` or `simulate` and returns the exit code."""
    base = {name: named(name, value, text) for name, text in assignments(points.set_, "--set").items()}
    given = {name: named(name, axis, text) for name, text in assignments(points.sweep, "--sweep").items()}
    keep = Keep.usual(points.packets)
    runs, axes = plan_all(source, base, given, replications=points.replications, seed=points.seed, keep=keep)
    experiment = source.experiment if isinstance(source, ExperimentSource) else None
    return carry_out(Job(source.name, runs, axes, experiment), output.directory(source.name), output, settings)


@dataclass(frozen=True)
class Job:
    """Planned runs."""

    name: str
    runs: Sequence[PlannedRun]
    axes: Mapping[str, Any]
    """The swept parameters, which are columns of the summary."""
    experiment: Experiment | None


def carry_out(job: Job, directory: Place, output: Output, settings: RunSettings) -> int:
    """Makes the runs, prints their results and returns the exit code."""

    def after(writer: Writer, summary: Summary) -> None:
        if job.experiment is not None:
            note_claims(writer, job.experiment, summary.measured, summary)

    with progress_bar(len(job.runs), quiet=output.json) as tell:
        summary = execute(job.runs, directory, settings, progress=tell, command=command_line(), after=after)
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
        ranking = of_plan(job.experiment, done, metrics)
        judged = verdicts(store, list(metrics), metrics)
        print_json(job.name, done, metrics, claims_of(job.experiment, done, store), ranking, judged=judged)
        return
    if not done:
        return
    from bloatlab.cli.summary import MOST_ROWS, ranking_table, rows_of, summary_table
    from bloatlab.cli.verdict import verdict_of

    out = console()
    ranks = job.experiment is not None and bool(job.experiment.criteria or isinstance(job.experiment, Suite))
    listed = done if ranks else [planned for row in rows_of(done)[:MOST_ROWS] for planned in row]
    metrics = store.run_metrics([planned.run_id for planned in listed])
    ranking = of_plan(job.experiment, done, metrics) if ranks else None
    if ranking is not None:
        out.print(ranking_table(job.name, ranking, len(done)))
    elif len(done) > 1 or output.all or not (lines := verdict_of(store, done[0], metrics[done[0].run_id])):
        out.print(summary_table(job.name, done, metrics, job.axes))
    else:
        for line in lines:
            out.print(line, soft_wrap=True, markup=False, highlight=False)
    made = "simulated" if all(planned.engine.reproducible for planned in job.runs) else "run"
    how = f"{summary.done} {made}" + (f", {summary.read} read from the store" if summary.read else "")
    rate = f" ({summary.done / summary.wall_s:.0f} runs/s)" if summary.done > MOST_ROWS else ""
    out.print(f"{how} in {summary.wall_s:.2f} s{rate}; results in {shown(directory)}", soft_wrap=True)
    if others := _others(store, done):
        out.print(f"{shown(directory)} also holds {others}; another --out keeps them apart", soft_wrap=True)
    out.print(report_line(directory), soft_wrap=True)


def _others(store: Store, done: Sequence[PlannedRun]) -> str:
    """The runs in a store of other experiments than those of `done`, such as `3 runs of deep-buffers`. Empty: there are none."""
    runs = store.runs()
    mine = runs.filter(runs["run_id"].is_in([planned.run_id for planned in done]))["experiment"].unique()
    others = runs.filter(~runs["experiment"].is_in(mine.implode()))["experiment"].value_counts().sort("experiment")
    return " and ".join(f"{count} run{'s' if count > 1 else ''} of {name}" for name, count in others.iter_rows())


def report_line(directory: Place) -> str:
    """Makes the page. Returns a line with its path, or with the reason why there is none.

    Raises:
        StoreError: The page cannot be written; the results are safe.
    """
    try:
        from bloatlab.report import make_report
    except ImportError as error:
        return without_page(error)
    with patience("making the page"):
        page = make_report(directory)
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
