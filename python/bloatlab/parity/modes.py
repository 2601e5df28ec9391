"""Modes: groups of runs whose values are close to each other and far from the others.

Four flows that overflow a deep buffer once, in slow start, end in one of a few states, depending on how many of them lose twice.
A mean over such runs says little; how often each state comes says more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bloatlab.parity.aims import Aim

RUNS = 3
"""Runs of a mode, on average, at least."""


@dataclass(frozen=True)
class Mode:
    """A group of runs.

    Attributes:
        low: Smallest value.
        high: Largest value.
        ours: Number of runs of the simulator.
        theirs: Number of runs of the kernel.
    """

    low: float
    high: float
    ours: int
    theirs: int


def modes(ours: Sequence[float], theirs: Sequence[float], aim: Aim) -> list[Mode]:
    """The modes of both sides together. Values belong to two modes if no value lies within the aim between them.

    Args:
        ours: The simulator's values.
        theirs: The kernel's values.
        aim: Says which values count as equal.

    Returns:
        The modes by size of their values; empty if there is one, if no mode has runs of both sides, or if the values are
        spread so widely that they form no groups.
    """
    values = sorted([*((value, True) for value in ours), *((value, False) for value in theirs)])
    groups = [values[:1]]
    for before, after in pairwise(values):
        if after[0] - before[0] > aim.allowed(before[0]):
            groups.append([])
        groups[-1].append(after)
    found = [
        Mode(group[0][0], group[-1][0], sum(mine for _, mine in group), sum(not mine for _, mine in group))
        for group in groups
    ]
    few = 1 < len(found) <= len(values) / RUNS
    return found if few and any(of.ours and of.theirs for of in found) else []
