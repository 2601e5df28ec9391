"""`sensitivity`: the inputs that a metric depends on."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bloatlab.analysis import sensitivity
from bloatlab.analysis.sensitivity import Design, Method, Sensitivity
from bloatlab.cli.console import complain, console, number, progress_bar
from bloatlab.cli.options import Study
from bloatlab.cli.run import command_line, complain_of, interrupted, told
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.cli.target import Target
from bloatlab.cli.values import assignments, named, value
from bloatlab.cli.vary import varied
from bloatlab.errors import ParameterError, StoreError
from bloatlab.experiments.phrases import interval
from bloatlab.settings import RunSettings
from bloatlab.store import Store
from bloatlab.store.files import write_whole
from bloatlab.sweeps import execute

NAME = "sensitivity"
FIGURE_FORM = ".svg"


def run_sensitivity(
    name: str, metrics: Sequence[str], method: Method, samples: int | None, study: Study, settings: RunSettings
) -> int:
    """Runs the samples and prints the indices.

    Args:
        name: An experiment, or a scenario's file.
        metrics: The metrics to explain.
        method: How.
        samples: Base samples or trajectories; `None`: as many as the method has by default.
        study: What is varied, and where results go.
        settings: How runs are made.
    """
    plugins = study.plugins()
    target = Target.named(name, plugins, settings.find_engine(plugins))
    if not metrics:
        raise ParameterError("--metric: give at least one, such as link.mean_sojourn")
    wanted = [target.reading(text) for text in metrics]
    base = {name: named(name, value, text) for name, text in assignments(study.set_, "--set").items()}
    made = sensitivity.design(varied(study.vary), method, samples, study.seed)
    replications = 1 if study.replications is None else study.replications
    sampled = sensitivity.runs_of(target.source, base, made, replications=replications, seed=study.seed)
    directory = study.directory(f"{target.source.name}-{NAME}")
    with progress_bar(len(sampled.runs), quiet=study.json, silent=study.quiet) as tell:
        ended = told if study.verbose else None
        summary = execute(sampled.runs, directory, settings, progress=tell, ended=ended, command=command_line())
    if summary.interrupted:
        return interrupted(f"{summary.finished} of {summary.total} runs", directory)
    complain_of(summary)
    if missing := summary.total - len(summary.measured):
        complain(f"{missing} of {summary.total} runs have no valid result, so there are no indices")
        return 1
    made_as = {run.run_id: planned.run_id for planned, run in zip(sampled.runs, summary.runs, strict=True)}
    stored = Store(directory).run_metrics(list(made_as))
    by_sample = {planned: stored[run_id] for run_id, planned in made_as.items()}
    found = [sensitivity.analyse(made, sensitivity.values_of(sampled, by_sample, of), of) for of in wanted]
    document = sensitivity.describe(made, found, len(sampled.runs))
    path = write_text(directory / f"{NAME}.json", json.dumps(document, allow_nan=False, indent=1) + "\n")
    if study.json:
        sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
        return 0
    out = console()
    for of in found:
        indices_table(made, of).print(out)
        out.print()
    how = f"{summary.done} simulated" + (f", {summary.read} read from the store" if summary.read else "")
    figure = "" if study.no_report else _figure_line(made, found, directory)
    if not study.quiet:
        out.print(f"{how} in {summary.wall_s:.2f} s; indices in {path}", soft_wrap=True)
        if figure:
            out.print(figure, soft_wrap=True)
    return 0


def write_text(path: Path, text: str) -> Path:
    """Writes a file completely or not at all.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    return path


HEADINGS = {"sobol": ("S1, alone", "ST, in all"), "morris": ("mu*, mean size", "sigma, spread")}


def indices_table(made: Design, found: Sensitivity) -> FittedTable:
    """A table with one row per input, the most important first."""
    unit = f" {found.unit}" if found.unit else ""
    columns = [
        Column("input", whole=True),
        Column("range", optional=2),
        *(Column(heading, right=True) for heading in HEADINGS[made.method]),
    ]
    if made.method == "morris":
        columns.append(Column("mu, with sign", right=True, optional=1))
    varies = found.low != found.high
    notes = [] if varies else ["The metric does not vary, so no input has an effect on it."]
    table = FittedTable(columns, f"{found.metric}: {number(found.low)} to {number(found.high)}{unit}", notes)
    ranges = {of.name: of.text for of in made.varied}
    for index in ordered(found):
        cells = [_cell(index.first, index.first_half_width), _cell(index.total, index.total_half_width)]
        if made.method == "morris":
            cells.append(_cell(index.mean, None))
        table.add(index.name, ranges[index.name], *cells)
    return table


def ordered(found: Sensitivity) -> list[sensitivity.Index]:
    """Inputs sorted by importance: by ST, or by mu*."""
    sobol = any(index.total_half_width is not None for index in found.indices)
    return sorted(found.indices, key=lambda index: -((index.total if sobol else index.first) or 0.0))


def _cell(middle: float | None, half: float | None) -> str:
    if middle is None:
        return "-"
    return interval(middle, half, 3)


def table_of(made: Design, found: Sequence[Sensitivity]) -> dict[str, Any]:
    """The table for the figure."""
    import polars as pl

    rows = []
    for of in found:
        unit = f" ({of.unit})" if made.method == "morris" and of.unit else ""
        for index in ordered(of):
            pairs = ((index.first, index.first_half_width), (index.total, index.total_half_width))
            for name, (middle, half) in zip(
                ("S1", "ST") if made.method == "sobol" else ("mu*", "sigma"), pairs, strict=True
            ):
                if middle is None:
                    continue
                low, high = (None, None) if half is None else (middle - half, middle + half)
                rows.append(
                    {
                        "metric": f"{of.metric}{unit}",
                        "input": index.name,
                        "index": name,
                        "value": middle,
                        "low": low,
                        "high": high,
                    }
                )
    numbers = dict.fromkeys(("value", "low", "high"), pl.Float64)
    return {
        "sensitivity": pl.DataFrame(
            rows, schema={"metric": pl.String, "input": pl.String, "index": pl.String, **numbers}
        )
    }


def _figure_line(made: Design, found: Sequence[Sensitivity], directory: Path) -> str:
    """Draws the figure. Returns a line with its path, or with the reason why there is none."""
    tables = table_of(made, found)
    if tables["sensitivity"].is_empty():
        return "no figure: no metric varies"
    try:
        from bloatlab.figures import save
        from bloatlab.figures import sensitivity as chart
    except ImportError:
        return "no figure: pip install 'bloatlab[report]'"
    path = directory / f"{NAME}{FIGURE_FORM}"
    try:
        write_whole(path, lambda temporary: save(chart(tables), temporary))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    return f"figure: {path}"
