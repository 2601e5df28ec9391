"""Standing queues: at the marking threshold, and at Vegas's alpha and beta."""

from __future__ import annotations

import math
from typing import Any

from bloatlab.experiments.behaviour.parts import OURS, Document, bottleneck, link, packets
from bloatlab.experiments.claim import Claim

DC_RATE, DC_RTT, THRESHOLD = 1000.0, 100e-6, 20
"""Alizadeh 2010 section 3.5: 20 packets at 1 Gbit/s."""
STEP: dict[str, Any] = {
    # A step: every packet that arrives at the threshold is marked, without an average.
    "kind": "red", "min": f"{THRESHOLD - 1}p", "max": f"{THRESHOLD}p", "weight": 1.0, "probability": 1.0,
    "gentle": False, "ecn": True, "harddrop": False, "limit": "1000p",
}  # fmt: skip
ALIZADEH = "Alizadeh et al. 2010 section 3.3"
SAWTOOTH = f"{ALIZADEH}, eq. 8 and 10: K + N - A/2"
PRAGUE = ((100.0, 10.0, 1), (100.0, 10.0, 2), (40.0, 5.0, 1))
"""Rate in Mbit/s, RTT in ms, number of flows."""
L4S = "RFC 9332 section 1.4"
VEGAS = {"vegas": (2, 4, "Linux's alpha 2, beta 4"), "vegas 1/3": (1, 3, "ns-2's alpha 1, beta 3")}
BOOK = "Peterson, Brakmo and Davie, TCP Congestion Control, section 5.1: alpha to beta extra buffers"


def _dctcp(flows: int) -> str:
    return f"dctcp x {flows}"


def _prague(mbps: float, rtt: float, flows: int) -> str:
    return f"prague x {flows}, {mbps:g} Mbit/s, {rtt:g} ms"


def _flows(cca: Any, count: int, interval: str) -> list[dict[str, Any]]:
    return [{"count": count, "cca": cca, "start_interval": interval, "tcp": {"ack_every": 1}}]


CASES: dict[str, Document] = {
    **{
        _dctcp(count): bottleneck(
            DC_RATE, 1000 * DC_RTT, STEP, _flows("dctcp", count, "10ms"), stop=3, warmup=1,
        )
        for count in (1, 2, 4)
    },
    **{
        _prague(mbps, rtt, count): bottleneck(
            mbps, rtt, "dualpi2", _flows("prague", count, "200ms"), stop=40, warmup=20,
        )
        for mbps, rtt, count in PRAGUE
    },
    **{
        case: bottleneck(
            20, 40, "infinite", _flows({"kind": "vegas", "alpha": alpha, "beta": beta}, 1, "0s"), stop=60, warmup=20,
        )
        for case, (alpha, beta, _) in VEGAS.items()
    },
}  # fmt: skip


def dctcp_mean(flows: int) -> float:
    """The queue swings between K + N and A packets below it (eq. 8, 10 and 11)."""
    swing = math.sqrt(2 * flows * (packets(DC_RATE, DC_RTT) + THRESHOLD)) / 2
    return THRESHOLD + flows - swing / 2


CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            f"dctcp x {count}, threshold {THRESHOLD}: mean queue", round(dctcp_mean(count), 2),
            link(_dctcp(count), "mean_queue_length"), "packets", SAWTOOTH, "derived", relative=0.1,
            note="the paper states no tolerance; we chose two packets of twenty",
        )
        for count in (1, 2, 4)
    ),
    *(
        Claim(
            f"dctcp x {count}, threshold {THRESHOLD}: longest queue", THRESHOLD + count,
            link(_dctcp(count), "max_queue_length"), "packets", f"{ALIZADEH}, eq. 10: K + N", "derived", absolute=1,
            note="tolerance: the packet being sent is outside the queue here",
        )
        for count in (1, 2, 4)
    ),
    *(
        claim
        for mbps, rtt, count in PRAGUE
        for claim in (
            Claim(
                f"{_prague(mbps, rtt, count)}: mean queueing delay", 1, link(_prague(mbps, rtt, count), "mean_sojourn"),
                "ms", f"{L4S}: below 1 ms on average", "stated", bound="at most",
            ),
            Claim(
                f"{_prague(mbps, rtt, count)}: mean queueing delay stays near the step", 0.5,
                link(_prague(mbps, rtt, count), "mean_sojourn"), "ms", f"{SAWTOOTH}, here 0.7 ms or more", "derived",
                bound="at least", note=f"{OURS}: half of the step",
            ),
            Claim(
                f"{_prague(mbps, rtt, count)}: 99th percentile", 2, link(_prague(mbps, rtt, count), "p99_sojourn"),
                "ms", f"{L4S}: no worse than 2 ms", "stated", bound="at most",
            ),
        )
    ),
    *(
        claim
        for case, (alpha, beta, which) in VEGAS.items()
        for claim in (
            Claim(
                f"{case}: standing queue", alpha, link(case, "mean_queue_length"), "packets", f"{BOOK}; {which}",
                "stated", bound="at least",
            ),
            Claim(
                f"{case}: standing queue, upper bound", beta, link(case, "mean_queue_length"), "packets",
                f"{BOOK}; {which}", "stated", bound="at most", absolute=1,
                note="tolerance: Linux computes the backlog in whole segments",
            ),
        )
    ),
)  # fmt: skip
