"""The plan of a sweep: points, each a set of parameters, x replications."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from bloatlab import language
from bloatlab.engines import Engine
from bloatlab.errors import EngineError, ParameterError
from bloatlab.loading import AllowedPlugins, Factories, outline, resolve
from bloatlab.scenario.sound import check
from bloatlab.store.identity import canonical, run_id
from bloatlab.store.keep import Keep
from bloatlab.sweeps.conditions import Condition
from bloatlab.sweeps.grid import Grid

if TYPE_CHECKING:
    from bloatlab.experiments.base import FileMaker
    from bloatlab.experiments.claim import Metrics
    from bloatlab.result import Result

FilesOf = Callable[["Result"], Mapping[str, "FileMaker"]]
"""Additional files of a run: the function that writes each, by name."""
Measure = Callable[["Metrics"], Mapping[str, float]]
"""Computes the metrics of an experiment from those of a run."""
Seeds = Literal["common", "independent"]
"""Whether replication `r` has the same seed at every point, or a different one."""
LARGEST_SEED = 2**63 - 1


class Source(Protocol):
    """Where scenarios come from."""

    name: str
    files: FilesOf | None
    """Additional files of a run, if any."""
    measure: Measure | None
    """Its own metrics, if any."""
    measures: Mapping[str, str]
    """Their units."""
    plugins: AllowedPlugins
    """The plugins that its scenarios may name."""
    engine: Engine
    """What runs its scenarios."""

    def point(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters in the form in which they are stored, and the resulting scenario document."""

    def axes(self, base: Mapping[str, Any], given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """The axes of a sweep: the given ones, and the source's own."""

    def stored(self, axes: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """The values of axes in the form in which they are stored."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run to be made."""

    run_id: str
    experiment: str
    scenario: str
    seed: int
    engine: Engine
    engine_version: str
    parameters: dict[str, Any]
    plugins: Factories
    files: FilesOf | None = None
    """Additional files of the run, if any."""
    keep: Keep = Keep.TABLES
    """How much of the run is stored."""
    measure: Measure | None = None
    """Computes the experiment's own metrics from those of the run."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """Their units."""
    repetition: int = 0
    """Which run of this seed it is; above 0 only where the engine is not reproducible."""

    def repeated(self, repetition: int) -> PlannedRun:
        """Another run of the same scenario and seed."""
        identity = run_id(self.scenario, self.seed, self.engine_version, self.engine.name, repetition)
        return replace(self, run_id=identity, repetition=repetition)


def plan(
    source: Source,
    base: Mapping[str, Any] | None = None,
    axes: Mapping[str, Sequence[Any]] | None = None,
    *,
    replications: int = 1,
    seed: int = 42,
    seeds: Seeds = "common",
    keep: Keep = Keep.TABLES,
) -> list[PlannedRun]:
    """The runs, each once, in the order of the axes (the last varies fastest), replications innermost.

    Raises:
        ParameterError: A value is not allowed; the text names the parameter.
        ScenarioError: The scenario is not valid; the text names the key's path.
        EngineError: The engine cannot run the scenario; the text names the key's path.
    """
    points = Grid(axes or {}, base or {})
    return plan_points(source, points, base, replications=replications, seed=seed, seeds=seeds, keep=keep)


def plan_points(
    source: Source,
    points: Iterable[Mapping[str, Any]],
    base: Mapping[str, Any] | None = None,
    *,
    replications: int = 1,
    seed: int = 42,
    seeds: Seeds = "common",
    keep: Keep = Keep.TABLES,
    where: Sequence[Condition] = (),
    dry: bool = False,
) -> list[PlannedRun]:
    """The runs of a list of points, each once.

    Args:
        source: The source of scenarios.
        points: Values at each point.
        base: Values at all points, unless a point replaces them.
        replications: Runs of each point.
        seed: Number from which seeds are derived.
        seeds: `common`: replication `r` (from 0) has the seed `seed + r` at every point, so points are compared under the same
            random numbers. `independent`: every run has another seed, a hash of `seed`, scenario and `r`.
        keep: How much of each run is stored.
        where: Conditions on a point's parameters, all of which it must meet.
        dry: Only list the runs. No plugin is imported, so the identities of runs with plugins are not their real ones.

    Raises:
        ParameterError: A value is not allowed; the text names the parameter.
        ScenarioError: The scenario is not valid; the text names the key's path.
        EngineError: The engine cannot run the scenario; the text names the key's path.
    """
    if replications < 1:
        raise ParameterError(f"replications: must be at least 1, not {replications}")
    if not 0 <= seed <= LARGEST_SEED - replications:
        raise ParameterError(f"seed: must be from 0 to {LARGEST_SEED - replications}, not {seed}")
    if keep < Keep.METRICS and not source.measures:
        raise ParameterError(f"keep: {source.name} defines no measures, so `keep` must be at least `metrics`")
    engine, version = source.engine, source.engine.version()
    runs: dict[str, PlannedRun] = {}
    for point in points:
        given = {**(base or {}), **point}
        check(given)
        parameters, document = source.point(given)
        if not all(holds(parameters) for holds in where):
            continue
        check(document)
        document, plugins = (outline(document), {}) if dry else resolve(document, source.plugins)
        normalised = json.loads(language.normalise(_dump(document)))
        if refused := engine.supports(normalised):
            raise EngineError(f"engine {engine.name}: " + "; ".join(map(str, refused)))
        scenario = canonical(normalised)
        for replication in range(replications):
            of_run = seed + replication if seeds == "common" else _seed_of_its_own(seed, scenario, replication)
            identity = run_id(scenario, of_run, version, engine.name)
            if identity not in runs:
                runs[identity] = PlannedRun(
                    identity, source.name, scenario, of_run, engine, version, parameters, plugins, source.files,
                    keep, source.measure, source.measures,
                )  # fmt: skip
    return list(runs.values())


def _seed_of_its_own(seed: int, scenario: str, replication: int) -> int:
    drawn = hashlib.sha256(f"{seed}\n{scenario}\n{replication}".encode()).digest()
    return int.from_bytes(drawn[:8], "big") & LARGEST_SEED


def _dump(document: Mapping[str, Any]) -> str:
    try:
        return canonical(document)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"scenario: holds what JSON cannot ({error})") from error
