"""The main numbers of a run, from its scenario and its metrics: no table of the run is needed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import fmean
from typing import Any

from bloatlab import language

Metrics = Mapping[str, Any]
"""Metrics of a run, as `--json` has them: scope, entity, metric."""
PING = "ping"


@dataclass(frozen=True)
class Bottleneck:
    """The bottleneck of a run, as for the metrics of the network (docs/results.md).

    It is the link with the lowest mean rate that data crosses, among equal rates the one with the longest mean queue.

    Attributes:
        link: Its name; `None` if the plan of the scenario is not known or has no link with a rate.
        capacity_mbps: Its rate, Mbit/s, its mean if it varies; `None` if it is not known.
        lifetimes_s: The flows whose data crosses it, each with its start and stop, seconds.
    """

    link: str | None
    capacity_mbps: float | None
    lifetimes_s: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class MainNumbers:
    """The numbers of a run that answer most questions. `None` where the run has no such value.

    Attributes:
        throughput_mbps: Payload of the flows whose data crosses the bottleneck, over the time from the first start to the
            last stop, Mbit/s.
        share: The throughput as a share of the bottleneck's rate.
        standing_ms: Mean over those that do not fetch pages of the mean sRTT minus propagation, ms.
        sojourn_ms, sojourn_p95_ms: Time that packets wait at the bottleneck: mean and 95th percentile, ms.
        retransmissions: Retransmissions of these flows.
        srtt_ms: Mean over the same flows of the mean sRTT, ms.
        pings_ms: RTT of each ping: median and 95th percentile, ms.
    """

    throughput_mbps: float | None = None
    share: float | None = None
    standing_ms: float | None = None
    sojourn_ms: float | None = None
    sojourn_p95_ms: float | None = None
    retransmissions: float | None = None
    srtt_ms: float | None = None
    pings_ms: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def queue_ms(self) -> float | None:
        """The standing queue or, without an sRTT, the mean sojourn time at the bottleneck, ms."""
        return self.standing_ms if self.standing_ms is not None else self.sojourn_ms


def main_numbers(scenario: str, metrics: Metrics) -> MainNumbers:
    """The main numbers of a run.

    Args:
        scenario: The canonical scenario.
        metrics: The metrics of the run.
    """
    of_flows, of_links = metrics.get("flow_metrics", {}), metrics.get("link_metrics", {})
    found = bottleneck(scenario, of_links, of_flows)
    mine = {name: of_flows[name] for name in found.lifetimes_s if name in of_flows}
    rate = metrics.get("network_metrics", {}).get("agg_throughput", _carried(mine, found.lifetimes_s))
    traffic = traffic_of(scenario)
    # Clients that fetch pages have no RTT to average between two connections.
    clients = metrics.get("probe_metrics", {})
    long = {name: of for name, of in mine.items() if name not in clients}
    at_link = of_links.get(found.link, {})
    return MainNumbers(
        throughput_mbps=rate,
        share=rate / found.capacity_mbps if rate is not None and found.capacity_mbps else None,
        standing_ms=_mean(long, "mean_est_qdelay_l4"),
        sojourn_ms=at_link.get("mean_sojourn"),
        sojourn_p95_ms=at_link.get("p95_sojourn"),
        retransmissions=_sum(mine, "total_retransmissions_l4"),
        srtt_ms=_mean(long, "mean_srtt_l4"),
        pings_ms={
            name: (values["p50_rtt"], values["p95_rtt"])
            for name, values in metrics.get("probe_metrics", {}).items()
            if traffic.get(name, PING) == PING and {"p50_rtt", "p95_rtt"} <= values.keys()
        },
    )


def bottleneck(scenario: str, of_links: Metrics, of_flows: Metrics) -> Bottleneck:
    """The bottleneck of a run.

    Args:
        scenario: The canonical scenario.
        of_links: Metrics of each link, for links with equal rates.
        of_flows: Metrics of each flow, whose names are taken if the plan of the scenario is not known.
    """
    planned = _plan(scenario)
    flows = planned.every_flow if planned else ()
    data = [flow for flow in flows if flow.traffic != PING]
    crossed = {box for flow in data for box in flow.forward}
    links = [link for name, link in planned.links.items() if name in crossed and link.rate_bps > 0] if planned else []
    if not links:
        return Bottleneck(None, None, dict.fromkeys(of_flows, (0.0, 0.0)))
    rates = {link.name: _rate_mbps(link, of_links.get(link.name, {})) for link in links}
    slowest = min(rates.values())
    found = max(
        (link for link in links if rates[link.name] == slowest),
        key=lambda link: of_links.get(link.name, {}).get("mean_queue_length", 0.0),
    )
    crossing = planned.across(found.name) if planned else []
    lifetimes = {flow.name: (flow.start_ns / 1e9, flow.stop_ns / 1e9) for flow in data if flow.name in crossing}
    return Bottleneck(found.name, slowest, lifetimes)


def _rate_mbps(link: language.Link, metrics: Mapping[str, float]) -> float:
    """The rate of a link, Mbit/s: its mean if it varies, by the share of it that the goodput is."""
    if link.rate_varies and metrics.get("goodput_share"):
        return metrics["goodput"] / metrics["goodput_share"]
    return link.rate_bps / 1e6


@lru_cache(maxsize=256)
def _plan(scenario: str) -> language.Plan | None:
    return language.stored_plan(json.loads(scenario))


def traffic_of(scenario: str) -> dict[str, str]:
    """The kind of traffic of each flow, such as `greedy` or `ping`."""
    planned = _plan(scenario)
    return {flow.name: flow.traffic for flow in planned.every_flow} if planned else {}


def _carried(of_flows: Metrics, lifetimes_s: Mapping[str, tuple[float, float]]) -> float | None:
    """Payload over the time from the first start to the last stop, Mbit/s: a flow's throughput is over its lifetime."""
    rates = {name: of["mean_throughput_l4"] for name, of in of_flows.items() if "mean_throughput_l4" in of}
    if not rates:
        return None
    spans = [lifetimes_s[name] for name in rates]
    length = max(stop for _, stop in spans) - min(start for start, _ in spans)
    if length <= 0:
        return float(sum(rates.values()))
    return float(sum(rate * (lifetimes_s[name][1] - lifetimes_s[name][0]) for name, rate in rates.items())) / length


def _values(of_flows: Metrics, metric: str) -> list[float]:
    return [of[metric] for of in of_flows.values() if metric in of]


def _mean(of_flows: Metrics, metric: str) -> float | None:
    values = _values(of_flows, metric)
    return fmean(values) if values else None


def _sum(of_flows: Metrics, metric: str) -> float | None:
    values = _values(of_flows, metric)
    return float(sum(values)) if values else None


def mean_of(found: Sequence[float | None]) -> float | None:
    """Mean of the values that exist; `None` if there are none."""
    there = [value for value in found if value is not None]
    return fmean(there) if there else None
