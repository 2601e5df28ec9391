"""Whether threshold and interval have an optimum: delay against throughput over a grid of both, over UDP and TCP."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from bloatlab.experiments.finding import Finding
from bloatlab.experiments.nr_rlc.cases import CCA, INTERVALS, THRESHOLDS, TUNED, TUNED_LOAD, USUAL, load, tcp, tuned
from bloatlab.experiments.nr_rlc.reading import Reader, ms
from bloatlab.experiments.nr_rlc.setup import AUTHORS_CODEL, ELEPHANT, TAIL

TRAFFIC = {False: f"UDP, {TUNED_LOAD},000/s", True: f"TCP, {CCA}"}
SAME = 0.005
"""Share of throughput that we do not call a difference."""


class Setting(NamedTuple):
    """A queue with its threshold and interval, and what the elephant gets with it."""

    queue: str
    threshold: str
    interval: str
    delay: float
    """Mean sojourn time of its packets in the RLC, ms."""
    rate: float
    """Throughput over the whole run, Mbit/s."""

    def beats(self, other: Setting) -> bool:
        """Whether it is better in delay or throughput, and worse in neither."""
        at_least = self.delay <= other.delay and self.rate >= other.rate
        return at_least and (self.delay, self.rate) != (other.delay, other.rate)


def front(settings: Sequence[Setting]) -> list[Setting]:
    """The Pareto front: the settings that no other beats, by rising delay. Of equal ones the first counts."""
    best = {(one.delay, one.rate): one for one in reversed(settings) if not any(other.beats(one) for other in settings)}
    return [best[point] for point in sorted(best)]


def optimum(read: Reader) -> Finding:
    """The finding about the source's optimal condition."""

    def setting(queue: str, threshold: str, interval: str, case: str) -> Setting:
        names = ("mean_sojourn_l4", "mean_throughput_l4")
        return Setting(queue, threshold, interval, *(read.flow(case, ELEPHANT, name) for name in names))

    def grid(*, over_tcp: bool) -> list[Setting]:
        tail = setting(TAIL, "", "", tcp(TAIL) if over_tcp else load(TAIL, TUNED_LOAD))
        return [
            tail,
            *(
                setting(queue, threshold, interval, tuned(queue, threshold, interval, over_tcp=over_tcp))
                for queue, threshold, interval in product(TUNED, THRESHOLDS, INTERVALS)
            ),
        ]

    rows = []
    grids = {over_tcp: grid(over_tcp=over_tcp) for over_tcp in TRAFFIC}
    for over_tcp, settings in grids.items():
        traffic = TRAFFIC[over_tcp]
        best = {(one.delay, one.rate) for one in front(settings)}
        for queue, threshold in product(TUNED, THRESHOLDS):
            cells = [one for one in settings if (one.queue, one.threshold) == (queue, threshold)]
            rows.append(
                (traffic, queue, _spaced(threshold), *(_cell(one, (one.delay, one.rate) in best) for one in cells))
            )
        rows.append(
            (
                traffic,
                TAIL,
                "",
                _cell(settings[0], (settings[0].delay, settings[0].rate) in best),
                *[""] * (len(INTERVALS) - 1),
            )
        )
    return Finding(
        "Threshold and interval have no optimum: UDP has none, and TCP has a front of delay against throughput",
        'threshold and interval can be tuned to "an optimal condition".',
        f"{_udp_text(read, grids[False])} {_tcp_text(grids[True])}",
        ("elephant", "queue", "threshold", *(f"interval {_spaced(interval)}" for interval in INTERVALS)),
        tuple(rows),
        "Mean sojourn time in the RLC (ms) / throughput over the whole run (Mbit/s). * is on the Pareto front of its traffic: no "
        "setting of either queue has a lower delay and at least its throughput. tail has no threshold and no interval.",
    )


def _cell(one: Setting, is_best: bool) -> str:
    return f"{ms(one.delay)} / {one.rate:.1f}{' *' if is_best else ''}"


def _spaced(duration: str) -> str:
    return duration.replace("ms", " ms")


def _named(one: Setting) -> str:
    return TAIL if one.queue == TAIL else f"{one.queue} with {_spaced(one.threshold)} and {_spaced(one.interval)}"


def _udp_text(read: Reader, settings: Sequence[Setting]) -> str:
    tail = settings[0]
    authors = [one for one in settings if one.queue == AUTHORS_CODEL]
    whole = [one for one in authors if one.rate >= (1 - SAME) * tail.rate]
    least, most = (pick(one.delay for one in whole) for pick in (min, max))
    standard = [one for one in settings if one.queue not in (TAIL, AUTHORS_CODEL)]
    best = min(standard, key=lambda one: one.delay)
    return (
        f"Over UDP, {len(whole)} of {len(authors)} settings of the authors' CoDel leave the elephant its throughput, with "
        f"{ms(least)} to {ms(most)} ms instead of tail drop's {ms(tail.delay)} ms. {_shut_text(read, authors, tail)}RFC 8289's "
        f"CoDel keeps the throughput in all {len(standard)} settings, and its delay falls with both parameters to "
        f"{ms(best.delay)} ms ({_spaced(best.threshold)} and {_spaced(best.interval)}): UDP does not slow down, so drops cost "
        "no throughput, and nothing is weighed against delay."
    )


def _shut_text(read: Reader, authors: Sequence[Setting], tail: Setting) -> str:
    """About the settings that drop every packet."""
    shut = [one for one in authors if one.rate < (1 - SAME) * tail.rate]
    if not shut:
        return ""
    least = max(shut, key=lambda one: one.rate)
    case = tuned(least.queue, least.threshold, least.interval, over_tcp=False)
    return (
        f"In the other {len(shut)}, with shorter intervals, the drops come so close that it drops every packet and does not "
        f"stop: the elephant gets at most {least.rate:.1f} of {tail.rate:.1f} Mbit/s. The throughput that the source prints "
        f"hides this, because it ends with the last packet received: {read.flow(case, ELEPHANT, 'throughput'):.1f} Mbit/s. "
    )


def _tcp_text(settings: Sequence[Setting]) -> str:
    best = front(settings)
    tail = settings[0]
    usual = (AUTHORS_CODEL, *USUAL[AUTHORS_CODEL])
    published = next(one for one in settings if (one.queue, one.threshold, one.interval) == usual)
    same = sum((one.delay, one.rate) == (tail.delay, tail.rate) for one in settings[1:])
    enough = min((one for one in settings if one.rate >= (1 - SAME) * tail.rate), key=lambda one: one.delay)
    power = max(settings, key=lambda one: one.rate / one.delay)
    at_end = power.threshold in (THRESHOLDS[0], THRESHOLDS[-1]) and power.interval in (INTERVALS[0], INTERVALS[-1])
    return (
        f"Over TCP both count, and an optimum exists only after one says what a millisecond is worth. {same} settings never "
        f"drop and equal tail drop. Of the other {len(settings) - same} results {len(best)} are on the Pareto front, from "
        f"{_named(best[0])} ({ms(best[0].delay)} ms, {best[0].rate:.1f} Mbit/s) to {_named(best[-1])} "
        f"({ms(best[-1].delay)} ms, {best[-1].rate:.1f} Mbit/s). {_published_text(published, settings)} The lowest delay that "
        f"costs at most {100 * SAME:g} % of tail drop's throughput is {ms(enough.delay)} ms ({_named(enough)}). Throughput "
        f"divided by delay is highest with {_named(power)}, {'at the end of' if at_end else 'inside'} the grid."
    )


def _published_text(published: Setting, settings: Sequence[Setting]) -> str:
    what = f"The published setting has {ms(published.delay)} ms and {published.rate:.1f} Mbit/s"
    better = min((one for one in settings if one.beats(published)), key=lambda one: one.delay, default=None)
    if better is None:
        return f"{what} and is on it."
    return f"{what} and is not on it: {_named(better)} has {ms(better.delay)} ms and {better.rate:.1f} Mbit/s."
