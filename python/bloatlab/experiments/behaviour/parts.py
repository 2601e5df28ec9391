"""Paths, flows and readings that the cases share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bloatlab.experiments.claim import Cases

Document = dict[str, Any]
"""A scenario without its name."""
Value = Callable[[Cases], float | None]

PACKET = 1500
"""Bytes of a full packet."""
MSS = 1448
"""Payload of it."""


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


def flow(case: str, metric: str, name: str = "flow_1") -> Value:
    """A metric of one flow."""
    return lambda cases: float(cases[case]["flow_metrics"][name][metric])


def link(case: str, metric: str) -> Value:
    """A metric of the bottleneck."""
    return lambda cases: float(cases[case]["link_metrics"]["bottleneck"][metric])


def mean(case: str, metric: str) -> Value:
    """Mean of a metric over the flows of a case."""

    def value(cases: Cases) -> float:
        flows = cases[case]["flow_metrics"].values()
        return math.fsum(flow[metric] for flow in flows) / len(flows)

    return value


def total(case: str, metric: str, over: float) -> Value:
    """Sum of a metric over the flows of a case, in another unit."""

    def value(cases: Cases) -> float:
        return math.fsum(flow[metric] for flow in cases[case]["flow_metrics"].values()) / over

    return value


def share(case: str, name: str) -> Value:
    """Share of a flow in the throughput of all flows."""

    def value(cases: Cases) -> float:
        flows = cases[case]["flow_metrics"]
        return float(flows[name]["mean_throughput_l4"]) / math.fsum(f["mean_throughput_l4"] for f in flows.values())

    return value
