"""The commands. Modules that draw or store are imported where they are used, so that `--help` is instant."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from bloatlab.cli import analysis_app
from bloatlab.cli.calc_app import calc
from bloatlab.cli.options import (
    OUTPUT,
    POINTS,
    RUNNING,
    AllowPlugins,
    EngineName,
    Flag,
    Out,
    Output,
    Points,
    Running,
    Set,
    Stored,
    Traces,
    with_traces,
)
from bloatlab.cli.store_app import runs, store
from bloatlab.cli.trace_app import trace


def _version() -> str:
    from importlib.metadata import version

    return f"bloatlab {version('bloatlab')}"


app = App(
    name="bloatlab",
    help="A bufferbloat laboratory: describe a bottleneck once, simulate it, sweep it, and read the answer.",
    version=_version,
    suppress_keyboard_interrupt=False,
)


app.command(trace)
analysis_app.add_to(app)
app.command(calc)
app.command(store)
app.command(runs)


@app.command(name="list")
def list_() -> None:
    """Lists the experiments."""
    from bloatlab.cli.show import show_catalogue

    show_catalogue()


@app.command
def show(name: str) -> None:
    """Shows an experiment: parameters with defaults, units, allowed values, and what its source published.

    Args:
        name: The experiment.
    """
    from bloatlab.cli.show import show_experiment

    show_experiment(name)


@app.command
def run(
    name: str,
    *,
    points: Points = POINTS,
    output: Output = OUTPUT,
    running: Running = RUNNING,
    traces: Traces = None,
) -> int:
    """Runs an experiment. Runs that the results directory holds already are read, so the same command resumes.

    An engine that gives other results in each run adds a repetition instead, once all earlier repetitions are complete.

    Args:
        name: The experiment.
        points: Which runs are made.
        output: Where results go.
        running: How runs are made.
        traces: Directory of recorded traces, where the experiment takes them: short for --set traces=DIR.
    """
    from bloatlab.cli.run import run_points
    from bloatlab.experiments import get
    from bloatlab.loading import AllowedPlugins
    from bloatlab.sweeps.source import ExperimentSource

    settings = running.settings()
    plugins = AllowedPlugins.named_in(points.set_, points.sweep)
    source = ExperimentSource(get(name, may_import=True), plugins, settings.find_engine(plugins))
    points = replace(points, set_=with_traces(points.set_, traces))
    return run_points(source, points, output, settings)


@app.command
def simulate(
    file: Path,
    *,
    points: Points = POINTS,
    output: Output = OUTPUT,
    running: Running = RUNNING,
    allow_plugins: AllowPlugins = False,
) -> int:
    """Runs a scenario of your own, a TOML (or JSON) file; `bloatlab schema` says what it may hold.

    Args:
        file: The scenario.
        points: Which runs are made.
        output: Where results go.
        running: How runs are made.
        allow_plugins: Import the plugins (module:Class) that FILE names: their code runs. Those that --set names need no flag.
    """
    from bloatlab.cli.run import run_points
    from bloatlab.loading import AllowedPlugins
    from bloatlab.scenario.read import read
    from bloatlab.sweeps.source import ScenarioSource

    settings = running.settings()
    plugins = AllowedPlugins.named_in(points.set_, points.sweep, all=allow_plugins)
    source = ScenarioSource(read(file), file.stem, plugins, settings.find_engine(plugins))
    return run_points(source, points, output, settings)


@app.command(name="sweep")
def sweep_(
    file: Path,
    *,
    set_: Set = [],  # noqa: B006
    replications: int | None = None,
    seed: int | None = None,
    keep: str | None = None,
    output: Output = OUTPUT,
    running: Running = RUNNING,
    dry_run: Flag = False,
    allow_plugins: AllowPlugins = False,
) -> int:
    """Makes the runs of a plan, a TOML file or a Python program, which it executes (docs/sweeps.md). The same command resumes.

    Args:
        file: The plan.
        set_: A value that all runs share, in place of what the plan sets or sweeps. Repeatable.
        replications: Runs of each point, in place of the plan's.
        seed: Where seeds come from, in place of the plan's.
        keep: How much of a run is stored, in place of the plan's: measures, metrics, tables or packets.
        output: Where results go.
        running: How runs are made.
        dry_run: Only say how many runs there are, and list the first points. This imports no plugin; a plan in Python must be
            executed even so, which needs --allow-plugins.
        allow_plugins: Import the plugins (module:Class) that FILE names: their code runs. Those that --set names need no flag.
    """
    from bloatlab.cli.sweep import sweep_plan

    changes = {"replications": replications, "seed": seed, "keep": keep}
    return sweep_plan(file, changes, set_, output, running.settings(), dry_run=dry_run, allow_plugins=allow_plugins)


@app.command
def reproduce(
    name: str,
    *,
    set_: Set = [],  # noqa: B006
    output: Output = OUTPUT,
    running: Running = RUNNING,
    traces: Traces = None,
) -> int:
    """Runs the source's set-up and holds every published value against ours; exit code 1 if a claim fails.

    Args:
        name: The experiment.
        set_: Data of the source that are not shipped, such as traces=DIR; the rest is as published. Repeatable.
        output: Where results go.
        running: How runs are made.
        traces: Directory of recorded traces, where the experiment takes them: short for --set traces=DIR.
    """
    from bloatlab.cli.reproduce import reproduce_experiment

    return reproduce_experiment(name, with_traces(set_, traces), output, running.settings())


@app.command
def report(directory: Stored, *, again: Flag = False) -> None:
    """Prints the path of a results directory's HTML page; makes it where the results or bloatlab have changed since.

    Args:
        directory: Results directory, or its URL.
        again: Make it in any case.
    """
    from bloatlab.store import Store

    Store(directory)
    from bloatlab.report import make_report, page_of

    print(make_report(directory) if again else page_of(directory))


@app.command
def figure(
    directory: Stored,
    name: str,
    *,
    out: Annotated[Path, Parameter(name=["-o", "--out"])],
    run: str | None = None,
    engine: EngineName = None,
    allow_plugins: AllowPlugins = False,
) -> None:
    """Saves one figure of a results directory.

    Args:
        directory: Results directory, or its URL.
        name: The figure.
        out: File to write; .svg, .png, .pdf, .html or .json.
        run: The run it shows (the beginning of its run_id) [default: the first].
        engine: The engine that made the run, if it is not built in. It makes a run again whose series were not kept.
        allow_plugins: A run whose series were not kept is simulated again: import the plugins that it names.
    """
    from bloatlab.cli.figure import save_figure

    print(save_figure(directory, name, out, run, engine=engine, allow_plugins=allow_plugins))


@app.command
def export(
    directory: Stored,
    *,
    csv: Flag = False,
    parquet: Flag = False,
    pcap: Annotated[str | None, Parameter(metavar="RUN")] = None,
    link: str | None = None,
    summary: Flag = False,
    bootstrap: Flag = False,
    out: Out = None,
    engine: EngineName = None,
    allow_plugins: AllowPlugins = False,
) -> None:
    """Writes the tables of all runs as CSV or Parquet, or the packets of one run as a pcap, and prints the paths.

    Args:
        directory: Results directory, or its URL.
        csv: Tables as CSV.
        parquet: Tables as Parquet.
        pcap: The run (the beginning of its run_id is enough) whose packets are wanted.
        link: Link at which the packets are seen.
        summary: Of the tables only one: a row a point and metric, with the mean over the replications and its 95 % interval.
        bootstrap: In it the bootstrap's interval too.
        out: Where to: a directory for tables, a file for packets [default: NAME-csv, NAME-parquet or RUN.pcap here].
        engine: For --pcap: the engine that made the run, if it is not built in.
        allow_plugins: For --pcap the run is simulated again: import the plugins that it names.
    """
    from bloatlab.cli.export import export_packets, export_summary, export_tables
    from bloatlab.errors import ParameterError

    if csv + parquet + (pcap is not None) != 1:
        raise ParameterError("export: give one of --csv, --parquet and --pcap RUN")
    if summary and pcap is not None:
        raise ParameterError("export: --summary goes with --csv or --parquet")
    if bootstrap and not summary:
        raise ParameterError("export: --bootstrap goes with --summary")
    form = "csv" if csv else "parquet"
    if pcap is not None:
        print(export_packets(directory, pcap, out, link, engine=engine, allow_plugins=allow_plugins))
    elif summary:
        print(export_summary(directory, form, out, bootstrap=bootstrap))
    else:
        for path in export_tables(directory, form, out):
            print(path)


@app.command
def tc(
    file: Path | None = None,
    *,
    experiment: str | None = None,
    set_: Set = [],  # noqa: B006
    queue: str | None = None,
    dev: str = "eth0",
    box: str | None = None,
    all_: Annotated[bool, Parameter(name="--all", negative=(), show_default=False)] = False,
    sysctl: Flag = False,
) -> None:
    """Prints the commands that set up a queue on Linux, one per line.

    Args:
        file: A scenario, whose bottleneck's queue is wanted.
        experiment: An experiment, whose bottleneck's queue is wanted.
        set_: A parameter's value, or that of a dotted path into FILE, such as dumbbell.queue="codel target 10ms". Repeatable.
        queue: A queue: a name, a table or the words of tc, such as "fq_codel limit 5000".
        dev: The network device.
        box: The link whose queue is wanted [default: bottleneck].
        all_: Print every word, also those that are the default of tc.
        sysctl: Also print the commands for the TCP connections of the flows: modules, sysctls and settings of the device.
    """
    from bloatlab.cli.tc import commands

    for line in commands(file, experiment, set_, queue, dev, box, all_words=all_, sysctl=sysctl):
        print(line)


@app.command
def schema() -> None:
    """Prints the JSON Schema of a scenario."""
    from bloatlab import language

    sys.stdout.write(language.schema().rstrip() + "\n")


@app.command
def algorithms(*names: str, json: Flag = False) -> None:
    """Lists queues and congestion controls, or shows some with their parameters.

    Args:
        names: Those whose parameters are wanted.
        json: Print JSON.
    """
    from bloatlab.cli.show import show_algorithms

    show_algorithms(names, as_json=json)
