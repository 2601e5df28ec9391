"""A deep buffer, from one bandwidth-delay product to thirty-two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab.experiments.ccperf.base import CcPerf


class DeepBuffersSweep(CcPerf):
    """The set-up of deep-buffers with every congestion control and its buffers."""

    name = "deep-buffers-sweep"
    title = "Congestion control as the buffer grows"
    summary = (
        "One greedy flow and a queue of 20 to 640 packets, 1 to 32 bandwidth-delay products: who fills whatever there is. "
        "The set-up is that of deep-buffers, whose published run it is held to there."
    )
    packets_per_flow = 80
    figures: ClassVar[tuple[str, ...]] = ("comparison", *CcPerf.figures)
    own_axes: ClassVar[Mapping[str, Any]] = {"qlen": ["20p", "80p", "320p", "640p"]}
