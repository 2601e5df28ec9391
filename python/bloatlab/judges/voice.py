"""Quality of a call as a mean opinion score (MOS): the E-model of ITU-T G.107, with the delay impairment simplified."""

from __future__ import annotations

from bloatlab.judges.base import Evidence, Input, Judge, Missing, Score

VERSION = "ITU-T G.107, simplified (Cole and Rosenbluth 2001)"
BASE = 93.2
"""Rating of a call over a perfect network with the default values of G.107."""
KNEE_MS = 177.3
"""One-way delay above which a conversation suffers much more."""
ROBUSTNESS = 4.3
"""Packet-loss robustness factor Bpl of G.711 without concealment (ITU-T G.113)."""
CONCEALED = 25.1
"""The same with the packet loss concealment of G.711 Appendix I."""
PACKET_MS = 20.0
"""Voice in a packet: it leaves that much after its first sample was spoken."""
LATE = 0.01
"""Share of the packets that arrive after their play-out: the buffer is as long as the 99th percentile of the delay."""


def rating(delay_ms: float, loss_percent: float = 0.0, *, burst: float = 1.0, robustness: float = CONCEALED) -> float:
    """Transmission rating R of G.107; at most 93.2, and negative for very bad calls.

    R = 93.2 - 0.024 d - 0.11 max(0, d - 177.3) - 95 p / (p / burst + Bpl)

    Args:
        delay_ms: One-way delay from mouth to ear, d.
        loss_percent: Packets lost or late, p.
        burst: BurstR of G.107: how much longer bursts of losses are than with independent losses.
        robustness: Bpl of the codec.
    """
    delay = 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - KNEE_MS)
    return BASE - delay - 95.0 * loss_percent / (loss_percent / burst + robustness)


def opinion(rated: float) -> float:
    """Mean opinion score of a rating, from 1 (bad) to 4.5 (ITU-T G.107, Annex B)."""
    if rated <= 0:
        return 1.0
    rated = min(rated, 100.0)
    # Just above 0 the polynomial falls below 1, which G.107 does not mean.
    return max(1.0, 1.0 + 0.035 * rated + 7e-6 * rated * (rated - 60.0) * (100.0 - rated))


def mos(delay_ms: float, loss_percent: float = 0.0, *, burst: float = 1.0, robustness: float = CONCEALED) -> float:
    """Mean opinion score of a call. The arguments are those of `rating`."""
    return opinion(rating(delay_ms, loss_percent, burst=burst, robustness=robustness))


def _score(evidence: Evidence) -> Score | Missing:
    call = evidence.call
    if call is None:
        return Missing('a call: a flow of datagrams at a constant rate of at most 200 kbit/s (`traffic = "cbr"`)')
    delay = call.delay_p99_ms + PACKET_MS
    lost = 100 * (1 - (1 - call.loss) * (1 - LATE))
    found = mos(delay, lost)
    whose = f"the call `{call.names[0]}`" if len(call.names) == 1 else f"mean of {len(call.names)} calls"
    return Score(
        found,
        f"MOS {found:.2f}",
        (Input("P99 one-way delay", call.delay_p99_ms, "ms"), Input("loss", 100 * call.loss, "%")),
        f"{whose}; G.711 with concealment, packets of {PACKET_MS:g} ms, a play-out buffer up to the P99 delay, "
        f"for which {100 * LATE:.0f} % of the packets are late, so lost",
    )


JUDGE = Judge(
    "voice_mos", "Voice quality", VERSION, "MOS",
    "Mean opinion score from 1 (bad) to 4.5: from 4.34 users are very satisfied, from 4.03 satisfied, below 3.6 many are not.",
    _score,
)  # fmt: skip
