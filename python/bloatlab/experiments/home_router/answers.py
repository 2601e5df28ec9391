"""Answers to the five questions of the assignment, from the available runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean, linear_regression
from typing import TYPE_CHECKING

from bloatlab import calculators, units
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.home_router.readings import apart
from bloatlab.experiments.home_router.runs import Group, groups, plain
from bloatlab.experiments.home_router.setup import BOTTLENECK, BULK, PAGE, base_ms, frame_ms

if TYPE_CHECKING:
    from bloatlab.result import Result

NIC = (1000, 1500, "100Mbit/s")
"""The network card of question 2: packets, bytes, rate."""
FAR = 1.05
"""A value is called larger if it is more than this factor times the other value."""


def answers(results: Sequence[Result]) -> list[Finding]:
    """The questions that the available runs can answer, in their order."""
    found = groups(results)
    said = (_larger(plain(found)), _card(), _symbolic(plain(found)), _mitigations(found), _again(found))
    return [answer for answer in said if answer is not None]


def _of(values: Sequence[float], digits: int, scale: float = 1.0) -> str:
    """The mean over replications as text, or a dash."""
    return f"{scale * fmean(values):.{digits}f}" if values else "–"


def _by_router(found: Sequence[Group]) -> dict[str, list[Group]]:
    routers: dict[str, list[Group]] = {}
    for group in found:
        routers.setdefault(group.router, []).append(group)
    return routers


def _larger(found: Sequence[Group]) -> Finding | None:
    """Question 1."""
    rows, said = [], []
    for router, sizes in _by_router(found).items():
        sizes = [group for group in sizes if group.readings("rtt_p50")]
        for group in sizes:
            trips = _round_trips(group)
            rows.append(
                (
                    router, f"{group.maxq}", _of(group.link(BOTTLENECK, "mean_queue_length"), 1),
                    _of(group.link(BOTTLENECK, "max_queue_length"), 0), _of(group.flow(BULK, "mean_cwnd_l4"), 1),
                    _of(group.readings("rtt_p50"), 1), _of(group.readings("rtt_max"), 1), _of(group.readings("fetch_p50"), 3),
                    "–" if trips is None else f"{trips:.1f}", _of(group.flow(BULK, "mean_throughput_l7"), 2),
                )
            )  # fmt: skip
        if len(sizes) > 1:
            small, large = sizes[0], sizes[-1]
            pages = ""
            if small.readings("fetch_p50") and large.readings("fetch_p50"):
                before, after = (_of(group.readings("fetch_p50"), 2) for group in (small, large))
                pages = f", the median fetch from {before} to {after} s"
            said.append(
                f"With {router}, from maxq {small.maxq} to {large.maxq} the mean queue grows from "
                f"{_of(small.link(BOTTLENECK, 'mean_queue_length'), 1)} to "
                f"{_of(large.link(BOTTLENECK, 'mean_queue_length'), 1)} packets, the median RTT from "
                f"{_of(small.readings('rtt_p50'), 1)} to {_of(large.readings('rtt_p50'), 1)} ms{pages}"
            )
    if not rows:
        return None
    text = (
        "The long flow increases its window until a packet is lost, and no packet is lost before the queue is full. So "
        "it fills the queue, and all other packets wait behind its packets. A page takes a handshake, a request and "
        "the rounds of slow start. Each of these takes one RTT, so the time of a fetch grows with the RTT."
    )
    return Finding(
        "Question 1: why are fetches slower with a large queue than with a small one?",
        "",
        " ".join([text, *(f"{part}." for part in said)]),
        ("router", "maxq", "mean queue (packets)", "longest queue", "mean cwnd (segments)", "median RTT (ms)",
         "largest RTT (ms)", "median fetch (s)", "round trips of a fetch", "long flow (Mbit/s)"),
        tuple(rows),
        "Round trips: the median fetch time minus the time to send the page on the idle link, divided by the median "
        "RTT. Values are means over replications. Queues are counted in packets; a buffer may hold several packets.",
    )  # fmt: skip


def _round_trips(group: Group) -> float | None:
    fetches, rtts = group.readings("fetch_p50"), group.readings("rtt_p50")
    if not fetches or not rtts:
        return None
    alone = calculators.drain_time(units.size(group.parameters["page"]), units.rate(group.parameters["rate"]))
    return 1e3 * (fmean(fetches) - alone) / fmean(rtts)


def _card() -> Finding:
    """Question 2."""
    packets, mtu, rate = NIC
    found = calculators.nic(packets, mtu, rate)
    return Finding(
        "Question 2: how long can a packet wait in the queue of a network card?",
        "",
        f"With a txqueuelen of {packets} packets and an MTU of {mtu} bytes at {rate}, a packet waits at most "
        f"{found.text}: {found.formula}. (bloatlab calc nic --txqueuelen {packets} --mtu {mtu} --rate {rate})",
    )


def _symbolic(found: Sequence[Group]) -> Finding | None:
    """Question 3."""
    rows, said = [], []
    for router, sizes in _by_router(found).items():
        fits = {}
        for name in ("rtt_p50", "rtt_max"):
            points = [(float(group.maxq), fmean(group.readings(name))) for group in sizes if group.readings(name)]
            if len(points) > 1:
                fits[name] = linear_regression(*zip(*points, strict=True))
        if not fits:
            continue
        own = sizes[0].parameters
        frame = frame_ms(own["rate"])
        slope = frame * own["segments_per_buffer"]
        for name, title in (("rtt_p50", "median"), ("rtt_max", "largest")):
            rows.append(
                (router, title, f"{fits[name].slope:.3f}", f"{slope:.3f}", f"{fits[name].slope / slope:.2f}",
                 f"{fits[name].intercept:.1f}", ", ".join(f"{group.maxq}" for group in sizes))
            )  # fmt: skip
        said.append(
            f"With {router}, a frame takes {frame:.3f} ms, so a buffer of {own['segments_per_buffer']} takes at most "
            f"{slope:.3f} ms. The largest RTT grows by {fits['rtt_max'].slope:.3f} ms per buffer, the median by "
            f"{fits['rtt_p50'].slope:.3f} ms"
        )
    if not rows:
        return None
    own = found[0].parameters
    text = (
        f"RTT = base + b x s x 8F / C. The base is the two-way propagation delay (here {base_ms(own['delay']):g} ms). "
        "The ping finds b buffers in the queue, each with s frames of F bytes, which are sent at the rate C. b lies "
        "between 0 and maxq. It is maxq when the long flow loses a packet, and then varies between about half of maxq "
        "and maxq. So the RTT is linear in the size of the queue."
    )
    return Finding(
        "Question 3: how does the RTT follow from the size of the queue?",
        "",
        " ".join([text, *(f"{part}." for part in said)]),
        ("router", "RTT", "slope (ms per buffer)", "a full buffer (ms)", "share of it", "at maxq 0 (ms)", "sizes"),
        tuple(rows),
        "Least-squares fits to the means over replications. A buffer with a single ACK, ping or segment takes less "
        "time than a full one. So with two segments per buffer the slope is smaller than the time of a full buffer.",
    )


def _mitigations(found: Sequence[Group]) -> Finding | None:
    """Question 4."""
    rows, said = [], []
    for router, all_of in _by_router(found).items():
        usual = plain(all_of)
        # The size with the most runs; of several the largest.
        tried = Counter(group.maxq for group in all_of)
        worst = max(usual, key=lambda group: (tried[group.maxq], group.maxq))
        others = [
            group
            for group in all_of
            if group is not worst and (group.maxq == worst.maxq or (group in usual and group.maxq < worst.maxq))
        ]
        if not others or not worst.readings("rtt_p50"):
            continue
        for group in (worst, *others):
            rows.append(
                (
                    router, f"{group.maxq}", group.queue, group.cca, _of(group.readings("rtt_p50"), 1),
                    _of(group.readings("rtt_p95"), 1), _of(group.readings("fetch_p50"), 3), _of(group.readings("fetch_max"), 2),
                    _of(group.flow(BULK, "mean_throughput_l7"), 2), _of(group.link(BOTTLENECK, "drops"), 0),
                )
            )  # fmt: skip
        said.append(f"With {router}, {_best(worst, others)}")
    if not rows:
        return None
    text = (
        "A queue that signals congestion before it is full keeps the delay short for any limit. A queue that also "
        "separates flows keeps the delay of the long flow away from the other flows. A smaller limit is simple, but "
        "drops bursts. A sender that models the path, such as BBR, does not fill the queue."
    )
    return Finding(
        "Question 4: what helps?",
        "",
        " ".join([text, *(f"{part}." for part in said)]),
        ("router", "maxq", "queue", "congestion control", "median RTT (ms)", "RTT, p95 (ms)", "median fetch (s)",
         "longest fetch (s)", "long flow (Mbit/s)", "packets dropped"),
        tuple(rows),
        "Queues that separate flows have a queue for the ping, so there its RTT does not show how long the packets of "
        "the long flow wait. Queues that do not count buffers hold as many packets as maxq buffers.",
    )  # fmt: skip


def _best(worst: Group, others: Sequence[Group]) -> str:
    """Compares RTT and fetch times with those of the plain queue, sorted by the RTT."""
    before = fmean(worst.readings("rtt_p50"))
    told = []
    measured = [group for group in others if group.readings("rtt_p50")]
    for group in sorted(measured, key=lambda group: fmean(group.readings("rtt_p50"))):
        rtt = fmean(group.readings("rtt_p50"))
        what = (
            group.queue if group.queue != worst.queue else group.cca if group.cca != worst.cca else f"maxq {group.maxq}"
        )
        if rtt * FAR < before:
            told.append(f"{what} {rtt:.1f} ms and {_of(group.readings('fetch_p50'), 2)} s")
    start = f"{worst.queue} with maxq {worst.maxq} has a median RTT of {before:.1f} ms and a median fetch of "
    start += f"{_of(worst.readings('fetch_p50'), 2)} s"
    return f"{start}; {', '.join(told) or 'nothing that was tried makes the RTT shorter'}"


def _again(found: Sequence[Group]) -> Finding | None:
    """Question 5."""
    rows, widest = [], 0.0
    again = [group for group in plain(found) if len(group.runs) > 1 and group.readings("rtt_p50")]
    for group in again:
        fetches = group.readings("fetch_p50")
        distance = apart([run.readings for run in group.runs])
        widest = max(widest, distance)
        rows.append(
            (
                group.router, f"{group.maxq}", f"{len(group.runs)}", _interval(group.readings("rtt_p50"), 1),
                _interval(group.readings("rtt_max"), 1), _interval(fetches, 3), _interval(group.readings("fetch_mean"), 3),
                f"{100 * distance:.0f} %", _of(group.readings("fetches"), 1), _total(group, "rtos"),
                _total(group, "syn_retransmissions"), f"{sum(group.flow(BULK, 'total_rtos_l4')):.0f}",
            )
        )  # fmt: skip
    if not rows:
        return None
    counts = sorted({len(group.runs) for group in again})
    text = (
        "Replications differ in the starts of the flows, by fractions of a second. Over "
        f"{' or '.join(map(str, counts))} of them the curves have the same shape: no decile of a run's RTT differs by "
        f"more than {100 * widest:.0f} % from the mean of all. A fetch may begin at another point of the sawtooth, and "
        "may lose its SYN or the end of a burst. Such a fetch takes a second or more, which changes the mean but not "
        "the median."
    )
    return Finding(
        "Question 5: how much do replications differ?",
        "",
        text,
        ("router", "maxq", "runs", "median RTT (ms)", "largest RTT (ms)", "median fetch (s)", "mean fetch (s)",
         "RTT deciles apart", "fetches per run", "timeouts of fetches", "SYNs lost", "timeouts of the long flow"),
        tuple(rows),
        "Mean over the runs with its 95 % confidence interval (Student's t). Timeouts and lost SYNs are totals over "
        "all runs of a row.",
    )  # fmt: skip


def _total(group: Group, metric: str) -> str:
    return f"{math.fsum(group.probe(PAGE, metric)):.0f}"


def _interval(values: Sequence[float], digits: int) -> str:
    """Mean and confidence interval as text."""
    from bloatlab.statistics.intervals import summarise

    if not values:
        return "–"
    found = summarise(values)
    told = f"{found.mean:.{digits}f}"
    return told if found.t is None else f"{told} ({found.t.low:.{digits}f} to {found.t.high:.{digits}f})"
