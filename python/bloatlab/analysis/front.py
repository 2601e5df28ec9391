"""Trials with several objectives, and their Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from bloatlab.analysis.readings import Reading
from bloatlab.statistics.intervals import summarise


@dataclass(frozen=True)
class Objective:
    """A metric that is minimised or maximised."""

    reading: Reading
    minimise: bool

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """Optuna's word for it."""
        return "minimize" if self.minimise else "maximize"

    @property
    def title(self) -> str:
        """The metric with its unit."""
        return f"{self.reading.words} ({self.reading.unit})" if self.reading.unit else self.reading.words


@dataclass(frozen=True)
class Found:
    """A finished trial."""

    number: int
    kind: str
    label: str
    """The queue with its tuned parameters, and what else was varied."""
    queue: Mapping[str, Any]
    """The queue as a table of the scenario."""
    values: Sequence[float]
    """The worst value of each objective over the replications."""
    samples: Sequence[Sequence[float]]
    """For each objective, the values of all replications in the order of their seeds."""
    point: Mapping[str, Any]
    runs: Sequence[str]
    default: bool = False
    """Whether the queue has its default parameters."""

    @property
    def means(self) -> list[float]:
        """Mean of each objective over the replications."""
        return [fmean(column) for column in self.samples]

    @property
    def half_widths(self) -> list[float | None]:
        """Half-widths of the 95 % intervals of the means; `None` with one replication."""
        spreads = [summarise(column).t for column in self.samples]
        return [spread.half_width if spread else None for spread in spreads]


def _costs(of: Found, objectives: Sequence[Objective]) -> tuple[float, ...]:
    """The values with the sign that makes smaller better."""
    return tuple(
        value if objective.minimise else -value for value, objective in zip(of.values, objectives, strict=True)
    )


def front(found: Sequence[Found], objectives: Sequence[Objective]) -> list[Found]:
    """The Pareto front: trials that no other trial dominates. Of trials with equal values it has the first."""
    costs = {one.number: _costs(one, objectives) for one in found}
    kept: dict[tuple[float, ...], Found] = {}
    for one in found:
        mine = costs[one.number]
        beaten = any(
            other != mine and all(left <= right for left, right in zip(other, mine, strict=True))
            for other in costs.values()
        )
        if not beaten:
            kept.setdefault(mine, one)
    return sorted(kept.values(), key=lambda one: (_costs(one, objectives), one.number))
