"""Runs a grid on both sides, and judges every metric of every cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bloatlab.analysis import order
from bloatlab.engines import DEFAULT, find
from bloatlab.errors import EngineError, ParameterError
from bloatlab.loading import NO_PLUGINS
from bloatlab.parity.aims import AIMS, Aim
from bloatlab.parity.judge import Cell, Judged, Word, judge
from bloatlab.parity.scenario import Parity, of_shaper
from bloatlab.settings import RunSettings
from bloatlab.store import Store, canonical
from bloatlab.sweeps import Ended, ExperimentSource, PlannedRun, Progress, Summary, execute, plan_all

KERNEL = "linux-virtual"
WORDS: tuple[Word, ...] = ("agrees", "chance", "differs", "too few seeds")


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
        return sorted(
            (one for one in self.judged if not one.within), key=lambda one: (-WORDS.index(one.word), -_excess(one))
        )

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


def _excess(one: Judged) -> float:
    """The difference as a multiple of the aim."""
    ours, theirs = one.means
    return abs(ours - theirs) / (one.aim.allowed(theirs) or 1.0)


def planned(
    base: Mapping[str, Any], axes: Mapping[str, Sequence[Any]], *, seeds: int, seed: int, kernel: str = KERNEL
) -> tuple[list[PlannedRun], dict[str, list[Any]]]:
    """The runs of both sides, cell by cell, and the values of the swept parameters.

    Raises:
        EngineError: The kernel cannot run here, or cannot run a cell.
        ParameterError: A value is not allowed.
    """
    engines = [find(DEFAULT, NO_PLUGINS), RunSettings(engine=kernel).find_engine(NO_PLUGINS)]
    if engines[1].name == DEFAULT:
        raise ParameterError(f"engine: {DEFAULT} is one of the two sides; name another engine, such as {KERNEL}")
    sides = []
    for engine in engines:
        source = ExperimentSource(Parity(), engine=engine)
        runs, swept = plan_all(source, base, axes, replications=seeds, seed=seed)
        sides.append(runs)
    # The cells in turn, so that an interrupted study has whole cells.
    both = [run for place in range(0, len(sides[0]), seeds) for side in sides for run in side[place : place + seeds]]
    return both, source.stored(swept)


def study(
    directory: Path,
    base: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 10,
    seed: int = 1,
    kernel: str = KERNEL,
    settings: RunSettings | None = None,
    command: str = "",
    progress: Progress | None = None,
    ended: Ended | None = None,
) -> tuple[Summary, Found]:
    """Makes the runs that the directory does not have yet, and compares both sides.

    Args:
        directory: The results directory.
        base: Parameters of every cell.
        axes: Parameters with their values. Those of `Parity.axes` that neither names are swept as well.
        seeds: Runs of each cell on each side.
        seed: The first seed; run r of a cell has the seed `seed + r`.
        kernel: The engine beside the simulator.
        settings: How many runs are made at once.
        command: The command that asked for it, for the store.
        progress: Called with the progress.
        ended: Called with each run that ended.

    Returns:
        What was run, and the comparison of the finished runs.

    Raises:
        EngineError: The kernel cannot run here, or cannot run a cell.
        ParameterError: A value is not allowed.
        StoreError: The directory cannot be written.
    """
    runs, swept = planned(base, axes, seeds=seeds, seed=seed, kernel=kernel)
    summary = execute(
        runs, directory, settings or RunSettings(), progress=progress, ended=ended, command=command, axes=swept
    )
    return summary, compared(Store(directory), summary.measured, list(swept))


def compared(store: Store, runs: Sequence[PlannedRun], swept: Sequence[str]) -> Found:
    """Compares finished runs.

    Raises:
        EngineError: No cell has a finished run on both sides.
    """
    metrics = store.run_metrics([run.run_id for run in runs])
    cells: dict[str, tuple[PlannedRun, tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]]] = {}
    for run in runs:
        sides = cells.setdefault(canonical(run.parameters), (run, ({}, {})))[1]
        sides[run.engine.name != DEFAULT][run.run_id] = values(metrics[run.run_id], run)
    shown = list(swept) or ["queue"]
    found = [
        Cell(
            order.of_values({name: run.parameters[name] for name in shown}),
            list(ours.values()),
            list(theirs.values()),
            (list(ours), list(theirs)),
        )
        for run, (ours, theirs) in cells.values()
        if ours and theirs
    ]
    if not found:
        raise EngineError("no cell has a finished run on both sides")
    versions = {run.engine.name != DEFAULT: f"{run.engine.name} {run.engine_version}" for run in runs}
    fixed = {name: value for name, value in runs[0].parameters.items() if name not in shown}
    judged = [one for cell in found for one in judge(cell, AIMS)]
    return Found(found, judged, order.of_values(fixed), (versions[False], versions[True]))


def values(metrics: Mapping[str, Any], run: PlannedRun) -> dict[str, float]:
    """The compared metrics of a run."""
    read = {aim.name: aim.read(metrics) for aim in AIMS}
    found = {name: value for name, value in read.items() if value is not None}
    if run.engine.name == DEFAULT and "utilization" in found:
        found["utilization"] = of_shaper(found["utilization"], run.parameters["rate"])
    return found
