"""Our runs of the survey in ns-2 2.35, made by `tests/parity/ns2_survey.py`: means over five seeds, ten at the base point."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bloatlab.experiments.aqm_survey.cases import EXACT, Point
from bloatlab.experiments.aqm_survey.measures import MEASURES
from bloatlab.experiments.aqm_survey.setup import PUBLISHED, QUEUES, mbps

FILE = Path(__file__).with_name("ns2_survey.csv")
SLIDES, COLLIDING, DISTINCT = 11, 2, 17
"""Numbers of the first sender's node. With 11, a Reno and a LEDBAT flow share a queue of DRR and no flows share one of
SFQ, which fits slide 15. With 2, a Reno and a LEDBAT flow share a queue of SFQ. With 17, no flows share one of DRR."""

DATA = "ledbat-data"
"""LEDBAT that ignores the delay of the first packet, which is a SYN of 40 bytes in ns-2."""


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


@cache
def means() -> Mapping[Cell, Mapping[str, float]]:
    """The metrics of each cell. A class without flows has none."""
    with FILE.open(newline="") as rows:
        return {
            Cell(
                row["queue"],
                row["ccp"],
                float(row["cap"]),
                int(row["buf"]),
                int(row["wld"]),
                row["mode"],
                int(row["first"]),
            ): {name: float(row[name]) for name in MEASURES if row[name]}
            for row in csv.DictReader(rows)
        }


def metrics(point: Point) -> Mapping[str, float]:
    """The means of all metrics over the runs of a point.

    Raises:
        KeyError: Not run.
    """
    exact = point.queue == EXACT.queue
    queue = QUEUES["drr" if exact else point.queue]
    first = DISTINCT if exact else SLIDES
    return means()[Cell(queue, point.ccp, mbps(point.cap), point.buf, point.wld, point.mode, first)]
