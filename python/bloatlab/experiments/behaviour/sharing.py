"""BBR's data in flight and its share beside CUBIC; to which flows LEDBAT yields."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

from bloatlab.experiments.behaviour.parts import Document, Value, bottleneck, fifo, flow, link, packets, share, total
from bloatlab.experiments.claim import Cases, Claim

BBR_RATE, BBR_RTT = 50.0, 0.04
BDP = packets(BBR_RATE, BBR_RTT)
DEEP = 8
"""Size of a deep buffer in bandwidth-delay products."""
WARE_RATE, WARE_RTT, WARE_TIME = 10.0, 0.04, 400.0
"""Ware 2019, figure 8a: Mbit/s, s, and the length of a run in s."""
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
"""Ware 2019, figure 8a: sizes of the buffer in bandwidth-delay products."""
LINUX = {1: 0.860, 2: 0.600, 4: 0.499, 8: 0.455, 16: 0.386}
"""Share of BBR in Linux 7.2.12 (engine `linux-virtual`), mean of seeds 1 to 3, by size of the buffer."""
HERE = "; of three seeds here, the mean is 0.398"
WARE = "Ware, Mukerjee, Seshan and Sherry 2019 (quoted in ffund/re-bbr-shared-bottleneck)"
DRAFT = "draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.3.2"

RATE, RTT = 20.0, 0.04
ROOM = 1.0
"""Length of a queue in seconds that low-priority flows do not fill."""
TARGET, TARGET_PP = 100, 60
JOINS = 150.0
"""Start of the second flow, when a single LEDBAT flow is back at its target after slow start."""
RFC = "RFC 6817"
QUEST = "Carofiglio, Muscariello, Rossi and Valenti 2010 (arXiv 1006.3018)"
STANDING = (
    "a LEDBAT flow that starts late includes the part of the queue that never drains in its base delay, so it queues more; "
    "with a target of 20 ms it gets 0.01, and if it is there first 0.004"
)
PP = "draft-irtf-iccrg-ledbat-plus-plus-06"


def _bbr(flows: int) -> str:
    return f"bbr x {flows}"


def _beside(depth: float) -> str:
    return f"bbr beside cubic, {depth:g} BDP"


def _joined(first: str, second: str) -> str:
    return f"{first}, then {second}"


def _alone(cca: str) -> str:
    return f"{cca} alone"


def _pair(first: str, second: str, room: float) -> Document:
    flows: list[dict[str, Any]] = [
        {"name": "first", "cca": first},
        {"name": "second", "cca": second, "start": f"{JOINS:g}s"},
    ]
    return bottleneck(RATE, 1000 * RTT, fifo(RATE, room), flows, stop=JOINS + 200, warmup=JOINS + 60)


CASES: dict[str, Document] = {
    **{
        _bbr(count): bottleneck(
            BBR_RATE, 1000 * BBR_RTT, fifo(BBR_RATE, DEEP * BBR_RTT),
            [{"count": count, "cca": "bbr", "start_interval": "1s"}], stop=120, warmup=40,
        )
        for count in (1, 2, 4, 6)
    },
    **{
        _beside(depth): bottleneck(
            WARE_RATE, 1000 * WARE_RTT, fifo(WARE_RATE, depth * WARE_RTT),
            [{"name": "bbr", "cca": "bbr"}, {"name": "cubic", "cca": "cubic"}], stop=WARE_TIME, warmup=20,
        )
        for depth in DEPTHS
    },
    **{
        _alone(cca): bottleneck(RATE, 1000 * RTT, fifo(RATE, ROOM), [{"cca": cca}], stop=300, warmup=JOINS)
        for cca in ("ledbat", "ledbat++")
    },
    **{_joined(cca, cca): _pair(cca, cca, ROOM) for cca in ("ledbat", "ledbat++")},
    **{
        _joined(*pair): _pair(*pair, 0.3)
        for cca in ("ledbat", "ledbat++") for other in ("cubic", "newreno") for pair in ((cca, other), (other, cca))
    },
}  # fmt: skip


def ware(depth: float) -> float:
    """BBR's share beside loss-based flows: eq. 9 is their share, eq. 10 and 11 are BBR's pauses every ten seconds."""
    theirs = max(0.0, 0.5 - 0.5 / depth - 4 / (depth * packets(WARE_RATE, WARE_RTT)))
    pause = depth * WARE_RTT + 0.2 + WARE_RTT
    return (1 - theirs) * (1 - pause / 10)


def _model_error(cases: Cases) -> float:
    return statistics.median(abs(share(_beside(depth), "bbr")(cases) - ware(depth)) for depth in DEPTHS)  # type: ignore[operator]


def _largest_rise(cases: Cases) -> float:
    shares = [share(_beside(depth), "bbr")(cases) for depth in DEPTHS]
    return max(after - before for before, after in itertools.pairwise(shares))  # type: ignore[operator]


def _in_bdp(case: str, metric: str) -> Value:
    return total(case, metric, BDP)


def _windows(flows: int) -> float:
    """BBR's windows in BDPs: two, and three bursts per flow. A burst lasts 1 ms and has two segments or more."""
    burst = max(2, int(packets(BBR_RATE / flows, 0.001)))
    return 2 + 3 * flows * burst / BDP


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "bbr alone, 8 BDP of buffer: window", _windows(1), _in_bdp(_bbr(1), "mean_cwnd_l4"), "BDP",
        f"{DRAFT}: cwnd_gain 2 and three bursts", "derived", relative=0.05,
        note="tolerance: the allowance for ACK aggregation, and rate samples that are a packet too high",
    ),
    *(
        Claim(
            f"bbr x {count}, 8 BDP of buffer: in flight", 2, _in_bdp(_bbr(count), "mean_in_flight_l4"), "BDP",
            f"{WARE}, eq. 1 and 6: a window of 2 BDP, which the flows fill because they overestimate their shares",
            "derived", bound="at least",
        )
        for count in (4, 6)
    ),
    Claim(
        "bbr x 2, 8 BDP of buffer: in flight", _windows(2), _in_bdp(_bbr(2), "mean_in_flight_l4"), "BDP",
        f"{DRAFT}: cwnd_gain 2 and three bursts", "derived", relative=0.05, note="tolerance as for the window",
    ),
    Claim(
        "bbr beside cubic: largest rise of the share where the buffer doubles (1 to 64 BDP)", 0, _largest_rise, "",
        f"{WARE}, eq. 9 to 11 and figure 8a: the share falls as the buffer grows", "derived", bound="at most",
    ),
    Claim(
        "bbr beside cubic, 1 to 64 BDP: median error of the model of the share", 0.05, _model_error, "",
        f"{WARE}, eq. 9 to 11; Ware 2024 (CMU CSD PhD blog): a median error of 5 % beside CUBIC", "stated", bound="at most",
        note="BBR gets 0.1 to 0.2 less than in the model, also in Linux 7.2.12 (the next claims). The model assumes that BBR "
        "always fills its window; here its data in flight reach 0.95 of the window in 42 to 49 % of the samples (2 to 8 BDP)",
    ),
    *(
        Claim(
            f"bbr beside cubic, {depth:g} BDP of buffer: share in Linux", linux, share(_beside(depth), "bbr"), "",
            "our runs of Linux 7.2.12 (linux-virtual), three seeds", "derived", absolute=0.03,
            note="tolerance: twice the range of the seeds" + (HERE if depth == max(LINUX) else ""),
        )
        for depth, linux in LINUX.items()
    ),
    Claim(
        "ledbat alone: queueing delay", TARGET, link(_alone("ledbat"), "mean_sojourn"), "ms", f"{RFC} section 2.5: TARGET",
        "stated", relative=0.02, note="tolerance: three packets",
    ),
    Claim(
        "ledbat alone: utilization", 0.99, link(_alone("ledbat"), "utilization"), "",
        f"{RFC} section 1.2, goal 1: uses the capacity", "stated", bound="at least",
    ),
    *(
        Claim(
            f"{_joined(*pair)}: share of {cca}", 0.05, share(_joined(*pair), role), "",
            f"{source}: yields to flows that queue more", "stated", bound="at most",
            note="we chose the bound: a tenth of an even share" + (f"; {late}" if late and role == "second" else ""),
        )
        for cca, source, late in (("ledbat", f"{RFC} section 1.2, goal 3", STANDING), ("ledbat++", f"{PP}, abstract", ""))
        for other in ("cubic", "newreno")
        for pair, role in (((cca, other), "first"), ((other, cca), "second"))
    ),
    Claim(
        "ledbat, then ledbat: share of the latecomer", 0.9, share(_joined("ledbat", "ledbat"), "second"), "",
        f"{RFC} section 4.4: it uses the entire capacity; {QUEST}: it takes over all resources", "stated", bound="at least",
    ),
    Claim(
        "ledbat, then ledbat: queueing delay", 2 * TARGET, link(_joined("ledbat", "ledbat"), "mean_sojourn"), "ms",
        f"{RFC} section 4.4: the base delay of the latecomer includes the target of the first flow", "derived", relative=0.1,
        note="tolerance: it approaches its target from below, as a proportional controller does",
    ),
    Claim(
        "ledbat++, then ledbat++: share of the latecomer", 0.5, share(_joined("ledbat++", "ledbat++"), "second"), "",
        f"{PP}, abstract; An experimental evaluation of LEDBAT++, Computer Networks 212, 2022: no latecomer advantage",
        "stated", relative=0.1,
    ),
    Claim(
        "ledbat++ alone: smoothed RTT", 1000 * RTT + TARGET_PP, flow(_alone("ledbat++"), "p50_rtt_l4"), "ms",
        f"{PP} section 4.2: TARGET 60 ms", "stated", relative=0.02,
    ),
    Claim(
        "ledbat++ alone: utilization", 0.9, link(_alone("ledbat++"), "utilization"), "",
        f"{PP} section 4.4: pauses cost a tenth at most", "stated", bound="at least",
    ),
)  # fmt: skip
COMPARISON: tuple[Claim, ...] = tuple(
    Claim(
        f"bbr beside cubic, {depth:g} BDP of buffer: share", round(ware(depth), 3), share(_beside(depth), "bbr"), "",
        f"{WARE}, eq. 9 to 11", "derived", note="judged only by the median error",
    )
    for depth in DEPTHS
)  # fmt: skip
