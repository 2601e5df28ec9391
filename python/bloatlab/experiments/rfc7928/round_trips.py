"""Flows with different RTTs, and links with a long RTT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab import units
from bloatlab.experiments import criteria, phrases, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Quantity
from bloatlab.experiments.criteria import Criterion, Metrics, sum_of
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.rfc7928.base import Rfc7928, bulk, common, page, web


def _evenness(metrics: Metrics) -> float | None:
    first = sum_of("flow", "bulk_first", "mean_throughput_l7")(metrics)
    second = sum_of("flow", "bulk_second", "mean_throughput_l7")(metrics)
    return None if first is None or second is None else min(first, second) / max(first, second, 1e-9)


class RttFairness(Rfc7928):
    """Flows with an RTT of 100 ms beside flows with 5 to 560 ms."""

    name = "rfc7928-rtt-fairness"
    title = "Flows with different RTTs"
    question = "How does each queue divide the capacity between flows with short and with long RTTs?"
    summary = (
        "Flows with an RTT of 100 ms share the bottleneck with flows with a shorter or longer RTT. How does the queue "
        "divide the capacity between them?"
    )
    section = "section 6"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        Parameter(
            "rtt_2", "20ms", "s",
            allowed="a duration such as 20ms", help="two-way propagation of the flows of category II",
            read=read.duration, published="5ms to 560ms",
        ),
        shared.count("flows", 2, "flows", "flows of each category", low=1),
        shared.cca("newreno"),
    )  # fmt: skip
    own_axes: ClassVar[Mapping[str, Any]] = {"rtt_2": ["5ms", "20ms", "200ms", "560ms"]}
    asked = (
        Quantity("goodput of the slower flows, relative to the faster,", _evenness, phrases.percent),
        quantities.waiting(),
    )
    carried = None
    criteria: ClassVar[tuple[Criterion, ...]] = (
        Criterion(
            "evenness", "fairness between the RTTs", "", "higher", "fairness",
            "smaller goodput of the two groups of flows / larger goodput", _evenness,
        ),
        criteria.fairness(),
        *criteria.delay(),
        criteria.goodput(),
        criteria.loss(),
        criteria.synchronization(),
    )  # fmt: skip

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """RFC 7928 section 3.2: the buffer follows the largest RTT."""
        largest = max(values["rtt"], values["rtt_2"], key=units.duration)
        values["qlen"] = super().derive({**values, "rtt": largest})["qlen"]
        return values

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The flows of the two categories."""
        return [
            bulk(params, params["flows"], params["cca"], f"bulk_{name}", rtt=rtt)
            for name, rtt in (("first", params["rtt"]), ("second", params["rtt_2"]))
        ]


class Rural(Rfc7928):
    """A slow link with a long RTT."""

    name = "rfc7928-rural"
    title = "A slow link over a satellite"
    question = "Which queue keeps a call and pages usable on a slow link with the RTT of a satellite?"
    summary = (
        "A call, pages and two long flows use a slow link with an RTT of 560 ms. To send one full packet takes as long "
        "as the target delay of some queues."
    )
    section = "section 6.2 (560 ms, a satellite's round trip); rates and traffic are ours"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        shared.count("flows", 2, "flows", "long flows", low=1),
        page(),
        rate="1Mbit/s",
        rtt="560ms",
        stop="120s",
        warmup="20s",
    )
    own_axes: ClassVar[Mapping[str, Any]] = {"rate": ["512kbit/s", "2Mbit/s"]}
    asked = (quantities.call(), quantities.page())
    filling = quantities.waiting(of=quantities.OF_TRANSFERS)
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *criteria.delay(),
        *criteria.voip(group="call"),
        *criteria.web(group="pages"),
        criteria.goodput(),
        criteria.fairness(),
        criteria.loss(),
    )

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Long flows, a call and pages."""
        return [bulk(params, params["flows"], "cubic"), shared.call(), web(params)]
