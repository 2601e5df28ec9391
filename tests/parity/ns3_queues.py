"""Queues beside ns-3 3.37, 3.44 and 3.48: ten flows at 50 Mbit/s, RTT 40 ms.

`ns3_queues.csv` has the groups aqm, aqm-ecn and aqm-more of the reference (see `ns3.py`), measured from 10 s to 60 s.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from frame import Cell, Explanation, Reference
from ns3 import DROP_RATE, JAIN, MARK_RATE, SOJOURN, SRTT, UTILIZATION, cells, compare, generation, uses

REFERENCE = Path(__file__).with_name("ns3_queues.csv")
ORDER = ("qdisc", "ecn", "cca", "delack")
METRICS = [UTILIZATION, SOJOURN, SRTT, DROP_RATE, MARK_RATE, JAIN]

ALL = frozenset(m.name for m in METRICS)

EXPLANATIONS = {
    "a": Explanation(
        uses("Red"),
        ALL,
        "While RED is idle, ns-3 lets its average decay by the attribute LinkBandwidth, which the reference does not "
        "record. Our queue is idle for a tenth of the time. With the attribute's default of 1.5 Mbit/s, our sojourn "
        "time is 0.4 to 0.6 times that of ns-3. With the rate of the link it is 1 to 1.4 times. CUBIC uses less of the "
        "link in ns-3 because of its PRR (see mixtures, e): 0.85 to 0.86 in 3.44 with two segments per ACK, and 0.987 "
        "to 0.994 with PRR as in RFC 6937 (ours 0.997). A copy of ours with its faults uses 0.904.",
    ),
    "b": Explanation(
        lambda r: (
            uses("FqCoDel", control="NewReno")(r) or (uses("FqCoDel", control="Ledbat")(r) and generation(r) == "3.48")
        ),
        ALL,
        "ns-3 fills the link less (0.94 to 0.96) because of its PRR (see mixtures, e). With one segment per ACK, "
        "NewReno in 3.44 uses 0.91 to 0.94 of the link, and 0.984 with PRR as in RFC 6937 (ours 0.989). A copy of ours "
        "with its faults uses 0.929, and 0.955 with LEDBAT (0.945 in 3.48, 0.989 here). With two segments per ACK, runs "
        "of 3.44 use 0.95 to 0.99, and 0.98 with PRR as in RFC 6937.",
    ),
    "c": Explanation(
        uses("FqCoDel", control="Bbr"),
        ALL,
        "In ns-3 3.44 and later, BBR keeps a whole BDP queued (see deep-buffers). In 3.37 its flows share unevenly "
        "(Jain 0.7). Flow queueing hides neither.",
    ),
    "d": Explanation(
        uses("Fifo", "PfifoFast", control="Cubic"),
        frozenset({"jain", "drop_rate"}),
        "A FIFO of five bandwidth-delay products overflows every ten seconds, so five times per run. Which of the "
        "ten flows loses at these times decides its share.",
    ),
    "e": Explanation(
        uses("Fifo", "CoDel", "FqCoDel", control="Vegas"),
        ALL,
        "ns-3 gives Vegas the smoothed RTT (see deep-buffers), which ends slow start early. Ours overshoots, and "
        "flows that start late take the queue of the others for a part of the path. A test of ours with the "
        "smoothed RTT had a sojourn time of 15.5 ms in the FIFO (ns-3 7.6, ours 47). In CoDel its drop rate was "
        "6e-5 instead of 1e-3, and in FQ-CoDel it used all of the link.",
    ),
    "f": Explanation(
        uses("CoDel", "FqCoDel", control="Westwood"),
        ALL,
        "Westwood+ of ns-3 overestimates the bandwidth where many segments are lost. In 3.44 the estimates of the "
        "ten flows add up to 73.5 Mbit/s on a link of 50 Mbit/s (means from 4 s to 12 s, CoDel). So a loss hardly "
        "reduces a window, and CoDel must drop five times as much. Ours counts delivered bytes.",
    ),
    "g": Explanation(
        lambda r: generation(r) == "3.37, 3.44",
        ALL,
        "Up to 3.44, the window of ns-3's LEDBAT cannot grow after slow start (see deep-buffers). With 3.48 the "
        "cells of CoDel agree within 5 %.",
    ),
    "h": Explanation(
        lambda r: uses("Fifo", control="Ledbat")(r) and generation(r) == "3.48",
        frozenset({"mean_sojourn", "srtt"}),
        "The slow start of ns-3's LEDBAT ignores its target (see deep-buffers). So its flows start with a longer "
        "queue, and later flows take it for a part of the path.",
    ),
}


def make() -> Iterable[Cell]:
    """Every metric of every cell whose queue and congestion controls bloatlab has."""
    yield from compare(NS3, cells(REFERENCE, ORDER))


NS3 = Reference(
    title="ns-3: queues",
    intro="""Ten flows, 50 Mbit/s, RTT 40 ms, measured from 10 s to 60 s. The reference is the mean over versions 3.37, 3.44 and
3.48 and their seeds. Ours is the mean over three seeds, with ns-3's defaults for each queue. CUBIC is that of Linux, from
which ns-3's was ported.""",
    metrics=METRICS,
    explanations=EXPLANATIONS,
    labels={
        "cc": lambda r: r["cca"].replace("Tcp", ""),
        "segments per ACK": lambda r: r["delack"],
        "limit": lambda r: r["qlen"],
        "ns-3": generation,
    },
    section=lambda r: r["qdisc"].replace("QueueDisc", "") + (" ecn" if r["ecn"] == "1" else ""),
    make=make,
)
