"""`check`: makes the runs of scenarios and plans and judges their expectations."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.cli.console import console, counted, progress_bar
from bloatlab.cli.run import command_line, complain_of, interrupted
from bloatlab.cli.values import assignments, named, value
from bloatlab.expectations import Checked, Judged, PointJudged, prepare
from bloatlab.expectations.junit import write
from bloatlab.expectations.wording import measured_text, number, point_text, whose_text
from bloatlab.loading import AllowedPlugins
from bloatlab.settings import RunSettings
from bloatlab.store.remote import Place, shown

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 80
"""Most columns of the table."""


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    files: Sequence[Path]
    set_: Sequence[str]
    replications: int | None
    seed: int | None
    out: Place | None
    junit: Path | None
    json: bool
    allow_plugins: bool


def check_files(wanted: Wanted, settings: RunSettings) -> int:
    """Checks every file. Returns exit code 1 if an expectation fails or a run has no valid result.

    All files are read before the first run is made.
    """
    given = {name: named(name, value, text) for name, text in assignments(wanted.set_, "--set").items()}
    plugins = AllowedPlugins.named_in(wanted.set_, all=wanted.allow_plugins)
    prepared = [
        prepare(
            file,
            settings,
            given=given,
            replications=wanted.replications,
            seed=wanted.seed,
            out=wanted.out,
            plugins=plugins,
        )
        for file in wanted.files
    ]
    checked = []
    for of in prepared:
        with progress_bar(len(of.runs), quiet=wanted.json) as tell:
            found = of.check(settings, progress=tell, command=command_line())
        complain_of(found.summary)
        if found.summary.interrupted:
            return interrupted(f"{found.summary.finished} of {found.summary.total} runs", of.directory)
        checked.append(found)
        if not wanted.json:
            _print(found)
    if wanted.junit is not None:
        write(wanted.junit, checked)
    holds = all(of.holds for of in checked)
    if wanted.json:
        document = {"holds": holds, "files": [describe(of) for of in checked]}
        sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
    return 0 if holds else 1


def _print(checked: Checked) -> None:
    out = console()
    out.print(table_of(checked), width=min(WIDTH, out.width))
    failed = [of for of in checked.judged if not of.holds]
    total, summary = len(checked.judged), checked.summary
    read = f" ({summary.read} read from the store)" if summary.read else ""
    out.print(
        f"{total - len(failed)} of {total} expectations hold; {counted(summary.total, 'run')}{read} in "
        f"{shown(checked.directory)}",
        soft_wrap=True,
    )
    for judged in failed:
        of = judged.expectation
        name = f"{of.name}: " if of.name else ""
        out.print(
            f"{of.place}: {name}{of.metric} is {measured_text(judged, judged.worst)}; allowed: {of.allowed}",
            soft_wrap=True,
        )


def table_of(checked: Checked) -> Table:
    """One row per expectation: the allowed values, the worst measured value, and where it was measured."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=str(checked.file), expand=True)
    table.add_column("expectation", overflow="fold", ratio=4)
    table.add_column("allowed", overflow="fold", ratio=2)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("where", overflow="fold", ratio=3)
    table.add_column("holds", no_wrap=True)
    for judged in checked.judged:
        of, worst = judged.expectation, judged.worst
        measured = "-" if worst.measured is None else number(worst.measured.value, of.reading.unit)
        word = Text("yes", "green") if judged.holds else Text("NO", "bold red")
        table.add_row(of.name or of.metric, of.allowed, measured, _where(judged, worst), word)
    return table


def _where(judged: Judged, worst: PointJudged) -> str:
    failed = sum(not point.holds for point in judged.points)
    count = f"fails at {failed} of {len(judged.points)} points" if failed and len(judged.points) > 1 else ""
    return "; ".join(part for part in (whose_text(worst), point_text(judged, worst), count) if part)


def describe(checked: Checked) -> dict[str, Any]:
    """A checked file as JSON."""
    return {
        "file": str(checked.file),
        "directory": shown(checked.directory),
        "runs": checked.summary.total,
        "holds": checked.holds,
        "expectations": [
            {
                "place": judged.expectation.place,
                "name": judged.expectation.name or None,
                "metric": judged.expectation.metric,
                "unit": judged.expectation.reading.unit,
                "allowed": judged.expectation.allowed,
                "statistic": judged.expectation.statistic,
                "holds": judged.holds,
                "points": [_described(point) for point in judged.points],
            }
            for judged in checked.judged
        ],
    }


def _described(point: PointJudged) -> dict[str, Any]:
    measured = point.measured
    return {
        "parameters": point.runs[0].parameters,
        "run_ids": [run.run_id for run in point.runs],
        "holds": point.holds,
        "value": None if measured is None else measured.value,
        "of": None if measured is None else measured.entity or None,
        "run_id": None if measured is None or measured.run is None else measured.run.run_id,
        "failure": point.failure or None,
    }
