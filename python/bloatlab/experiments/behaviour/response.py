"""Response functions: the window of Reno and of CUBIC for a loss rate."""

from __future__ import annotations

import math
from typing import Any

from bloatlab.experiments.behaviour.parts import MSS, Document, Value, bottleneck, fifo, flow, mean, share
from bloatlab.experiments.claim import Cases, Claim

WITHIN = 0.1
"""Tolerance of a tenth; the sources state none. Delayed ACKs would reduce Reno's window to 0.71."""

RENO_RTT = 0.1
RENO_LOSSES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
MIN_RTO = 0.2
RENO = 1.22
SQUARE_ROOT = "RFC 9332 appendix C.2, eq. 5: 1.22 / sqrt(p); RFC 3649 section 5: 1.2 / sqrt(p)"
PADHYE = "RFC 5348 section 3.1: the model of Padhye, Firoiu, Towsley and Kurose 1998, b = 1"
TABLE = "RFC 9438 section 5.1; RFC 8312 section 5.1, tables 1 and 2"
C, DEFAULT_C = (0.04, 0.4, 4.0), 0.4
WINDOWS = {
    (0.1, 1e-2): (12, 12, 12, 12),
    (0.1, 1e-3): (38, 38, 38, 59),
    (0.1, 1e-4): (120, 120, 187, 333),
    (0.1, 1e-5): (379, 593, 1054, 1874),
    (0.01, 1e-2): (12, 12, 12, 12),
    (0.01, 1e-3): (38, 38, 38, 38),
    (0.01, 1e-4): (120, 120, 120, 120),
    (0.01, 1e-5): (379, 379, 379, 379),
}
"""RFC 8312 section 5.1, tables 1 and 2 down to 1e-5: mean windows of Reno and CUBIC by C, RTT (s) and loss rate."""
FAST = "the formula has no fast convergence, with which the window stays 4 to 8 % smaller"
RECOVERY = (
    "the window does not grow during a recovery, which takes a round trip; the formula leaves this out. With even losses, "
    "these are 10.5 % of the time at p = 0.01, 3.6 % at 0.001 and 1.2 % at 0.0001"
)
TIMEOUTS = (
    "with RACK and tail-loss probes, the timeouts of the model hardly ever occur: at p = 0.03 there are 5 in 20 flows, and 378 "
    "with duplicate ACKs and no PRR, where the rate is 5.99"
)
CYCLES, FIRST = 30, 10
"""Number of losses of a run with even losses, and of those before the warm-up ends."""
CUBIC_CYCLES, CUBIC_FIRST = 150, 110
"""The same above Reno's window. There CUBIC approaches its mean window slowly: after 10 losses it differs by up to 5 % from
that after 110, because the curve is flat at its former maximum."""


def _lossy(cca: Any, rtt: float, loss: float, *, even: bool, flows: int, stop: float, warmup: float) -> Document:
    """Flows on a path that loses packets and is never full, with one ACK per segment."""
    tcp = {"ack_every": 1, "min_rto": f"{MIN_RTO:g}s"}
    made = bottleneck(
        10_000, 1000 * rtt, "infinite", [{"count": flows, "cca": cca, "tcp": tcp}], stop=stop, warmup=warmup
    )
    made["sample_interval"] = "1s"
    made["dumbbell"] |= {"loss": loss, "loss_spacing": "even" if even else "random"}
    return made


def _even(cca: Any, rtt: float, loss: float, window: float, *, above_reno: bool = False) -> Document:
    """One flow with losses at equal distances; between two losses there are 1 / (p W) round trips."""
    cycle = max(rtt / (loss * window), 20 * rtt)
    cycles, first = (CUBIC_CYCLES, CUBIC_FIRST) if above_reno else (CYCLES, FIRST)
    stop, warmup = cycles * cycle, first * cycle
    return _lossy(cca, rtt, loss, even=True, flows=1, stop=round(stop, 1), warmup=round(warmup, 1))


def _reno(loss: float) -> str:
    return f"reno, random losses {loss:g}"


def _cubic(c: float) -> str:
    return "cubic" if c == DEFAULT_C else f"cubic, C = {c:g}"


def _evenly(cca: str, rtt: float, loss: float) -> str:
    return f"{cca}, {1000 * rtt:g} ms, even losses {loss:g}"


CASES: dict[str, Document] = {
    # Twenty flows with independent losses: at the smallest p the random error of their mean is below 3 %.
    **{
        _reno(loss): _lossy("reno", RENO_RTT, loss, even=False, flows=20, stop=460 if loss < 3e-4 else 260, warmup=60)
        for loss in RENO_LOSSES
    },
    **{_evenly("reno", *at): _even("reno", *at, reno) for at, (reno, *_) in WINDOWS.items()},
    **{
        _evenly(_cubic(c), *at): _even({"kind": "cubic", "c": c}, *at, window, above_reno=window > reno)
        for at, (reno, *windows) in WINDOWS.items()
        for c, window in zip(C, windows, strict=True)
    },
    "cubic beside reno": bottleneck(
        10, 20, fifo(10, 0.02), [{"name": "cubic", "cca": "cubic"}, {"name": "reno", "cca": "reno"}],
        stop=300, warmup=30,
    ),
}  # fmt: skip


def _rate(case: str, metric: str, rtt: float) -> Value:
    """Mean over the flows, in segments per round trip."""
    of = mean(case, metric)

    def value(cases: Cases) -> float | None:
        mbps = of(cases)
        return None if mbps is None else mbps * 1e6 * rtt / 8 / MSS

    return value


def _ratio(one: Value, other: Value) -> Value:
    def value(cases: Cases) -> float | None:
        above, below = one(cases), other(cases)
        return None if above is None or below is None else above / below

    return value


def padhye(loss: float, rtt: float, rto: float) -> float:
    """Segments sent per round trip, with one ACK per segment (b = 1)."""
    timeouts = rto * 3 * math.sqrt(3 * loss / 8) * loss * (1 + 32 * loss**2)
    return rtt / (rtt * math.sqrt(2 * loss / 3) + timeouts)


CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            f"reno, random losses {loss:g}: goodput", round(RENO / math.sqrt(loss), 2),
            _rate(_reno(loss), "mean_throughput_l4", RENO_RTT), "segments/RTT", SQUARE_ROOT, "derived", relative=WITHIN,
            note=RECOVERY if loss == RENO_LOSSES[-1] else "",
        )
        for loss in RENO_LOSSES
    ),
    *(
        Claim(
            f"reno, random losses {loss:g}: sending rate", round(padhye(loss, RENO_RTT, RENO_RTT + MIN_RTO), 2),
            _rate(_reno(loss), "mean_sending_rate_l4", RENO_RTT), "segments/RTT",
            f"{PADHYE}, timeout of RTT + {MIN_RTO:g} s", "derived", relative=WITHIN,
            note=TIMEOUTS if loss >= 1e-2 else "",
        )
        for loss in RENO_LOSSES
    ),
    *(
        Claim(
            f"{_evenly('reno', *at)}: window", reno, flow(_evenly("reno", *at), "mean_cwnd_l4"), "segments",
            f"{TABLE}, Reno", "stated", relative=WITHIN, note=RECOVERY if at[1] == 1e-2 else "",
        )
        for at, (reno, *_) in WINDOWS.items()
    ),
    *(
        Claim(
            f"{_evenly(_cubic(c), *at)}: window", window, flow(_evenly(_cubic(c), *at), "mean_cwnd_l4"), "segments",
            f"{TABLE}, C = {c:g}", "stated", relative=WITHIN, note=FAST if window > at_reno else "",
        )
        for at, (at_reno, *windows) in WINDOWS.items()
        for c, window in zip(C, windows, strict=True)
    ),
    *(
        Claim(
            f"{_evenly('cubic', *at)}: window over reno's", round(windows[C.index(DEFAULT_C)] / reno, 2),
            _ratio(flow(_evenly("cubic", *at), "mean_cwnd_l4"), flow(_evenly("reno", *at), "mean_cwnd_l4")),
            "", f"{TABLE}: 1 in the Reno-friendly region", "stated", relative=WITHIN,
            note=FAST if windows[C.index(DEFAULT_C)] > reno else "",
        )
        for at, (reno, *windows) in WINDOWS.items()
    ),
)  # fmt: skip

COMPARISON: tuple[Claim, ...] = (
    Claim(
        "cubic beside reno, 20 ms: share of cubic", 0.5, share("cubic beside reno", "cubic"), "",
        f"{TABLE}: as Reno where windows are small", "stated", note="the RFC gives no number for flows that share a queue",
    ),
)  # fmt: skip
