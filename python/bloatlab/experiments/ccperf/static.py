"""One flow on a path with loss, and on one with hardly a buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from bloatlab.experiments.ccperf.base import CcPerf


class LossResilience(CcPerf):
    """Packets are lost at random."""

    name = "loss-resilience"
    title = "One flow where packets are lost at random"
    summary = (
        "Each packet is lost with the same probability, which says nothing of congestion: what is left of the rate."
    )
    figures: ClassVar[tuple[str, ...]] = ("comparison", *CcPerf.figures)
    defaults: ClassVar[Mapping[str, Any]] = {"loss": 0.02}
    own_axes: ClassVar[Mapping[str, Any]] = {"loss": [0.001, 0.02]}


class ShallowBuffers(CcPerf):
    """Half a bandwidth-delay product of buffer."""

    name = "shallow-buffers"
    title = "Congestion control in a shallow buffer"
    summary = "One greedy flow and a queue of half a bandwidth-delay product: what of the rate is used, at what loss."
    packets_per_flow = 10


ShallowBuffers.parameters = tuple(
    replace(parameter, help="limit of the bottleneck's queue; when not given 10p x k", published="10p")
    if parameter.name == "qlen"
    else parameter
    for parameter in ShallowBuffers.parameters
)
LossResilience.parameters = tuple(
    replace(parameter, published=0.02) if parameter.name == "loss" else parameter
    for parameter in LossResilience.parameters
)
