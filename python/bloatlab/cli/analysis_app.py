"""Commands of the analysis over runs. What they do is in `cli/compare.py`, `cli/sensitivity.py` and `cli/tune.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from bloatlab.cli.options import Flag

Vary = Annotated[list[str], Parameter(name="--vary", negative=(), show_default=False, metavar="KEY=LOW..HIGH")]
Metrics = Annotated[list[str], Parameter(name="--metric", negative=(), show_default=False, metavar="METRIC")]


def compare(
    a: Path,
    b: Path | None = None,
    *,
    by: Annotated[str | None, Parameter(metavar="NAME=A,B")] = None,
    metric: Metrics = [],  # noqa: B006
    confidence: float = 0.95,
    correction: Literal["benjamini-hochberg", "holm"] = "benjamini-hochberg",
    figure: Path | None = None,
    json: Flag = False,
    fail_on_difference: Flag = False,
) -> int:
    """Says which metrics of two sets of runs differ beyond noise, the largest effect first.

    Points are matched by their parameters; replications are paired where both sides have the same seeds.

    Args:
        a: Results directory.
        b: Another; or --by.
        by: Two values of a parameter within A, as queue=fifo,codel.
        metric: A metric, as mean_sojourn, link.bottleneck.mean_sojourn or flow.bulk_*.*; * stands for any name. Repeatable.
        confidence: Of the intervals; a metric differs where its adjusted p is at most 1 - CONFIDENCE.
        correction: Of p for the many metrics.
        figure: Save the effect sizes as a forest plot; .svg, .png, .pdf, .html or .json.
        json: Print one JSON object and nothing else.
        fail_on_difference: Exit code 1 if any metric differs.
    """
    from bloatlab.cli.compare import compare_directories

    return compare_directories(
        a, b, by, metric, confidence, correction, figure, as_json=json, fail_on_difference=fail_on_difference
    )


def add_to(app: App) -> None:
    """Adds the commands."""
    for command in (compare,):
        app.command(command)
