"""The queues and link scenarios of the source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bloatlab.experiments.base import PublishedRun

SOURCE = "A. Srivastava, F. Fund and S. S. Panwar, INFOCOM workshops 2020, and the authors' page on AQM on mmWave links"
LARGE, SMALL = 7_500_000, 1_875_000
"""Bytes of the FIFOs: 60 and 15 Mbit."""
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "largefifo": {"kind": "fifo", "limit": f"{LARGE}B"},
    "smallfifo": {"kind": "fifo", "limit": f"{SMALL}B"},
    # tupdate 15 ms, alpha 2 and beta 20 in tc's units, no ECN: the defaults.
    "pie": {"kind": "pie", "limit": "5000p", "target": "10ms"},
    # interval 100 ms, quantum 1514, 1024 flows, ECN: the defaults; no flow asks for it.
    "fq_codel": {"kind": "fq_codel", "limit": "5000p", "target": "10ms"},
}
TODAY, OF_2019 = "today", "2019"
"""Kernels: Linux 7.2, and Linux as the source can have had it in 2019."""
PIE_OF_2019: Mapping[str, Any] = {**QUEUES["pie"], "dq_rate_estimator": True}
"""Before Linux 5.5 (January 2020), PIE had no timestamps and computed the delay from the departure rate."""
TCP_OF_2019: Mapping[str, int] = {"tso_rtt_log": 0}
"""Since Linux 5.18, offload buffers are larger if the RTT is short."""
SCENARIOS: Mapping[str, str] = {"sl": "2905Mbit/s", "sb": "2726Mbit/s", "lb": "2520Mbit/s", "mobb": "2961Mbit/s"}
"""Link scenarios with the mean rate of the authors' traces, which queues see as the constant rate."""
FIFOS: Mapping[str, int] = {"largefifo": LARGE, "smallfifo": SMALL}
"""Bytes that each FIFO holds."""
OFFLOADS: Mapping[str, Mapping[str, bool]] = {
    "both": {"segmentation_offload": True, "receive_offload": True},
    "receive": {"receive_offload": True},
    "none": {},
}
"""Segmentation and receive offload of the hosts."""
SEEDS = range(42, 47)
"""Seeds of the published runs; the peaks of a run depend on which packets wait when the rate falls."""
FLOW = "iperf"
"""Prefix of the names of the long flows."""
PING = "ping"
BOTTLENECK = "bottleneck"
DIP = 2000.0
"""Rate in Mbit/s below which the source speaks of a dip."""
FEW_SEEDS = SEEDS[:3]
"""Seeds of the runs that only medians are read from, which hardly depend on the seed."""
WITH, WITHOUT = "both", "none"
"""Values of `offload` with which FQ-CoDel is compared with PIE, and ours with real Linux."""
DRAWN = ("lb", "sb", "sl")
"""Scenarios that the source's figure shows."""
OFTEN, FINELY = "100ms", "10ms"
"""Time between two samples, and in runs that show what it decides."""
AQMS = ("pie", "fq_codel")
OF_TODAY = (*((scenario, queue) for scenario in DRAWN for queue in AQMS), ("lb", "largefifo"))
"""Panels of the figure that are run with the Linux of today, too."""
FINE_SCENARIOS = ("lb", "sl")
"""Scenarios in which the time of the samples decides FQ-CoDel's largest value."""
ON_LINUX: Mapping[str, Any] = {"scenario": "sl", "rtt": "600us", "stop": "24.9s", "player": "exact"}
"""What our measurement of real Linux differs in from the source's set-up."""


def case(scenario: str, queue: str, seed: int, offload: str = WITH) -> str:
    """The name of a run of the source."""
    return f"{scenario}-{queue}{_said(offload)}, seed {seed}"


def today(scenario: str, queue: str, seed: int) -> str:
    """The name of a run of the source with the Linux of today."""
    return f"{scenario}-{queue} of today, seed {seed}"


def sampled(scenario: str, queue: str, seed: int) -> str:
    """The name of a run of the source with a sample every `FINELY`."""
    return f"{scenario}-{queue}, a sample every {FINELY}, seed {seed}"


def linux_case(queue: str, seed: int, offload: str) -> str:
    """The name of a run as we made it on real Linux."""
    return f"{ON_LINUX['scenario']}-{queue} as on Linux{_said(offload)}, seed {seed}"


def _said(offload: str) -> str:
    return " without offload" if offload == WITHOUT else ""


CASES: Mapping[str, PublishedRun] = (
    {
        case(scenario, queue, seed): PublishedRun({"scenario": scenario, "queue": queue, "kernel": OF_2019}, seed)
        for scenario in SCENARIOS
        for queue in QUEUES
        for seed in SEEDS
    }
    | {
        case(scenario, queue, seed, WITHOUT): PublishedRun(
            {"scenario": scenario, "queue": queue, "offload": WITHOUT, "kernel": OF_2019}, seed
        )
        for scenario in DRAWN
        for queue in AQMS
        for seed in FEW_SEEDS
    }
    | {
        today(scenario, queue, seed): PublishedRun({"scenario": scenario, "queue": queue}, seed)
        for scenario, queue in OF_TODAY
        for seed in FEW_SEEDS
    }
    | {
        sampled(scenario, "fq_codel", seed): PublishedRun(
            {"scenario": scenario, "queue": "fq_codel", "kernel": OF_2019, "sample_interval": FINELY}, seed
        )
        for scenario in FINE_SCENARIOS
        for seed in FEW_SEEDS
    }
    | {
        linux_case(queue, seed, offload): PublishedRun({**ON_LINUX, "queue": queue, "offload": offload}, seed)
        for queue in QUEUES
        for offload in (WITH, WITHOUT)
        for seed in FEW_SEEDS
    }
)
