"""The runs of a reproduction: the axes of the slides through the base point, and runs for the findings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from bloatlab.experiments.aqm_survey.measures import measure
from bloatlab.experiments.aqm_survey.setup import CCPS, EQUAL, PUBLISHED, QUEUES, RENO, mbps
from bloatlab.experiments.base import PublishedRun
from bloatlab.experiments.claim import Cases, Metrics

SEED = 42
REPLICATIONS = 10
"""Number of runs at the base point, as in the source."""
ON_AXES = 3
"""Number of runs at every other point, which is enough for trends."""
CAPS = ("0.25Mbit/s", "0.5Mbit/s", "1Mbit/s", "2Mbit/s", "4Mbit/s", "6Mbit/s", "8Mbit/s", "10Mbit/s")
BUFS = (100, 200, 300, 400)
WLDS = tuple(range(1, 11))
AXES: Mapping[str, Sequence[Any]] = {"cap": CAPS, "buf": BUFS, "wld": WLDS}
FAIR_QUEUES = ("drr", "sfq")
"""Queues with their own buffer size in ns-2."""
TABLES: Mapping[str, Mapping[str, Any]] = {
    "DRR without collisions": {"kind": "drr", "limit": "25000B", "quantum": "250B", "classifier": "exact"},
}
"""Queues given as a table with parameters."""


@dataclass(frozen=True)
class Point:
    """A point of the grid, by default the base point of a queue."""

    queue: str
    ccp: str = "ledbat"
    cap: str = "4Mbit/s"
    buf: int = 400
    wld: int = 5
    mode: str = PUBLISHED

    @property
    def parameters(self) -> dict[str, Any]:
        """What is set."""
        given = {name: getattr(self, name) for name in ("queue", "ccp", "cap", "buf", "wld", "mode")}
        return {**given, "queue": TABLES.get(self.queue, self.queue)}

    @property
    def replications(self) -> int:
        """Number of its runs."""
        is_base = self == Point(self.queue, self.ccp, mode=self.mode)
        return REPLICATIONS if is_base else ON_AXES

    def case(self, replication: int) -> str:
        """Name of one of its runs."""
        where = f"{mbps(self.cap):g} Mbit/s, {self.buf} packets, {self.wld} of 10 Reno"
        ccp = CCPS.get(self.ccp, "all Reno")
        return f"{QUEUES.get(self.queue, self.queue)}, {ccp}, {where}, {self.mode}, run {replication + 1}"


def along(point: Point, axis: str) -> list[Point]:
    """The points along an axis through a point."""
    return [replace(point, **{axis: value}) for value in AXES[axis]]


def _points() -> Iterable[Point]:
    for ccp in CCPS:
        for queue in QUEUES:
            yield from chain.from_iterable(along(Point(queue, ccp), axis) for axis in AXES)
    for queue in FAIR_QUEUES:
        yield from along(Point(queue, mode=EQUAL), "buf")
    # Slides 7 and 8: CAP with a line per BUF.
    for ccp in ("ledbat", RENO):
        yield from (Point("fifo", ccp, cap, buf) for cap in CAPS for buf in BUFS)


EXACT = Point("DRR without collisions")
POINTS: tuple[Point, ...] = (*dict.fromkeys(_points()), EXACT)
RUNS: Mapping[str, PublishedRun] = {
    point.case(replication): PublishedRun(point.parameters, SEED + replication)
    for point in POINTS
    for replication in range(point.replications)
}
"""Point and seed of each case."""


def measures_of(metrics: Metrics) -> Mapping[str, float]:
    """The survey's metrics of a run, from the store or computed."""
    stored: Mapping[str, float] | None = metrics.get("experiment_metrics")
    return stored or measure(metrics)


def samples(cases: Cases, point: Point, name: str) -> list[float]:
    """Values of a metric in the runs of a point that have it."""
    found = (measures_of(cases[point.case(replication)]) for replication in range(point.replications))
    return [one[name] for one in found if name in one]


def mean(cases: Cases, point: Point, name: str) -> float:
    """The mean over the runs of a point.

    Raises:
        KeyError: No run has this metric.
    """
    found = samples(cases, point, name)
    if not found:
        raise KeyError(name)
    return math.fsum(found) / len(found)


def means(cases: Cases, point: Point) -> dict[str, float]:
    """The means of all metrics over the runs of a point."""
    every = [measures_of(cases[point.case(replication)]) for replication in range(point.replications)]
    names = dict.fromkeys(name for one in every for name in one)
    return {
        name: math.fsum(found) / len(found) for name in names if (found := [one[name] for one in every if name in one])
    }
