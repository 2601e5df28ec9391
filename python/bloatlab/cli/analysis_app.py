"""Commands for analysis over runs. `cli/compare.py`, `cli/sensitivity.py`, `cli/tune.py` and `cli/parity.py` implement them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from bloatlab.cli import completers
from bloatlab.cli.options import (
    RUNNING,
    STUDY,
    TELLING,
    EngineName,
    Flag,
    Jobs,
    OutDirectory,
    Running,
    Study,
    Target,
    Telling,
)

Metrics = Annotated[
    list[str],
    Parameter(name="--metric", negative=(), show_default=False, metavar="METRIC", completer=completers.metrics),
]


def compare(
    a: Path,
    b: Path | None = None,
    *,
    by: Annotated[str | None, Parameter(metavar="NAME[=A,B]")] = None,
    metric: Metrics = [],  # noqa: B006
    confidence: float = 0.95,
    correction: Literal["benjamini-hochberg", "holm"] = "benjamini-hochberg",
    figure: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    all: Flag = False,  # noqa: A002
    json: Flag = False,
    no_report: Flag = False,
    fail_on_difference: Flag = False,
) -> int:
    """Says what differs between two sets of runs, and whether it is more than noise.

    The table has the metrics that differ, the largest effect first. Points are matched by their parameters. Replications
    are paired if both sides have the same seeds.

    Args:
        a: Results directory.
        b: Second results directory. A page in it (compare-A.html) shows both beside each other. Without it, give --by.
        by: Two values of a parameter within A to compare, such as queue=fifo,codel. Without values, the only two that
            there are. With engine, a page of A (compare.html) also shows their time series.
        metric: Metric to compare, such as mean_sojourn, link.bottleneck.mean_sojourn or flow.bulk_*.*, where *
            matches any name [default: all]. Repeatable.
        confidence: Confidence of the intervals. A metric differs if its adjusted p is at most 1 - CONFIDENCE.
        correction: Correction of p-values for multiple comparisons.
        figure: Save the effect sizes as a forest plot: .svg, .png, .pdf, .html or .json.
        all: Also list the metrics that do not differ.
        json: Print one JSON object and nothing else.
        no_report: Do not make the page.
        fail_on_difference: Exit with code 1 if any metric differs.
    """
    from bloatlab.cli.compare import compare_directories

    return compare_directories(
        a, b, by, metric, confidence, correction, figure,
        everything=all, as_json=json, no_report=no_report, fail_on_difference=fail_on_difference,
    )  # fmt: skip


def sensitivity(
    name: Target,
    *,
    metric: Metrics = [],  # noqa: B006
    method: Literal["sobol", "morris"] = "sobol",
    samples: int | None = None,
    study: Study = STUDY,
    running: Running = RUNNING,
) -> int:
    """Finds the inputs that a metric depends on.

    Stored runs are read, so the same command resumes after a stop.

    Args:
        name: An experiment, or the file of a scenario.
        metric: Metric to explain, for example link.mean_sojourn or sum:flow.bulk_*.mean_throughput_l7. For an
            experiment also one of its criteria. Repeatable.
        method: sobol computes shares of the variance, with SAMPLES x (inputs + 2) runs. morris computes sizes of
            effects, with SAMPLES x (inputs + 1) runs.
        samples: Base samples of sobol, a power of 2 [default: 64], or trajectories of morris [default: 20].
        study: What is varied, and where results go.
        running: How runs are made.
    """
    from bloatlab.cli.sensitivity import run_sensitivity

    return run_sensitivity(name, metric, method, samples, study, running.settings())


def tune(
    name: Target,
    *,
    queue: Annotated[str | None, Parameter(metavar="Q1,Q2", completer=completers.queues)] = None,
    minimise: Annotated[Metrics, Parameter(name="--minimise")] = [],  # noqa: B006
    maximise: Annotated[Metrics, Parameter(name="--maximise")] = [],  # noqa: B006
    trials: int = 100,
    study: Study = STUDY,
    running: Running = RUNNING,
) -> int:
    """Searches the best queues and parameters for a link and its traffic.

    Prints the Pareto front and what to choose. A trial counts with its worst replication. A default is recommended unless
    another trial beats it by more than the noise. The same command continues an interrupted search.

    Args:
        name: An experiment, or the file of a scenario.
        queue: Queues to try. For each, the parameters that matter are searched within the rules of the field, such as a
            target of 5 to 10 % of CoDel's interval, or the limit [default: fifo,codel,fq_codel,pie,cake].
        minimise: Metric to minimise [default: 95th percentile of the sojourn time at the bottleneck, and of the RTT of a
            ping if there is one]. Repeatable.
        maximise: Metric to maximise [default: network.agg_throughput, unless an objective is given]. Repeatable.
        trials: Total number of trials, including stored trials.
        study: What else is varied, and where results go.
        running: How runs are made.
    """
    from bloatlab.cli.tune import Goals, run_tune

    return run_tune(name, Goals(queue, minimise, maximise), trials, study, running.settings())


def parity(
    *,
    queue: Annotated[str | None, Parameter(metavar="Q1,Q2", completer=completers.queues)] = None,
    cca: Annotated[str | None, Parameter(metavar="C1,C2")] = None,
    rate: Annotated[str | None, Parameter(metavar="R1,R2")] = None,
    rtt: Annotated[str | None, Parameter(metavar="T1,T2")] = None,
    flows: Annotated[str | None, Parameter(metavar="N1,N2")] = None,
    ecn: Annotated[str | None, Parameter(metavar="on|off")] = None,
    loss: Annotated[str | None, Parameter(metavar="P1,P2")] = None,
    duplicate: Annotated[str | None, Parameter(metavar="P1,P2")] = None,
    jitter: Annotated[str | None, Parameter(metavar="T1,T2")] = None,
    duration: Annotated[str | None, Parameter(metavar="TIME")] = None,
    seeds: int = 10,
    seed: int = 1,
    engine: EngineName = "linux-virtual",
    jobs: Jobs = None,
    out: OutDirectory = None,
    cells: Annotated[str | None, Parameter(metavar="FILE")] = None,
    cached: Annotated[str | None, Parameter(metavar="FILE")] = None,
    save: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    markdown: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    all: Flag = False,  # noqa: A002
    json: Flag = False,
    fail_on_difference: Flag = False,
    telling: Telling = TELLING,
) -> int:
    """Runs a grid by the simulator and by a real Linux kernel, and says where they differ.

    Each metric of each cell has an aim, such as 10 % or 1 ms. Where the means differ by more, a two-sample test over the
    seeds tells chance from cause. Lists are separated by commas, and every combination is a cell. The same command
    continues after a stop.

    Args:
        queue: Queues of Linux, as tc writes them [default: pfifo limit 100, codel, fq_codel, pie, cake].
        cca: Congestion controls that Linux has [default: cubic].
        rate: Rates of the bottleneck [default: 10Mbit/s].
        rtt: Two-way propagation times [default: 20ms, 80ms].
        flows: Numbers of bulk flows [default: 1, 4].
        ecn: on: flows negotiate ECN, and queues that can mark do so [default: off].
        loss: Probabilities that a packet of data is lost behind the queue [default: 0].
        duplicate: Probabilities that a packet of data arrives twice [default: 0].
        jitter: Standard deviations of the forward delay; packets may overtake others [default: 0s].
        duration: Length of a run; metrics leave out its first third [default: 30s].
        seeds: Runs of each cell on each side. Fewer than 4 cannot tell chance from cause.
        seed: The first seed.
        engine: The engine beside the simulator. linux-virtual needs a kernel, which `bloatlab kernel build` makes.
        jobs: Number of threads that make runs [default: one per CPU core].
        out: Results directory [default: results/parity].
        cells: CSV file with one cell per row, in place of a grid. Its columns are the parameters above.
        cached: Results that take the place of the kernel's runs: a file of --save, or references for those of this package
            (Linux 7.2). Without --cells, its cells that have the given values are compared.
        save: Also write the results of the kernel into this file, one row per run, for --cached.
        markdown: Also write the tables into this file, in Markdown.
        all: Print every metric of every cell.
        json: Print one JSON object and nothing else.
        fail_on_difference: Exit with code 1 if any metric differs by more than chance.
        telling: What is said, and whether a page is made.
    """
    from bloatlab.cli.parity import Files, Wanted, compare_with_kernel
    from bloatlab.settings import RunSettings

    given = {
        "queue": queue, "cca": cca, "rate": rate, "rtt": rtt, "flows": flows, "ecn": ecn, "loss": loss,
        "duplicate": duplicate, "jitter": jitter, "duration": duration,
    }  # fmt: skip
    wanted = Wanted(
        given, Files(cells, cached, save, markdown), seeds, seed, engine or "linux-virtual", out, telling,
        all=all, json=json, fail_on_difference=fail_on_difference,
    )  # fmt: skip
    return compare_with_kernel(wanted, RunSettings(jobs=jobs))


def add_to(app: App) -> None:
    """Adds the commands."""
    for command in (compare, sensitivity, tune, parity):
        app.command(command)
