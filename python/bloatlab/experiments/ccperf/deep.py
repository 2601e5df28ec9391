"""Congestion control with a buffer of 1 to 32 bandwidth-delay products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab.experiments.ccperf.base import CcPerf


class DeepBuffersSweep(CcPerf):
    """The set-up of deep-buffers with every congestion control and several buffers."""

    name = "deep-buffers-sweep"
    title = "Congestion control as the buffer grows"
    summary = (
        "One greedy flow and a queue of 20 to 640 packets, which is 1 to 32 bandwidth-delay products: which congestion "
        "controls fill the queue? The set-up is that of deep-buffers, where the published run is compared."
    )
    packets_per_flow = 80
    figures: ClassVar[tuple[str, ...]] = ("comparison", *CcPerf.figures)
    own_axes: ClassVar[Mapping[str, Any]] = {"qlen": ["20p", "80p", "320p", "640p"]}
