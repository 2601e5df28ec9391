"""The commands. Modules for figures and stores are imported inside the commands, so that `--help` is fast."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from bloatlab.cli import analysis_app, completers, guide, help_app
from bloatlab.cli.calc_app import calc
from bloatlab.cli.check_app import check
from bloatlab.cli.exchange import NO_TOOL_FILE, ToolFile
from bloatlab.cli.import_app import import_
from bloatlab.cli.kernel_app import kernel
from bloatlab.cli.lab_app import lab
from bloatlab.cli.options import (
    OUTPUT,
    POINTS,
    RUNNING,
    AllowPlugins,
    DatabaseFile,
    EngineName,
    ExperimentName,
    Flag,
    OutDirectoryOrFile,
    OutFile,
    Output,
    Points,
    RunId,
    Running,
    Set,
    Stored,
    Traces,
    Weigh,
    with_traces,
)
from bloatlab.cli.shell_app import USAGE, shell
from bloatlab.cli.store_app import runs, store
from bloatlab.cli.trace_app import trace


def _version() -> str:
    from importlib.metadata import version

    return f"bloatlab {version('bloatlab')}"


app = App(
    name="bloatlab",
    help="A bufferbloat laboratory: describe a bottleneck once, simulate it, sweep it, and read the answer.",
    version=_version,
    version_flags=("--version", "-V"),
    suppress_keyboard_interrupt=False,
)


app.command(trace)
analysis_app.add_to(app)
app.command(calc)
app.command(check)
app.command(store)
app.command(runs)
app.command(import_, name="import")
app.command(shell, usage=USAGE)
app.command(lab)
app.command(kernel)


@app.command(name="list")
def list_(*, json: Flag = False) -> None:
    """Lists the experiments in groups.

    Args:
        json: Print one JSON object and nothing else.
    """
    from bloatlab.cli.show import show_catalogue

    show_catalogue(as_json=json)


@app.command
def show(name: ExperimentName, *, json: Flag = False) -> None:
    """Shows an experiment: its parameters, published values and figures.

    Each parameter has its default, unit and allowed values. `bloatlab reproduce NAME` compares the published values.

    Args:
        name: The experiment.
        json: Print one JSON object and nothing else.
    """
    from bloatlab.cli.show import show_experiment

    show_experiment(name, as_json=json)


@app.command
def run(
    name: ExperimentName,
    *,
    points: Points = POINTS,
    output: Output = OUTPUT,
    running: Running = RUNNING,
    traces: Traces = None,
) -> int:
    """Runs an experiment.

    Stored runs are read instead of made again, so the same command resumes after a stop. With an engine that is not
    reproducible, each command adds a repetition of every run.

    Args:
        name: The experiment.
        points: Which runs are made.
        output: Where results go.
        running: How runs are made.
        traces: Directory of recorded traces, for experiments that use them. Short for --set traces=DIR.
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
    """Runs your own scenario, a TOML or JSON file.

    `bloatlab schema` lists its keys, and docs/scenario.md explains them. Stored runs are read instead of made again.

    Args:
        file: The scenario.
        points: Which runs are made.
        output: Where results go.
        running: How runs are made.
        allow_plugins: Import the plugins (module:Class) that FILE names, which runs their code. Plugins named in
            --set need no flag.
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
    """Makes the runs of a plan (docs/sweeps.md).

    A plan is a TOML file, or a Python program, which this command executes. The same command resumes after a stop.

    Args:
        file: The plan.
        set_: Value of a parameter for all runs. Replaces what the plan sets or sweeps. Repeatable.
        replications: Runs of each point. Replaces the value of the plan.
        seed: Number from which all seeds are derived. Replaces the value of the plan.
        keep: How much of a run is stored: measures, metrics, tables or packets. Replaces the value of the plan.
        output: Where results go.
        running: How runs are made.
        dry_run: Only print the number of runs and the first points, and estimate time, memory and disk from three
            sampled runs, which are not stored. Imports no plugin. A plan in Python must be executed for this too, which
            needs --allow-plugins.
        allow_plugins: Import the plugins (module:Class) that FILE names, which runs their code. Plugins named in
            --set need no flag.
    """
    from bloatlab.cli.sweep import sweep_plan

    changes = {"replications": replications, "seed": seed, "keep": keep}
    return sweep_plan(file, changes, set_, output, running.settings(), dry_run=dry_run, allow_plugins=allow_plugins)


@app.command
def reproduce(
    name: ExperimentName,
    *,
    set_: Set = [],  # noqa: B006
    output: Output = OUTPUT,
    running: Running = RUNNING,
    traces: Traces = None,
) -> int:
    """Runs the set-up of the source and compares published values with ours.

    The exit code is 1 if a claim fails.

    Args:
        name: The experiment.
        set_: Data of the source that bloatlab does not include, such as traces=DIR. Repeatable.
        output: Where results go.
        running: How runs are made.
        traces: Directory of recorded traces, for experiments that use them. Short for --set traces=DIR.
    """
    from bloatlab.cli.reproduce import reproduce_experiment

    return reproduce_experiment(name, with_traces(set_, traces), output, running.settings())


@app.command
def report(directory: Stored, *, again: Flag = False, weigh: Weigh = []) -> None:  # noqa: B006
    """Prints the path of the HTML page of a results directory.

    Makes the page if the results or bloatlab have changed.

    Args:
        directory: Results directory, or its URL.
        again: Always make the page.
        weigh: Weight of a group of criteria in rankings, such as delay=2 or fairness=0 [default: 1 for each]. Repeatable.
    """
    from bloatlab.cli.ranking import weights_for
    from bloatlab.store import Store

    weights = weights_for(weigh, Store(directory))
    from bloatlab.cli.console import patience
    from bloatlab.report import make_report, page_of

    with patience("making the page"):
        page = make_report(directory, weights) if again else page_of(directory, weights)
    print(page)


@app.command
def figure(
    directory: Stored,
    name: Annotated[str | None, Parameter(completer=completers.figures)] = None,
    *,
    out: OutFile = None,
    run: RunId = None,
    json: Flag = False,
    engine: EngineName = None,
    allow_plugins: AllowPlugins = False,
) -> None:
    """Saves one figure of a results directory, or lists its figures.

    Without NAME, it lists the figures that can be drawn.

    Args:
        directory: Results directory, or its URL.
        name: Name of the figure.
        out: File to write: .svg, .png, .pdf, .html or .json. Needed with NAME.
        json: Print the list as one JSON object and nothing else.
        run: First digits of the run_id of the run to draw [default: the first run].
        engine: Engine that made the run, if it is not built in. It is needed if series were not kept and the
            run is made again.
        allow_plugins: Import the plugins that the run names, if series were not kept and the run is made again.
    """
    from bloatlab.errors import ParameterError

    if name is None:
        from bloatlab.cli.show import show_figures

        if out is not None:
            raise ParameterError("figure: --out needs the name of a figure; without --out, its figures are listed")
        show_figures(directory, run, as_json=json)
        return
    if out is None or json:
        raise ParameterError(
            f"figure: {name} needs --out FILE, such as -o {name}.svg; --json is for the list of figures"
        )
    from bloatlab.cli.figure import save_figure

    print(save_figure(directory, name, out, run, engine=engine, allow_plugins=allow_plugins))


@app.command
def export(
    directory: Stored,
    file: DatabaseFile = None,
    /,
    *,
    csv: Flag = False,
    parquet: Flag = False,
    sqlite: Flag = False,
    pcap: RunId = None,
    tool_file: ToolFile = NO_TOOL_FILE,
    link: str | None = None,
    summary: Flag = False,
    bootstrap: Flag = False,
    out: OutDirectoryOrFile = None,
    engine: EngineName = None,
    allow_plugins: AllowPlugins = False,
) -> None:
    """Writes tables as CSV, Parquet or SQLite, or one run as a pcap or as a file of another tool.

    Prints the paths of the files. Tables are those of all runs.

    Args:
        directory: Results directory, or its URL.
        file: With --sqlite, the file [default: NAME.sqlite in the working directory].
        csv: Write tables as CSV.
        parquet: Write tables as Parquet.
        sqlite: Write one SQLite file with the runs, parameters, flows, metrics and series.
        pcap: Write the packets of the run with this run_id. The first digits are enough.
        tool_file: File of another tool (docs/import-export.md).
        link: Write the packets at this link [default: at the senders of data].
        summary: Write one table only. It has one row per point and metric, with the mean over replications and its 95 %
            interval.
        bootstrap: Add bootstrap intervals to the summary.
        out: Directory for tables, or file for one run [default: NAME-csv, NAME-parquet, or RUN with the usual ending in
            the working directory].
        engine: For one run: engine that made the run, if it is not built in.
        allow_plugins: For one run: import the plugins that the run names, because the run is made again.
    """
    from bloatlab.cli.exchange import export_file
    from bloatlab.cli.export import export_database, export_packets, export_summary, export_tables
    from bloatlab.errors import ParameterError

    chosen = tool_file.chosen
    if csv + parquet + sqlite + (pcap is not None) + (chosen is not None) != 1:
        raise ParameterError(
            "export: give one of --csv, --parquet, --sqlite, --pcap RUN, --flent RUN and the other formats"
        )
    if file is not None and not sqlite:
        raise ParameterError(f"export: `{file}` is the file of --sqlite; other formats take --out")
    if file is not None and out is not None:
        raise ParameterError("export: give the file of --sqlite once, either as FILE or as --out")
    if summary and not (csv or parquet):
        raise ParameterError("export: --summary needs --csv or --parquet")
    if link is not None and pcap is None:
        raise ParameterError("export: --link needs --pcap RUN")
    if bootstrap and not summary:
        raise ParameterError("export: --bootstrap needs --summary")
    form = "csv" if csv else "parquet"
    if sqlite:
        print(export_database(directory, file if file is not None else out))
    elif chosen is not None:
        print(export_file(directory, *chosen, out, engine=engine, allow_plugins=allow_plugins))
    elif pcap is not None:
        print(export_packets(directory, pcap, out, link, engine=engine, allow_plugins=allow_plugins))
    elif summary:
        print(export_summary(directory, form, out, bootstrap=bootstrap))
    else:
        for path in export_tables(directory, form, out):
            print(path)


@app.command
def tc(
    name: Annotated[str | None, Parameter(completer=completers.targets)] = None,
    *,
    set_: Set = [],  # noqa: B006
    queue: Annotated[str | None, Parameter(completer=completers.queues)] = None,
    as_: Annotated[str, Parameter(name="--as")] = "tc",
    dev: Annotated[list[str], Parameter(negative=())] = [],  # noqa: B006
    box: str | None = None,
    all_: Annotated[bool, Parameter(name="--all", negative=(), show_default=False)] = False,
    sysctl: Flag = False,
) -> None:
    """Prints the set-up of a scenario for Linux or another tool, or the commands for one queue (docs/tc.md).

    Args:
        name: A scenario file or an experiment. Prints shapers, queues and delays of its whole path.
        set_: Value of a parameter, or at a dotted path into the file, such as dumbbell.queue="codel target 10ms".
            Repeatable.
        queue: Instead of NAME a queue: its name, a table, or as tc writes it, such as "fq_codel limit 5000".
        as_: tc (commands), sqm (a section of OpenWrt's /etc/config/sqm), mininet or nest (a Python script), or ns3
            (lines of C++).
        dev: The network device of the bottleneck or of --queue [default: eth0 for one queue, r0-r1 and so on for a
            path]. LINK=DEVICE names the device of another link. Repeatable.
        box: Print only the queue of this link.
        all_: Print every option, including those at tc's defaults.
        sysctl: Also print the commands for the TCP connections of the flows: modules, sysctls and settings of the device.
    """
    from bloatlab.cli.tc import commands

    for line in commands(name, set_, queue, dev, box, as_, all_words=all_, sysctl=sysctl):
        print(line)


@app.command
def engines(*, json: Flag = False) -> None:
    """Lists the engines, and whether each runs on this machine.

    For an engine that does not run, it says why, and what to do about it.

    Args:
        json: Print one JSON object and nothing else.
    """
    from bloatlab.cli.engines import show_engines

    show_engines(as_json=json)


@app.command
def schema() -> None:
    """Prints the JSON Schema of a scenario."""
    from bloatlab import language

    sys.stdout.write(language.schema().rstrip() + "\n")


@app.command
def algorithms(*names: Annotated[str, Parameter(completer=completers.algorithms)], json: Flag = False) -> None:
    """Lists queues and congestion controls, or shows parameters.

    Args:
        names: Algorithms whose parameters to show.
        json: Print one JSON object and nothing else.
    """
    from bloatlab.cli.show import show_algorithms

    show_algorithms(names, as_json=json)


help_app.add_to(app)
guide.add_to(app)
