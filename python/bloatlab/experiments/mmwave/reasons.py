"""Why claims do not hold, computed from the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from bloatlab.experiments import phrases
from bloatlab.experiments.claim import Cases, Verdict
from bloatlab.experiments.mmwave.claims import (
    BLOCKED,
    BOUND,
    DIPPING,
    LINUX_SRTT,
    SRTT,
    VIRTUAL_LINUX,
    of_dip,
    of_figure,
    of_peak,
)
from bloatlab.experiments.mmwave.readings import SEEN
from bloatlab.experiments.mmwave.setup import (
    AQMS,
    DRAWN,
    FEW_SEEDS,
    FINE_SCENARIOS,
    OF_TODAY,
    SEEDS,
    WITHOUT,
    case,
    sampled,
    today,
)

Text = Callable[[Cases], str]


def told(verdicts: Sequence[Verdict], cases: Cases) -> list[Verdict]:
    """The verdicts; the note of a claim that does not hold has its reason."""
    return [_told(verdict, cases) for verdict in verdicts]


def _told(verdict: Verdict, cases: Cases) -> Verdict:
    claim, reason = verdict.claim, REASONS.get(verdict.claim.name)
    if reason is None or verdict.holds is not False:
        return verdict
    return replace(verdict, claim=replace(claim, note=f"{claim.note}. {reason(cases)}"))


def _values(cases: Cases, names: Sequence[str], reading: str) -> list[float]:
    return [float(cases[name]["readings"][reading]) for name in names]


def _span(values: Sequence[float], digits: int = 1) -> str:
    return phrases.span(values, lambda value: f"{value:.{digits}f}")


def _runs(scenario: str, queue: str) -> list[str]:
    return [case(scenario, queue, seed) for seed in SEEDS]


def _largest(scenario: str, queue: str) -> Text:
    """A value that one run, one of its flows or one sample decides."""

    def text(cases: Cases) -> str:
        own = _runs(scenario, queue)
        flows = _values(cases, own, "srtt_flow_max") + _values(cases, own, "srtt_max")
        parts = [
            "The figure shows one run, and its ten lines lie on each other. Flow by flow, the largest sRTT of the "
            f"{len(own)} runs is {_span(flows)} ms, and in three runs of {VIRTUAL_LINUX} it is "
            f"{_span(LINUX_SRTT[scenario, queue][1])}"
        ]
        if queue == "fq_codel" and scenario in FINE_SCENARIOS:
            fine = [sampled(scenario, queue, seed) for seed in FEW_SEEDS]
            seen = _values(cases, fine, "seen_least") + _values(cases, fine, "seen_most")
            parts.append(
                f"What a script sees also depends on when it looks: samples {1000 * SEEN:g} ms apart have {_span(seen)} ms"
            )
        if (scenario, queue) in OF_TODAY:
            now = [today(scenario, queue, seed) for seed in FEW_SEEDS]
            parts.append(
                f"With the Linux of today it is {_span(_values(cases, now, 'srtt_max'))} ms, and the largest mean over the "
                f"flows {_span(_values(cases, now, 'srtt_mean_max'))}"
            )
        return ". ".join(parts)

    return text


def _pie_median(scenario: str) -> Text:
    """PIE's estimator depends on the sizes of buffers."""

    def text(cases: Cases) -> str:
        without = [case(scenario, "pie", seed, WITHOUT) for seed in FEW_SEEDS]
        now = [today(scenario, "pie", seed) for seed in FEW_SEEDS]
        return (
            f"{VIRTUAL_LINUX} has {_span(LINUX_SRTT[scenario, 'pie'][0], 2)} ms. The estimator divides the bytes of a "
            "buffer by the time that the one before it took, so its error depends on how much the sizes of buffers differ: "
            f"without offload the median is {_span(_values(cases, without, 'srtt_median'), 2)} ms. With timestamps, as in the "
            f"Linux of today, it is {_span(_values(cases, now, 'srtt_median'), 2)} ms"
        )

    return text


def _dip(scenario: str, queue: str) -> Text:
    """Where the peak is highest above that of an unmanaged queue."""

    def text(cases: Cases) -> str:
        readings = [cases[name]["readings"] for name in _runs(scenario, queue)]
        place = Counter((of["dip_time"], of["dip_before"], of["dip_after"]) for of in readings)
        (time, before, after), count = place.most_common(1)[0]
        there = [of for of in readings if of["dip_time"] == time]
        usual = median(of["dip_usual"] for of in readings)
        said = (
            f"In {count} of {len(readings)} runs this is at {time:.1f} s, where the rate falls from {before:.0f} to {after:.0f} "
            f"Mbit/s: the queue was at {_span([of['dip_queue'] for of in there])} ms, its median is {usual:.1f}, and the RTT "
            f"rises to {_span([of['dip_peak'] for of in there])} ms"
        )
        distances = _span([of["dip_excess_median"] for of in readings])
        if median(of["dip_excess_median"] for of in readings) <= BOUND:
            return (
                f"{said}. An AQM returns to its usual delay at any rate. With the median in place of a shorter q_before, the "
                f"largest distance is {distances} ms"
            )
        if queue != "pie":
            return said
        heads = _values(cases, _runs(scenario, "fq_codel"), "dip_excess")
        return (
            f"{said}. PIE drops at the tail of the queue, so the flows notice it only after the packets ahead, and their windows "
            f"grow meanwhile. FQ-CoDel drops at the head: its distance is {_span(heads)} ms"
        )

    return text


def _peak(scenario: str, queue: str) -> Text:
    """The largest sRTT is that of a queue that had its usual length before the rate fell."""

    def text(cases: Cases) -> str:
        readings = [cases[name]["readings"] for name in _runs(scenario, queue)]
        of = sorted(readings, key=lambda one: float(one["srtt_max"]))[len(readings) // 2]
        grown = of["highest_queue"] * of["highest_before"] / of["highest_after"]
        return (
            f"At {of['highest_time']:.1f} s the rate falls from {of['highest_before']:.0f} to {of['highest_after']:.0f} "
            f"Mbit/s. A queue of {of['highest_queue']:.1f} ms then takes {grown:.0f} ms, whatever an AQM drops from then on. "
            f"The runs have {_span(_values(cases, _runs(scenario, queue), 'srtt_max'))} ms"
        )

    return text


REASONS: Mapping[str, Text] = {
    **{of_figure(scenario, queue, "largest"): _largest(scenario, queue) for scenario, queue in SRTT},
    **{of_figure(scenario, "pie", "median"): _pie_median(scenario) for scenario in DRAWN},
    **{of_dip(scenario, queue): _dip(scenario, queue) for scenario in DIPPING for queue in AQMS},
    **{of_peak(scenario, queue): _peak(scenario, queue) for scenario in BLOCKED for queue in AQMS},
}
"""Why a claim does not hold, by its name."""
