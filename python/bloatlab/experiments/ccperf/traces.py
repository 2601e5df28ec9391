"""Traces of deliveries in mahimahi's form: one generated here, others read from files."""

from __future__ import annotations

import random
from functools import lru_cache
from math import exp, sqrt
from pathlib import Path

from bloatlab.scenario.read import read_text

DELIVERY_BITS = 12_000
LENGTH_MS = 15_000
MOST_BYTES = 256_000_000
"""Of a file; as in the engine."""


@lru_cache(maxsize=1)
def generated() -> tuple[int, ...]:
    """Deliveries of a link that behaves as cellular ones do, in ms.

    Its rate wanders about 12 Mbit/s over seconds, jitters from one slot of 20 ms to the next, and fails for moments.
    Always the same: its seed is fixed, and only `random.random`, whose numbers Python keeps over versions, is drawn from.
    """
    draw = random.Random(2025).random
    wander, credit, outage = 0.0, 0.0, 0
    found: list[int] = []
    for slot in range(LENGTH_MS // 20):
        # The sum of twelve uniform draws is nearly normal.
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
    """bit/s over one pass of a trace; `None`: it holds none, which the engine says line by line."""
    try:
        times = [int(line) for line in read_text(Path(file), MOST_BYTES).split()]
    except ValueError:
        return None
    return len(times) * DELIVERY_BITS * 1e3 / times[-1] if times and times[-1] > 0 else None
