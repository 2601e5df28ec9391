"""The runs of a reproduction: every published row, and runs for the findings."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from bloatlab.experiments.base import PublishedRun
from bloatlab.experiments.nr_rlc.setup import AUTHORS_CODEL, OTHER_SOUNDING, SOUNDING, TAIL

BUFFERS = tuple(range(10, 101, 10))
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
STARTS = 5
"""Number of random starts per queue and setting over TCP, and in the grid of threshold and interval."""
PHASED = (TAIL, AUTHORS_CODEL, "codel")
JITTER = "1ms"
"""Range of the random starts: several intervals of the elephant."""
CCA = "cubic"
SEED = 42
TUNED = {AUTHORS_CODEL: "threshold", "codel": "target"}
"""Queues whose threshold and interval are varied, and what they call the threshold."""
USUAL = {AUTHORS_CODEL: ("100ms", "100ms"), "codel": ("5ms", "100ms")}
"""Their defaults."""
THRESHOLDS = ("5ms", "20ms", "50ms", "100ms", "200ms")
INTERVALS = ("5ms", "20ms", "100ms", "500ms")
TUNED_LOAD = 20
"""Load under which they are varied over UDP, thousands of packets/s."""
OFFSETS = tuple(range(0, 80, 10))
"""Slots of the sounding under which every row is run."""
FAR = 6000
"""Distance in m at which the two AMCs choose different schemes."""
FAR_POWER, MORE_POWER = 30.0, 30.6
"""Powers in dBm there: as re-run, and with the 0.6 dB by which the SNR of our model is below ns-3's."""
EARLIER = 4
"""End in s with which RLC AM has both values of the re-run, whose own end is not known."""


def load(queue: str, thousands: float) -> str:
    """Name of the run of a queue at a load."""
    return f"{queue}, {thousands:g}k"


def buffered(megabytes: int) -> str:
    """Name of the run with a buffer of this many MB."""
    return f"{TAIL}, 30k, {megabytes} MB"


def acknowledged(thousands: float) -> str:
    """Name of the run in acknowledged mode."""
    return f"am, {thousands:g}k"


def earlier(thousands: float) -> str:
    """Name of the run in acknowledged mode that ends earlier."""
    return f"{acknowledged(thousands)}, {EARLIER} s"


def tcp(queue: str) -> list[str]:
    """Names of the runs with TCP, which differ in their random starts."""
    return [f"{CCA}, {queue}, start {start + 1}" for start in range(STARTS)]


def tuned(queue: str, threshold: str, interval: str, *, over_tcp: bool) -> list[str]:
    """Names of the runs of a queue with this threshold and interval, which differ in their random starts."""
    if (threshold, interval) == USUAL[queue]:
        return standard(queue, over_tcp=over_tcp)
    name = CCA if over_tcp else f"{TUNED_LOAD}k"
    return [f"{name}, {queue} {threshold}/{interval}, start {start + 1}" for start in range(STARTS)]


def standard(queue: str, *, over_tcp: bool) -> list[str]:
    """Names of the runs of a queue with its defaults, beside those of the grid."""
    return tcp(queue) if over_tcp else [phased(queue, TUNED_LOAD, start) for start in range(STARTS)]


def sounded(case: str, offset: int) -> str:
    """Name of the run of a row with this slot of the sounding."""
    own = OTHER_SOUNDING if case == load(TAIL, 20) else SOUNDING
    return case if offset == own else f"{case}, sounding {offset}"


def far(amc: str, power: float) -> str:
    """Name of the run at the edge of the cell."""
    return f"{FAR / 1000:g} km, {power:g} dBm, {amc}"


def phased(queue: str, thousands: float, phase: int) -> str:
    """Name of a run with random starts."""
    return f"{load(queue, thousands)}, start {phase + 1}"


def _udp(queue: str, thousands: float, **more: Any) -> PublishedRun:
    return PublishedRun({"lambda": 1000 * thousands, "queue": queue, **more})


MEASURED: Mapping[str, PublishedRun] = {
    **{load(TAIL, thousands): _udp(TAIL, thousands) for thousands in sorted({*LOADS, *RERUN}) if thousands != 20},
    # Its count needs another sounding slot than all other runs.
    load(TAIL, 20): _udp(TAIL, 20, sounding_offset=OTHER_SOUNDING),
    **{buffered(megabytes): _udp(TAIL, 30, buffer=f"{megabytes}000000B") for megabytes in BUFFERS},
    **{load(AUTHORS_CODEL, thousands): _udp(AUTHORS_CODEL, thousands) for thousands in (20, 30)},
}
"""The runs of which values were published, read off or run again."""
CASES: Mapping[str, PublishedRun] = {
    **MEASURED,
    **{acknowledged(thousands): _udp(TAIL, thousands, rlc="am") for thousands in (15, 30)},
    **{earlier(thousands): _udp(TAIL, thousands, rlc="am", stop=f"{EARLIER}s") for thousands in (15, 30)},
    **{
        load(queue, thousands): _udp(queue, thousands)
        for queue in QUEUES if queue != TAIL for thousands in LOADS
    },
    **{
        case: PublishedRun({"cca": CCA, "queue": queue, "start_jitter": JITTER}, seed)
        for queue in TCP_QUEUES for seed, case in enumerate(tcp(queue), SEED + 1)
    },
    **{
        phased(queue, thousands, phase): PublishedRun(
            {"lambda": 1000 * thousands, "queue": queue, "start_jitter": JITTER}, SEED + 1 + phase
        )
        for queue in PHASED for thousands in (20, 30) for phase in range(PHASES)
    },
    **{
        case: PublishedRun(
            {"queue": {"kind": queue, TUNED[queue]: threshold, "interval": interval}, "start_jitter": JITTER}
            | ({"cca": CCA} if over_tcp else {"lambda": 1000 * TUNED_LOAD}),
            seed,
        )
        for queue, threshold, interval, over_tcp in product(TUNED, THRESHOLDS, INTERVALS, (False, True))
        if (threshold, interval) != USUAL[queue]
        for seed, case in enumerate(tuned(queue, threshold, interval, over_tcp=over_tcp), SEED + 1)
    },
    **{
        sounded(case, offset): PublishedRun({**row.parameters, "sounding_offset": offset})
        for case, row in MEASURED.items() for offset in OFFSETS if sounded(case, offset) != case
    },
    **{
        far(amc, power): PublishedRun(
            {"lambda": 1000 * TUNED_LOAD, "position": f"0,{FAR}", "power": power, "amc": amc}
        )
        for amc, power in (("shannon", FAR_POWER), ("error_model", FAR_POWER), ("shannon", MORE_POWER))
    },
}  # fmt: skip
