"""Published values of the home router and values of real Linux, compared with means over five replications."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from bloatlab.experiments.claim import Cases, Claim
from bloatlab.experiments.home_router.cases import CROSSING, SEEDS, SIZES, published
from bloatlab.experiments.home_router.readings import apart
from bloatlab.experiments.home_router.setup import PRESETS

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
    return [float(cases[published(preset, maxq, seed)]["readings"][reading]) for seed in SEEDS]


def mean(preset: str, maxq: int, reading: str) -> Metric:
    """The mean over the replications."""
    return lambda cases: fmean(values(cases, preset, maxq, reading))


def furthest(preset: str, maxq: int, reading: str, from_: float) -> Metric:
    """The reading that differs most from a value."""
    return lambda cases: max(values(cases, preset, maxq, reading), key=lambda value: abs(value - from_))


def ratio(preset: str, reading: str) -> Metric:
    """The mean with the largest queue divided by the mean with the smallest queue."""
    return lambda cases: (
        fmean(values(cases, preset, max(SIZES), reading)) / fmean(values(cases, preset, min(SIZES), reading))
    )


def different(preset: str, maxq: int) -> Metric:
    """Largest difference between the RTT of a replication and the mean of all."""
    return lambda cases: apart([cases[published(preset, maxq, seed)]["readings"] for seed in SEEDS])


def _largest(maxq: int, published_: float, absolute: float) -> Claim:
    return Claim(
        f"template, {maxq}: largest RTT", published_, furthest("template", maxq, "rtt_max", published_), "ms", DERIVED, "derived",
        absolute=absolute, note="of the re-run that is furthest from it",
    )  # fmt: skip


DEVIATES = {
    (
        "template",
        100,
        "fetch",
    ): "over twenty re-runs 0.607 (95 % confidence interval 0.604 to 0.610): 6.6 % below the range. Each page "
    "loses about 30 segments where its slow start meets the queue, so what they cost depends on how losses are found: with "
    "duplicate ACKs in place of RACK-TLP 0.678",
}
"""Measured reason why a claim may not hold."""


def _between(preset: str, maxq: int, what: str, low: float, high: float) -> Claim:
    reading, unit = ("fetch_p50", "s") if what == "fetch" else ("rtt_p50", "ms")
    title = f"{preset}, {maxq}: median {'fetch' if what == 'fetch' else 'RTT'}, {low:g} to {high:g} {unit}"
    return Claim(
        title, round((low + high) / 2, 6), mean(preset, maxq, reading), unit, LINUX, "derived",
        absolute=round((high - low) / 2, 6), note=DEVIATES.get((preset, maxq, what), ""),
    )  # fmt: skip


CLAIMS: tuple[Claim, ...] = (
    _largest(20, 28, 2),
    _largest(100, 125, 3),
    _between("template", 20, "fetch", 0.30, 0.50),
    _between("template", 100, "fetch", 0.65, 1.0),
    _between("col724", 20, "RTT", 30, 40),
    _between("col724", 100, "RTT", 125, 175),
    _between("col724", 20, "fetch", 0.22, 0.30),
    _between("col724", 100, "fetch", 0.70, 0.85),
    Claim("col724: median fetch at 100 / at 20", 2.7, ratio("col724", "fetch_p50"), "", PAGE_OF, "stated", absolute=0.5),
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
# Size: mean and standard deviation of the fetches, on the page and in its table.
MEANS = {20: ((0.27, 0.117), (0.258, 0.093)), 100: ((0.73, 0.192), (0.736, 0.180))}


def _fetches(maxq: int) -> list[Claim]:
    found = []
    for source, numbers in zip((PAGE_OF, TABLE), MEANS[maxq], strict=True):
        for word, reading, number in zip(
            ("mean", "standard deviation of"), ("fetch_mean", "fetch_std"), numbers, strict=True
        ):
            name = f"col724, {maxq}: {word} fetch{'es' if ' of' in word else ''}"
            found.append(
                Claim(name, number, mean("col724", maxq, reading), "s", source, "stated", note="ruled by outliers")
            )
    return found


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
    *(claim for maxq in SIZES for claim in _fetches(maxq)),
    *(
        Claim(f"{CROSSING}, {maxq}: median fetch", number, mean(CROSSING, maxq, "fetch_p50"), "s", STUDENTS, "derived")
        for maxq, number in ((20, 0.669), (100, 1.294))
    ),
    Claim("col724, 20: RTT", 35, mean("col724", 20, "rtt_p50"), "ms", PAGE_OF, "read off", note="read off the figure"),
)  # fmt: skip
