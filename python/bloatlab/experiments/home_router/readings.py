"""Numbers from the samples of a run: distributions of the RTT and of the fetch times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

from bloatlab.experiments.home_router.setup import PAGE, PING

if TYPE_CHECKING:
    from bloatlab.result import Result

DECILES = tuple(range(10, 100, 10))


def samples(run: Result, probe: str) -> list[tuple[float, float]]:
    """Time (s) and duration (ms) of each answer."""
    import polars as pl

    own = run.probe_series.to_polars().filter(pl.col("probe").cast(pl.String) == probe).sort("time_s")
    return list(own.select("time_s", "rtt_ms").iter_rows())


def of_run(run: Result) -> dict[str, float]:
    """The readings of a run by name; those without samples are missing.

    `rtt_pN` (N: 5, 95 and the deciles) and `rtt_max` in ms; `fetches`, `fetch_p50`, `fetch_mean`, `fetch_std`,
    `fetch_max` in s.
    """
    rtts = sorted(rtt for _, rtt in samples(run, PING))
    fetches = [taken / 1e3 for _, taken in samples(run, PAGE)]
    found = {"fetches": float(len(fetches))}
    if rtts:
        found |= {f"rtt_p{percent}": percentile(rtts, percent) for percent in (5, 95, *DECILES)}
        found["rtt_max"] = rtts[-1]
    if fetches:
        found |= {"fetch_p50": median(fetches), "fetch_mean": fmean(fetches), "fetch_max": max(fetches)}
    if len(fetches) > 1:
        found["fetch_std"] = stdev(fetches)
    return found


def apart(runs: Sequence[Mapping[str, float]]) -> float:
    """Largest relative difference between a decile of one run's RTT and the mean of this decile over all runs.

    Args:
        runs: Readings of each run; runs without a ping are ignored.
    """
    found = 0.0
    for decile in DECILES:
        values = [run[name] for run in runs if (name := f"rtt_p{decile}") in run]
        if values and (centre := fmean(values)):
            found = max(found, *(abs(value / centre - 1) for value in values))
    return found


def percentile(ordered: list[float], percent: float) -> float:
    """The percentile of sorted values, with linear interpolation."""
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
