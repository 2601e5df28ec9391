"""One flow on a path with random loss, and on a path with a small buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from bloatlab.experiments.ccperf.base import CcPerf


class LossResilience(CcPerf):
    """A path with random loss."""

    name = "loss-resilience"
    title = "One flow where packets are lost at random"
    summary = "Each packet is lost with the same probability, without congestion. How much of the rate is used?"
    figures: ClassVar[tuple[str, ...]] = ("comparison", *CcPerf.figures)
    defaults: ClassVar[Mapping[str, Any]] = {"loss": 0.02}
    own_axes: ClassVar[Mapping[str, Any]] = {"loss": [0.001, 0.02]}


class ShallowBuffers(CcPerf):
    """A buffer of half a bandwidth-delay product."""

    name = "shallow-buffers"
    title = "Congestion control in a shallow buffer"
    summary = (
        "One greedy flow and a queue of half a bandwidth-delay product. How much of the rate is used, and how many "
        "packets are lost?"
    )
    packets_per_flow = 10


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
