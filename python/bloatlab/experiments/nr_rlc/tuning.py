"""Whether threshold and interval have an optimum: delay against throughput over a grid of both, over UDP and TCP."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from bloatlab.experiments.finding import Finding
from bloatlab.experiments.nr_rlc.cases import (
    CCA,
    INTERVALS,
    STARTS,
    THRESHOLDS,
    TUNED,
    TUNED_LOAD,
    USUAL,
    standard,
    tuned,
)
from bloatlab.experiments.nr_rlc.reading import Reader, ms
from bloatlab.experiments.nr_rlc.setup import AUTHORS_CODEL, ELEPHANT, TAIL

TRAFFIC = {False: f"UDP, {TUNED_LOAD},000/s", True: f"TCP, {CCA}"}
SAME = 0.005
"""Share of a delay or of a throughput that we do not call a difference."""
FEW = 0.5
"""Share of tail drop's throughput below which a low delay is that of a starved flow."""


class Setting(NamedTuple):
    """A queue with its threshold and interval, and what the elephant gets with it: means over random starts."""

    queue: str
    threshold: str
    interval: str
    delay: float
    """Mean sojourn time of its packets in the RLC, ms."""
    rate: float
    """Throughput over the whole run, Mbit/s."""
    drops: float = 0.0
    """Its packets that the queue dropped."""
    apart: float = 0.0
    """Largest difference of the throughput between two starts, as a share of the mean."""

    def beats(self, other: Setting) -> bool:
        """Whether it is better by more than `SAME` in delay or throughput, and not worse by more than that in the other."""
        shorter, longer = (one.delay < (1 - SAME) * two.delay for one, two in ((self, other), (other, self)))
        faster, slower = (one.rate > (1 + SAME) * two.rate for one, two in ((self, other), (other, self)))
        return (shorter or faster) and not (longer or slower)


def front(settings: Sequence[Setting]) -> list[Setting]:
    """The Pareto front: the settings that no other beats, by rising delay."""
    found = (one for one in settings if not any(other.beats(one) for other in settings))
    return sorted(found, key=lambda one: (one.delay, one.rate))


def grid(read: Reader, *, over_tcp: bool) -> list[Setting]:
    """Tail drop, then every threshold and interval of both queues."""

    def setting(queue: str, threshold: str, interval: str, cases: Sequence[str]) -> Setting:
        names = ("mean_sojourn_l4", "mean_throughput_l4", "dropped_aqm")
        delay, rate, drops = (read.mean(cases, ELEPHANT, name) for name in names)
        rates = [read.flow(case, ELEPHANT, "mean_throughput_l4") for case in cases]
        apart = (max(rates) - min(rates)) / rate if rate else 0.0
        return Setting(queue, threshold, interval, delay, rate, drops, apart)

    return [
        setting(TAIL, "", "", standard(TAIL, over_tcp=over_tcp)),
        *(
            setting(queue, threshold, interval, tuned(queue, threshold, interval, over_tcp=over_tcp))
            for queue, threshold, interval in product(TUNED, THRESHOLDS, INTERVALS)
        ),
    ]


def optimum(read: Reader) -> Finding:
    """The finding about the source's optimal condition."""
    rows = []
    grids = {over_tcp: grid(read, over_tcp=over_tcp) for over_tcp in TRAFFIC}
    for over_tcp, settings in grids.items():
        traffic = TRAFFIC[over_tcp]
        best = front(settings)
        for queue, threshold in product(TUNED, THRESHOLDS):
            cells = [one for one in settings if (one.queue, one.threshold) == (queue, threshold)]
            rows.append((traffic, queue, _spaced(threshold), *(_cell(one, one in best) for one in cells)))
        tail = settings[0]
        rows.append((traffic, TAIL, "", _cell(tail, tail in best), *[""] * (len(INTERVALS) - 1)))
    apart = max(one.apart for settings in grids.values() for one in settings if one.rate >= FEW * settings[0].rate)
    return Finding(
        "Threshold and interval have no optimum: UDP has none, and TCP has a front of delay against throughput",
        'threshold and interval can be tuned to "an optimal condition".',
        f"{_udp_text(read, grids[False])} {_tcp_text(grids[True])}",
        ("elephant", "queue", "threshold", *(f"interval {_spaced(interval)}" for interval in INTERVALS)),
        tuple(rows),
        f"Mean sojourn time in the RLC (ms) / throughput over the whole run (Mbit/s), means over {STARTS} random starts. Where "
        f"the elephant gets at least {100 * FEW:g} % of tail drop's throughput, starts differ by at most {100 * apart:.1f} % in "
        f"throughput. * is on the Pareto front of its traffic: no other is better by more than {100 * SAME:g} % in delay or "
        "throughput without being worse by more than that in the other. tail has no threshold and no interval.",
    )


def _cell(one: Setting, is_best: bool) -> str:
    return f"{ms(one.delay)} / {one.rate:.1f}{' *' if is_best else ''}"


def _spaced(duration: str) -> str:
    return duration.replace("ms", " ms")


def _named(one: Setting) -> str:
    return TAIL if one.queue == TAIL else f"{one.queue} with {_spaced(one.threshold)} and {_spaced(one.interval)}"


def _with_values(one: Setting) -> str:
    return f"{_named(one)} ({ms(one.delay)} ms, {one.rate:.1f} Mbit/s)"


def _udp_text(read: Reader, settings: Sequence[Setting]) -> str:
    tail = settings[0]
    authors = [one for one in settings if one.queue == AUTHORS_CODEL]
    whole = [one for one in authors if one.rate >= (1 - SAME) * tail.rate]
    least, most = (pick(one.delay for one in whole) for pick in (min, max))
    rfc = [one for one in settings if one.queue not in (TAIL, AUTHORS_CODEL)]
    best = min(rfc, key=lambda one: one.delay)
    return (
        f"Over UDP, {len(whole)} of {len(authors)} settings of the authors' CoDel leave the elephant its throughput, with "
        f"{ms(least)} to {ms(most)} ms instead of tail drop's {ms(tail.delay)} ms. {_shut_text(read, authors, tail)}RFC 8289's "
        f"CoDel keeps the throughput in all {len(rfc)} settings, and its delay falls with both parameters to "
        f"{ms(best.delay)} ms ({_spaced(best.threshold)} and {_spaced(best.interval)}): UDP does not slow down, so drops cost "
        f"no throughput, and nothing is weighed against delay. {_udp_front_text(settings)}"
    )


def _udp_front_text(settings: Sequence[Setting]) -> str:
    best = front(settings)
    served = [one for one in best if one.rate >= FEW * settings[0].rate]
    starved = [one for one in best if one not in served]
    text = f"On the front {'is' if len(served) == 1 else 'are'} {', '.join(map(_with_values, served))}."
    if not starved:
        return text
    names = ", ".join(map(_with_values, starved))
    return f"{text} Its other marks are starved flows, with the delay of the few packets that arrive: {names}."


def _shut_text(read: Reader, authors: Sequence[Setting], tail: Setting) -> str:
    """About the settings that drop every packet."""
    shut = [one for one in authors if one.rate < (1 - SAME) * tail.rate]
    if not shut:
        return ""
    least = max(shut, key=lambda one: one.rate)
    cases = tuned(least.queue, least.threshold, least.interval, over_tcp=False)
    return (
        f"In the other {len(shut)}, with shorter intervals, the drops come so close that it drops every packet and does not "
        f"stop: the elephant gets at most {least.rate:.1f} of {tail.rate:.1f} Mbit/s. The throughput that the source prints "
        f"hides this, because it ends with the last packet received: {read.mean(cases, ELEPHANT, 'throughput'):.1f} Mbit/s. "
    )


def _tcp_text(settings: Sequence[Setting]) -> str:
    best = front(settings)
    tail = settings[0]
    usual = (AUTHORS_CODEL, *USUAL[AUTHORS_CODEL])
    published = next(one for one in settings if (one.queue, one.threshold, one.interval) == usual)
    idle = sum(not one.drops for one in settings[1:])
    enough = min((one for one in settings if one.rate >= (1 - SAME) * tail.rate), key=lambda one: one.delay)
    power = max(settings, key=lambda one: one.rate / one.delay)
    at_end = power.threshold in (THRESHOLDS[0], THRESHOLDS[-1]) and power.interval in (INTERVALS[0], INTERVALS[-1])
    return (
        f"Over TCP both count, and an optimum exists only after one says what a millisecond is worth. {_idle_text(idle)}"
        f"Of {len(settings)} results {len(best)} {'is' if len(best) == 1 else 'are'} on the Pareto front: "
        f"{', '.join(map(_with_values, best))}. {_published_text(published, settings)} The lowest delay that "
        f"costs at most {100 * SAME:g} % of tail drop's throughput is that of {_with_values(enough)}; tail drop has "
        f"{ms(tail.delay)} ms, {tail.rate:.1f} Mbit/s. Throughput "
        f"divided by delay is highest with {_named(power)}, {'at the end of' if at_end else 'inside'} the grid."
    )


def _idle_text(idle: int) -> str:
    return f"{idle} setting{'s' if idle > 1 else ''} never {'drop' if idle > 1 else 'drops'}. " if idle else ""


def _published_text(published: Setting, settings: Sequence[Setting]) -> str:
    what = f"The published setting has {ms(published.delay)} ms and {published.rate:.1f} Mbit/s"
    better = min((one for one in settings if one.beats(published)), key=lambda one: one.delay, default=None)
    if better is None:
        return f"{what} and is on it."
    return f"{what} and is not on it: {_with_values(better)} beats it."
