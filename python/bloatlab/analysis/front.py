"""Trials with several objectives: which none beats, and which of these to choose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bloatlab.analysis.readings import Reading
from bloatlab.analysis.space import DECADE


@dataclass(frozen=True)
class Objective:
    """What is made small or large."""

    reading: Reading
    minimise: bool

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """As Optuna calls it."""
        return "minimize" if self.minimise else "maximize"

    @property
    def title(self) -> str:
        """With its unit."""
        return f"{self.reading.text} ({self.reading.unit})" if self.reading.unit else self.reading.text


@dataclass(frozen=True)
class Found:
    """A trial that has its values."""

    number: int
    kind: str
    label: str
    """The queue with what was tuned of it, and what else was varied."""
    queue: Mapping[str, Any]
    """The queue as the scenario has it."""
    values: Sequence[float]
    half_widths: Sequence[float | None]
    """Of the confidence interval over the replications; `None` with one."""
    point: Mapping[str, Any]
    runs: Sequence[str]


def _costs(of: Found, objectives: Sequence[Objective]) -> tuple[float, ...]:
    """Values of which less is better."""
    return tuple(
        value if objective.minimise else -value for value, objective in zip(of.values, objectives, strict=True)
    )


def front(found: Sequence[Found], objectives: Sequence[Objective]) -> list[Found]:
    """The Pareto front: those that no other equals in every objective and beats in one; of equals the first."""
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
    """The point of a front nearest to the best of every objective, each scaled to its range over all trials.

    Not over the front alone: where a front is narrow, as where every queue keeps a ping short, its width is noise. An objective
    that spans more than a decade counts by its logarithm, as it is drawn.
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
