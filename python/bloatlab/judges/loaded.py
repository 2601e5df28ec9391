"""How much longer a ping takes under load: the grade of a run in which no flow measured an RTT and its propagation."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean

from bloatlab.judges.base import LoadedPing

FLOWS = ("start_s", "stop_s")
"""Columns of the table `flows` that are read."""
REPLIES = ("time_s", "rtt_ms")
"""Columns of the table `probe_series` that are read, of the rows of the ping."""


def under_load(
    ping: str,
    replies: Iterable[tuple[float, float]],
    flows: Iterable[tuple[float | None, float | None]],
    propagation_ms: float | None = None,
) -> LoadedPing | None:
    """Compares the RTT of requests that were sent while a flow was active with that of the idle path.

    The idle RTT is the mean of the replies that came before the first flow started. Without such replies it is the
    propagation, or if that is not known, the shortest RTT of all.

    Args:
        ping: Name of the ping.
        replies: `REPLIES` of the ping.
        flows: `FLOWS` of each flow of data. One without a start, or that ends as it starts, was not active.
        propagation_ms: Two-way propagation delay of the ping.

    Returns:
        `None` if no request was sent under load.
    """
    spans = [(start, math.inf if stop is None else stop) for start, stop in flows if start is not None]
    active = [(start, stop) for start, stop in spans if stop > start]
    sent = [(at - rtt / 1e3, at, rtt) for at, rtt in replies]
    loaded = [rtt for begin, _, rtt in sent if any(start <= begin < stop for start, stop in active)]
    if not loaded:
        return None
    first = min(start for start, _ in active)
    if idle := [rtt for _, at, rtt in sent if at < first]:
        return LoadedPing(ping, fmean(loaded), fmean(idle), "before the load")
    if propagation_ms is not None:
        return LoadedPing(ping, fmean(loaded), propagation_ms, "by propagation alone")
    return LoadedPing(ping, fmean(loaded), min(rtt for *_, rtt in sent), "at its shortest")
