"""Which trial to recommend: the best worst case, unless it beats the defaults by less than the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bloatlab.analysis.front import Found, Objective
from bloatlab.analysis.space import DECADE
from bloatlab.statistics.intervals import summarise

LEAST_SPAN = 0.05


class Scale:
    """Distance of values from the best value of every objective.

    Each objective is scaled to its range over all trials. The range over the front alone may be noise, for example
    where every queue keeps a ping short. An objective that spans more than a decade is scaled by its logarithm, as in
    the figure. One that spans less than `LEAST_SPAN` of its largest value is scaled as if it spanned that much, so that
    a difference that nobody notices does not weigh as much as a real one.
    """

    def __init__(self, trials: Sequence[Found], objectives: Sequence[Objective]) -> None:
        self._ranges = []
        for place, objective in enumerate(objectives):
            every = [one.values[place] for one in trials]
            low, high = min(every), max(every)
            log = low > 0 and high / low > DECADE
            low, high = (math.log(low), math.log(high)) if log else (low, high)
            span = high - low if log else max(high - low, LEAST_SPAN * max(abs(low), abs(high)))
            self._ranges.append((log, low if objective.minimise else high, span))

    def distance(self, values: Sequence[float]) -> float:
        """0 is the best value of every objective; 1 is the worst value of one, if the others are best."""
        total = 0.0
        for value, (log, goal, span) in zip(values, self._ranges, strict=True):
            if span:
                # Replications other than the worst may have a value of 0, which has no logarithm.
                at = (math.log(value) if value > 0 else goal) if log else value
                total += ((at - goal) / span) ** 2
        return math.sqrt(total)


@dataclass(frozen=True)
class Choice:
    """The recommended trial."""

    recommended: Found
    best: Found
    """The trial with the best worst case."""
    default: Found | None
    """The trial of the recommended queue with its default parameters; `None` if it failed."""
    why: Literal["best", "default is best", "noise", "unknown noise"]
    """`noise`: a default is recommended, because the best trial does not beat the defaults by more than the noise.
    `unknown noise`: a default is recommended, because there is one replication, or all of them are equal."""


def choose(trials: Sequence[Found], objectives: Sequence[Objective]) -> Choice | None:
    """Chooses the trial whose worst values over the replications are nearest to the best value of every objective.

    It must beat the defaults of its own queue and the best default of any queue: the 95 % interval (Student's t) of
    the paired differences of the distances must lie above 0. Replications are paired, because all trials have the
    same seeds. Otherwise the best default is chosen. One replication shows no noise, and replications that are all equal
    do not either, so then the best default is chosen too.
    """
    if not trials:
        return None
    scale = Scale(trials, objectives)
    best = min(trials, key=lambda one: (scale.distance(one.values), one.number))
    defaults = [one for one in trials if one.default]
    own = next((one for one in defaults if one.kind == best.kind), None)
    if best.default or not defaults:
        return Choice(best, best, own, "default is best" if best.default else "best")
    first = min(defaults, key=lambda one: (scale.distance(one.values), one.number))
    if all(len(set(column)) == 1 for one in trials for column in one.samples):
        return Choice(first, best, first, "unknown noise")
    if all(_beats(best, rival, scale) for rival in (first, own) if rival is not None):
        return Choice(best, best, own, "best")
    return Choice(first, best, first, "noise")


def _beats(one: Found, rival: Found, scale: Scale) -> bool:
    """Whether one trial is nearer to the goals than another by more than the noise over the replications."""
    pairs = zip(zip(*one.samples, strict=True), zip(*rival.samples, strict=True), strict=True)
    interval = summarise([scale.distance(its) - scale.distance(mine) for mine, its in pairs]).t
    return interval is not None and interval.low > 0
