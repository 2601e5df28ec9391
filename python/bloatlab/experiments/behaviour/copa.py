"""Copa's standing queue of 1.25 / delta packets per flow, and what keeps it longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bloatlab.experiments.behaviour.parts import Document, Reading, bottleneck, fifo, link, warmup
from bloatlab.experiments.claim import Cases, Claim
from bloatlab.experiments.finding import Finding

if TYPE_CHECKING:
    from bloatlab.result import Result

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
MEMORY = 10.0
"""Seconds over which Copa takes the smallest RTT as the base RTT."""
ALONE = 2.0
"""Seconds for which each flow has a queue of its own in the variant in which close starts measure the base RTT."""
IN_INFINITE, LATER, FAIR = ", infinite", f", {APART:g} s apart", f", drr for {ALONE:g} s"
PLACES = ("", IN_INFINITE, LATER, LATER + IN_INFINITE, FAIR, FAIR + IN_INFINITE)
"""Buffers and starts in which each variant is run."""
SAMPLED, OTHERS = "70ms", "1s"
"""Time between two samples in the cases with readings and in the others. With multiples of 100 ms, the samples would always
meet the same part of the queue's period of 200 ms."""
LEFT = "packets_left"
"""Reading: the most packets below which the queue does not fall for `MEMORY` seconds."""


def _copa(flows: int, mbps: float, variant: str = "") -> str:
    return f"copa x {flows}, {mbps:g} Mbit/s{variant}"


def _path(flows: int, mbps: float, place: str = "", cca: Mapping[str, Any] | None = None) -> Document:
    # Section 3 is about flows whose propagation delay is not shorter than the queueing delay: a buffer of one BDP.
    queue = "infinite" if IN_INFINITE in place else fifo(mbps, RTT)
    interval, stop, warmup = (APART, 160.0, 60.0) if LATER in place else (0.2, 120.0, 20.0)
    flow = {
        "count": flows, "cca": {"kind": "copa", **(cca or {})}, "start_interval": f"{interval:g}s", "tcp": {"ack_every": 1},
    }  # fmt: skip
    document = bottleneck(mbps, 1000 * RTT, "drr" if FAIR in place else queue, [flow], stop=stop, warmup=warmup)
    if FAIR in place:
        document["timeline"] = [{"at": f"{ALONE:g}s", "key": "dumbbell.queue", "value": queue}]
    return document


_CASES: dict[str, Document] = {
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
READ = frozenset(_copa(*at, NO_MODE + place) for at in CROWDED for place in ("", FAIR))
"""Cases with readings."""
CASES = {
    case: {**document, "sample_interval": SAMPLED if case in READ else OTHERS} for case, document in _CASES.items()
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


def of_run(run: Result) -> dict[str, float]:
    """The reading `LEFT` of a run."""
    queue = run.link_series.to_polars().sort("time_s")
    queue = queue.filter(queue["time_s"] > warmup(run))
    window = round(MEMORY / (queue["time_s"][1] - queue["time_s"][0]))
    return {LEFT: float(queue["queue_packets"].rolling_min(window).max())}  # type: ignore[arg-type]


def _left(flows: int, mbps: float, variant: str) -> Reading:
    return Reading(_copa(flows, mbps, variant), lambda run: float(run["readings"][LEFT]))


def _why_crowded(flows: int, mbps: float) -> Callable[[Cases], str]:
    def why(cases: Cases) -> str:
        variants = (NO_MODE, NO_MODE + IN_INFINITE, NO_MODE + FAIR, FAIR)
        close, endless, fair, mode = (_queue(flows, mbps, variant).span(cases) for variant in variants)
        left, of_fair = (_left(flows, mbps, NO_MODE + place).span(cases) for place in ("", FAIR))
        return (
            "flows that start in a long queue measure base RTTs that are too high, and so keep the queue long; in the "
            "competitive mode, Copa flows also take each other for flows that fill the buffer. Without the mode, the queue has "
            f"{close} packets ({endless} in an infinite buffer). A base RTT is kept for {MEMORY:g} s, and in some {MEMORY:g} s "
            f"the queue never falls below {left} packets. If each flow has a queue of its own for the first {ALONE:g} s and so "
            f"measures the base RTT, it falls to {of_fair} packets in any {MEMORY:g} s, and the mean queue has {fair} without "
            f"the mode and {mode} with it"
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
    """What keeps the queue of several Copa flows long: base RTTs that are too high, and the competitive mode."""

    def queues(flows: int, mbps: float, variant: str) -> str:
        return ", ".join(f"{value:.0f}" for value in _queue(flows, mbps, variant).each(cases))

    def spans(variant: str) -> str:
        return " and ".join(_queue(*at, variant).span(cases) for at in CROWDED)

    def left(variant: str) -> str:
        return _left(*CROWDED[-1], variant).span(cases)

    return Finding(
        "Copa flows keep a long queue because their base RTTs are too high, and because they compete with each other",
        "four and eight flows keep 10 and 20 packets on average, and every flow sees the queue nearly empty once in five "
        "round trips.",
        f"At 20 Mbit/s in a buffer of 67 packets, four and eight flows keep {spans('')} packets, and without the competitive "
        f"mode {spans(NO_MODE)}. Flows that start in a queue measure a base RTT that includes it, and aim at a longer queue. "
        f"Copa forgets a base RTT after {MEMORY:g} s. While the queue never empties, no flow measures the right one: without "
        f"the mode, the queue of eight flows never falls below {left(NO_MODE)} packets in some {MEMORY:g} s. If each flow has a "
        f"queue of its own (DRR) for the first {ALONE:g} s, it falls to {left(NO_MODE + FAIR)} packets in any {MEMORY:g} s, and "
        f"four and eight flows keep {spans(NO_MODE + FAIR)} packets. In an infinite buffer they then keep "
        f"{spans(NO_MODE + FAIR + IN_INFINITE)} packets instead of {spans(NO_MODE + IN_INFINITE)}. Starts "
        f"{APART:g} s apart do the same ({spans(NO_MODE + LATER)}), because the queue is short when a flow starts. A base RTT "
        "that is never forgotten is not enough, because the first one is wrong. Some of the eight flows compete even if their "
        f"base RTTs are right: they keep {_queue(*CROWDED[-1], FAIR).span(cases)} packets then. Only a loss ends the growth of "
        f"the mode, so in an infinite buffer they keep {spans(IN_INFINITE)}.",
        (
            "flows", "Copa", "1 BDP", "infinite buffer", f"1 BDP, starts {APART:g} s apart",
            f"infinite, starts {APART:g} s apart", f"1 BDP, DRR for {ALONE:g} s", f"infinite, DRR for {ALONE:g} s",
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
