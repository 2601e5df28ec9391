"""`reproduce`: runs the set-up of the source and compares its published values with ours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from bloatlab.analysis.claims import (
    claims_of,
    findings_of_store,
    note_claims,
    plan_published,
    published_runs,
    verdicts_on,
)
from bloatlab.analysis.judged import verdicts as judged_of
from bloatlab.cli.console import console, number, progress_bar
from bloatlab.cli.options import Output
from bloatlab.cli.run import INTERRUPTED, command_line, complain_of, print_json, report_line
from bloatlab.cli.values import assignments, named, value
from bloatlab.errors import BloatlabError, ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.base import Experiment, Verdict
from bloatlab.loading import NO_PLUGINS
from bloatlab.settings import RunSettings
from bloatlab.store import Store
from bloatlab.store.remote import Place
from bloatlab.sweeps import execute

if TYPE_CHECKING:
    from rich.table import Table


def reproduce_experiment(name: str, set_: Sequence[str], output: Output, settings: RunSettings) -> int:
    """Runs the published set-up. Returns exit code 0 if every judged claim holds.

    Raises:
        ParameterError: What is set is not data of the source: the rest is as published.
    """
    experiment = get(name, may_import=True)
    if not experiment.claims:
        raise BloatlabError(f"{experiment.name}: its source makes no claims")
    given = {name: named(name, value, text) for name, text in assignments(set_, "--set").items()}
    for parameter in given:
        if parameter not in experiment.data:
            allowed = ", ".join(experiment.data) or "nothing"
            raise ParameterError(f"{parameter}: is fixed to its published value (can be set: {allowed})")
    directory = output.directory(experiment.name)
    runs = plan_published(experiment, given, settings.find_engine(NO_PLUGINS))
    with progress_bar(len(runs), quiet=output.json) as tell:
        summary = execute(
            runs,
            directory,
            settings,
            progress=tell,
            command=command_line(),
            after=lambda writer, summary: note_claims(writer, experiment, summary.measured, summary),
        )
    complain_of(summary)
    if summary.interrupted:
        return INTERRUPTED
    if summary.failed or summary.suspect:
        return 1
    runs = list(summary.runs)
    store = Store(directory)
    verdicts = verdicts_on(experiment, published_runs(experiment, runs), store)
    failed = [verdict for verdict in verdicts if verdict.holds is False]
    if output.json:
        metrics = store.run_metrics([run.run_id for run in runs])
        findings = [asdict(finding) for finding in findings_of_store(store, experiment)]
        claims, judged = claims_of(experiment, runs, store), judged_of(store, list(metrics), metrics)
        print_json(experiment.name, runs, metrics, claims, findings=findings, judged=judged)
    else:
        _print(experiment, verdicts, failed, directory)
    return 1 if failed else 0


def _print(experiment: Experiment, verdicts: Sequence[Verdict], failed: Sequence[Verdict], directory: Place) -> None:
    out = console()
    out.print(claims_table(experiment, verdicts))
    claims = sum(verdict.holds is not None for verdict in verdicts)
    out.print(f"{claims - len(failed)} of {claims} claims hold; source: {experiment.source}", soft_wrap=True)
    for said, group in itertools.groupby(verdicts, lambda verdict: _remark(experiment, verdict)):
        names = [verdict.claim.name for verdict in group]
        who = names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]} ({len(names)} claims)"
        if said:
            out.print(f"{who}: {said}", soft_wrap=True)
    for place, finding in enumerate(findings_of_store(Store(directory), experiment), 1):
        out.print(f"\n{place}. {finding.title}", soft_wrap=True)
        out.print(f"Published: {finding.published}", soft_wrap=True)
        out.print(f"Here: {finding.ours}", soft_wrap=True)
    out.print(report_line(directory), soft_wrap=True)


def _remark(experiment: Experiment, verdict: Verdict) -> str:
    """Remarks on a claim, besides its numbers."""
    source = verdict.claim.source if verdict.claim.source != experiment.source else ""
    return "; ".join(text for text in (source, verdict.claim.note, verdict.why) if text)


def claims_table(experiment: Experiment, verdicts: Sequence[Verdict]) -> Table:
    """A table of the claims: published value, ours, tolerance, and whether it holds."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{experiment.name}: published and ours")
    table.add_column("claim" if experiment.cases else "metric", no_wrap=not experiment.cases)
    for heading in ("published", "ours", "difference", "tolerance"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("unit")
    table.add_column("holds")
    for verdict in verdicts:
        claim, measured = verdict.claim, verdict.measured
        difference = "-"
        if measured is not None:
            gap = round(measured - claim.published, 9)
            relative = claim.absolute is None and claim.published != 0
            difference = f"{100 * gap / abs(claim.published):+.2f} %" if relative else f"{gap:+.4g}"
        unjudged = "not judged" if verdict.why else ""
        word = {True: Text("yes", "green"), False: Text("NO", "bold red"), None: Text(unjudged)}[verdict.holds]
        table.add_row(
            claim.name, claim.published_text, number(measured), difference, claim.tolerance_text, claim.unit, word
        )
    return table
