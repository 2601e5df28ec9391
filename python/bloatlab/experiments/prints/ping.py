"""What ping of iputils prints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from bloatlab import units

if TYPE_CHECKING:
    from bloatlab.result import Result

IP, ICMP = 20, 8
"""Bytes of the headers."""
DUE = 1e-4
"""Seconds before its due time at which a ping may be recorded, because times are rounded."""


def of_run(run: Result, probe: str, *, host: str, ttl: int, start_s: float | None = 0.0) -> Iterator[tuple[float, str]]:
    """Every line about a probe of a run, with the time at which it is printed (s).

    Args:
        run: The run.
        probe: Name of the probe.
        host: Address that is pinged.
        ttl: Time to live of a reply.
        start_s: As for `lines`.
    """
    import polars as pl

    own = pl.col("probe").cast(pl.String) == probe
    sent = run.probes.to_polars().filter(own).row(0, named=True)
    yield from lines(
        list(run.probe_series.to_polars().filter(own).sort("time_s").select("time_s", "rtt_ms").iter_rows()),
        host=host,
        size=sent["size"],
        interval_s=sent["interval_ms"] / 1e3,
        duration_s=units.duration(run.scenario["duration"]),
        ttl=ttl,
        start_s=start_s,
    )


def lines(
    replies: Sequence[tuple[float, float]],
    *,
    host: str,
    size: int,
    interval_s: float,
    duration_s: float,
    ttl: int,
    start_s: float | None = 0.0,
) -> Iterator[tuple[float, str]]:
    """Every line, with the time at which it is printed (s).

    Args:
        replies: Time of each reply (s) and its RTT (ms), sorted by time.
        host: Address that is pinged.
        size: Bytes of a packet with the headers of IP and ICMP.
        interval_s: Seconds between two pings.
        duration_s: Seconds after which ping ends (its option `-w`).
        ttl: Time to live of a reply.
        start_s: When the first ping was due; `None` if it is not known, and the first reply is that of the first ping.
    """
    left = [time - rtt / 1e3 for time, rtt in replies]
    start = first(left, interval_s) if start_s is None else start_s
    yield start, f"PING {host} ({host}) {size - IP - ICMP}({size}) bytes of data."
    numbers = sequence([time - start for time in left], interval_s)
    for (time, rtt), number in zip(replies, numbers, strict=True):
        # The field has 16 bits.
        said = f"icmp_seq={number % 65536} ttl={ttl} time={_time(rtt)} ms"
        yield time, f"{size - IP} bytes from {host}: {said}"
    # A ping that leaves at the very end is not sent.
    sent = max(math.ceil((duration_s - start) / interval_s - DUE), *numbers, len(replies))
    lost = 100 * (sent - len(replies)) / max(1, sent)
    end = max(duration_s, replies[-1][0]) if replies else duration_s
    yield end, ""
    yield end, f"--- {host} ping statistics ---"
    took = f"time {1e3 * interval_s * max(0, sent - 1):.0f}ms"
    yield end, f"{sent} packets transmitted, {len(replies)} received, {lost:g}% packet loss, {took}"
    rtts = [rtt for _, rtt in replies]
    if rtts:
        mean = fmean(rtts)
        deviation = math.sqrt(max(0.0, fmean(rtt * rtt for rtt in rtts) - mean * mean))
        values = "/".join(f"{value:.3f}" for value in (min(rtts), mean, max(rtts), deviation))
        yield end, f"rtt min/avg/max/mdev = {values} ms"


def first(sent: Sequence[float], interval_s: float) -> float:
    """When the first ping was due (s), if it was answered: the least late ping shows it.

    Args:
        sent: When each left (s).
        interval_s: Seconds between the times at which two pings are due.
    """
    earliest = min(sent, default=0.0)
    return max(0.0, min((time - interval_s * round((time - earliest) / interval_s) for time in sent), default=0.0))


def sequence(sent: Sequence[float], interval_s: float) -> list[int]:
    """The sequence number of each answered ping, from 1.

    A ping is never early. On a busy machine it may be late, by more than an interval.

    Args:
        sent: When each left (s), since the first was due.
        interval_s: Seconds between the times at which two pings are due.
    """
    numbers = [0] * len(sent)
    later = math.inf
    for place in sorted(range(len(sent)), key=sent.__getitem__, reverse=True):
        due = math.floor((sent[place] + DUE) / interval_s) + 1
        later = min(due, later - 1)
        numbers[place] = max(1, int(later))
    return numbers


def _time(rtt: float) -> str:
    """An RTT in ms with the digits that ping prints."""
    digits = next((digits for digits, below in ((3, 1.0), (2, 9.995), (1, 99.95)) if rtt < below), 0)
    return f"{rtt:.{digits}f}"
