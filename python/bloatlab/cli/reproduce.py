"""`reproduce`: runs the set-up of the source and compares its published values with ours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict

from bloatlab.analysis.claims import (
    claims_of,
    findings_of_store,
    note_claims,
    plan_published,
    published_runs,
    verdicts_on,
)
from bloatlab.analysis.judged import verdicts as judged_of
from bloatlab.cli.console import console, number, progress_bar, say
from bloatlab.cli.options import Output
from bloatlab.cli.ranking import weights_of
from bloatlab.cli.run import INTERRUPTED, command_line, complain_of, print_json, report_line, told
from bloatlab.cli.summary import FEW_ROWS
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.cli.values import assignments, named, value
from bloatlab.errors import BloatlabError, ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.claim import Verdict, counted
from bloatlab.loading import NO_PLUGINS
from bloatlab.settings import RunSettings
from bloatlab.store import Store
from bloatlab.sweeps import execute

FEW_NAMES = 5
"""Claims that do not hold and are named in the first lines."""


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
    weights = weights_of(output.weigh, {experiment.name: experiment})
    directory = output.directory(experiment.name)
    runs = plan_published(experiment, given, settings.find_engine(NO_PLUGINS))
    with progress_bar(len(runs), quiet=output.json, silent=output.quiet) as tell:
        summary = execute(
            runs,
            directory,
            settings,
            progress=tell,
            ended=told if output.verbose else None,
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
        _print(experiment, verdicts, failed, store, output)
        line = report_line(directory, output, weights)
        if line and not output.quiet:
            console().print(line, soft_wrap=True)
    return 1 if failed else 0


def _print(
    experiment: Experiment, verdicts: Sequence[Verdict], failed: Sequence[Verdict], store: Store, output: Output
) -> None:
    out = console()
    judged = [(verdict.claim.kind, verdict.holds) for verdict in verdicts if verdict.holds is not None]
    unjudged = len(verdicts) - len(judged)
    say(out, "; ".join(filter(None, [counted(judged), f"{unjudged} not judged" if unjudged else ""])))
    say(out, f"source: {experiment.source}")
    if experiment.fitted:
        say(out, experiment.fitted)
    if failed:
        names = ", ".join(verdict.claim.name for verdict in failed[:FEW_NAMES])
        more = f" and {len(failed) - FEW_NAMES} more" if len(failed) > FEW_NAMES else ""
        say(out, f"these do not hold: {names}{more}")
    out.print()
    shown = verdicts if output.all else shortened(verdicts)
    claims_table(experiment, shown, len(verdicts) - len(shown)).print(out)
    for said, group in itertools.groupby(shown, lambda verdict: _remark(experiment, verdict)):
        named = [verdict.claim.name for verdict in group]
        who = named[0] if len(named) == 1 else f"{named[0]} ... {named[-1]} ({len(named)} claims)"
        if said:
            say(out, f"{who}: {said}")
    for place, finding in enumerate(findings_of_store(store, experiment), 1):
        out.print()
        say(out, f"{place}. {finding.title}")
        say(out, f"Published: {finding.published}")
        say(out, f"Here: {finding.ours}")


def shortened(verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    """The claims that do not hold and as many of the others as fit into `FEW_ROWS`, in their order."""
    failed = sum(verdict.holds is False for verdict in verdicts)
    room = max(0, FEW_ROWS - failed)
    shown = []
    for verdict in verdicts:
        if verdict.holds is False:
            shown.append(verdict)
        elif room > 0:
            room -= 1
            shown.append(verdict)
    return shown


def _remark(experiment: Experiment, verdict: Verdict) -> str:
    """Remarks on a claim, besides its numbers."""
    source = verdict.claim.source if verdict.claim.source != experiment.source else ""
    return "; ".join(text for text in (source, verdict.claim.note, verdict.why) if text)


def claims_table(experiment: Experiment, verdicts: Sequence[Verdict], hidden: int = 0) -> FittedTable:
    """A table of the claims: published value, ours, tolerance, and whether it holds.

    Args:
        experiment: The experiment.
        verdicts: The claims that are shown.
        hidden: Number of claims that are not shown.
    """
    from rich.text import Text

    columns = [
        Column("claim" if experiment.cases else "metric", whole=not experiment.cases),
        Column("kind"),
        Column("published", right=True),
        Column("ours", right=True),
        Column("unit", optional=2),
        Column("difference", right=True, optional=1),
        Column("tolerance", right=True, optional=3),
        Column("holds"),
    ]
    notes = [f"{hidden} more claims, all of which hold or are not judged: --all prints them"] if hidden else []
    table = FittedTable(columns, f"{experiment.name}: published and ours", notes, "--json and the page show them")
    for verdict in verdicts:
        claim, measured = verdict.claim, verdict.measured
        difference = "-"
        if measured is not None:
            gap = round(measured - claim.published, 9)
            relative = claim.absolute is None and claim.published != 0
            difference = f"{100 * gap / abs(claim.published):+.2f} %" if relative else f"{gap:+.4g}"
        unjudged = "not judged" if verdict.why else ""
        word = {True: Text("yes", "green"), False: Text("NO", "bold red"), None: Text(unjudged)}[verdict.holds]
        table.add(
            claim.name,
            claim.kind,
            claim.published_text,
            number(measured),
            claim.unit,
            difference,
            claim.tolerance_text,
            word,
        )
    return table
