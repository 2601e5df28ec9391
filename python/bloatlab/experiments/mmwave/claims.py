"""Published values of the sixteen cases, compared with the readings of our runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from statistics import median

from bloatlab.experiments.claim import Cases, Claim, judge
from bloatlab.experiments.mmwave.readings import FULL, LEVELS, SETTLED, drain_ms
from bloatlab.experiments.mmwave.setup import (
    AQMS,
    DIP,
    DRAWN,
    FEW_SEEDS,
    FIFOS,
    OF_TODAY,
    QUEUES,
    SCENARIOS,
    SEEDS,
    SOURCE,
    WITH,
    WITHOUT,
    case,
    linux_case,
    today,
)

LOOSER = (
    "(b) and (d) judge medians and largest values of the same runs with looser bounds, so they are counted as read off but not "
    "among these."
)
LINUX = "HTB and bfifo on a real Linux, with the trace of mobb"
VIRTUAL_LINUX = "Linux 7.2.12 in virtual time"
TRACES = "traces"
MEDIAN, WORST = f"the median of {len(SEEDS)} runs", f"the worst of {len(SEEDS)} runs"
BLOCKED = ("lb", "mobb")
"""Scenarios with the deepest dips."""
DIPPING = tuple(scenario for scenario in SCENARIOS if scenario != "sl")
DIPS = (
    f"at each fall of the rate to below {DIP:g} Mbit/s and above 0: largest sRTT until the next change, minus "
    "q_before C_before / C_dip"
)
BOUND = 3.0
"""How far a peak in a dip may be above q_before C_before / C_dip, ms."""
SATURATED = (
    f"pings that found a FIFO at least {100 * FULL:g} % full, left at least {1000 * SETTLED:g} ms after a change of the "
    "rate, and returned before the next change"
)

SRTT = {
    ("lb", "largefifo"): (20.7, 139.0), ("sb", "largefifo"): (20.0, 62.0), ("sl", "largefifo"): (19.3, 26.0),
    ("lb", "smallfifo"): (5.5, 37.5), ("sb", "smallfifo"): (5.2, 15.8), ("sl", "smallfifo"): (5.0, 6.9),
    ("lb", "pie"): (11.2, 29.0), ("sb", "pie"): (11.0, 32.0), ("sl", "pie"): (11.2, 16.0),
    ("lb", "fq_codel"): (9.4, 22.0), ("sb", "fq_codel"): (9.4, 29.0), ("sl", "fq_codel"): (9.4, 15.5),
}  # fmt: skip
"""Median and largest sRTT in ms, read off the source's figure."""
LINUX_SRTT = {
    ("lb", "largefifo"): ((20.98, 21.02, 20.92), (155.0, 150.0, 156.3), (154.8, 149.5, 155.1)),
    ("sb", "largefifo"): ((20.20, 20.18, 20.20), (66.9, 63.6, 66.7), (62.8, 62.7, 62.8)),
    ("sl", "largefifo"): ((20.36, 20.34, 20.36), (26.4, 28.1, 27.2), (26.3, 26.5, 26.3)),
    ("lb", "smallfifo"): ((5.53, 5.51, 5.52), (39.4, 39.7, 39.3), (39.2, 39.0, 38.9)),
    ("sb", "smallfifo"): ((5.34, 5.35, 5.34), (17.5, 16.9, 17.2), (16.0, 16.0, 16.0)),
    ("sl", "smallfifo"): ((5.36, 5.36, 5.36), (7.5, 7.4, 7.6), (6.9, 6.9, 6.9)),
    ("lb", "pie"): ((11.54, 11.36, 11.52), (37.8, 28.7, 32.4), (37.0, 28.5, 32.2)),
    ("sb", "pie"): ((11.17, 11.39, 11.34), (34.8, 33.6, 35.0), (34.6, 33.4, 35.0)),
    ("sl", "pie"): ((11.88, 11.84, 11.75), (16.5, 18.7, 17.5), (16.1, 18.3, 16.9)),
    ("lb", "fq_codel"): ((9.56, 9.57, 9.58), (27.6, 27.7, 27.8), (27.3, 27.4, 27.2)),
    ("sb", "fq_codel"): ((9.52, 9.51, 9.53), (28.2, 29.1, 28.3), (23.4, 23.8, 23.7)),
    ("sl", "fq_codel"): ((9.67, 9.67, 9.66), (15.3, 14.1, 14.0), (12.8, 13.5, 13.1)),
}
"""Median and largest sRTT on Linux, and the largest mean over the flows, ms: three runs in virtual time, in the set-up of ours.

PIE had a limit of 300 packets instead of 5000: above 16 MiB, its estimator overflows there.
"""
ACCURACY = {"largefifo": 1.3}
"""How accurately the figure can be read, ms; without an entry `FINE`."""
FINE = 0.4
ON_LINUX = {"largefifo": (19.6, 153.0), "smallfifo": (4.3, 38.8)}
"""Median and largest sRTT of `mobb` in ms."""
ON_VIRTUAL_LINUX = {
    ("largefifo", WITHOUT): 20.083, ("smallfifo", WITHOUT): 5.381, ("pie", WITHOUT): 10.606, ("fq_codel", WITHOUT): 9.348,
    ("largefifo", WITH): 20.417, ("smallfifo", WITH): 5.437, ("pie", WITH): 10.479, ("fq_codel", WITH): 9.665,
}  # fmt: skip
"""Median sRTT of `sl` in ms, by queue and offload; of PIE and FQ-CoDel the median of three seeds."""


def of_figure(scenario: str, queue: str, which: str) -> str:
    """Name of the claim about a value of the figure."""
    return f"{scenario}, {queue}: {which} sRTT"


def of_dip(scenario: str, queue: str) -> str:
    """Name of the claim about a peak in a dip."""
    return f"(c) {scenario}, {queue}: peak above q_before C_before / C_dip"


def of_peak(scenario: str, queue: str) -> str:
    """Name of the claim about the largest sRTT with an AQM or the small FIFO."""
    return f"(d) {scenario}, {queue}: largest sRTT"


def reading(
    scenario: str, queue: str, name: str, of: Callable[[Iterable[float]], float] = median
) -> Callable[[Cases], float | None]:
    """A reading of a scenario and queue: `of` (by default the median) over its runs."""
    return lambda cases: of([float(cases[case(scenario, queue, seed)]["readings"][name]) for seed in SEEDS])


def wait(queue: str, level: int) -> Callable[[Cases], float | None]:
    """Mean queueing delay of the saturated pings at a rate, over scenarios and runs; `None` if there were none."""

    def value(cases: Cases) -> float | None:
        readings = [cases[case(scenario, queue, seed)]["readings"] for scenario in SCENARIOS for seed in SEEDS]
        count = math.fsum(of.get(f"wait_count_{level}", 0.0) for of in readings)
        return math.fsum(of.get(f"wait_sum_{level}", 0.0) for of in readings) / count if count else None

    return value


def _saturation() -> list[Claim]:
    return [
        Claim(
            f"(a) {scenario}, {queue}: saturated RTT, largest distance from base + 8L/C", 0.08,
            reading(scenario, queue, "saturated_apart", max), "", SOURCE, "check", bound="at most",
            note=f"{SATURATED}; {WORST}",
        )
        for scenario in SCENARIOS for queue in FIFOS
    ]  # fmt: skip


def _medians() -> list[Claim]:
    return [
        Claim(
            f"(b) sl, {queue}: median sRTT, 9 to 12 ms", 10.5, reading("sl", queue, "srtt_median"), "ms", SOURCE, "read off",
            absolute=1.5, note=MEDIAN,
        )
        for queue in AQMS
    ]  # fmt: skip


def _dips() -> list[Claim]:
    return [
        Claim(
            of_dip(scenario, queue), BOUND, reading(scenario, queue, "dip_excess"), "ms",
            SOURCE, "derived", bound="at most",
            note=f"{DIPS}; q_before is the queueing delay just before the fall; {MEDIAN}",
        )
        for scenario in DIPPING for queue in AQMS
    ]  # fmt: skip


def _dips_with_median() -> list[Claim]:
    return [
        Claim(
            f"(c) {scenario}, {queue}: the same, with the run's median if q_before is shorter", BOUND,
            reading(scenario, queue, "dip_excess_median"), "ms", SOURCE, "derived",
            note="our reading: an AQM returns to its usual delay at any rate, so a queue that was short for a moment grows in "
            f"the dip; {MEDIAN}",
        )
        for scenario in DIPPING for queue in AQMS
    ]  # fmt: skip


def _peaks() -> list[Claim]:
    large = [
        Claim(
            f"(d) {scenario}, largefifo: largest sRTT, 130 to 160 ms", 145.0, reading(scenario, "largefifo", "srtt_max"), "ms",
            SOURCE, "read off", absolute=15.0, needs=TRACES, note=MEDIAN,
        )
        for scenario in BLOCKED
    ]  # fmt: skip
    others = [
        Claim(
            of_peak(scenario, queue), 40.0, reading(scenario, queue, "srtt_max"), "ms", SOURCE,
            "read off", bound="at most", needs=TRACES, note=MEDIAN,
        )
        for scenario in BLOCKED for queue in QUEUES if queue != "largefifo"
    ]  # fmt: skip
    return [*large, *others]


def _goodput() -> Claim:
    # One claim: a link that is never idle gives 1448 / 1514 in all of them.
    found = [reading(scenario, queue, "goodput_share", min) for scenario in SCENARIOS for queue in QUEUES]

    def smallest(cases: Cases) -> float | None:
        shares = [share for read in found if (share := read(cases)) is not None]
        return min(shares) if len(shares) == len(found) else None

    return Claim(
        "(e) every scenario and queue: goodput of all flows / mean rate",
        0.95,
        smallest,
        "",
        SOURCE,
        "derived",
        bound="at least",
        note=f"the worst of {len(found)} cases with {len(SEEDS)} runs each; headers leave 0.956 of a link that is never idle",
    )


def _levels(*, judged: bool) -> list[Claim]:
    # At 385 Mbit/s a ping through the large FIFO takes about as long as the rate is constant, so few pings qualify.
    return [
        Claim(
            f"{queue} at {level} Mbit/s: saturated RTT, 8L/C", round(drain_ms(limit, level), 1), wait(queue, level), "ms", SOURCE,
            "check", relative=0.08 if judged else None, needs=TRACES if judged else "",
            note=f"mean over {SATURATED}, minus the base RTT",
        )
        for queue, limit in FIFOS.items() for level in LEVELS if judged != ((queue, level) == ("largefifo", 385))
    ]  # fmt: skip


def _figure() -> list[Claim]:
    return [
        Claim(
            of_figure(scenario, queue, which), value, reading(scenario, queue, f"srtt_{short}"), "ms", SOURCE, "read off",
            absolute=ACCURACY.get(queue, FINE), needs=TRACES,
            note=f"{MEDIAN}; {VIRTUAL_LINUX}, the median of three: {median(linux):g} ms",
        )
        for (scenario, queue), values in SRTT.items()
        for which, short, value, linux in zip(
            ("median", "largest"), ("median", "max"), values, LINUX_SRTT[scenario, queue][:2], strict=True
        )
    ]  # fmt: skip


def _means() -> list[Claim]:
    # The largest sample is that of a single flow. The lines of ten flows lie on each other in the figure.
    return [
        Claim(
            f"{', '.join(at)}: largest mean sRTT over the flows", largest, reading(*at, "srtt_mean_max"), "ms", SOURCE,
            "read off", note=f"{MEDIAN}; {VIRTUAL_LINUX}, the median of three: {median(LINUX_SRTT[at][2]):g} ms",
        )
        for at, (_, largest) in SRTT.items()
    ]  # fmt: skip


def _order() -> list[Claim]:
    return [
        Claim(
            f"{scenario}, {said} offload: median sRTT of FQ-CoDel minus that of PIE", 0.0, _apart(scenario, offload), "ms",
            SOURCE, "stated", bound="at most", note="FQ-CoDel's median is below PIE's in the figure",
        )
        for scenario in DRAWN for offload, said in ((WITH, "with"), (WITHOUT, "without"))
    ]  # fmt: skip


def _apart(scenario: str, offload: str) -> Callable[[Cases], float | None]:
    seeds = SEEDS if offload == WITH else FEW_SEEDS
    names = {queue: [case(scenario, queue, seed, offload) for seed in seeds] for queue in AQMS}
    return lambda cases: _median(cases, names["fq_codel"]) - _median(cases, names["pie"])


def _median(cases: Cases, names: Iterable[str]) -> float:
    """The median over runs of the median sRTT, ms."""
    return median(float(cases[name]["readings"]["srtt_median"]) for name in names)


def _virtual_linux() -> list[Claim]:
    def measured(queue: str, offload: str) -> Callable[[Cases], float | None]:
        return lambda cases: _median(cases, [linux_case(queue, seed, offload) for seed in FEW_SEEDS])

    return [
        Claim(
            f"sl, {queue} {'with' if offload == WITH else 'without'} offload: median sRTT on real Linux", value,
            measured(queue, offload), "ms", VIRTUAL_LINUX, "derived", relative=0.05, needs=TRACES,
            note=f"the first 24.9 s of the trace, base RTT 0.6 ms; the median of {len(FEW_SEEDS)} runs",
        )
        for (queue, offload), value in ON_VIRTUAL_LINUX.items()
    ]  # fmt: skip


def _today() -> list[Claim]:
    def measured(scenario: str, queue: str, name: str) -> Callable[[Cases], float | None]:
        return lambda cases: median(float(cases[today(scenario, queue, seed)]["readings"][name]) for seed in FEW_SEEDS)

    return [
        Claim(
            f"{scenario}, {queue}, Linux of today: {which} sRTT", value, measured(scenario, queue, f"srtt_{short}"), "ms",
            SOURCE, "read off", note=f"the median of {len(FEW_SEEDS)} runs with `kernel=today`",
        )
        for scenario, queue in OF_TODAY
        for which, short, value in zip(("median", "largest"), ("median", "max"), SRTT[scenario, queue], strict=True)
    ]  # fmt: skip


def _linux() -> list[Claim]:
    return [
        Claim(f"mobb, {queue}: {which} sRTT", value, reading("mobb", queue, f"srtt_{short}"), "ms", LINUX, "derived")
        for queue, values in ON_LINUX.items()
        for which, short, value in zip(("median", "largest"), ("median", "max"), values, strict=True)
    ]


FIGURE = tuple(_figure())


def _agreeing() -> Claim:
    def count(cases: Cases) -> float | None:
        return float(sum(judge(claim, cases, {TRACES: ""}).holds is True for claim in FIGURE))

    return Claim(
        f"the figure alone: how many of its {len(FIGURE)} values agree",
        len(FIGURE),
        count,
        "values",
        SOURCE,
        "read off",
        note=f"{LOOSER} Only runs with the authors' traces can agree",
    )


CLAIMS: tuple[Claim, ...] = (
    *_order(), *FIGURE, *_medians(), *_peaks(), *_dips(), _goodput(), *_virtual_linux(), *_saturation(), *_levels(judged=True),
)  # fmt: skip
COMPARISON: tuple[Claim, ...] = (
    _agreeing(), *_dips_with_median(), *_means(), *_today(), *_levels(judged=False), *_linux(),
)  # fmt: skip
