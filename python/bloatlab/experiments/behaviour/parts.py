"""Paths, flows and readings that the cases share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bloatlab import units
from bloatlab.experiments import phrases
from bloatlab.experiments.claim import Cases, Metrics

if TYPE_CHECKING:
    from bloatlab.result import Result

Document = dict[str, Any]
"""A scenario without its name."""

PACKET = 1500
"""Bytes of a full packet."""
MSS = 1448
"""Payload of it."""
SEEDS = tuple(range(42, 47))
"""The seeds of a case in which anything is random."""
OURS = "the bound is ours"
"""How the note of a claim begins whose source gives a rule without a number."""


def run_key(case: str, seed: int) -> str:
    """The key of one run among the published runs."""
    return f"{case} #{seed}"


def runs_of(cases: Cases, case: str) -> list[Metrics]:
    """The metrics of the runs of a case, one for each seed."""
    return [metrics for key, metrics in cases.items() if key.partition(" #")[0] == case]


@dataclass(frozen=True)
class Reading:
    """A number of each run of a case, and its mean over the seeds."""

    case: str
    read: Callable[[Metrics], float]

    def each(self, cases: Cases) -> list[float]:
        """The number of each seed."""
        return [self.read(metrics) for metrics in runs_of(cases, self.case)]

    def __call__(self, cases: Cases) -> float | None:
        """The mean; `None` without runs of the case."""
        values = self.each(cases)
        return fmean(values) if values else None

    def span(self, cases: Cases, digits: int = 3) -> str:
        """The smallest and the largest value of the seeds."""
        return span(self.each(cases), digits)


@dataclass(frozen=True)
class Combined:
    """A number made of several readings. The combination is of their means."""

    readings: tuple[Reading, ...]
    combine: Callable[[Sequence[float]], float]

    def each(self, cases: Cases) -> list[float]:
        """The number of each seed."""
        return [self.combine(values) for values in zip(*(one.each(cases) for one in self.readings), strict=False)]

    def __call__(self, cases: Cases) -> float | None:
        """The number from the means; `None` without the runs of all cases."""
        means = [mean for one in self.readings if (mean := one(cases)) is not None]
        return self.combine(means) if len(means) == len(self.readings) else None


def span(values: Sequence[float], digits: int = 3) -> str:
    """The smallest and the largest of some values, such as `17 to 20`."""
    return phrases.span(values, lambda value: f"{value:.0f}" if value >= 100 else f"{value:.{digits}g}")


def packets(mbps: float, seconds: float) -> float:
    """Full packets that a link sends in a time; for an RTT this is the bandwidth-delay product."""
    return mbps * 1e6 * seconds / 8 / PACKET


def bottleneck(
    mbps: float, rtt_ms: float, queue: Any, flows: Sequence[Mapping[str, Any]], *, stop: float, warmup: float
) -> Document:
    """Flows that share a link; times in seconds."""
    return {
        "duration": f"{stop:g}s",
        "warmup": f"{warmup:g}s",
        "dumbbell": {"rate": f"{mbps:g}Mbit/s", "rtt": f"{rtt_ms:g}ms", "queue": queue},
        "flows": [{"start_jitter": "100ms", **flow} for flow in flows],
    }


def fifo(mbps: float, seconds: float) -> dict[str, Any]:
    """A FIFO with the limit of what the link sends in a time."""
    return {"kind": "fifo", "limit": f"{round(packets(mbps, seconds))}p"}


def flow(case: str, metric: str, name: str = "flow_1") -> Reading:
    """A metric of one flow."""
    return Reading(case, lambda run: float(run["flow_metrics"][name][metric]))


def link(case: str, metric: str) -> Reading:
    """A metric of the bottleneck."""
    return Reading(case, lambda run: float(run["link_metrics"]["bottleneck"][metric]))


def total(case: str, metric: str, over: float = 1.0) -> Reading:
    """Sum of a metric over the flows of a case, in another unit."""
    return Reading(case, lambda run: math.fsum(flow[metric] for flow in run["flow_metrics"].values()) / over)


def share(case: str, name: str) -> Reading:
    """Share of a flow in the throughput of all flows."""

    def read(run: Metrics) -> float:
        flows = run["flow_metrics"]
        return float(flows[name]["mean_throughput_l4"]) / math.fsum(f["mean_throughput_l4"] for f in flows.values())

    return Reading(case, read)


def warmup(run: Result) -> float:
    """Seconds of a run that are not measured."""
    return units.duration(run.scenario["warmup"])
