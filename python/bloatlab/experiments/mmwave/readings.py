"""Numbers for the claims from the samples of a run.

Samples are 100 ms apart, and the rate of the link changes at most once in two samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING

from bloatlab import units
from bloatlab.experiments.mmwave.samples import connections
from bloatlab.experiments.mmwave.setup import DIP, FIFOS, FINELY

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.result import Result

SAMPLE = 0.1
"""s."""
SEEN = 0.12
"""Seconds between two samples of a script that waits 0.1 s after each ss, if that takes 20 ms."""
STARTED = 2.0
"""Seconds that the figure does not show.

Ten flows that start at once overshoot every AQM: under PIE to 57 ms on `sl` on Linux 7.2.12, where the figure's largest is 16.
"""
SETTLED = 0.05
"""Seconds after a change of the rate until the queue is steady."""
FULL = 0.95
"""Share of a FIFO's limit from which it counts as saturated."""
LEVELS = (3850, 3080, 2310, 1925, 1540, 1155, 962, 770, 385)
"""Rates of the 60 GHz modem in Mbit/s for which the source states the RTT."""


def of_run(run: Result) -> dict[str, float]:
    """The readings of a run by name; those without samples are missing."""
    import polars as pl

    link = run.link_series.to_polars().filter(pl.col("link").cast(pl.String) == "bottleneck").sort("time_s")
    flows = connections(run.flow_series.to_polars()).drop_nulls("srtt_ms")
    base_ms = units.duration(run.parameters["rtt"]) * 1e3
    rates: list[float] = link["rate_mbps"].to_list()
    mean_rate = math.fsum(rates) / len(rates)
    goodput = math.fsum(flow["mean_throughput_l7"] for name, flow in run.flow_metrics.items() if name != "ping")
    found = {"goodput_share": goodput / mean_rate} if mean_rate else {}
    if flows.is_empty():
        return found
    settled = flows.filter(pl.col("time_s") > STARTED)
    srtt = settled["srtt_ms"].to_list()
    if not srtt:
        return found
    means = settled.group_by("time_s").agg(pl.col("srtt_ms").mean())["srtt_ms"].to_list()
    largest = settled.group_by("flow").agg(pl.col("srtt_ms").max())["srtt_ms"].to_list()
    found |= {
        "srtt_median": median(srtt), "srtt_max": max(srtt), "srtt_mean_max": max(means), "srtt_flow_max": min(largest),
    }  # fmt: skip
    if run.parameters["sample_interval"] == FINELY:
        return found | seen(settled)
    highest = dict(flows.group_by("time_s").agg(pl.col("srtt_ms").max()).iter_rows())
    at = [highest.get(time) for time in link["time_s"].to_list()]
    found |= _worst(list(dips(rates, at, base_ms)), found["srtt_median"] - base_ms)
    queue = run.parameters["queue"]
    if isinstance(queue, str) and queue in FIFOS:
        limit = FIFOS[queue]
        pings = run.probe_series.to_polars().select("time_s", "rtt_ms").iter_rows()
        backlog = [held / limit for held in link["queue_bytes"].to_list()]
        found |= _saturation(list(saturated(rates, backlog, pings)), limit, base_ms)
    return found


def seen(flows: pl.DataFrame) -> dict[str, float]:
    """The least and the most of the largest sRTT that samples `SEEN` apart can have, whenever the first one is."""
    import polars as pl

    times = flows["time_s"].unique().sort()
    apart = round(SEEN / (times[1] - times[0]))
    largest = [
        max(flows.filter(pl.col("time_s").is_in(times.gather_every(apart, offset).to_list()))["srtt_ms"].to_list())
        for offset in range(apart)
    ]
    return {"seen_least": min(largest), "seen_most": max(largest)}


def same(first: float, second: float) -> bool:
    """Whether two means over samples (Mbit/s) are of the same rate."""
    return abs(first - second) < 1e-3


def saturated(
    rates: Sequence[float], backlog: Sequence[float], pings: Iterator[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Rate (Mbit/s) and RTT (ms) of each ping that met a full FIFO while the rate was constant.

    Such a ping left at a sample, at least `SETTLED` after the last change of the rate, and was answered before the
    next change.

    Args:
        rates: Mean rate of each sample; the first sample ends at `SAMPLE`.
        backlog: Share of the FIFO's limit that is filled at the end of each sample.
        pings: Time of each answer (s) and its RTT (ms).
    """
    for time, rtt in pings:
        # The sample at which it left, and the last one by which it was answered.
        left = round((time - rtt / 1e3) / SAMPLE) - 1
        until = left + math.ceil(rtt / 1e3 / SAMPLE)
        if left < 1 or until + 1 >= len(rates) or backlog[left] < FULL:
            continue
        rate = rates[left + 1]
        if rate <= 0 or not all(same(rates[index], rate) for index in range(left + 1, until + 1)):
            continue
        if not same(rates[left], rate):
            before = rates[left - 1]
            # The mean of a sample with a change shows when the change was.
            known = not same(rate, before) and (until > left + 1 or same(rates[left + 2], rate))
            if not known or SAMPLE * (rates[left] - before) / (rate - before) < SETTLED:
                continue
        yield rate, rtt


def _saturation(found: Sequence[tuple[float, float]], limit: int, base_ms: float) -> dict[str, float]:
    if not found:
        return {}
    apart = [abs(rtt / (base_ms + drain_ms(limit, rate)) - 1) for rate, rtt in found]
    readings = {"saturated_apart": max(apart)}
    for level in LEVELS:
        waits = [rtt - base_ms for rate, rtt in found if same(rate, level)]
        if waits:
            # Sums, so that several runs give one mean.
            readings |= {f"wait_sum_{level}": math.fsum(waits), f"wait_count_{level}": float(len(waits))}
    return readings


def drain_ms(limit: int, rate: float) -> float:
    """Milliseconds that a link of this rate (Mbit/s) needs for these bytes: 8L/C."""
    return 8 * limit / rate / 1e3


def falls(rates: Sequence[float]) -> Iterator[tuple[int, int, float, float]]:
    """The falls of the rate to between 0 and `DIP`. At 0 the RTT has no bound.

    Yields:
        The first sample with the lower rate, the first sample after it, the rate before, the lower rate.
    """
    first = 1
    while first + 1 < len(rates):
        before, after = rates[first - 1], rates[first + 1]
        if same(rates[first], before):
            first += 1
            continue
        end = first + 1
        while end < len(rates) and same(rates[end], after):
            end += 1
        if 0 < after < min(before, DIP):
            yield first, end, before, after
        # The sample at `end` contains the next change.
        first = end


@dataclass(frozen=True)
class Dip:
    """A fall of the rate, and what it does to the RTT."""

    time: float
    """Of the last sample before it, s."""
    before: float
    after: float
    """Rates, Mbit/s."""
    queue: float
    """Queueing delay just before it, ms."""
    peak: float
    """Largest RTT until the next change, ms."""

    def excess(self, least: float = 0.0) -> float:
        """How many ms the RTT exceeds the delay of an unmanaged queue, q C_before / C_dip.

        Args:
            least: Smallest q that counts, ms. An AQM returns to its usual delay at any rate, so with the median queueing delay
                of the run a queue that is shorter before the dip counts with this delay.
        """
        return self.peak - max(self.queue, least) * self.before / self.after


def dips(rates: Sequence[float], highest: Sequence[float | None], base_ms: float) -> Iterator[Dip]:
    """The falls of the rate with an RTT before and after them.

    Args:
        rates: Mean rate of each sample, Mbit/s.
        highest: Largest sRTT of a flow at the end of each sample, ms.
        base_ms: Base RTT.
    """
    for first, end, before, after in falls(rates):
        peaks = [rtt for rtt in highest[first:end] if rtt is not None]
        rtt = highest[first - 1]
        if peaks and rtt is not None:
            yield Dip(first * SAMPLE, before, after, rtt - base_ms, max(peaks))


def _worst(found: Sequence[Dip], usual: float) -> dict[str, float]:
    """The readings of the dips with the largest excess and with the largest RTT. `usual` is the queue's median delay, ms."""
    if not found:
        return {}
    worst, highest = max(found, key=Dip.excess), max(found, key=lambda dip: dip.peak)
    return {
        "dip_excess": worst.excess(),
        "dip_excess_median": max(dip.excess(usual) for dip in found),
        "dip_usual": usual,
        **{f"dip_{name}": value for name, value in asdict(worst).items()},
        **{f"highest_{name}": value for name, value in asdict(highest).items()},
    }
