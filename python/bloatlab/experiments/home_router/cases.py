"""The runs of a reproduction: thirty of each published set-up, and further runs for the questions."""

from __future__ import annotations

from collections.abc import Mapping

from bloatlab.experiments.base import PublishedRun
from bloatlab.experiments.home_router.setup import PRESETS

SIZES = (20, 100)
"""Values of `maxq` in the assignment."""
SEEDS = tuple(range(42, 72))
"""Replications of a published set-up. A lost SYN costs a page a second, so means of fewer runs depend on the seeds."""
CURVES = SEEDS[:5]
"""Replications for question 5, five curves, and for what is shown without a verdict."""
FURTHER_SIZES = (5, 10, 50, 200)
"""Limits for question 3, the RTT over the size of the queue."""
QUEUES = ("red", "codel", "fq_codel", "pie", "cake")
"""Queues for question 4, what helps."""
PACED = "bbr"
CROSSING = "same direction, two segments"
"""The set-up of other students: the page crosses the queue, and its buffers hold two segments."""


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
        for maxq in SIZES for seed in CURVES
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
