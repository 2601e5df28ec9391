"""Fairness between flows of one congestion control: equal or different starts, and different RTTs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab.experiments import parameters as read
from bloatlab.experiments.ccperf.base import SHARED, CcPerf
from bloatlab.experiments.parameters import Parameter


class SynchronousFairness(CcPerf):
    """All flows start at once."""

    name = "synchronous-fairness"
    title = "Flows that start together"
    summary = (
        "Equal flows start at the same instant and share one bottleneck until the end. How fair are they, and how long "
        "is the delay?"
    )
    criteria = SHARED
    defaults: ClassVar[Mapping[str, Any]] = {"k": 2}
    own_axes: ClassVar[Mapping[str, Any]] = {"k": [2, 10]}


class StartTimeFairness(CcPerf):
    """A second flow starts later."""

    name = "start-time-fairness"
    title = "A flow that starts later"
    summary = (
        "A second flow starts when the first has filled the path. Which share of the rate does it get, and how long is "
        "the delay?"
    )
    criteria = SHARED
    defaults: ClassVar[Mapping[str, Any]] = {"k": 2}
    own = (
        Parameter(
            "later", "1.87s", "s",
            allowed="a duration such as 1.87s", help="each flow starts this much after the one before it",
            read=read.duration, published="1.87s",
        ),
    )  # fmt: skip

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The flows with their different starts."""
        document = super().scenario(params)
        document["flows"][0]["start_interval"] = params["later"]
        return document


PUBLISHED_PAIR = ("97ms", "76ms")
SHORTEST, LONGEST = 10, 81
"""RTTs in ms; those of more than two flows are evenly spaced between them (CCPerf states 10-81 ms for ten flows)."""


class RttFairness(CcPerf):
    """Each flow has another RTT."""

    name = "rtt-fairness"
    title = "Flows with different RTTs"
    summary = (
        "Two flows with RTTs of 97 and 76 ms, and ten with 10 to 81 ms, share one bottleneck. How much throughput do "
        "the flows with a long RTT lose?"
    )
    criteria = SHARED
    defaults: ClassVar[Mapping[str, Any]] = {"k": 2, "rtt": "97ms"}
    own_axes: ClassVar[Mapping[str, Any]] = {"k": [2, 10]}

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """One flow per RTT."""
        document = super().scenario(params)
        flow = {name: value for name, value in document["flows"][0].items() if name != "count"}
        document["flows"] = [
            {"name": f"flow_{number}_{rtt}", "rtt": rtt, **flow} for number, rtt in enumerate(rtts(params["k"]), 1)
        ]
        return document


def rtts(flows: int) -> list[str]:
    """RTTs of `flows` flows."""
    if flows <= len(PUBLISHED_PAIR):
        return list(PUBLISHED_PAIR[:flows])
    step = (LONGEST - SHORTEST) / (flows - 1)
    return [f"{round(SHORTEST + step * place)}ms" for place in range(flows)]
