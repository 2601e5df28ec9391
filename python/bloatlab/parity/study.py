"""Runs a grid on both sides, and judges every metric of every cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from bloatlab.analysis import order
from bloatlab.engines import DEFAULT, Engine, find
from bloatlab.errors import EngineError, ParameterError
from bloatlab.loading import NO_PLUGINS
from bloatlab.parity.aims import AIMS, Aim
from bloatlab.parity.cached import Cached, Values
from bloatlab.parity.judge import Cell, Judged, Word, judge
from bloatlab.parity.scenario import Parity
from bloatlab.settings import RunSettings
from bloatlab.store import Store, canonical
from bloatlab.sweeps import Ended, ExperimentSource, PlannedRun, Progress, Summary, execute, plan_points
from bloatlab.sweeps.grid import Grid

KERNEL = "linux-virtual"
WORDS: tuple[Word, ...] = ("agrees", "chance", "differs", "too few seeds")
BY_INTEREST: tuple[Word, ...] = ("differs", "too few seeds", "chance", "agrees")


@dataclass(frozen=True)
class Found:
    """The comparison.

    Attributes:
        cells: The cells in the order of the grid.
        judged: Every metric of every cell.
        fixed: The parameters that all cells share, as a reader sees them.
        engines: Name and version of the simulator and of the kernel.
    """

    cells: Sequence[Cell]
    judged: Sequence[Judged]
    fixed: Mapping[str, str]
    engines: tuple[str, str]

    def of(self, aim: Aim) -> list[Judged]:
        """The cells that have this metric."""
        return [one for one in self.judged if one.aim is aim]

    @property
    def aims(self) -> list[Aim]:
        """The metrics that were compared."""
        return list(dict.fromkeys(one.aim for one in self.judged))

    def outside(self) -> list[Judged]:
        """What is outside its aim: first what differs for a cause, the largest difference first."""
        outside = (one for one in self.judged if not one.within)
        return sorted(outside, key=lambda one: (BY_INTEREST.index(one.word), -abs(one.excess)))

    def describe(self) -> dict[str, Any]:
        """The comparison as JSON."""
        return {
            "sim": self.engines[0],
            "kernel": self.engines[1],
            "parameters": dict(self.fixed),
            "metrics": [
                {
                    "metric": aim.name,
                    "aim": aim.text,
                    "cells": len(self.of(aim)),
                    **{word.replace(" ", "_"): count for word, count in counts(self.of(aim)).items()},
                    "median_ratio": median_ratio(self.of(aim)),
                }
                for aim in self.aims
            ],
            "cells": [
                {
                    "parameters": dict(cell.parameters),
                    "metrics": [one.describe() for one in self.judged if one.cell is cell],
                }
                for cell in self.cells
            ],
        }


def counts(judged: Sequence[Judged]) -> dict[Word, int]:
    """How many cells have each judgement."""
    return {word: sum(one.word == word for one in judged) for word in WORDS}


def median_ratio(judged: Sequence[Judged]) -> float | None:
    """The median of the ratios of the simulator's means to the kernel's."""
    ratios = [one.ratio for one in judged if one.ratio is not None and one.means[1]]
    return median(ratios) if ratios else None


@dataclass(frozen=True)
class Request:
    """What is compared.

    Attributes:
        points: The cells: parameters of `Parity`; the others have their defaults.
        seeds: Runs of each cell on each side.
        seed: The first seed; run r of a cell has the seed `seed + r`.
        kernel: The engine beside the simulator.
        cached: Results of a kernel that take the place of its runs; absent: the kernel runs.
    """

    points: Sequence[Mapping[str, Any]]
    seeds: int = 10
    seed: int = 1
    kernel: str = KERNEL
    cached: Cached | None = None

    @cached_property
    def runs(self) -> list[PlannedRun]:
        """The planned runs of both sides, cell by cell.

        Raises:
            EngineError: The kernel cannot run here, or cannot run a cell.
            ParameterError: A value is not allowed, or a cell has no cached result.
        """
        ours = self._side(find(DEFAULT, NO_PLUGINS))
        if self.cached is not None:
            for run in ours:
                self.cached.of(run.parameters)
            return ours
        kernel = RunSettings(engine=self.kernel).find_engine(NO_PLUGINS)
        if kernel.name == DEFAULT:
            raise ParameterError(f"engine: {DEFAULT} is one of the two sides; name another engine, such as {KERNEL}")
        sides, each = (ours, self._side(kernel)), self.seeds
        # The cells in turn, so that an interrupted study has whole cells.
        return [run for place in range(0, len(ours), each) for side in sides for run in side[place : place + each]]

    def _side(self, engine: Engine) -> list[PlannedRun]:
        source = ExperimentSource(Parity(), engine=engine)
        return plan_points(source, self.points, replications=self.seeds, seed=self.seed)


def grid(base: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The cells of a grid.

    Args:
        base: Parameters of every cell.
        axes: Parameters with their values. Those of `Parity.axes` that neither names are swept as well.
    """
    return [{**base, **point} for point in Grid(Parity().all_axes(base, axes), base)]


def swept(runs: Sequence[PlannedRun]) -> dict[str, list[Any]]:
    """The parameters in which cells differ, with their values."""
    values = {name: list(dict.fromkeys(canonical(run.parameters[name]) for run in runs)) for name in runs[0].parameters}
    return {name: [json.loads(value) for value in found] for name, found in values.items() if len(found) > 1}


def study(
    directory: Path,
    request: Request,
    settings: RunSettings | None = None,
    *,
    command: str = "",
    progress: Progress | None = None,
    ended: Ended | None = None,
) -> tuple[Summary, Found | None]:
    """Makes the runs that the directory does not have yet, and compares both sides.

    Args:
        directory: The results directory.
        request: What is compared.
        settings: How many runs are made at once.
        command: The command that asked for it, for the store.
        progress: Called with the progress.
        ended: Called with each run that ended.

    Returns:
        What was run, and the comparison; `None` after an interrupt, which keeps the finished runs.

    Raises:
        EngineError: The kernel cannot run here, or cannot run a cell, or no cell has a finished run on both sides.
        ParameterError: A value is not allowed, or a cell has no cached result.
        StoreError: The directory cannot be written.
    """
    runs, how = request.runs, settings or RunSettings()
    summary = execute(runs, directory, how, progress=progress, ended=ended, command=command, axes=swept(runs))
    return summary, None if summary.interrupted else compared(Store(directory), summary.measured, request.cached)


def compared(store: Store, runs: Sequence[PlannedRun], cached: Cached | None = None) -> Found:
    """Compares finished runs with each other, or with cached results of the kernel.

    Raises:
        EngineError: No cell has a finished run on both sides.
    """
    metrics = store.run_metrics([run.run_id for run in runs])
    cells: dict[str, tuple[PlannedRun, tuple[dict[str, Values], dict[str, Values]]]] = {}
    for run in runs:
        sides = cells.setdefault(canonical(run.parameters), (run, ({}, {})))[1]
        sides[run.engine.name != DEFAULT][run.run_id] = values(metrics[run.run_id])
    shown = list(swept(runs)) if runs else []
    shown = shown or ["queue"]
    found = []
    for run, (ours, theirs) in cells.values():
        kernel = list(theirs.values()) if cached is None else cached.of(run.parameters)
        if ours and kernel:
            named = order.of_values({name: run.parameters[name] for name in shown})
            found.append(Cell(named, list(ours.values()), kernel, (list(ours), list(theirs))))
    if not found:
        raise EngineError("no cell has a finished run on both sides")
    versions = {run.engine.name != DEFAULT: f"{run.engine.name} {run.engine_version}" for run in runs}
    kernels = versions[True] if cached is None else cached.version
    fixed = {name: value for name, value in runs[0].parameters.items() if name not in shown}
    judged = [one for cell in found for one in judge(cell, AIMS)]
    return Found(found, judged, order.of_values(fixed), (versions[False], kernels))


def values(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The compared metrics of a run."""
    read = {aim.name: aim.read(metrics) for aim in AIMS}
    return {name: value for name, value in read.items() if value is not None}


def kernel_rows(store: Store, runs: Sequence[PlannedRun]) -> list[dict[str, Any]]:
    """The finished runs of the kernel as rows of a file of cached results."""
    theirs = [run for run in runs if run.engine.name != DEFAULT]
    metrics = store.run_metrics([run.run_id for run in theirs])
    return [
        {
            "engine": f"{run.engine.name} {run.engine_version}",
            **run.parameters,
            "seed": run.seed,
            **{name: f"{value:.6g}" for name, value in values(metrics[run.run_id]).items()},
        }
        for run in theirs
    ]
