"""Flows of one congestion control that share: started together, one after the other, with unequal round trips."""

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
        "Equal flows start at the same instant and share one bottleneck to the end: how evenly, and at what delay."
    )
    criteria = SHARED
    defaults: ClassVar[Mapping[str, Any]] = {"k": 2}
    own_axes: ClassVar[Mapping[str, Any]] = {"k": [2, 10]}


class StartTimeFairness(CcPerf):
    """A second flow comes later."""

    name = "start-time-fairness"
    title = "A flow that comes later"
    summary = "A second flow starts when the first has filled the path: what it gets of the rate, and at what delay."
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
        """The flows one after the other."""
        document = super().scenario(params)
        document["flows"][0]["start_interval"] = params["later"]
        return document


PUBLISHED_PAIR = ("97ms", "76ms")
SHORTEST, LONGEST = 10, 81
"""ms; round trips of more than two flows lie between, at even distances (CCPerf prints those of ten as 10-81 ms)."""


class RttFairness(CcPerf):
    """Each flow has a round trip of its own."""

    name = "rtt-fairness"
    title = "Flows with unequal round trips"
    summary = (
        "Two flows with round trips of 97 and 76 ms, and ten with 10 to 81 ms, share one bottleneck: how much the far "
        "ones lose to the near ones."
    )
    criteria = SHARED
    defaults: ClassVar[Mapping[str, Any]] = {"k": 2, "rtt": "97ms"}
    own_axes: ClassVar[Mapping[str, Any]] = {"k": [2, 10]}

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """One flow per round trip."""
        document = super().scenario(params)
        flow = {name: value for name, value in document["flows"][0].items() if name != "count"}
        document["flows"] = [
            {"name": f"flow_{number}_{rtt}", "rtt": rtt, **flow} for number, rtt in enumerate(rtts(params["k"]), 1)
        ]
        return document


def rtts(flows: int) -> list[str]:
    """Round trips of so many flows."""
    if flows <= len(PUBLISHED_PAIR):
        return list(PUBLISHED_PAIR[:flows])
    step = (LONGEST - SHORTEST) / (flows - 1)
    return [f"{round(SHORTEST + step * place)}ms" for place in range(flows)]
