"""The runs that a reproduction makes: five of each published set-up, and what the questions need besides."""

from __future__ import annotations

from collections.abc import Mapping

from bloatlab.experiments.base import PublishedRun
from bloatlab.experiments.home_router.setup import PRESETS

SIZES = (20, 100)
"""`maxq` of the assignment."""
SEEDS = (42, 43, 44, 45, 46)
"""Question 5's re-runs."""
FURTHER_SIZES = (5, 10, 50, 200)
"""For question 3: the RTT over the queue's size."""
QUEUES = ("codel", "fq_codel", "pie", "cake")
"""For question 4: what to do against it."""
PACED = "bbr"
CROSSING = "same direction, two segments"
"""What other students had: the page crosses the queue whose buffers hold two segments."""


def published(preset: str, maxq: int, seed: int) -> str:
    """Name of a run of a published set-up."""
    return f"{preset}, {maxq}, seed {seed}"


def _sized(preset: str, maxq: int) -> PublishedRun:
    return PublishedRun({"preset": preset, "maxq": maxq})


CASES: Mapping[str, PublishedRun] = {
    **{
        published(preset, maxq, seed): PublishedRun({"preset": preset, "maxq": maxq}, seed)
        for preset in PRESETS for maxq in SIZES for seed in SEEDS
    },
    **{
        published(CROSSING, maxq, seed): PublishedRun({"preset": "col724", "direction": "same", "maxq": maxq}, seed)
        for maxq in SIZES for seed in SEEDS
    },
    **{f"{preset}, {maxq}": _sized(preset, maxq) for preset in PRESETS for maxq in FURTHER_SIZES},
    **{
        f"{preset}, {max(SIZES)}, {queue}": PublishedRun({"preset": preset, "maxq": max(SIZES), "queue": queue})
        for preset in PRESETS for queue in QUEUES
    },
    **{
        f"{preset}, {max(SIZES)}, {PACED}": PublishedRun({"preset": preset, "maxq": max(SIZES), "cca": PACED})
        for preset in PRESETS
    },
}  # fmt: skip
