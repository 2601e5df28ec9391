"""Copa's standing queue of 1.25 / delta packets per flow, and what keeps it longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bloatlab.experiments.behaviour.parts import Document, Reading, bottleneck, fifo, largest, link
from bloatlab.experiments.claim import Cases, Claim
from bloatlab.experiments.finding import Finding

RATES, FLOWS, RTT, DELTA = (20.0, 50.0, 100.0), (1, 2, 4, 8), 0.04, 0.5
ARUN = "Arun and Balakrishnan 2018 section 3 (known from quotations): a mean of 1.25 / delta packets per flow"
CROWDED = ((4, 20.0), (8, 20.0))
"""Flows and rates (Mbit/s) whose queue is longer than published."""
INFINITE = ((4, 20.0), (8, 20.0), (8, 50.0))
"""Flows and rates that are shown with an infinite buffer, too."""
APART = 5.0
"""Seconds between two starts in the variant in which the queue is short when a flow starts."""
VARIANTS: Mapping[str, dict[str, Any]] = {
    "": {},
    ", no competitive mode": {"competitive": False},
    ", base RTT kept": {"min_rtt_window": "1000s"},
    ", both": {"competitive": False, "min_rtt_window": "1000s"},
}
"""Variants of Copa: without its competitive mode, and with a base RTT that is never forgotten."""
NO_MODE = ", no competitive mode"
IN_INFINITE, LATER = ", infinite", f", {APART:g} s apart"
PLACES = ("", IN_INFINITE, LATER, LATER + IN_INFINITE)
"""Buffers and starts in which each variant is run."""


def _copa(flows: int, mbps: float, variant: str = "") -> str:
    return f"copa x {flows}, {mbps:g} Mbit/s{variant}"


def _path(flows: int, mbps: float, place: str = "", cca: Mapping[str, Any] | None = None) -> Document:
    # Section 3 is about flows whose propagation delay is not shorter than the queueing delay: a buffer of one BDP.
    queue = "infinite" if IN_INFINITE in place else fifo(mbps, RTT)
    interval, stop, warmup = (APART, 160.0, 60.0) if LATER in place else (0.2, 120.0, 20.0)
    flow = {
        "count": flows, "cca": {"kind": "copa", **(cca or {})}, "start_interval": f"{interval:g}s", "tcp": {"ack_every": 1},
    }  # fmt: skip
    return bottleneck(mbps, 1000 * RTT, queue, [flow], stop=stop, warmup=warmup)


CASES: dict[str, Document] = {
    **{_copa(count, mbps): _path(count, mbps) for mbps in RATES for count in FLOWS},
    **{_copa(count, mbps, IN_INFINITE): _path(count, mbps, IN_INFINITE) for count, mbps in INFINITE},
    **{
        _copa(count, mbps, variant + place): _path(count, mbps, place, values)
        for count, mbps in CROWDED
        for variant, values in VARIANTS.items()
        for place in PLACES
    },
    **{
        _copa(count, mbps, NO_MODE + IN_INFINITE): _path(count, mbps, IN_INFINITE, VARIANTS[NO_MODE])
        for count, mbps in INFINITE
    },
}


def _queue(flows: int, mbps: float, variant: str = "") -> Reading:
    return link(_copa(flows, mbps, variant), "mean_queue_length")


def _name(flows: int, mbps: float, variant: str = "") -> str:
    return f"{_copa(flows, mbps, variant)}: mean queue"


CLAIMS: tuple[Claim, ...] = tuple(
    Claim(
        _name(count, mbps), 1.25 / DELTA * count, _queue(count, mbps), "packets", ARUN, "stated", relative=0.1,
        note="the paper states no tolerance; we chose a tenth",
    )
    for mbps in RATES for count in FLOWS
)  # fmt: skip
COMPARISON: tuple[Claim, ...] = tuple(
    Claim(
        _name(count, mbps, IN_INFINITE), 1.25 / DELTA * count, _queue(count, mbps, IN_INFINITE), "packets", ARUN, "stated",
        note="not judged: section 3 is about queueing delays that are not longer than the propagation delay",
    )
    for count, mbps in INFINITE
)  # fmt: skip


def _why_crowded(flows: int, mbps: float) -> Callable[[Cases], str]:
    def why(cases: Cases) -> str:
        variants = (NO_MODE + LATER, LATER, NO_MODE, NO_MODE + IN_INFINITE)
        neither, later, without, endless = (_queue(flows, mbps, variant).span(cases) for variant in variants)
        late = largest(_copa(flows, mbps, NO_MODE), "min_rtt_l4").span(cases, 2)
        return (
            "the queue depends on the competitive mode, in which Copa flows take each other for flows that fill the buffer, and "
            f"on the starts. With starts {APART:g} s apart, it has {neither} packets without the mode and {later} with it. With "
            f"starts 0.2 s apart and without the mode, it has {without}, and {endless} in an infinite buffer; the largest base "
            f"RTT that a flow measures is {late} ms instead of {1000 * RTT:g}. Why the queue stays long after close starts where "
            "all base RTTs are right is not explained"
        )

    return why


def _why_infinite(flows: int, mbps: float) -> Callable[[Cases], str]:
    def why(cases: Cases) -> str:
        without = _queue(flows, mbps, NO_MODE + IN_INFINITE).span(cases)
        return f"the competitive mode: no loss ever ends its growth. Without this mode, the queue has {without} packets"

    return why


REASONS: Mapping[str, Callable[[Cases], str]] = {
    **{_name(*at): _why_crowded(*at) for at in CROWDED},
    **{_name(*at, IN_INFINITE): _why_infinite(*at) for at in INFINITE},
}


def crowded(cases: Cases) -> Finding:
    """What keeps the queue of several Copa flows long: the competitive mode, and close starts."""

    def queues(flows: int, mbps: float, variant: str) -> str:
        return ", ".join(f"{value:.0f}" for value in _queue(flows, mbps, variant).each(cases))

    def spans(variant: str) -> str:
        return " and ".join(_queue(*at, variant).span(cases) for at in CROWDED)

    return Finding(
        "Copa flows keep a long queue because they compete with each other, and because of close starts",
        "four and eight flows keep 10 and 20 packets on average, and every flow sees the queue nearly empty once in five "
        "round trips.",
        f"At 20 Mbit/s in a buffer of 67 packets, four and eight flows keep {spans('')} packets. If each flow starts "
        f"{APART:g} s after the one before, and without the competitive mode, they keep "
        f"{spans(NO_MODE + LATER)}. With the first change alone they keep {spans(LATER)}, with the second alone "
        f"{spans(NO_MODE)}. A base RTT that is never forgotten is not enough. In an infinite buffer there are no losses: "
        f"without the mode, the flows keep {spans(NO_MODE + IN_INFINITE)} packets, and with it {spans(IN_INFINITE)}, because "
        "only a loss ends the growth of the mode. Why the queue stays long after close starts where all base RTTs are right is "
        "not explained.",
        (
            "flows", "Copa", "1 BDP", "infinite buffer", f"1 BDP, starts {APART:g} s apart",
            f"infinite, starts {APART:g} s apart",
        ),
        tuple(
            (
                str(count), variant.removeprefix(", ") or "as published",
                *(queues(count, mbps, variant + place) for place in PLACES),
            )
            for count, mbps in CROWDED
            for variant in VARIANTS
        ),
        "Mean queue in packets with each seed; starts are 0.2 s apart unless a heading says otherwise.",
    )  # fmt: skip
