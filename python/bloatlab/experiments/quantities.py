"""Numbers that the answers of several experiments state."""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.experiments import criteria, phrases
from bloatlab.experiments.answering import WAIT, Quantity
from bloatlab.experiments.criteria import Metrics


def _utilization(metrics: Metrics) -> float | None:
    """Utilization of the bottleneck; without a link of this name, of the link where packets wait longest."""
    links = metrics.get("link_metrics", {})
    if criteria.BOTTLENECK in links:
        found: float | None = links[criteria.BOTTLENECK].get("utilization")
        return found
    waiting = [link for link in links.values() if "utilization" in link and "mean_sojourn" in link]
    return max(waiting, key=lambda link: link["mean_sojourn"])["utilization"] if waiting else None


USE = Quantity("utilization of the bottleneck", _utilization, phrases.percent, short="utilization")
LOSS = Quantity(
    "loss rate at the bottleneck", criteria.mean_of("link", criteria.BOTTLENECK, "loss_rate"), phrases.percent
)


def waiting(flows: str = "bulk", of: str = "", percentile: int = 95) -> Quantity:
    """A percentile of the queueing delay of some flows."""
    name = f"{ordinal(percentile)} percentile of the queueing delay{of}"
    return Quantity(name, criteria.mean_of("flow", flows, f"p{percentile}_sojourn_l4"), words=WAIT, short="delay")


OF_TRANSFERS = " of the transfers"


def goodput(flows: str = "bulk", name: str = "goodput") -> Quantity:
    """Total goodput of some flows."""
    return Quantity(name, criteria.sum_of("flow", flows, "mean_throughput_l7"), phrases.mbps)


def call(flows: str = "voip", name: str = "call's one-way delay") -> Quantity:
    """99th percentile of the one-way delay of a call."""
    return Quantity(
        f"99th percentile of the {name}",
        criteria.mean_of("flow", flows, "p99_one_way_delay_l4"),
        words=WAIT,
        short="delay",
    )


def page(name: str = "web") -> Quantity:
    """95th percentile of the time to fetch a page."""
    return Quantity(
        "95th percentile of the page load time",
        criteria.mean_of("probe", name, "p95_rtt"),
        words=WAIT,
        short="load time",
    )


def share(part: str, whole: Sequence[str], name: str) -> Quantity:
    """Share of some flows in the goodput of several kinds of flows."""
    sums = [criteria.sum_of("flow", flows, "mean_throughput_l7") for flows in whole]

    def read(metrics: Metrics) -> float | None:
        mine, parts = criteria.sum_of("flow", part, "mean_throughput_l7")(metrics), [of(metrics) for of in sums]
        total = sum(value for value in parts if value is not None)
        return None if mine is None or any(value is None for value in parts) or total <= 0 else mine / total

    return Quantity(name, read, phrases.percent)


def ordinal(number: int) -> str:
    """Such as `95th`."""
    return f"{number}{'th' if 10 <= number % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
