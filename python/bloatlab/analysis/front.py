"""Trials with several objectives: the Pareto front, and which of its points to choose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bloatlab.analysis.readings import Reading
from bloatlab.analysis.space import DECADE


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
        return f"{self.reading.text} ({self.reading.unit})" if self.reading.unit else self.reading.text


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
    half_widths: Sequence[float | None]
    """Half-widths of the confidence intervals over the replications; `None` with one replication."""
    point: Mapping[str, Any]
    runs: Sequence[str]


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


def knee(best: Sequence[Found], objectives: Sequence[Objective], found: Sequence[Found]) -> Found | None:
    """The point of the front that is nearest to the best value of every objective.

    Each objective is scaled to its range over all trials. The range over the front alone may be noise, for example
    where every queue keeps a ping short. An objective that spans more than a decade is scaled by its logarithm, as in
    the figure.
    """
    if not best:
        return None
    distances = [0.0] * len(best)
    for place, objective in enumerate(objectives):
        every = [one.values[place] for one in found]
        low, high = min(every), max(every)
        log = low > 0 and high / low > DECADE
        low, high = (math.log(low), math.log(high)) if log else (low, high)
        goal, span = (low if objective.minimise else high), high - low
        for index, one in enumerate(best):
            value = math.log(one.values[place]) if log else one.values[place]
            distances[index] += ((value - goal) / span) ** 2 if span else 0.0
    return best[distances.index(min(distances))]
