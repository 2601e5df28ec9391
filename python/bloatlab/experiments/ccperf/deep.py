"""Congestion control with a buffer of 1 to 32 bandwidth-delay products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab import units
from bloatlab.experiments import answering, phrases, quantities
from bloatlab.experiments.answering import Runs
from bloatlab.experiments.ccperf.base import FLOWS, CcPerf
from bloatlab.experiments.criteria import BOTTLENECK, mean_of
from bloatlab.experiments.queues import MTU

FILLED = 0.5
"""Mean share of the buffer from which a congestion control counts as filling it."""


def _packets(limit: str) -> float:
    """A queue limit in full packets."""
    found = units.queue_limit(limit)
    return found.value / MTU if found.unit == "bytes" else float(found.value)


class DeepBuffersSweep(CcPerf):
    """The set-up of deep-buffers with every congestion control and several buffers."""

    name = "deep-buffers-sweep"
    title = "Congestion control as the buffer grows"
    question = "Which congestion controls fill the buffer, however large it is?"
    summary = (
        "One greedy flow and a queue of 20 to 640 packets, which is 1 to 32 bandwidth-delay products: which congestion "
        "controls fill the queue? The set-up is that of deep-buffers, where the published run is compared."
    )
    packets_per_flow = 80
    figures: ClassVar[tuple[str, ...]] = ("comparison", *CcPerf.figures)
    own_axes: ClassVar[Mapping[str, Any]] = {"qlen": ["20p", "80p", "320p", "640p"]}

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        sizes = sorted(filter(None, runs.values("qlen")), key=_packets)
        if not sizes:
            return super().answer(runs)
        groups = runs.where("qlen", sizes[-1]).by(*self.compared)
        held = {group.label: group.mean(mean_of("link", BOTTLENECK, "mean_queue_length")) for group in groups}
        shares = {label: queue / _packets(sizes[-1]) for label, queue in held.items() if queue is not None}
        full = sorted((name for name, share in shares.items() if share >= FILLED), key=lambda name: -shares[name])
        at = f"a buffer of {phrases.value(sizes[-1])}"
        if not shares:
            return []
        named = phrases.listed([f"{name} ({phrases.percent(shares[name])})" for name in full], 5)
        count = f"{len(full) or 'none'} of {phrases.counted('cca', len(shares))}"
        told = f"With {at}, {count} fill{'' if len(full) > 1 else 's'} at least half of it on average"
        told += f": {named}." if full else "."
        delay = quantities.waiting(FLOWS, f" with {at}")
        return [told, *answering.contrast(groups, delay, quantities.USE), *answering.only(runs, "cca")]
