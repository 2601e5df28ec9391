"""Published values of the home router and values of real Linux, compared with means over thirty replications."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from statistics import fmean

from bloatlab.experiments.claim import Cases, Claim
from bloatlab.experiments.home_router.cases import CROSSING, CURVES, SEEDS, SIZES, published
from bloatlab.experiments.home_router.readings import apart
from bloatlab.experiments.home_router.setup import PAGE, PRESETS

DERIVED = "derived from a frame of 1514 bytes at 10 Mbit/s"
PAGE_OF = "the assignment's published page"
TABLE = "the published page's own table, 26 rows"
LINUX = "the same set-up on real Linux"
STUDENTS = "other students' results, and the same on real Linux"
SAME_SHAPE = 0.15
"""Largest relative difference of a decile of a run's RTT from the mean of all; chosen before the first result."""
Metric = Callable[[Cases], float | None]


def values(cases: Cases, preset: str, maxq: int, reading: str) -> list[float]:
    """A reading of each replication."""
    seeds = CURVES if preset == CROSSING else SEEDS
    return [float(cases[published(preset, maxq, seed)]["readings"][reading]) for seed in seeds]


def mean(preset: str, maxq: int, reading: str) -> Metric:
    """The mean over the replications."""
    return lambda cases: fmean(values(cases, preset, maxq, reading))


def furthest(preset: str, maxq: int, reading: str, from_: float) -> Metric:
    """The reading that differs most from a value."""
    return lambda cases: max(values(cases, preset, maxq, reading), key=lambda value: abs(value - from_))


def per_fetch(preset: str, maxq: int, metric: str) -> Metric:
    """A count of the page's client, per fetch, over all replications."""

    def share(cases: Cases) -> float:
        own = [cases[published(preset, maxq, seed)]["probe_metrics"][PAGE] for seed in SEEDS]
        return float(sum(one[metric] for one in own) / sum(one["transactions"] for one in own))

    return share


def mean_without_syns(preset: str, maxq: int) -> Metric:
    """The mean fetch if no SYN had been lost: the first retransmission of a SYN comes a second later (RFC 6298)."""
    lost, taken = per_fetch(preset, maxq, "syn_retransmissions"), mean(preset, maxq, "fetch_mean")

    def without(cases: Cases) -> float | None:
        found = taken(cases)
        return None if found is None else found - (lost(cases) or 0.0)

    return without


def ratio(preset: str, reading: str) -> Metric:
    """The mean with the largest queue divided by the mean with the smallest queue."""
    return lambda cases: (
        fmean(values(cases, preset, max(SIZES), reading)) / fmean(values(cases, preset, min(SIZES), reading))
    )


def different(preset: str, maxq: int) -> Metric:
    """Largest difference between the RTT of a replication and the mean of all."""
    return lambda cases: apart([cases[published(preset, maxq, seed)]["readings"] for seed in CURVES])


def _largest(maxq: int, published_: float, absolute: float) -> Claim:
    return Claim(
        f"template, {maxq}: largest RTT", published_, furthest("template", maxq, "rtt_max", published_), "ms", DERIVED, "derived",
        absolute=absolute, note="of the re-run that is furthest from it",
    )  # fmt: skip


def _between(preset: str, maxq: int, what: str, low: float, high: float) -> Claim:
    reading, unit = ("fetch_p50", "s") if what == "fetch" else ("rtt_p50", "ms")
    title = f"{preset}, {maxq}: median {'fetch' if what == 'fetch' else 'RTT'}, {low:g} to {high:g} {unit}"
    return Claim(
        title, round((low + high) / 2, 6), mean(preset, maxq, reading), unit, LINUX, "derived",
        absolute=round((high - low) / 2, 6),
    )  # fmt: skip


# Size: mean and standard deviation of the fetches, on the page and in its table.
MEANS = {20: ((0.27, 0.117), (0.258, 0.093)), 100: ((0.73, 0.192), (0.736, 0.180))}
ROWS = 26
"""Fetches in the table of the published page."""
NORMAL = 1.96
"""Standard errors on each side of a 95 % confidence interval."""
OUTLIERS = {
    20: "; a lost SYN costs a second, and a single one among the 26 fetches of the source would have made its deviation "
    "larger than it is; real Linux loses 16 in 241 and has a mean of 0.311 s and a deviation of 0.232 s",
    100: "; real Linux, with pages from 5 s on, after the long flow's slow start, has a mean of 0.809 s and a deviation of "
    "0.127 s, and loses no SYN of 199",
}
"""What rules a mean of fetches besides the queue, and what the same set-up gives on real Linux, by size."""


CLAIMS: tuple[Claim, ...] = (
    _largest(20, 28, 2),
    _largest(100, 125, 3),
    _between("template", 20, "fetch", 0.30, 0.50),
    _between("template", 100, "fetch", 0.65, 1.0),
    Claim(
        "col724, 20: median RTT, about 35 ms", 35, mean("col724", 20, "rtt_p50"), "ms", PAGE_OF, "stated", absolute=5,
        note="the source says about 35 ms, which we read as 30 to 40 ms",
    ),
    *(
        Claim(
            f"col724, 100: RTT, p{percent}, {end} of the sawtooth of 100 to 200 ms", number,
            mean("col724", 100, f"rtt_p{percent}"), "ms", PAGE_OF, "stated", absolute=25,
            note="the source names multiples of 50 ms, so each may be rounded by 25 ms",
        )
        for percent, number, end in ((5, 100, "the lower end"), (95, 200, "the upper end"))
    ),
    _between("col724", 100, "RTT", 125, 175),
    _between("col724", 20, "fetch", 0.22, 0.30),
    _between("col724", 100, "fetch", 0.70, 0.85),
    *(
        Claim(
            f"col724, {maxq}: mean fetch", number, mean("col724", maxq, "fetch_mean"), "s", PAGE_OF, "stated",
            absolute=round(NORMAL * deviation / sqrt(ROWS), 3),
            note="95 % confidence interval of the source's mean over 26 fetches" + OUTLIERS[maxq],
        )
        for maxq, ((number, deviation), _) in MEANS.items()
    ),
    *(
        Claim(
            f"col724, {maxq}: standard deviation of fetches", deviation, mean("col724", maxq, "fetch_std"), "s", PAGE_OF,
            "stated", absolute=round(NORMAL * deviation / sqrt(2 * (ROWS - 1)), 3),
            note="95 % confidence interval of a standard deviation of 26 fetches" + OUTLIERS[maxq],
        )
        for maxq, ((_, deviation), _) in MEANS.items()
    ),
    Claim(
        "col724: mean fetch at 100 / at 20", 2.7, ratio("col724", "fetch_mean"), "", PAGE_OF, "stated", absolute=0.5,
        note="two standard errors of the ratio of the source's two means; on real Linux 2.6",
    ),
    *(
        Claim(
            f"{preset}, {maxq}: five re-runs, largest difference of a decile of the RTT from the mean", SAME_SHAPE,
            different(preset, maxq), "", "question 5: five curves with the same shape", "stated", bound="at most",
            note="the share is ours, chosen before the first result",
        )
        for preset in PRESETS for maxq in SIZES
    ),
)  # fmt: skip

# Preset and size: 5th, 50th and 95th percentile of the RTT.
ON_LINUX = {
    ("col724", 20): (22, 35, 45),
    ("col724", 100): (103, 161, 218),
    ("template", 20): (13, 20, 24),
    ("template", 100): (51, 76, 115),
}
COMPARISON: tuple[Claim, ...] = (
    *(
        Claim(f"{preset}, {maxq}: RTT, p{percent}", number, mean(preset, maxq, f"rtt_p{percent}"), "ms", LINUX, "derived")
        for (preset, maxq), numbers in ON_LINUX.items()
        for percent, number in zip((5, 50, 95), numbers, strict=True)
    ),
    *(
        Claim(f"col724, {maxq}: median fetch", number, mean("col724", maxq, "fetch_p50"), "s", LINUX, "derived")
        for maxq, number in ((20, 0.279), (100, 0.776))
    ),
    *(
        Claim(f"col724, {maxq}: {word}, page's table", number, mean("col724", maxq, reading), "s", TABLE, "stated")
        for maxq, (_, numbers) in MEANS.items()
        for word, reading, number in zip(
            ("mean fetch", "standard deviation of fetches"), ("fetch_mean", "fetch_std"), numbers, strict=True
        )
    ),
    Claim("col724: median fetch at 100 / at 20", 3.27, ratio("col724", "fetch_p50"), "", TABLE, "derived"),
    *(
        Claim(
            f"col724, {maxq}: mean fetch without the second that each lost SYN costs", number,
            mean_without_syns("col724", maxq), "s", PAGE_OF, "derived",
        )
        for maxq, ((number, _), _) in MEANS.items()
    ),
    *(
        Claim(
            f"col724, {maxq}: lost SYNs per fetch", number, per_fetch("col724", maxq, "connections_with_lost_syn"), "", LINUX,
            "derived",
        )
        for maxq, number in ((20, 0.066), (100, 0))
    ),
    *(
        Claim(f"col724, {maxq}: timeouts per fetch", 0, per_fetch("col724", maxq, "rtos"), "", LINUX, "derived")
        for maxq in SIZES
    ),
    *(
        Claim(f"{CROSSING}, {maxq}: median fetch", number, mean(CROSSING, maxq, "fetch_p50"), "s", STUDENTS, "derived")
        for maxq, number in ((20, 0.669), (100, 1.294))
    ),
)  # fmt: skip
