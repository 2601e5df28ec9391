"""Queues beside ns-3 3.37, 3.44 and 3.48: ten flows at 50 Mbit/s, RTT 40 ms.

`ns3_queues.csv` holds the groups aqm, aqm-ecn and aqm-more of the reference run (see `ns3.py`), figures from 10 s to 60 s.
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
        "ns-3 lets RED's average decay over idle time by its attribute LinkBandwidth, which the reference does not"
        " record: the queue idles a tenth of the time here. With the attribute's default of 1.5 Mbit/s our sojourn"
        " time is 0.4 to 0.6 times ns-3's, with the link's own rate 1 to 1.4 times.",
    ),
    "b": Explanation(
        lambda r: uses("FqCoDel", law="NewReno")(r) or (uses("FqCoDel", law="Ledbat")(r) and generation(r) == "3.48"),
        ALL,
        "ns-3 fills the link less (0.94 to 0.96): its flows lose in step, as its FQ-CoDel shows CoDel the flow's "
        "own backlog. Ours shows it that of all flows, as Linux does, and is held to Linux.",
    ),
    "c": Explanation(
        uses("FqCoDel", law="Bbr"),
        ALL,
        "BBR of ns-3 3.44 and later keeps a whole BDP queued (see deep-buffers), and 3.37 shares unevenly (Jain "
        "0.7); flow queueing does not hide either.",
    ),
    "d": Explanation(
        uses("Fifo", "PfifoFast", law="Cubic"),
        frozenset({"jain", "drop_rate"}),
        "a FIFO of five bandwidth-delay products overflows every ten seconds: which of the ten flows loses then "
        "decides its share, and there are five such moments in a run.",
    ),
    "e": Explanation(
        uses("Fifo", "CoDel", "FqCoDel", law="Vegas"),
        ALL,
        "ns-3 hands Vegas the smoothed RTT (see deep-buffers), which ends slow start early; ours overshoots, and who "
        "comes late takes the queue of the others for the path. A run of ours that read the smoothed RTT came to 15.5 ms "
        "of sojourn in the FIFO (ns-3 7.6, ours 47), a drop rate of 6e-5 instead of 1e-3 in CoDel, and 1.00 of the link "
        "in FQ-CoDel.",
    ),
    "f": Explanation(
        uses("CoDel", "FqCoDel", law="Westwood"),
        ALL,
        "Westwood+ of ns-3 takes too much for the bandwidth where segments are often lost: in 3.44 the estimates of the "
        "ten flows add up to 73.5 Mbit/s on a link of 50 (means from 4 s to 12 s, CoDel), so a loss hardly lowers a "
        "window and CoDel must drop five times as much. Ours counts what was delivered.",
    ),
    "g": Explanation(
        lambda r: generation(r) == "3.37, 3.44",
        ALL,
        "LEDBAT's window of ns-3 up to 3.44 cannot grow after slow start (see deep-buffers). With 3.48 the cells of CoDel "
        "agree within 5 %.",
    ),
    "h": Explanation(
        lambda r: uses("Fifo", law="Ledbat")(r) and generation(r) == "3.48",
        frozenset({"mean_sojourn", "srtt"}),
        "ns-3's slow start does not look at LEDBAT's target (see deep-buffers), so its flows start with a longer queue, "
        "which the later ones take for the path.",
    ),
}


def make() -> Iterable[Cell]:
    """Every metric of every cell whose queue and congestion controls there are."""
    yield from compare(NS3, cells(REFERENCE, ORDER))


NS3 = Reference(
    title="ns-3: queues",
    intro="""Ten flows, 50 Mbit/s, RTT 40 ms, 10 s to 60 s. Theirs: the mean over versions 3.37, 3.44, 3.48 and their seeds.
Ours: the mean over three seeds, with ns-3's defaults for each queue and CUBIC as in Linux, from which ns-3's was
ported.""",
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
