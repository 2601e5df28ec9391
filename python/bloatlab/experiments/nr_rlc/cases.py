"""The runs of a reproduction: every published row, and runs for the findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bloatlab.experiments.base import PublishedRun
from bloatlab.experiments.nr_rlc.setup import AUTHORS_CODEL, OTHER_SOUNDING, TAIL

BUFFERS = (10, 30, 40, 50, 70, 100)
"""RLC buffers in MB with published delays at 30,000 packets/s."""
LOADS = (15, 20, 25, 30, 35, 40)
"""Loads of the published figures, thousands of packets/s."""
RERUN = (16, 25, 30)
"""Loads of tail drop for which we have runs of the authors' code."""
QUEUES = (TAIL, AUTHORS_CODEL, "codel", "fq_codel", "pie")
"""The compared queues: the two of the authors, and those of standards."""
TCP_QUEUES = (*QUEUES, "dualpi2")
PHASES = 10
"""Number of random starts per queue of the fair comparison."""
PHASED = (TAIL, AUTHORS_CODEL, "codel")
JITTER = "1ms"
"""Range of the random starts: several intervals of the elephant."""
CCA = "cubic"
SEED = 42


def load(queue: str, thousands: float) -> str:
    """Name of the run of a queue at a load."""
    return f"{queue}, {thousands:g}k"


def buffered(megabytes: int) -> str:
    """Name of the run with a buffer of this many MB."""
    return f"{TAIL}, 30k, {megabytes} MB"


def acknowledged(thousands: float) -> str:
    """Name of the run in acknowledged mode."""
    return f"am, {thousands:g}k"


def tcp(queue: str) -> str:
    """Name of the run with TCP."""
    return f"{CCA}, {queue}"


def phased(queue: str, thousands: float, phase: int) -> str:
    """Name of a run with random starts."""
    return f"{load(queue, thousands)}, start {phase + 1}"


def _udp(queue: str, thousands: float, **more: Any) -> PublishedRun:
    return PublishedRun({"lambda": 1000 * thousands, "queue": queue, **more})


CASES: Mapping[str, PublishedRun] = {
    **{load(TAIL, thousands): _udp(TAIL, thousands) for thousands in sorted({*LOADS, *RERUN}) if thousands != 20},
    # Its count needs another sounding slot than all other runs.
    load(TAIL, 20): _udp(TAIL, 20, sounding_offset=OTHER_SOUNDING),
    **{buffered(megabytes): _udp(TAIL, 30, buffer=f"{megabytes}000000B") for megabytes in BUFFERS},
    **{acknowledged(thousands): _udp(TAIL, thousands, rlc="am") for thousands in (15, 30)},
    **{
        load(queue, thousands): _udp(queue, thousands)
        for queue in QUEUES if queue != TAIL for thousands in LOADS
    },
    **{tcp(queue): PublishedRun({"cca": CCA, "queue": queue}) for queue in TCP_QUEUES},
    **{
        phased(queue, thousands, phase): PublishedRun(
            {"lambda": 1000 * thousands, "queue": queue, "start_jitter": JITTER}, SEED + 1 + phase
        )
        for queue in PHASED for thousands in (20, 30) for phase in range(PHASES)
    },
}  # fmt: skip
