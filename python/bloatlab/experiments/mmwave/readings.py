"""What the claims read from the samples of a run.

Samples are 100 ms apart, and the link's rate changes at most once in two of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from bloatlab import units
from bloatlab.experiments.mmwave.files import connections
from bloatlab.experiments.mmwave.setup import DIP, FIFOS

if TYPE_CHECKING:
    from bloatlab.result import Result

SAMPLE = 0.1
"""s."""
SETTLED = 0.05
"""s after a change of the rate, from which on the queue holds what it will."""
FULL = 0.95
"""Share of a FIFO's bytes from which on it is saturated."""
LEVELS = (3850, 3080, 2310, 1925, 1540, 1155, 962, 770, 385)
"""Mbit/s: rates of the 60 GHz modem, at which the source tells the RTT."""


def of_run(run: Result) -> dict[str, float]:
    """The readings of a run, by name; what it has nothing of is missing."""
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
    srtt = flows["srtt_ms"].to_list()
    found |= {"srtt_median": median(srtt), "srtt_max": max(srtt)}
    highest = dict(flows.group_by("time_s").agg(pl.col("srtt_ms").max()).iter_rows())
    at = [highest.get(time) for time in link["time_s"].to_list()]
    excesses = list(excess(rates, at, base_ms, found["srtt_median"] - base_ms))
    if excesses:
        found["dip_excess"] = max(excesses)
    queue = run.parameters["queue"]
    if isinstance(queue, str) and queue in FIFOS:
        limit = FIFOS[queue]
        pings = run.probe_series.to_polars().select("time_s", "rtt_ms").iter_rows()
        backlog = [held / limit for held in link["queue_bytes"].to_list()]
        found |= _saturation(list(saturated(rates, backlog, pings)), limit, base_ms)
    return found


def same(first: float, second: float) -> bool:
    """Whether two means over samples are of one rate, Mbit/s."""
    return abs(first - second) < 1e-3


def saturated(
    rates: Sequence[float], backlog: Sequence[float], pings: Iterator[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Rate (Mbit/s) and RTT (ms) of each ping that met a full FIFO and a rate that stood still.

    It left with a sample, at least `SETTLED` after the last change of the rate, and came back before the next.

    Args:
        rates: Mean rate of each sample, the first ending at `SAMPLE`.
        backlog: Share of its limit that the FIFO holds at the end of each sample.
        pings: When an answer came (s) and its RTT (ms).
    """
    for time, rtt in pings:
        # The samples that end where it left, and where it came back at the latest.
        left = round((time - rtt / 1e3) / SAMPLE) - 1
        until = left + math.ceil(rtt / 1e3 / SAMPLE)
        if left < 1 or until + 1 >= len(rates) or backlog[left] < FULL:
            continue
        rate = rates[left + 1]
        if rate <= 0 or not all(same(rates[index], rate) for index in range(left + 1, until + 1)):
            continue
        if not same(rates[left], rate):
            before = rates[left - 1]
            # The mean of a sample with a change in it says where in it the change was.
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
            # Sums, so that those of several runs make one mean.
            readings |= {f"wait_sum_{level}": math.fsum(waits), f"wait_count_{level}": float(len(waits))}
    return readings


def drain_ms(limit: int, rate: float) -> float:
    """Milliseconds that a link of this rate (Mbit/s) takes for so many bytes: 8L/C."""
    return 8 * limit / rate / 1e3


def falls(rates: Sequence[float]) -> Iterator[tuple[int, int, float, float]]:
    """The falls of the rate to below `DIP`, and above 0, at which there is no bound.

    Yields:
        The first sample with the lower rate in it, the first after it, the rate before, the lower rate.
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
        # The sample at `end` has the next change in it.
        first = end


def excess(rates: Sequence[float], highest: Sequence[float | None], base_ms: float, usual: float) -> Iterator[float]:
    """By how many ms the RTT of each dip exceeds what a queue that nothing shortens comes to, q C_before / C_dip.

    Args:
        rates: Mean rate of each sample, Mbit/s.
        highest: Largest sRTT of a flow at the end of each sample, ms.
        base_ms: Base RTT.
        usual: Median queueing delay of the run, ms: to it an AQM returns at any rate, so that a queue that is shorter when
            the dip comes counts as much.
    """
    for first, end, before, after in falls(rates):
        peaks = [rtt for rtt in highest[first:end] if rtt is not None]
        queue = highest[first - 1]
        if peaks and queue is not None:
            yield max(peaks) - max(queue - base_ms, usual) * before / after
