"""Response functions: the window of Reno and of CUBIC for a loss rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from bloatlab.experiments.behaviour.parts import MSS, Combined, Document, Reading, bottleneck, fifo, flow, share, total
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
FLOWS = 4
"""Flows of a run with random losses. Over the seeds these are twenty: at the smallest p the random error is below 3 %."""
DUPLICATES = ", duplicate ACKs"
"""The variant without RACK, tail-loss probes and PRR."""
CYCLES, FIRST = 30, 10
"""Number of losses of a run with even losses, and of those before the warm-up ends."""
CUBIC_CYCLES, CUBIC_FIRST = 150, 110
"""The same above Reno's window. There CUBIC approaches its mean window slowly: after 10 losses it differs by up to 5 % from
that after 110, because the curve is flat at its former maximum."""


def _lossy(
    cca: Any, rtt: float, loss: float, *, even: bool, flows: int, stop: float, warmup: float, **tcp: Any
) -> Document:
    """Flows on a path that loses packets and is never full, with one ACK per segment."""
    flow = {"count": flows, "cca": cca, "tcp": {"ack_every": 1, "min_rto": f"{MIN_RTO:g}s", **tcp}}
    # Nothing is random in a run with even losses.
    made = bottleneck(
        10_000, 1000 * rtt, "infinite", [{**flow, "start_jitter": "0s"} if even else flow], stop=stop, warmup=warmup
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


def _reno(loss: float, variant: str = "") -> str:
    return f"reno, random losses {loss:g}{variant}"


def _cubic(c: float) -> str:
    return "cubic" if c == DEFAULT_C else f"cubic, C = {c:g}"


def _evenly(cca: str, rtt: float, loss: float) -> str:
    return f"{cca}, {1000 * rtt:g} ms, even losses {loss:g}"


def _random(loss: float, **tcp: Any) -> Document:
    return _lossy("reno", RENO_RTT, loss, even=False, flows=FLOWS, stop=460 if loss < 3e-4 else 260, warmup=60, **tcp)


SLOW_AT = (0.1, 1e-4)
"""RTT and loss rate at which CUBIC is run without fast convergence, too."""
PLAIN = ", no fast convergence"
SINGLE: dict[str, Document] = {
    **{_evenly("reno", *at): _even("reno", *at, reno) for at, (reno, *_) in WINDOWS.items()},
    **{
        _evenly(_cubic(c), *at): _even({"kind": "cubic", "c": c}, *at, window, above_reno=window > reno)
        for at, (reno, *windows) in WINDOWS.items()
        for c, window in zip(C, windows, strict=True)
    },
    _evenly("cubic", *SLOW_AT) + PLAIN: _even(
        {"kind": "cubic", "fast_convergence": False}, *SLOW_AT, WINDOWS[SLOW_AT][2], above_reno=True
    ),
}
"""Cases in which nothing is random, so that one run of each is enough."""
CASES: dict[str, Document] = {
    **{_reno(loss): _random(loss) for loss in RENO_LOSSES},
    _reno(RENO_LOSSES[-1], DUPLICATES): _random(RENO_LOSSES[-1], loss_detection="dupack", recovery="classic"),
    **SINGLE,
    "cubic beside reno": bottleneck(
        10, 20, fifo(10, 0.02), [{"name": "cubic", "cca": "cubic"}, {"name": "reno", "cca": "reno"}],
        stop=300, warmup=30,
    ),
}  # fmt: skip


def _rate(case: str, metric: str) -> Reading:
    """Mean over the flows, in segments per round trip."""
    return total(case, metric, FLOWS * 8 * MSS / (1e6 * RENO_RTT))


def _ratio(one: Reading, other: Reading) -> Combined:
    return Combined((one, other), lambda values: values[0] / values[1])


def padhye(loss: float, rtt: float, rto: float) -> float:
    """Segments sent per round trip, with one ACK per segment (b = 1)."""
    timeouts = rto * 3 * math.sqrt(3 * loss / 8) * loss * (1 + 32 * loss**2)
    return rtt / (rtt * math.sqrt(2 * loss / 3) + timeouts)


def _sending_rate(loss: float) -> str:
    return f"reno, random losses {loss:g}: sending rate"


CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            f"reno, random losses {loss:g}: goodput", round(RENO / math.sqrt(loss), 2),
            _rate(_reno(loss), "mean_throughput_l4"), "segments/RTT", SQUARE_ROOT, "derived", relative=WITHIN,
        )
        for loss in RENO_LOSSES
    ),
    *(
        Claim(
            _sending_rate(loss), round(padhye(loss, RENO_RTT, RENO_RTT + MIN_RTO), 2),
            _rate(_reno(loss), "mean_sending_rate_l4"), "segments/RTT",
            f"{PADHYE}, timeout of RTT + {MIN_RTO:g} s", "derived", relative=WITHIN,
        )
        for loss in RENO_LOSSES
    ),
    *(
        Claim(
            f"{_evenly('reno', *at)}: window", reno, flow(_evenly("reno", *at), "mean_cwnd_l4"), "segments",
            f"{TABLE}, Reno", "stated", relative=WITHIN,
        )
        for at, (reno, *_) in WINDOWS.items()
    ),
    *(
        Claim(
            f"{_evenly(_cubic(c), *at)}: window", window, flow(_evenly(_cubic(c), *at), "mean_cwnd_l4"), "segments",
            f"{TABLE}, C = {c:g}", "stated", relative=WITHIN,
        )
        for at, (_, *windows) in WINDOWS.items()
        for c, window in zip(C, windows, strict=True)
    ),
    *(
        Claim(
            f"{_evenly('cubic', *at)}: window over reno's", round(windows[C.index(DEFAULT_C)] / reno, 2),
            _ratio(flow(_evenly("cubic", *at), "mean_cwnd_l4"), flow(_evenly("reno", *at), "mean_cwnd_l4")),
            "", f"{TABLE}: 1 in the Reno-friendly region", "stated", relative=WITHIN,
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


def _why_few_timeouts(cases: Cases) -> str:
    loss = RENO_LOSSES[-1]
    few, many = (math.fsum(total(_reno(loss, variant), "total_rtos_l4").each(cases)) for variant in ("", DUPLICATES))
    rate = _rate(_reno(loss, DUPLICATES), "mean_sending_rate_l4")(cases)
    return (
        f"RACK and tail-loss probes avoid the timeouts of the model: there are {few:.0f} in all runs. With duplicate ACKs "
        f"and without PRR there are {many:.0f}, and the rate is {rate:.3g}"
    )


def _recovering(cases: Cases) -> str:
    shares = []
    for loss in (1e-2, 1e-3, 1e-4):
        case = _evenly("reno", RENO_RTT, loss)
        time, count, length = (
            flow(case, metric)(cases) or 0.0
            for metric in ("mean_recovery_time_l4", "total_recoveries_l4", "flow_completion_time_l4")
        )
        shares.append(f"{time * count / length / 10:.2g} % of the time at p = {loss:g}" if length else "")
    return (
        "the window does not grow during a recovery, which the formula leaves out. With even losses, Reno recovers for "
        + ", ".join(filter(None, shares))
    )


def _without_fast_convergence(cases: Cases) -> str:
    case = _evenly("cubic", *SLOW_AT)
    with_it, without = (flow(one, "mean_cwnd_l4")(cases) or math.nan for one in (case, case + PLAIN))
    return (
        f"the formula has no fast convergence. At p = {SLOW_AT[1]:g} and 100 ms, the window is {with_it:.0f} segments with it, "
        f"{without:.0f} without it, and {WINDOWS[SLOW_AT][2]} in the formula"
    )


REASONS: Mapping[str, Callable[[Cases], str]] = {_sending_rate(RENO_LOSSES[-1]): _why_few_timeouts}
NOTES: Mapping[str, Callable[[Cases], str]] = {
    f"{_reno(RENO_LOSSES[-1])}: goodput": _recovering,
    **{f"{_evenly('reno', *at)}: window": _recovering for at in WINDOWS if at[1] == 1e-2},
    **{
        f"{_evenly(_cubic(c), *at)}: window": _without_fast_convergence
        for at, (reno, *windows) in WINDOWS.items()
        for c, window in zip(C, windows, strict=True)
        if window > reno
    },
    **{
        f"{_evenly('cubic', *at)}: window over reno's": _without_fast_convergence
        for at, (reno, *windows) in WINDOWS.items()
        if windows[C.index(DEFAULT_C)] > reno
    },
}
"""Why a value that holds differs, computed from the runs."""
