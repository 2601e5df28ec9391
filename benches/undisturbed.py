"""Times work on a core that is left alone.

A core has two threads: while the other one works, also for another tenant of the machine, a run takes up to twice as long, and
nothing tells of it. So each run stands between two of known work, the probe, and counts when both took what it takes at its best.
What is timed is processor time, of which what a hypervisor takes away is no part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

SLACK = 1.2
"""A probe that takes this much longer than at its best was disturbed."""

Turns = dict[str, list[tuple[int, int]]]
"""By name of the work: the longer of the two probes round each run, and the run, ns."""


@dataclass(frozen=True)
class Timed:
    """What one piece of work took, over all its runs."""

    ns: float
    """Median of the undisturbed runs, or of the least disturbed one in ten if there are none."""
    ns_all: float
    """Median of all runs."""
    undisturbed: int
    runs: int


def _processor_ns(work: Callable[[], object]) -> int:
    began = time.process_time_ns()
    work()
    return time.process_time_ns() - began


def take_turns(
    works: Mapping[str, Callable[[], object]], probe: Callable[[], object], wanted: int, seconds: float
) -> Turns:
    """All take turns until each has had so many undisturbed runs, or the time is up."""
    turns: Turns = {name: [] for name in works}
    least = before = _processor_ns(probe)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for name, work in works.items():
            took = _processor_ns(work)
            after = _processor_ns(probe)
            turns[name].append((max(before, after), took))
            least, before = min(least, after), after
        if all(sum(probed <= SLACK * least for probed, _ in runs) >= wanted for runs in turns.values()):
            break
    return turns


def judge(several: Iterable[Turns]) -> dict[str, Timed]:
    """What the work took, by all turns of one or several processes."""
    turns: Turns = {}
    for one in several:
        for name, runs in one.items():
            turns.setdefault(name, []).extend(runs)
    most = SLACK * min(probed for runs in turns.values() for probed, _ in runs)
    return {name: _timed(runs, most) for name, runs in turns.items()}


def _timed(runs: list[tuple[int, int]], most: float) -> Timed:
    clean = [took for probed, took in runs if probed <= most]
    calmest = [took for _, took in sorted(runs)[: len(runs) // 10 + 1]]
    return Timed(median(clean or calmest), median(took for _, took in runs), len(clean), len(runs))
