"""The responsiveness test of draft-ietf-ippm-responsiveness-09, evaluated from the series of a run.

The load-generating connections start one after the other. The draft ends the test where goodput and then responsiveness
are stable. A run cannot end itself, so its whole ramp is simulated, and the end is found afterwards by the draft's rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from bloatlab.judges.base import Exchanges
from bloatlab.judges.responsiveness import WINDOW, is_stable, rpm, trimmed_mean

EXPERIMENT = "responsiveness"
"""The experiment whose runs are evaluated."""
LOAD, FOREIGN = "load", "foreign"
"""Begin of the names of load-generating connections, and of the clients that make foreign probes."""
LOAD_COLUMNS = ("time_s", "flow", "throughput_mbps", "srtt_ms")
PROBE_COLUMNS = ("time_s", "probe", "rtt_ms")


@dataclass(frozen=True)
class Interval:
    """What was measured in one interval."""

    goodput_mbps: float
    """Mean of the sum over the load-generating connections."""
    loaded_ms: tuple[float, ...]
    """Samples of the smoothed RTT of load-generating connections."""
    foreign_ms: tuple[float, ...]
    """Times of complete foreign probes: handshake, request and response."""


def intervals(
    length_s: float,
    end_s: float,
    load: Iterable[tuple[float, str, float | None, float | None]],
    probes: Iterable[tuple[float, str, float]],
) -> list[Interval]:
    """Sorts samples into the intervals of a test; an incomplete last interval is left out.

    Args:
        length_s: Length of an interval.
        end_s: Length of the run.
        load: `LOAD_COLUMNS` of the table `flow_series`.
        probes: `PROBE_COLUMNS` of the table `probe_series`.
    """
    count = int(end_s / length_s + 1e-9)
    rates: list[dict[float, float]] = [{} for _ in range(count)]
    loaded: list[list[float]] = [[] for _ in range(count)]
    foreign: list[list[float]] = [[] for _ in range(count)]
    for at, flow, rate, srtt in load:
        # A sample covers the time before it, so one at the end of an interval belongs to it.
        index = int((at - 1e-9) / length_s)
        if not str(flow).startswith(LOAD) or not 0 <= index < count:
            continue
        rates[index][at] = rates[index].get(at, 0.0) + (rate or 0.0)
        if srtt is not None:
            loaded[index].append(srtt)
    for at, probe, time_ms in probes:
        index = int(at / length_s)
        if str(probe).startswith(FOREIGN) and 0 <= index < count:
            foreign[index].append(time_ms)
    return [
        Interval(fmean(sums.values()) if sums else 0.0, tuple(of_load), tuple(of_probes))
        for sums, of_load, of_probes in zip(rates, loaded, foreign, strict=True)
    ]


def evaluate(found: Sequence[Interval], length_s: float, send_buffer_ms: float) -> Exchanges | None:
    """What the test reports: the last `WINDOW` intervals before its end. None: it has too few intervals or probes.

    First the moving average of the goodput has to be stable, and from the next interval on the responsiveness. If that
    does not happen, the test ends with the run, and the result is not stable.

    Args:
        found: The intervals of the run.
        length_s: Length of an interval.
        send_buffer_ms: How long data of a self probe waits in the sender's buffer, behind data not yet sent.
    """
    averages: list[float] = []
    scores: list[float] = []
    saturated = False
    last = None
    for index in range(len(found)):
        window = found[max(0, index + 1 - WINDOW) : index + 1]
        if saturated:
            exchanges = _exchanges(window, index, length_s, send_buffer_ms)
            if exchanges is not None:
                last = exchanges
                scores.append(rpm(exchanges.tcp_ms, exchanges.tls_ms, exchanges.http_ms, exchanges.loaded_ms))
                if is_stable(scores):
                    return Exchanges(**{**vars(exchanges), "stable": True})
        averages.append(fmean(one.goodput_mbps for one in window))
        saturated = saturated or is_stable(averages)
    return last or (
        _exchanges(found[-WINDOW:], len(found) - 1, length_s, send_buffer_ms) if len(found) >= WINDOW else None
    )


def _exchanges(window: Sequence[Interval], index: int, length_s: float, send_buffer_ms: float) -> Exchanges | None:
    """The trimmed means of the intervals up to `index`."""
    loaded = [time for one in window for time in one.loaded_ms]
    foreign = [time for one in window for time in one.foreign_ms]
    if not loaded or not foreign:
        return None
    # A probe on a new connection is two round trips: the handshake, and the request with its response.
    half = trimmed_mean(foreign) / 2
    begin = (index + 1 - len(window)) * length_s
    return Exchanges(
        tcp_ms=half,
        tls_ms=None,
        http_ms=half,
        loaded_ms=trimmed_mean(loaded) + send_buffer_ms,
        from_s=begin,
        to_s=(index + 1) * length_s,
        stable=False,
    )
