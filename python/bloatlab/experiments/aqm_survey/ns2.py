"""Our runs of the survey in ns-2 2.35, made by `tests/parity/ns2_survey.py`: means over 100 seeds at the base point."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

from bloatlab import units
from bloatlab.experiments.aqm_survey.cases import EXACT, TWO_PAIRS, Point
from bloatlab.experiments.aqm_survey.measures import MEASURES
from bloatlab.experiments.aqm_survey.setup import CCP_START, PUBLISHED, QUEUES, is_reno, mbps

FILE = Path(__file__).with_name("ns2_survey.csv")
SLIDES, COLLIDING, DISTINCT = 11, 2, 17
"""Numbers of the first sender's node. With 11, a Reno and a LEDBAT flow share a queue of DRR and no flows share one of
SFQ, which fits slide 15. With 2, a Reno and a LEDBAT flow share a queue of SFQ. With 17, no flows share one of DRR."""
ALTERNATE = 2
"""Step from a sender's number to the next if a receiver follows each sender. With the first number 2, two Reno flows then
share queues of DRR with two LEDBAT flows, and no flows share one of SFQ."""

DATA = "ledbat-data"
"""LEDBAT that ignores the delay of the first packet, which is a SYN of 40 bytes in ns-2."""
NO_TIMESTAMPS = "lp-no-timestamps"
"""TCP-LP without TCP timestamps, so that it measures no delay."""
ONE_STEP = "lp-one-step"
"""TCP-LP whose window does not grow at an ACK that has just reduced it."""
WITH_ONE_STEP = ("red", "choke", "codel")
"""Queues for which this was run beside other changes."""
SHIPPED, LINUX_TIMEOUT, LINUX_RECOVERY = "ns2", "linux-timeout", "linux-recovery"
"""TCP of all flows: that of ns-2; with Linux's retransmission timeout, 1 s before the first RTT; and in addition with
ssthresh as the window during recovery, instead of half of it."""
AT_ONCE = 0.0
"""Start of flows that are all alike, in seconds."""


LAYOUTS: Mapping[str, tuple[int, int]] = {EXACT.queue: (DISTINCT, 1), TWO_PAIRS.queue: (2, ALTERNATE)}
"""First number and step of the senders' nodes for DRR with other queues shared than on slide 15."""


@dataclass(frozen=True)
class Cell:
    """A point, by default the base point of a queue."""

    queue: str
    """Its name in the source."""
    ccp: str = "ledbat"
    cap: float = 4.0
    """Mbit/s."""
    buf: int = 400
    wld: int = 5
    mode: str = PUBLISHED
    first: int = SLIDES
    """Number of the first sender's node, which decides what flows share a queue of SFQ and DRR."""
    step: int = 1
    """Step from a sender's number to the next."""
    start: float = 5.0
    """Start of the low-priority flows, in seconds."""
    jitter: float = 0.1
    """Largest random delay of each start, in seconds."""
    tcp: str = SHIPPED
    """TCP of all flows."""


@dataclass(frozen=True)
class Row:
    """What the runs of a cell gave."""

    runs: int
    shared: str
    """Numbers of the senders' nodes that share a queue of DRR, as ns-2 prints them, such as `15+16`."""
    means: Mapping[str, float]
    """A class without flows has none."""
    errors: Mapping[str, float]
    """Standard errors of the means."""


@cache
def rows() -> Mapping[Cell, Row]:
    """The runs of each cell."""
    kinds = {"cap": float, "buf": int, "wld": int, "first": int, "step": int, "start": float, "jitter": float}
    with FILE.open(newline="") as lines:
        return {
            Cell(**{one.name: kinds.get(one.name, str)(line[one.name]) for one in fields(Cell)}): Row(
                int(line["runs"]),
                line["shared"],
                {name: float(line[name]) for name in MEASURES if line[name]},
                {name: float(line[f"{name}_error"]) for name in MEASURES if line[name]},
            )
            for line in csv.DictReader(lines)
        }


def row(point: Point, tcp: str = SHIPPED) -> Row:
    """The runs of a point, with one of the TCPs.

    Raises:
        KeyError: Not run.
    """
    if point.time != Point.time:
        raise KeyError(point)
    first, step = LAYOUTS.get(point.queue, (SLIDES, 1))
    queue = QUEUES["drr" if point.queue in LAYOUTS else point.queue]
    start = point.ccp_start or ("0s" if is_reno(point.ccp) else CCP_START)
    times = (units.duration(start), units.duration(point.start_jitter))
    return rows()[Cell(queue, point.ccp, mbps(point.cap), point.buf, point.wld, point.mode, first, step, *times, tcp)]


def metrics(point: Point, tcp: str = SHIPPED) -> Mapping[str, float]:
    """The means of all metrics over the runs of a point.

    Raises:
        KeyError: Not run.
    """
    return row(point, tcp).means


def tried_for_drr() -> list[float]:
    """D_CCP of DRR at the base point of slide 15 in every set-up that was run."""
    base = Cell(QUEUES["drr"])
    return [
        found.means["drop_ccp"]
        for cell, found in rows().items()
        if cell.ccp in ("ledbat", DATA)
        and cell == replace(base, ccp=cell.ccp, first=cell.first, step=cell.step, start=cell.start)
    ]
