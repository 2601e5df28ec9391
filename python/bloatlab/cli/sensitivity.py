"""`sensitivity`: which inputs a metric depends on."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.analysis import sensitivity
from bloatlab.analysis.sensitivity import Design, Method, Sensitivity
from bloatlab.cli.console import complain, console, number, progress_bar
from bloatlab.cli.run import command_line, complain_of, interrupted
from bloatlab.cli.target import Target
from bloatlab.cli.values import assignments, named, value
from bloatlab.cli.vary import varied
from bloatlab.errors import ParameterError, StoreError
from bloatlab.loading import AllowedPlugins
from bloatlab.settings import RunSettings
from bloatlab.store import Store
from bloatlab.store.files import write_whole
from bloatlab.sweeps import execute

if TYPE_CHECKING:
    from rich.table import Table

NAME = "sensitivity"
FIGURE_FORM = ".svg"


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    name: str
    vary: Sequence[str]
    metrics: Sequence[str]
    method: Method
    samples: int | None
    set_: Sequence[str]
    replications: int
    seed: int
    out: Path | None
    as_json: bool
    plugins: AllowedPlugins
    settings: RunSettings


def run_sensitivity(request: Request) -> int:
    """Runs the samples and says what came of them."""
    target = Target.named(request.name, request.plugins, request.settings.find_engine(request.plugins))
    if not request.metrics:
        raise ParameterError("--metric: give at least one, such as link.mean_sojourn")
    wanted = [target.reading(text) for text in request.metrics]
    base = {name: named(name, value, text) for name, text in assignments(request.set_, "--set").items()}
    made = sensitivity.design(varied(request.vary), request.method, request.samples, request.seed)
    sampled = sensitivity.runs_of(target.source, base, made, replications=request.replications, seed=request.seed)
    directory = request.out if request.out is not None else Path("results") / f"{target.source.name}-{NAME}"
    with progress_bar(len(sampled.runs), quiet=request.as_json) as tell:
        summary = execute(sampled.runs, directory, request.settings, progress=tell, command=command_line())
    if summary.interrupted:
        return interrupted(f"{summary.finished} of {summary.total} runs", directory)
    complain_of(summary)
    if missing := summary.total - len(summary.measured):
        complain(f"{missing} of {summary.total} runs have no valid result, so there are no indices")
        return 1
    made_as = {run.run_id: planned.run_id for planned, run in zip(sampled.runs, summary.runs, strict=True)}
    found_metrics = Store(directory).run_metrics(list(made_as))
    metrics = {planned: found_metrics[run_id] for run_id, planned in made_as.items()}
    found = [sensitivity.analyse(made, sensitivity.values_of(sampled, metrics, of), of) for of in wanted]
    document = sensitivity.describe(made, found, len(sampled.runs))
    path = write_text(directory / f"{NAME}.json", json.dumps(document, allow_nan=False, indent=1) + "\n")
    if request.as_json:
        sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
        return 0
    out = console()
    for of in found:
        out.print(indices_table(made, of))
    how = f"{summary.done} simulated" + (f", {summary.read} read from the store" if summary.read else "")
    out.print(f"{how} in {summary.wall_s:.2f} s; indices in {path}", soft_wrap=True)
    out.print(_figure_line(made, found, directory), soft_wrap=True)
    return 0


def write_text(path: Path, text: str) -> Path:
    """Writes a file whole or not at all.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    return path


HEADINGS = {"sobol": ("S1, alone", "ST, in all"), "morris": ("mu*, mean size", "sigma, spread")}


def indices_table(made: Design, found: Sensitivity) -> Table:
    """A row an input, the most important first."""
    from rich.table import Table

    unit = f" {found.unit}" if found.unit else ""
    table = Table(title=f"{found.metric}: {number(found.low)} to {number(found.high)}{unit}")
    table.add_column("input", no_wrap=True)
    table.add_column("range", no_wrap=True)
    for heading in HEADINGS[made.method]:
        table.add_column(heading, justify="right", no_wrap=True)
    if made.method == "morris":
        table.add_column("mu, with sign", justify="right", no_wrap=True)
    ranges = {of.name: of.text for of in made.varied}
    for index in ordered(found):
        cells = [_cell(index.first, index.first_half_width), _cell(index.total, index.total_half_width)]
        if made.method == "morris":
            cells.append(_cell(index.mean, None))
        table.add_row(index.name, ranges[index.name], *cells)
    if found.low == found.high:
        table.caption = "it does not vary, so nothing has an effect on it"
    return table


def ordered(found: Sensitivity) -> list[sensitivity.Index]:
    """The most important input first: by ST, or by mu*."""
    sobol = any(index.total_half_width is not None for index in found.indices)
    return sorted(found.indices, key=lambda index: -((index.total if sobol else index.first) or 0.0))


def _cell(middle: float | None, half: float | None) -> str:
    if middle is None:
        return "-"
    return f"{middle:.3g}" if half is None else f"{middle:.3g} ± {half:.2g}"


def table_of(made: Design, found: Sequence[Sensitivity]) -> dict[str, Any]:
    """What the figure is drawn from."""
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
    """Draws the figure; its path, or why there is none."""
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
