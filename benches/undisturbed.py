"""Times runs of the engine as if on an idle CPU core.

Two threads share a CPU core. While the other thread is busy, a run takes up to twice as long. The other thread may belong to
another tenant of the machine, so this cannot be observed. But a run of the same scenario and seed does the same work each
time, and it is timed in pieces of one or two milliseconds. Some repetitions of a piece find the core idle even if no whole
run does. So a run is repeated, each piece is timed by its fast repetitions, and the time of the run is the sum of its pieces.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median

from bloatlab import _core

SLACK = 1.25
"""A piece was disturbed if it took longer than this multiple of its time on an idle core."""
LEAST = 3
"""Least number of undisturbed repetitions of a piece for a reliable time."""

Turns = dict[str, list[list[int]]]
"""For each run, the times of the pieces of each repetition in ns. The last value is the time outside the event loop."""


@dataclass(frozen=True)
class Timed:
    """The time of one run, from all its repetitions."""

    ns: float
    """Sum over the pieces. Each counts with the median of its undisturbed repetitions, or with its fastest if there are none."""
    ns_all: float
    """Median time of all repetitions, disturbed or not."""
    undisturbed: int
    """Number of undisturbed repetitions of the piece that has the fewest."""
    runs: int

    @property
    def can_judge(self) -> bool:
        """Whether each piece has enough undisturbed repetitions."""
        return self.undisturbed >= LEAST


def _pieces(document: str, seed: int) -> list[int]:
    control = _core.Control(timed=True)
    began = time.perf_counter_ns()
    _core.run(document, seed, control=control)
    took = time.perf_counter_ns() - began
    laps = control.laps
    return [*laps, took - sum(laps)]


def take_turns(runs: Mapping[str, tuple[str, int]], wanted: int, seconds: float) -> Turns:
    """Repeats all runs (documents and seeds) in turn until each piece has `wanted` undisturbed repetitions or time is up."""
    turns: Turns = {name: [] for name in runs}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for name, run in runs.items():
            turns[name].append(_pieces(*run))
        if all(judge(repetitions).undisturbed >= wanted for repetitions in turns.values()):
            break
    return turns


def judge(repetitions: list[list[int]]) -> Timed:
    """Computes the time of a run from its repetitions.

    Every piece finds the core idle equally often. So the smallest ratio of best to mean over all pieces estimates the ratio
    for every piece. A core that is never idle cannot be distinguished from a slow one.
    """
    pieces = list(zip(*repetitions, strict=True))
    # The last two are short: the rest of the event loop, and the time outside it.
    best = min((min(piece) / fmean(piece) for piece in pieces[:-2]), default=1.0)
    ns, scarcest = 0.0, len(repetitions)
    for i, piece in enumerate(pieces):
        most = SLACK * (best * fmean(piece) if i < len(pieces) - 2 else min(piece))
        clean = [took for took in piece if took <= most]
        ns += median(clean or [min(piece)])
        scarcest = min(scarcest, len(clean))
    return Timed(ns, median(map(sum, repetitions)), scarcest, len(repetitions))
