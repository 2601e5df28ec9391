"""Times runs of the engine on a core that is left alone.

A core has two threads: while the other one works, also for another tenant of the machine, a run takes up to twice as long, and
nothing tells of it. But a run of the same scenario and seed is the same work each time, piece by piece, and a piece takes a
millisecond or two, for which a core is left alone now and then even when no whole run finds it so. So a run repeats, each piece
is timed by the repetitions in which it took little, and the run takes what its pieces take together.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median

from bloatlab import _core

SLACK = 1.25
"""A piece that takes this much longer than on a core left alone was disturbed."""
LEAST = 3
"""Undisturbed repetitions of a piece below which its best says little."""

Turns = dict[str, list[list[int]]]
"""By name of the run: the pieces of each of its repetitions, ns; what is no piece of the event loop comes last."""


@dataclass(frozen=True)
class Timed:
    """What one run took, over all its repetitions."""

    ns: float
    """The sum over its pieces of the median of those undisturbed, or of the least disturbed one."""
    ns_all: float
    """Median of the repetitions as they were."""
    undisturbed: int
    """Of the piece that was left alone most rarely."""
    runs: int

    @property
    def can_judge(self) -> bool:
        """No piece rests on one or two lucky moments."""
        return self.undisturbed >= LEAST


def _pieces(document: str, seed: int) -> list[int]:
    control = _core.Control(timed=True)
    began = time.perf_counter_ns()
    _core.run(document, seed, control=control)
    took = time.perf_counter_ns() - began
    laps = control.laps
    return [*laps, took - sum(laps)]


def take_turns(runs: Mapping[str, tuple[str, int]], wanted: int, seconds: float) -> Turns:
    """All runs (documents and seeds) take turns, until each piece has so many undisturbed repetitions, or the time is up."""
    turns: Turns = {name: [] for name in runs}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for name, run in runs.items():
            turns[name].append(_pieces(*run))
        if all(judge(repetitions).undisturbed >= wanted for repetitions in turns.values()):
            break
    return turns


def judge(repetitions: list[list[int]]) -> Timed:
    """What a run took.

    Every piece finds the core alone equally often, so its best is to its mean as for the piece that was luckiest. A core that
    is never left alone cannot be told from a slow one.
    """
    pieces = list(zip(*repetitions, strict=True))
    # The last two are short: what remains of the event loop, and what is none of it.
    best = min((min(piece) / fmean(piece) for piece in pieces[:-2]), default=1.0)
    ns, scarcest = 0.0, len(repetitions)
    for i, piece in enumerate(pieces):
        most = SLACK * (best * fmean(piece) if i < len(pieces) - 2 else min(piece))
        clean = [took for took in piece if took <= most]
        ns += median(clean or [min(piece)])
        scarcest = min(scarcest, len(clean))
    return Timed(ns, median(map(sum, repetitions)), scarcest, len(repetitions))
