"""One flow on a path with random loss, and on a path with a small buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from bloatlab.experiments import answering, phrases, quantities
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.ccperf.base import CcPerf, retransmitted


class LossResilience(CcPerf):
    """A path with random loss."""

    name = "loss-resilience"
    title = "One flow where packets are lost at random"
    question = "How much of the rate does each congestion control use when packets are lost at random?"
    summary = "Each packet is lost with the same probability, without congestion. How much of the rate is used?"
    figures: ClassVar[tuple[str, ...]] = ("comparison", *CcPerf.figures)
    defaults: ClassVar[Mapping[str, Any]] = {"loss": 0.02}
    own_axes: ClassVar[Mapping[str, Any]] = {"loss": [0.001, 0.02]}

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        losses = sorted(runs.values("loss"))
        found = []
        for loss in (losses[-1], *losses[:-1][:1]):
            groups = runs.where("loss", loss).by(*self.compared)
            said = f"utilization with {phrases.said('loss', loss)}"
            found += answering.contrast(groups, Quantity(said, quantities.USE.read, phrases.percent))
        return [*found, *answering.only(runs, "cca")]


class ShallowBuffers(CcPerf):
    """A buffer of half a bandwidth-delay product."""

    name = "shallow-buffers"
    title = "Congestion control in a shallow buffer"
    question = (
        "How much of the rate is used, and how much is lost, when the buffer holds half a bandwidth-delay product?"
    )
    summary = (
        "One greedy flow and a queue of half a bandwidth-delay product. How much of the rate is used, and how many "
        "packets are lost?"
    )
    packets_per_flow = 10

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        again = Quantity("share of packets that are sent again", retransmitted, phrases.percent)
        return [*answering.contrast(runs.by(*self.compared), quantities.USE, again), *answering.only(runs, "cca")]


ShallowBuffers.parameters = tuple(
    replace(parameter, help="limit of the bottleneck's queue; by default 10p x k", published="10p")
    if parameter.name == "qlen"
    else parameter
    for parameter in ShallowBuffers.parameters
)
LossResilience.parameters = tuple(
    replace(parameter, published=0.02) if parameter.name == "loss" else parameter
    for parameter in LossResilience.parameters
)
