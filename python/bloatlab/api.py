"""The functions that a user calls from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bloatlab.errors import ParameterError
from bloatlab.experiments import Experiment, get
from bloatlab.experiments.base import plain
from bloatlab.loading import AllowedPlugins
from bloatlab.result import Result
from bloatlab.scenario.read import read
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store
from bloatlab.sweeps import ExperimentSource, ScenarioSource, Source, execute, plan, plan_all
from bloatlab.sweeps.document import Plan
from bloatlab.sweeps.one import simulate as simulate_one

if TYPE_CHECKING:
    from distributed import Client

    from bloatlab.engines import Engine


class Model(Protocol):
    """A pydantic model of a scenario document."""

    def model_dump(self, *, mode: str, exclude_none: bool, by_alias: bool) -> dict[str, Any]:
        """The document."""


Scenario = str | type[Experiment] | Mapping[str, Any] | Model


def run(
    scenario: Scenario,
    /,
    *,
    seed: int = 42,
    engine: str | Engine | None = None,
    out: Path | str | None = None,
    packets: bool = False,
    allow_plugins: bool = False,
    **parameters: Any,
) -> Result:
    """Runs an experiment or a scenario once.

    Args:
        scenario: Name of an experiment (`"deep-buffers"`, or `"module:Class"` of your own), the class of one, or a scenario
            document, as `bloatlab.scenario` builds it.
        seed: Seed of the random streams.
        engine: What runs it: the name of an engine, `"module:Class"`, or an object; absent: the simulator.
        out: Results directory (or URL) to store the run in; absent: nothing is stored. A run that is there already is
            read, if its engine is reproducible. Any other engine adds a repetition.
        packets: Record every packet (`Result.packets`, `Result.write_pcap`).
        allow_plugins: Import all plugins (`"module:Class"`) that the document names. Classes, and those that
            `parameters` name, need no permission.
        **parameters: The experiment's parameters (`bloatlab show NAME`). With a document: dotted paths into it, such as
            `**{"flows.0.cca": "bbr"}`.

    Returns:
        Metrics as dictionaries, series and histograms as Arrow tables.

    Raises:
        ParameterError: An unknown experiment or parameter, or a value that is not allowed.
        ScenarioError: The scenario is not valid; the text is `path: message`.
        EngineError: There is no such engine, or it cannot run the scenario.
        PluginError: The user's own congestion control or queue failed.
        StalledError: Simulated time did not move; the text names box or flow, time and seed.
        StoreError: `out` cannot be written or read.
    """
    settings = RunSettings(engine=engine, jobs=1)
    source = source_of(scenario, AllowedPlugins.named_in(parameters, all=allow_plugins), settings)
    (planned,) = plan(source, parameters, seed=seed, keep=Keep.usual(packets))
    if out is None:
        return simulate_one(planned, packets=packets)
    summary = execute([planned], out, settings, command=_call("run", scenario, parameters, engine))
    _raise_interrupt(summary.interrupted)
    if summary.failed:
        raise RuntimeError(summary.failed[0][1])
    result = Store(out).run(summary.runs[0].run_id)
    # The same plugins may be used to simulate this run again.
    result.plugins, result.given_engine = AllowedPlugins(frozenset(planned.plugins)), planned.engine
    return result


def simulate(
    path: Path | str,
    *,
    seed: int = 42,
    engine: str | Engine | None = None,
    out: Path | str | None = None,
    packets: bool = False,
    allow_plugins: bool = False,
    **paths: Any,
) -> Result:
    """Runs the scenario in a TOML or JSON file once. Otherwise the same as `run`.

    Raises:
        ParameterError: The file cannot be read, or names a plugin that is not allowed.
        ScenarioError: The scenario is not valid.
        EngineError: There is no such engine, or it cannot run the scenario.
    """
    document = {"name": Path(path).stem, **read(path)}
    return run(document, seed=seed, engine=engine, out=out, packets=packets, allow_plugins=allow_plugins, **paths)


def sweep(
    scenario: Scenario | Plan,
    /,
    axes: Mapping[str, Sequence[Any]] | None = None,
    *,
    replications: int | None = None,
    seed: int | None = None,
    engine: str | Engine | None = None,
    out: Path | str | None = None,
    jobs: int | None = None,
    scheduler: str | Client | None = None,
    packets: bool = False,
    allow_plugins: bool = False,
    **parameters: Any,
) -> Store:
    """Runs the cartesian product of the axes in parallel. Stored runs are not repeated.

    Args:
        scenario: Name of an experiment, a scenario document, or a whole `Plan`, which replaces the other arguments.
        axes: Values of each swept parameter (or dotted path); an experiment's own axes are added where they are neither
            swept nor set.
        replications: Runs of each point; replication `r`, from 0, has the seed `seed + r`; absent: one, or as many as the
            experiment has where its own axes are swept.
        seed: Seed of the first replication; absent: 42.
        engine: What makes the runs: the name of an engine, `"module:Class"`, or an object; absent: the plan's, else the
            simulator.
        out: Results directory, or a URL such as `"s3://bucket/path"`; absent: the plan's, else `results/NAME`.
        jobs: Number of threads; absent: one per CPU core.
        scheduler: A dask scheduler's address (`"tcp://host:8786"`, or `"file:PATH"` of its scheduler file) or a connected
            `distributed.Client`: the runs are made on its workers.
        packets: Record every packet.
        allow_plugins: Import all plugins (`"module:Class"`) that the document or the plan names. Classes, and those
            that `axes` and `parameters` name, need no permission.
        **parameters: Parameters that all runs share. A list, tuple or range is swept, so `cca=["cubic", "bbr"]` is an
            axis. A value that is a list itself is given inside a list.

    Returns:
        The store that holds the runs. A run that failed, or that its engine doubts, is in it with its reason.

    Raises:
        ParameterError: An unknown name or a value that is not allowed.
        ScenarioError: One of the scenarios is not valid.
        EngineError: There is no such engine, or it cannot run one of the scenarios.
        StoreError: `out` cannot be written.
        ClusterError: The scheduler cannot be reached or was lost, or a worker has another engine.
        KeyboardInterrupt: Ctrl-C; finished runs are kept.
    """
    settings = RunSettings(engine=engine, jobs=jobs, scheduler=scheduler)
    swept = {name: list(value) for name, value in parameters.items() if isinstance(value, list | tuple | range)}
    parameters = {name: value for name, value in parameters.items() if name not in swept}
    axes = {**(axes or {}), **swept}
    if isinstance(scenario, Plan):
        if axes or parameters or replications is not None or seed is not None or packets:
            raise ParameterError("sweep: a plan says itself what is swept, set, replicated, seeded and kept")
        allowed = AllowedPlugins(all=allow_plugins)
        source = scenario.source(allowed, None if engine is None else settings.find_engine(allowed))
        planned = scenario.runs(source)
        name, command = source.name, f"bloatlab.sweep({scenario!r})"
        axes = scenario.swept()
        out = out if out is not None else scenario.out
    else:
        source = source_of(scenario, AllowedPlugins.named_in(axes, parameters, all=allow_plugins), settings)
        planned, axes = plan_all(
            source,
            parameters,
            axes,
            replications=replications,
            seed=42 if seed is None else seed,
            keep=Keep.usual(packets),
        )
        name, command = source.name, _call("sweep", scenario, {"axes": dict(axes), **parameters}, engine)
    directory = Path("results") / name if out is None else out
    summary = execute(planned, directory, settings, command=command, axes=source.stored(axes))
    _raise_interrupt(summary.interrupted)
    return Store(directory)


def open(directory: Path | str) -> Store:  # noqa: A001
    """Opens a results directory.

    Raises:
        StoreError: There is no store, or it is damaged.
    """
    return Store(directory)


def source_of(scenario: Scenario, plugins: AllowedPlugins, settings: RunSettings) -> Source:
    """Where the scenarios of a call come from.

    Raises:
        ParameterError: `scenario` is neither an experiment nor a document.
        EngineError: The engine cannot be used.
    """
    engine = settings.find_engine(plugins)
    if isinstance(scenario, str | type):
        return ExperimentSource(get(scenario, may_import=True), plugins, engine)
    if isinstance(scenario, Mapping):
        return ScenarioSource(scenario, plugins=plugins, engine=engine)
    if hasattr(scenario, "model_dump"):
        document = scenario.model_dump(mode="json", exclude_none=True, by_alias=True)
        return ScenarioSource(document, plugins=plugins, engine=engine)
    raise ParameterError(f"scenario: `{scenario}` is neither an experiment's name nor a scenario document")


def _call(function: str, scenario: Scenario, parameters: Mapping[str, Any], engine: str | Engine | None = None) -> str:
    name = repr(plain(scenario)) if isinstance(scenario, str | type) else "scenario"
    if engine is not None:
        parameters = {**parameters, "engine": engine if isinstance(engine, str) else engine.name}
    rest = "".join(f", {key}={value!r}" for key, value in parameters.items())
    return f"bloatlab.{function}({name}{rest})"


def _raise_interrupt(interrupted: bool) -> None:
    if interrupted:
        raise KeyboardInterrupt
