"""Traces of deliveries in mahimahi's format: a generated one, and those of files."""

from __future__ import annotations

import random
from functools import lru_cache
from math import exp, sqrt
from pathlib import Path

from bloatlab.scenario.read import read_text

DELIVERY_BITS = 12_000
LENGTH_MS = 15_000
MOST_BYTES = 256_000_000
"""Largest size of a trace file; the same as in the engine."""


@lru_cache(maxsize=1)
def generated() -> tuple[int, ...]:
    """Deliveries in ms of a link that behaves like a cellular one.

    Its rate varies around 12 Mbit/s over seconds, differs between slots of 20 ms, and has short outages. The trace is
    always the same: the seed is fixed, and `random.random` gives the same numbers in every version of Python.
    """
    draw = random.Random(2025).random
    wander, credit, outage = 0.0, 0.0, 0
    found: list[int] = []
    for slot in range(LENGTH_MS // 20):
        # The sum of twelve uniform draws is almost normal.
        wander = 0.98 * wander + 0.6 * sqrt(1 - 0.98**2) * (sum(draw() for _ in range(12)) - 6)
        jitter = 0.6 + 0.8 * draw()
        outage = outage - 1 if outage else (8 if draw() < 0.008 else 0)
        mbps = 0.0 if outage else min(40.0, 12 * exp(wander) * jitter)
        for ms in range(20):
            credit += mbps * 1e3 / DELIVERY_BITS
            whole = int(credit)
            credit -= whole
            found += [20 * slot + ms] * whole
    return (*found, LENGTH_MS)


def mean_rate(file: str) -> float | None:
    """Mean rate of one pass of a trace, bit/s; `None` if the file is not a trace (the engine reports the line)."""
    try:
        times = [int(line) for line in read_text(Path(file), MOST_BYTES).split()]
    except ValueError:
        return None
    return len(times) * DELIVERY_BITS * 1e3 / times[-1] if times and times[-1] > 0 else None
