"""The runs of a reproduction: the axes of the slides through the base point, and runs for the findings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from statistics import stdev
from typing import Any

from bloatlab.experiments.aqm_survey import setup
from bloatlab.experiments.aqm_survey.measures import measure
from bloatlab.experiments.aqm_survey.setup import CCPS, CHOKE, EQUAL, PUBLISHED, QUEUES, RENO, SFQ, mbps
from bloatlab.experiments.base import PublishedRun
from bloatlab.experiments.claim import Cases, Metrics

SEED = 42
REPLICATIONS = 10
"""Number of runs of a point, as in the source."""
AT_BASE = 100
"""Number of runs at the base point with LEDBAT, whose values and ranks are judged. The first ten are the source's "
"number."""
LONG = "600s"
OF_LONG = 3
"""Number of runs of 600 s."""
PACKETS = 20_000
"""Packets of 1500 bytes that 4 Mbit/s carry in 60 s."""
CAPS = ("0.25Mbit/s", "0.5Mbit/s", "1Mbit/s", "2Mbit/s", "4Mbit/s", "6Mbit/s", "8Mbit/s", "10Mbit/s")
BUFS = (100, 200, 300, 400)
WLDS = tuple(range(1, 11))
AXES: Mapping[str, Sequence[Any]] = {"cap": CAPS, "buf": BUFS, "wld": WLDS}
FAIR_QUEUES = ("drr", "sfq")
"""Queues with their own buffer size in ns-2."""
TABLES: Mapping[str, Mapping[str, Any]] = {
    "DRR without collisions": {"kind": "drr", "limit": "25000B", "quantum": "250B", "classifier": "exact"},
    "DRR with two shared queues": {
        "kind": "drr", "limit": "25000B", "quantum": "250B", "classifier": "exact", "buckets": setup.FLOWS - 2,
    },
    "SFQ of 60 packets": {**SFQ, "limit": "60p"},
    "SFQ of 100 packets": {**SFQ, "limit": "100p"},
    "RED with CHOKe's thresholds": {"kind": "red", "limit": "400p", **CHOKE, "bandwidth": "4Mbit/s"},
}  # fmt: skip
"""Queues given as a table with parameters. They show causes and are not queues of the source."""


@dataclass(frozen=True)
class Point:
    """A point of the grid, by default the base point of a queue."""

    queue: str
    ccp: str = "ledbat"
    cap: str = "4Mbit/s"
    buf: int = 400
    wld: int = 5
    mode: str = PUBLISHED
    time: str = "60s"
    ccp_start: str | None = None
    start_jitter: str = "100ms"

    @property
    def parameters(self) -> dict[str, Any]:
        """What is set."""
        return {**asdict(self), "queue": TABLES.get(self.queue, self.queue)}

    @property
    def replications(self) -> int:
        """Number of its runs."""
        if self.time == LONG:
            return OF_LONG
        return AT_BASE if self.queue in QUEUES and self == Point(self.queue) else REPLICATIONS

    def case(self, replication: int) -> str:
        """Name of one of its runs."""
        where = f"{mbps(self.cap):g} Mbit/s, {self.buf} packets, {self.wld} of 10 Reno"
        ccp = CCPS.get(self.ccp, "all Reno")
        others = f", {self.time}" if self.time != Point.time else ""
        if self.start_jitter != Point.start_jitter:
            others += f", joining at {self.ccp_start or setup.CCP_START} without spread"
        elif self.ccp_start:
            others += f", joining at {self.ccp_start}"
        return f"{QUEUES.get(self.queue, self.queue)}, {ccp}, {where}, {self.mode}{others}, run {replication + 1}"


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
    yield from (EXACT, TWO_PAIRS, TOGETHER, replace(TOGETHER, ccp="lp"), LATER, AT_ONCE)
    yield from (*NICE_LIMITS, *NICE_STARTS)
    yield from along(LIKE_CHOKE, "wld")
    yield from along(OVERSHOOT, "cap")
    yield from along(Point("fifo", time=LONG), "cap")


EXACT = Point("DRR without collisions")
TWO_PAIRS = Point("DRR with two shared queues")
"""A queue for every flow but two Reno flows, each of which shares one with a LEDBAT flow."""
LIKE_CHOKE = Point("RED with CHOKe's thresholds")
TOGETHER = Point("fifo", start_jitter="0s")
"""The flows of each class start at the same time."""
LATER = replace(TOGETHER, ccp_start="10s")
"""The same, but the low-priority flows join later."""
AT_ONCE = Point("fifo", ccp_start="0s", start_jitter="0s")
"""All flows start at the same time."""
OVERSHOOT = replace(AT_ONCE, ccp="lp")
"""The same with TCP-LP, so that the slow start of all flows overshoots together."""
NICE_LIMITS = tuple(Point(f"SFQ of {packets} packets", "nice") for packets in (60, 100))
NICE_STARTS = (
    *(Point("sfq", "nice", ccp_start=start) for start in ("0s", "2s", "10s")), Point("sfq", "nice", start_jitter="0s"),
)  # fmt: skip
"""What was tried for SFQ with TCP-NICE: more packets, and other starts."""
POINTS: tuple[Point, ...] = tuple(dict.fromkeys(_points()))
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


def error(cases: Cases, point: Point, name: str) -> float:
    """The standard error of the mean."""
    return standard_error(samples(cases, point, name))


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the mean of independent values."""
    return stdev(values) / math.sqrt(len(values))


def means(cases: Cases, point: Point, replications: range | None = None) -> dict[str, float]:
    """The means of all metrics over the runs of a point, or over some of them."""
    chosen = replications or range(point.replications)
    every = [measures_of(cases[point.case(replication)]) for replication in chosen]
    names = dict.fromkeys(name for one in every for name in one)
    return {
        name: math.fsum(found) / len(found) for name in names if (found := [one[name] for one in every if name in one])
    }
