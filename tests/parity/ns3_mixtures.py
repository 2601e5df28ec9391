"""Mixtures beside ns-3 3.37, 3.44 and 3.48: LEDBAT beside NewReno, and one congestion control at two RTTs.

`ns3_mixtures.csv` has two groups of the reference (see `ns3.py`). reno-ledbat: ten flows at 4 Mbit/s and 50 ms, every
other one LEDBAT, measured from 30 s to 180 s. rtt-fairness: two flows at 50 Mbit/s, with 20 and 80 ms, measured from
10 s to 60 s. Its rows with a FIFO and one segment per ACK are runs of ours with `ns3_dumbbell.cc` (see
`ns3_congestion_controls.py`). They also have longer RTTs of the second flow, up to the time of one packet (0.24 ms) more.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from frame import Cell, Explanation, Reference, Row
from ns3 import DROP_RATE, JAIN, SHARE, SOJOURN, SRTT, UTILIZATION, cells, compare, generation, rtts, uses

REFERENCE = Path(__file__).with_name("ns3_mixtures.csv")
ORDER = ("rtt", "cca", "qdisc", "delack")
METRICS = [UTILIZATION, SHARE, SOJOURN, SRTT, DROP_RATE, JAIN]

ALL = frozenset(m.name for m in METRICS)
PHASES = "20 ms and about 80 ms, one segment per ACK"
BOTH = "20 ms and 80 ms"


def phase_decides(row: Row) -> bool:
    """Whether the place of an arrival within the time of one packet decides the shares."""
    return section(row) == PHASES or (row["rtt"] == "20,80" and uses("Fifo", control="Cubic")(row))


def section(row: Row) -> str:
    """The group of the reference."""
    if "TcpLedbat" in row["cca"]:
        return "NewReno and LEDBAT"
    return PHASES if uses("Fifo")(row) and row["delack"] == "1" else BOTH


EXPLANATIONS = {
    "a": Explanation(
        lambda r: generation(r) == "3.37, 3.44",
        ALL,
        "Up to 3.44, the window of ns-3's LEDBAT cannot grow after slow start (see deep-buffers). So LEDBAT takes "
        "less and loses less in short queues. In the FIFO its window must not grow anyway, and the cells agree.",
    ),
    "b": Explanation(
        uses("Fifo", control="Ledbat"),
        frozenset({"srtt"}),
        "With one segment per ACK, some NewReno flows of ns-3 spend a long time in timeouts (10 to 582 in all, "
        "depending on the seed) and keep an old sRTT. With more timeouts, the mean sRTT goes from 936 down to 751 "
        "ms while the sojourn time goes up.",
    ),
    "c": Explanation(
        lambda r: generation(r) == "3.48" and not uses("Fifo")(r),
        frozenset({"share"}),
        "LEDBAT and NewReno share evenly here (0.48 to 0.51); in ns-3, LEDBAT has 55 to 58 %. The windows are three "
        "segments, and 5 to 10 % of the packets are lost. The growth of LEDBAT in ns-3 counts bytes again that SACK "
        "had reported before, and its slow start lasts one segment longer. A copy of ours with both rules and ns-3's "
        "filter of three samples gives NewReno 0.443 (0.514 here, 0.446 in ns-3), and with two segments per ACK "
        "0.4093 (0.465 here, 0.4093 in ns-3). RFC 6817 does not say which bytes count; ours counts none twice. "
        "LEDBAT alone agrees within 5 % in CoDel (see the queues).",
    ),
    "d": Explanation(
        uses("Fifo", control="Bbr"),
        ALL,
        "BBR of ns-3 3.37 leaves the link idle: utilization is 0.42 in two of three seeds and 0.96 in the third. "
        "Later versions use 0.97 to 0.98 of the link, as ours does. The mean is over all versions.",
    ),
    "e": Explanation(
        uses("FqCoDel", control="NewReno"),
        frozenset({"mean_sojourn"}),
        "The PRR of ns-3 3.44 and 3.48 has two faults: it counts twice what SACK reports, and a product of 32 bits "
        "overflows from windows of about 64 segments on. So after a loss it sends one segment per duplicate ACK, and "
        "then nothing for half a round trip. What the flow with 80 ms sends has that hole of 44 ms for some ten "
        "seconds. While it is silent, the other flow takes the whole link. When it comes back, packets wait up to 30 "
        "ms, but the queue is empty once in 81 ms, so CoDel does not drop. ns-3 3.44 with PRR as in RFC 6937 has 1.67 "
        "to 1.83 ms with two segments per ACK and 1.74 to 1.94 ms with one (three seeds each), as ours. A copy of ours "
        "with both faults has 4.11 and 4.28 ms.",
    ),
    "f": Explanation(
        phase_decides,
        ALL,
        "A phase effect. Both flows are clocked by the departures of one queue, so what one sends arrives at a fixed "
        "part of a packet's time (0.24 ms) after a departure, and this part decides which flow finds the queue full. "
        "The table moves it by a longer RTT of the second flow: the share of the first goes from a half to nine tenths "
        "and back within the time of one packet, in ns-3 as here, and ours is less than 0.03 ms ahead. At 80 ms "
        "exactly, ns-3 is on one side of the step and ours on the other. CUBIC has such a step at the same place. With "
        "two segments per ACK, its share goes from 0.39 to 0.86 within 0.24 ms (eight seeds each).",
    ),
}


def make() -> Iterable[Cell]:
    """Every metric of every cell."""
    yield from compare(NS3_MIXTURES, cells(REFERENCE, ORDER))


NS3_MIXTURES = Reference(
    title="ns-3: mixtures",
    intro="""Ten flows at 4 Mbit/s and 50 ms, every other one LEDBAT, measured from 30 s to 180 s. Two flows with the same
congestion control at 50 Mbit/s, with 20 and 80 ms, measured from 10 s to 60 s. Rows with a FIFO and one segment per ACK were made
with ns-3 3.44 for this page. Both sides: the mean as for queues. The share
is that of NewReno, or that of the flow with 20 ms.""",
    metrics=METRICS,
    explanations=EXPLANATIONS,
    labels={
        "cc": lambda r: r["cca"].replace("Tcp", ""),
        "RTT ms": lambda r: " ".join(rtts(r)),
        "queue": lambda r: r["qdisc"].replace("QueueDisc", ""),
        "segments per ACK": lambda r: r["delack"],
        "ns-3": generation,
    },
    section=section,
    make=make,
)
