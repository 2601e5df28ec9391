"""Commands of the analysis over runs. What they do is in `cli/compare.py`, `cli/sensitivity.py` and `cli/tune.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from bloatlab.cli.options import RUNNING, STUDY, Flag, Running, Study

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


def sensitivity(
    name: str,
    *,
    metric: Metrics = [],  # noqa: B006
    method: Literal["sobol", "morris"] = "sobol",
    samples: int | None = None,
    study: Study = STUDY,
    running: Running = RUNNING,
) -> int:
    """Says which inputs a metric depends on. Runs that the results directory holds already are read, so it resumes.

    Args:
        name: An experiment, or a scenario's file.
        metric: Metric to explain, for example link.mean_sojourn or sum:flow.bulk_*.mean_throughput_l7. For an
            experiment also one of its criteria. Repeatable.
        method: sobol takes SAMPLES x (inputs + 2) runs and says shares of the variance, morris SAMPLES x (inputs + 1) and says
            sizes of effects.
        samples: Base samples of sobol, a power of 2 [default: 64]; trajectories of morris [default: 20].
        study: What is varied, and where results go.
        running: How runs are made.
    """
    from bloatlab.cli.sensitivity import run_sensitivity

    return run_sensitivity(name, metric, method, samples, study, running.settings())


def tune(
    name: str,
    *,
    queue: Annotated[str | None, Parameter(metavar="Q1,Q2")] = None,
    minimise: Annotated[
        list[str], Parameter(name="--minimise", negative=(), show_default=False, metavar="METRIC")
    ] = [],  # noqa: B006
    maximise: Annotated[
        list[str], Parameter(name="--maximise", negative=(), show_default=False, metavar="METRIC")
    ] = [],  # noqa: B006
    trials: int = 100,
    study: Study = STUDY,
    running: Running = RUNNING,
) -> int:
    """Searches which queue and parameters suit a link and its traffic, and prints the Pareto front with its tc commands.

    The same command goes on with a search that was interrupted.

    Args:
        name: An experiment, or a scenario's file.
        queue: Queues to try, each with its delay and interval, or its limit [default: fifo,codel,fq_codel,pie,cake].
        minimise: Metric to minimise [default: p95 of a ping's RTT, or else of the sojourn times]. Repeatable.
        maximise: Metric to maximise [default: network.agg_throughput, if nothing is named]. Repeatable.
        trials: Trials in all, those that the directory holds included.
        study: What else is varied, and where results go.
        running: How runs are made.
    """
    from bloatlab.cli.tune import Goals, run_tune

    return run_tune(name, Goals(queue, minimise, maximise), trials, study, running.settings())


def add_to(app: App) -> None:
    """Adds the commands."""
    for command in (compare, sensitivity, tune):
        app.command(command)
