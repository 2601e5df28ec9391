"""Fairness between flows of one congestion control: equal or different starts, and different RTTs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab import units
from bloatlab.experiments import answering, criteria, per_flow, phrases, quantities
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.ccperf.base import FLOWS, SHARED, CcPerf
from bloatlab.experiments.parameters import Parameter

JAIN = Quantity("fairness by Jain's index (1: all equal)", criteria.jain(FLOWS), phrases.index)


def _rates(metrics: criteria.Metrics) -> dict[str, float]:
    """Goodput of each flow, Mbit/s, in the order of their numbers."""
    flows = {name: of for name, of in metrics.get("flow_metrics", {}).items() if name.startswith(f"{FLOWS}_")}
    order = sorted(flows, key=lambda name: int(name.split("_")[1]))
    return {name: float(flows[name]["mean_throughput_l7"]) for name in order if "mean_throughput_l7" in flows[name]}


def _evenness(metrics: criteria.Metrics) -> float | None:
    rates = _rates(metrics).values()
    return min(rates) / max(rates) if len(rates) > 1 and max(rates) > 0 else None


def _share_of_last(metrics: criteria.Metrics) -> float | None:
    rates = list(_rates(metrics).values())
    return rates[-1] / sum(rates) if len(rates) > 1 and sum(rates) > 0 else None


def _far_over_near(metrics: criteria.Metrics) -> float | None:
    """Throughput of the flow with the longest RTT over that of the flow with the shortest; names end with the RTT."""
    rates = {units.duration(name.rpartition("_")[2]): rate for name, rate in _rates(metrics).items()}
    return rates[max(rates)] / rates[min(rates)] if len(rates) > 1 and rates[min(rates)] > 0 else None


class SynchronousFairness(CcPerf):
    """All flows start at once."""

    name = "synchronous-fairness"
    title = "Flows that start together"
    question = "Do equal flows that start together get equal shares?"
    summary = (
        "Equal flows start at the same instant and share one bottleneck until the end. How fair are they, and how long "
        "is the delay?"
    )
    criteria = SHARED
    defaults: ClassVar[Mapping[str, Any]] = {"k": 2}
    own_axes: ClassVar[Mapping[str, Any]] = {"k": [2, 10]}

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        groups = runs.by(*self.compared, "k")
        least = Quantity("slowest flow's throughput, relative to the fastest's,", _evenness, phrases.percent)
        return [*answering.contrast(groups, least, JAIN), *answering.only(runs, "cca")]


class StartTimeFairness(CcPerf):
    """A second flow starts later."""

    name = "start-time-fairness"
    title = "A flow that starts later"
    question = "What share does a flow get that starts after another one has filled the path?"
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

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        groups = runs.by(*self.compared)
        latest = Quantity("share of the flow that starts last", _share_of_last, phrases.percent)
        even = f"Equal shares would be {phrases.percent(1 / max(2, int(runs[0].parameters['k'])))}."
        return [
            *answering.contrast(groups, latest, quantities.waiting(FLOWS)),
            *([even] if len(runs.values("k")) == 1 else []),
            *answering.only(runs, "cca"),
        ]

    def flows(self, params: Mapping[str, Any], shared: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The flows with their different starts."""
        found = super().flows(params, shared)
        if params["start_times"]:
            return found
        if len(found) == 1:
            return [{**found[0], "start_interval": params["later"]}]
        later = units.duration(params["later"])
        return [{**flow, "start": f"{number * later:.9g}s"} for number, flow in enumerate(found)]


PUBLISHED_PAIR = ("97ms", "76ms")
SHORTEST, LONGEST = 10, 81
"""RTTs in ms; those of more than two flows are evenly spaced between them (CCPerf states 10-81 ms for ten flows)."""


class RttFairness(CcPerf):
    """Each flow has another RTT."""

    name = "rtt-fairness"
    title = "Flows with different RTTs"
    question = "How much throughput does a flow with a long RTT get beside one with a short RTT?"
    summary = (
        "Two flows with RTTs of 97 and 76 ms share one bottleneck, or ten flows with RTTs of 10 to 81 ms do. All flows of "
        "a run have the same congestion control."
    )
    criteria = SHARED
    defaults: ClassVar[Mapping[str, Any]] = {"k": 2, "rtt": "97ms"}
    own_axes: ClassVar[Mapping[str, Any]] = {"k": [2, 10]}

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        groups = runs.by(*self.compared, "k")
        slowest = Quantity(
            "throughput at the longest RTT, relative to that at the shortest,", _far_over_near, phrases.percent,
        )  # fmt: skip
        return [*answering.contrast(groups, slowest, JAIN), *answering.only(runs, "cca")]

    def flows(self, params: Mapping[str, Any], shared: Mapping[str, Any]) -> list[dict[str, Any]]:
        """One flow per RTT."""
        given = params["rtts"] or rtts(params["k"])
        each = per_flow.flows({**params, "rtts": given}, shared)
        return [{"name": f"flow_{number}_{flow['rtt']}", **flow} for number, flow in enumerate(each, 1)]


def rtts(flows: int) -> list[str]:
    """RTTs of `flows` flows."""
    if flows <= len(PUBLISHED_PAIR):
        return list(PUBLISHED_PAIR[:flows])
    step = (LONGEST - SHORTEST) / (flows - 1)
    return [f"{round(SHORTEST + step * place)}ms" for place in range(flows)]
