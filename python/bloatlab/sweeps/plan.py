"""The plan of a sweep: base parameters x the cartesian product of the axes x replications."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bloatlab.engines import engine
from bloatlab.errors import ParameterError
from bloatlab.plugins import Factories, resolve
from bloatlab.store.identity import canonical, run_id

if TYPE_CHECKING:
    from bloatlab.experiments.base import FileMaker
    from bloatlab.result import Result

FilesOf = Callable[["Result"], Mapping[str, "FileMaker"]]
"""Files of a run: what writes each, by name."""
LARGEST_SEED = 2**63 - 1


class Source(Protocol):
    """Where scenarios come from."""

    name: str
    files: FilesOf | None
    """What a run leaves beside its tables, if anything."""

    def point(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters as they are stored, and the scenario document they make."""

    def axes(self, base: Mapping[str, Any], given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """The axes of a sweep: those given, and those that the source has of its own."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run to be made."""

    run_id: str
    experiment: str
    scenario: str
    seed: int
    engine_version: str
    parameters: dict[str, Any]
    plugins: Factories
    replication: int
    files: FilesOf | None = None
    """What the run leaves beside its tables, if anything."""


def plan(
    source: Source,
    base: Mapping[str, Any] | None = None,
    axes: Mapping[str, Sequence[Any]] | None = None,
    *,
    replications: int = 1,
    seed: int = 42,
) -> list[PlannedRun]:
    """The runs, each once, in the order of the axes (the last varies fastest), replications innermost.

    Replication `r` (from 0) has the seed `seed + r` at every point, so points are compared under the same random numbers.

    Raises:
        ParameterError: A value is not allowed; the text names the parameter.
        ScenarioError: The engine refuses the scenario; the text names the key's path.
    """
    if replications < 1:
        raise ParameterError(f"replications: must be at least 1, not {replications}")
    if not 0 <= seed <= LARGEST_SEED - replications:
        raise ParameterError(f"seed: must be from 0 to {LARGEST_SEED - replications}, not {seed}")
    axes, base = axes or {}, base or {}
    for name, values in axes.items():
        if not values:
            raise ParameterError(f"{name}: no values to sweep")
        if name in base:
            raise ParameterError(f"{name}: is both set and swept")
    version = engine().engine_version()
    runs: dict[str, PlannedRun] = {}
    for values in itertools.product(*axes.values()):
        parameters, document = source.point({**base, **dict(zip(axes, values, strict=True))})
        document, plugins = resolve(document)
        scenario = canonical(json.loads(engine().normalise(_dump(document))))
        for replication in range(replications):
            identity = run_id(scenario, seed + replication, version)
            planned = PlannedRun(
                identity,
                source.name,
                scenario,
                seed + replication,
                version,
                parameters,
                plugins,
                replication,
                source.files,
            )
            runs.setdefault(identity, planned)
    return list(runs.values())


def _dump(document: Mapping[str, Any]) -> str:
    try:
        return canonical(document)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"scenario: holds what JSON cannot ({error})") from error
