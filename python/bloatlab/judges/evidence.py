"""Collects what the judges need from the metrics and tables of a run, whichever engine made it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bloatlab.judges.base import Call, Evidence, Exchanges, Ping

if TYPE_CHECKING:
    from bloatlab.language import Plan

Metrics = Mapping[str, Any]
"""Metrics of one run in the form of `--json`."""
Bin = tuple[float, float, float]
"""Lower and upper edge in ms and weight of one bin of a histogram."""
CALL_MBPS = 0.2
"""Highest rate of a flow of datagrams that counts as a call."""
CALL_PACKETS = 10
"""Fewest packets per second of a call. Codecs send one every 20 to 60 ms."""
STORED = (50, 95, 99)
"""Percentiles of a probe's RTT that are metrics."""
FROM_HISTOGRAM = (90,)
"""Percentiles that profiles of QoO need in addition."""


def collect(
    metrics: Metrics,
    *,
    flows: Collection[str] | None = None,
    intervals_ms: Mapping[str, float] | None = None,
    percentiles_ms: Mapping[str, Mapping[int, float]] | None = None,
    exchanges: Exchanges | None = None,
) -> Evidence:
    """What the judges need from the metrics of a run.

    Args:
        metrics: The metrics.
        flows: The flows whose RTT counts, if they measured one and do not fetch pages. None: all flows.
        intervals_ms: Interval of each ping. Without it, the loss of a ping is not known.
        percentiles_ms: Further percentiles of the RTT of each ping.
        exchanges: What the probes of a responsiveness test measured.
    """
    of_flows, probes = metrics.get("flow_metrics", {}), metrics.get("probe_metrics", {})
    waits = {
        name: float(of["mean_est_qdelay_l4"])
        for name, of in of_flows.items()
        # Clients that fetch pages are probes. Between two connections they have no RTT to average.
        if "mean_est_qdelay_l4" in of and name not in probes and (flows is None or name in flows)
    }
    return Evidence(
        increase_ms=fmean(waits.values()) if waits else None,
        flows=tuple(waits),
        ping=_ping(metrics, intervals_ms or {}, percentiles_ms or {}),
        call=_call(of_flows),
        exchanges=exchanges,
    )


def _ping(
    metrics: Metrics, intervals_ms: Mapping[str, float], percentiles_ms: Mapping[str, Mapping[int, float]]
) -> Ping | None:
    """The ping named `ping`, or else the slowest. Clients that fetch pages are flows too, and no pings."""
    pings = {
        name: of
        for name, of in metrics.get("probe_metrics", {}).items()
        if name not in metrics.get("flow_metrics", {}) and "p95_rtt" in of
    }
    if not pings:
        return None
    name = "ping" if "ping" in pings else max(pings, key=lambda one: float(pings[one]["p95_rtt"]))
    of = pings[name]
    stored = {at: float(of[f"p{at}_rtt"]) for at in STORED if f"p{at}_rtt" in of}
    loss = _loss(of, intervals_ms[name]) if name in intervals_ms else None
    found = {**percentiles_ms.get(name, {}), **stored}
    return Ping(name, float(of["mean_rtt"]), found, loss, int(of["transactions"]), len(pings))


def _loss(of: Mapping[str, float], interval_ms: float) -> float:
    """Share of a ping's requests that were lost. Those of the last `max_rtt` may still have been on their way at the end."""
    replies, missing = of["transactions"], of.get("lost", 0.0)
    lost = max(0.0, missing - math.ceil(of["max_rtt"] / interval_ms)) if interval_ms > 0 else missing
    return float(lost / (replies + lost)) if replies + lost else 0.0


def _call(of_flows: Mapping[str, Mapping[str, float]]) -> Call | None:
    calls = {
        name: of
        for name, of in of_flows.items()
        if "p99_one_way_delay_l4" in of and of.get("mean_sending_rate_l4", math.inf) <= CALL_MBPS and _is_steady(of)
    }
    if not calls:
        return None
    delay = fmean(float(of["p99_one_way_delay_l4"]) for of in calls.values())
    return Call(tuple(calls), delay, fmean(float(of.get("loss_rate_l4", 0.0)) for of in calls.values()))


def _is_steady(of: Mapping[str, float]) -> bool:
    """Whether a flow sends as many packets per second as a call. A flow whose packets were not counted does."""
    return of.get("tx_packets", math.inf) >= CALL_PACKETS * of.get("flow_completion_time_l4", 0.0)


def through_bottleneck(plan: Plan | None, metrics: Metrics) -> list[str] | None:
    """The flows whose data crosses the bottleneck. None: that is not known, so all flows count.

    Args:
        plan: The plan of the scenario; None if this version does not accept the scenario.
        metrics: The metrics of the run.
    """
    if plan is None:
        return None
    names = list(metrics.get("flow_metrics", {}))
    if not {flow.name for flow in plan.every_flow}.issuperset(names):
        return None
    link = bottleneck(plan, metrics.get("link_metrics", {}))
    if link is None:
        return None
    crossing = set(plan.across(link))
    return [name for name in names if name in crossing]


def bottleneck(plan: Plan, of_links: Mapping[str, Mapping[str, float]]) -> str | None:
    """The link that is the bottleneck; `None` if data crosses no link with a rate.

    It is the slowest link that data crosses, among equal rates the one with the longest mean queue. A link whose rate
    varies counts with its mean, as for the metrics of the network.

    Args:
        plan: The plan of the scenario.
        of_links: The metrics of each link.
    """
    links = plan.links
    crossed = {box for flow in plan.flows if flow.traffic != "ping" for box in flow.forward}
    rates = {}
    for name in sorted(crossed & links.keys()):
        rate, own = links[name].rate_bps / 1e6, of_links.get(name, {})
        if links[name].rate_varies and own.get("goodput_share"):
            rate = own["goodput"] / own["goodput_share"]
        if rate > 0:
            rates[name] = rate
    if not rates:
        return None
    equal = [name for name, rate in rates.items() if rate == min(rates.values())]
    return max(equal, key=lambda name: float(of_links.get(name, {}).get("mean_queue_length", 0.0)))


def percentiles(rows: Iterable[tuple[str, float, float, float]]) -> dict[str, dict[int, float]]:
    """The percentiles of each probe's RTT that no metric has.

    Args:
        rows: Name of the probe, lower and upper edge in ms and weight of each bin.
    """
    bins: dict[str, list[Bin]] = {}
    for name, lower, upper, weight in rows:
        bins.setdefault(str(name), []).append((lower, upper, weight))
    return {name: {at: percentile(of, at) for at in FROM_HISTOGRAM} for name, of in bins.items()}


def percentile(bins: Sequence[Bin], at: float) -> float:
    """A percentile of a histogram, in the unit of its edges. Values are taken as uniform within a bin.

    Args:
        bins: The bins; not empty.
        at: The percentile, from 0 to 100.
    """
    ordered = sorted(bins)
    wanted = sum(weight for *_, weight in ordered) * at / 100
    for lower, upper, weight in ordered:
        if weight >= wanted and weight > 0:
            return lower + (upper - lower) * wanted / weight
        wanted -= weight
    return ordered[-1][1]
