"""Round trips per minute (RPM): draft-ietf-ippm-responsiveness-09."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, pstdev

from bloatlab.judges.base import Evidence, Input, Judge, Missing, Score

VERSION = "draft-ietf-ippm-responsiveness-09"
MINUTE_MS = 60_000.0
TRIM = 0.95
"""Share of the probes that a trimmed mean keeps: the fastest."""
WINDOW = 4
"""Intervals over which goodput and responsiveness must be stable (the draft's moving average distance)."""
TOLERANCE = 0.05
"""Largest standard deviation of a stable value, as a share of its latest value."""
CLASSES = ((300.0, "poor"), (1000.0, "acceptable"), (6000.0, "good"))
"""RPM below which responsiveness has this name; from the last on it is excellent (section 1.2 of the draft)."""


def category(rpm: float) -> str:
    """What the draft calls this responsiveness."""
    return next((name for edge, name in CLASSES if rpm < edge), "excellent")


def trimmed_mean(times_ms: Sequence[float], kept: float = TRIM) -> float:
    """The one-sided trimmed mean: the mean of the shortest `kept` of all times, in ms.

    Raises:
        ValueError: There is no time.
    """
    if not times_ms:
        raise ValueError("no times to average")
    # 0.95 * 20 is 19, also where a double is slightly above it.
    return fmean(sorted(times_ms)[: max(1, math.ceil(kept * len(times_ms) - 1e-9))])


def rpm(tcp_ms: float, tls_ms: float | None, http_ms: float, loaded_ms: float) -> float:
    """Responsiveness in RPM: the mean of that on new connections and that on loaded ones.

    The draft averages the two rates. Drafts before version 05 averaged times, which gives lower numbers.

    Args:
        tcp_ms: Trimmed mean of the TCP handshakes on new connections.
        tls_ms: The same of the TLS handshakes, per round trip. None: the test has no TLS, and the mean has two terms.
        http_ms: The same of requests and responses on new connections.
        loaded_ms: The same of requests and responses on load-generating connections.

    Raises:
        ValueError: A time is not positive.
    """
    terms = [tcp_ms, http_ms] if tls_ms is None else [tcp_ms, tls_ms, http_ms]
    if min(*terms, loaded_ms) <= 0:
        raise ValueError("round trips take longer than 0 ms")
    return (MINUTE_MS / fmean(terms) + MINUTE_MS / loaded_ms) / 2


def is_stable(values: Sequence[float]) -> bool:
    """Whether the last `WINDOW` values deviate by less than `TOLERANCE` of the latest (population standard deviation)."""
    last = values[-WINDOW:]
    return len(last) == WINDOW and pstdev(last) < TOLERANCE * last[-1]


def _score(evidence: Evidence) -> Score | Missing:
    probes, ping = evidence.exchanges, evidence.ping
    if probes is not None:
        found = rpm(probes.tcp_ms, probes.tls_ms, probes.http_ms, probes.loaded_ms)
        times = [
            ("TCP handshake", probes.tcp_ms),
            ("TLS handshake", probes.tls_ms),
            ("HTTP on a new connection", probes.http_ms),
        ]
        times.append(("HTTP on a loaded connection", probes.loaded_ms))
        settled = "stable" if probes.stable else "not yet stable"
        secure = "" if probes.tls_ms is not None else ", without TLS"
        return Score(
            found,
            f"{found:,.0f} RPM ({category(found)})",
            tuple(Input(name, value, "ms") for name, value in times if value is not None),
            f"trimmed means of {probes.from_s:g} s to {probes.to_s:g} s{secure}; {settled}",
        )
    if ping is None:
        return Missing('a ping (`traffic = "ping"`), or the experiment `responsiveness`')
    found = MINUTE_MS / ping.mean_ms
    return Score(
        found,
        f"{found:,.0f} RPM ({category(found)})",
        (Input("mean RTT", ping.mean_ms, "ms"),),
        f"estimated from {ping.called}: one round trip per exchange, no TLS",
        version=f"estimate after {VERSION}",
    )


JUDGE = Judge(
    "rpm", "Responsiveness", VERSION, "RPM",
    "Round trips per minute under load: below 300 poor, below 1000 acceptable, below 6000 good, else excellent.",
    _score,
)  # fmt: skip
