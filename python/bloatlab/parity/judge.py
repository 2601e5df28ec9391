"""Compares one metric of one cell: within the aim, outside by chance, or outside for a cause."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Literal

from bloatlab.parity.aims import Aim
from bloatlab.parity.modes import Mode, modes
from bloatlab.statistics.differences import permutation_test
from bloatlab.statistics.intervals import deviation

Word = Literal["agrees", "chance", "differs", "too few seeds"]
SIGNIFICANT = 0.05
"""Below this p, chance alone does not explain the difference."""


@dataclass(frozen=True)
class Cell:
    """One point of the grid, with the metrics of its runs on both sides.

    Attributes:
        parameters: Its parameters as a reader sees them.
        ours: Values of each run of the simulator by metric.
        theirs: Values of each run of the kernel by metric.
        runs: Identities of the runs of the simulator, then of the kernel; empty for cached results.
    """

    parameters: Mapping[str, str]
    ours: Sequence[Mapping[str, float]]
    theirs: Sequence[Mapping[str, float]]
    runs: tuple[Sequence[str], Sequence[str]] = ((), ())


@dataclass(frozen=True)
class Judged:
    """One metric of one cell.

    Attributes:
        cell: The cell.
        aim: The metric and its aim.
        ours: Its value in each run of the simulator.
        theirs: Its value in each run of the kernel.
    """

    cell: Cell
    aim: Aim
    ours: Sequence[float]
    theirs: Sequence[float]

    @cached_property
    def means(self) -> tuple[float, float]:
        """The mean over the runs of each side."""
        return fmean(self.ours), fmean(self.theirs)

    @property
    def deviations(self) -> tuple[float | None, float | None]:
        """The standard deviation over the runs of each side; `None` with one run."""
        return deviation(self.ours), deviation(self.theirs)

    @property
    def ratio(self) -> float | None:
        """The simulator's mean over the kernel's; 1 if both are 0, `None` if only the kernel's is."""
        ours, theirs = self.means
        return ours / theirs if theirs else (1.0 if ours == 0 else None)

    @property
    def excess(self) -> float:
        """The simulator's mean minus the kernel's, as a multiple of the largest difference that the aim allows."""
        ours, theirs = self.means
        return (ours - theirs) / (self.aim.allowed(theirs) or 1.0)

    @property
    def within(self) -> bool:
        """Whether the means differ by no more than the aim."""
        ours, theirs = self.means
        # The aim allows for the rounding of a double.
        return abs(ours - theirs) <= self.aim.allowed(theirs) * (1 + 1e-9)

    @cached_property
    def p(self) -> float | None:
        """How likely two equal distributions give samples that differ at least as much; `None` if too few runs can tell.

        The permutation test of the means (Fisher 1935, Pitman 1937), which assumes no distribution.
        """
        n, m = len(self.ours), len(self.theirs)
        # The two most extreme of all arrangements of the values decide the smallest p that can come out.
        if 2 / math.comb(n + m, n) > SIGNIFICANT:
            return None
        return permutation_test((sorted(self.ours), sorted(self.theirs)))

    @property
    def word(self) -> Word:
        """The judgement."""
        if self.within:
            return "agrees"
        if self.p is None:
            return "too few seeds"
        return "differs" if self.p < SIGNIFICANT else "chance"

    @cached_property
    def modes(self) -> list[Mode]:
        """Groups of values further apart than the aim; empty if there is only one."""
        return modes(self.ours, self.theirs, self.aim)

    def describe(self) -> dict[str, Any]:
        """The judgement as JSON."""
        return {
            "metric": self.aim.name,
            "unit": self.aim.unit,
            "sim": {"mean": self.means[0], "sd": self.deviations[0], "values": list(self.ours)},
            "kernel": {"mean": self.means[1], "sd": self.deviations[1], "values": list(self.theirs)},
            "ratio": self.ratio,
            "within_aim": self.within,
            "p": self.p,
            "judgement": self.word,
            "modes": [
                {"low": of.low, "high": of.high, "sim_runs": of.ours, "kernel_runs": of.theirs} for of in self.modes
            ],
        }


def judge(cell: Cell, aims: Sequence[Aim]) -> list[Judged]:
    """Every metric that both sides of the cell have. Marks are left out where neither side has any."""
    found = []
    for aim in aims:
        ours, theirs = ([run[aim.name] for run in side if aim.name in run] for side in (cell.ours, cell.theirs))
        if ours and theirs and (aim.name != "marks" or any(ours) or any(theirs)):
            found.append(Judged(cell, aim, ours, theirs))
    return found
