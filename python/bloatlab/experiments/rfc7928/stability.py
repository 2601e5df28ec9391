"""Conditions that change during the run."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

from bloatlab import units
from bloatlab.errors import ParameterError
from bloatlab.experiments import criteria, quantities
from bloatlab.experiments import parameters as read
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.rfc7928.base import LEVELS, Rfc7928, bulk, common, congestion, flows_at, in_ms

PHASES = 4
"""RFC 7928 section 8.2.5: mild, medium, heavy, and mild again, 20 s each by default."""


class VaryingCongestion(Rfc7928):
    """Mild, then medium, then heavy congestion."""

    name = "rfc7928-varying-congestion"
    title = "Congestion that grows and falls"
    question = "How long is the delay of each queue while flows come and go, and is the link still used?"
    summary = (
        "Long flows start and stop so that congestion is mild, medium, heavy and mild again, for a quarter of the run "
        "each. Does the queue adapt, and how long is its delay meanwhile?"
    )
    section = "section 8.2.5"
    parameters: ClassVar[tuple[Parameter, ...]] = common(stop="80s", warmup="5s")
    asked = (quantities.waiting(),)
    carried = quantities.USE
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *criteria.delay(),
        criteria.utilization(),
        criteria.loss(),
        criteria.loss_bursts(),
    )

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The flows of the mild level for the whole run, and those that each further level adds."""
        counts = {level: flows_at(level, params) for level in LEVELS}
        phase = units.duration(params["stop"]) / PHASES
        found = [bulk(params, counts["mild"], name="bulk_mild")]
        for index, (below, level) in enumerate(pairwise(LEVELS)):
            if counts[level] > counts[below]:
                start, stop = in_ms(phase * (index + 1)), in_ms(phase * len(LEVELS))
                more = counts[level] - counts[below]
                found.append(bulk(params, more, name=f"bulk_{level}", start=start, stop=stop))
        return found


MOST_STEPS = 10_000


class VaryingBandwidth(Rfc7928):
    """A rate that alternates between two values, slowly and quickly."""

    name = "rfc7928-varying-bandwidth"
    title = "A link with an alternating rate"
    question = (
        "How long is the delay of each queue when the rate falls to a tenth and returns, and what throughput is left?"
    )
    summary = (
        "The bottleneck's rate falls to a tenth and rises again, every 20 s or every 100 ms. How long is the queue "
        "after the fall, and how much of the capacity is used after the rise? A token bucket (htb) in front of the "
        "link makes the steps; the queue under test is inside it."
    )
    section = "section 8.2.6"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        Parameter(
            "low_rate", "10Mbit/s", "bit/s",
            allowed="a rate such as 10Mbit/s, at most the bottleneck's", help="rate in every second phase",
            read=read.rate, published="10Mbit/s",
        ),
        Parameter(
            "period", "20s", "s",
            allowed="a duration such as 20s or 100ms", help="length of a phase",
            read=read.duration, published="20s and 100ms",
        ),
        *congestion("mild"),
        rate="100Mbit/s",
    )  # fmt: skip
    own_axes: ClassVar[Mapping[str, Any]] = {"period": ["20s", "100ms"]}
    asked = (quantities.waiting(percentile=99),)
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *criteria.delay(),
        criteria.goodput(),
        criteria.fairness(),
        criteria.loss(),
        criteria.loss_bursts(),
        criteria.synchronization(),
    )

    def dumbbell(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The queue under test inside a token bucket with a changing rate."""
        if units.rate(params["low_rate"]) > units.rate(params["rate"]):
            raise ParameterError(f"low_rate: {params['low_rate']} is above the bottleneck's {params['rate']}")
        network = super().dumbbell(params)
        period, stop = units.duration(params["period"]), units.duration(params["stop"])
        count = int(stop / period) if period > 0 else MOST_STEPS + 1
        if count > MOST_STEPS:
            raise ParameterError(f"period: {params['period']} gives more than {MOST_STEPS} phases in {params['stop']}")
        rates = (params["rate"], params["low_rate"])
        steps = [
            {"at": f"{round(index * period * 1e9)}ns", "rate": rates[index % 2]}
            for index in range(1, count + 1)
            if index * period < stop
        ]
        shaper = {"kind": "htb", "rate": params["rate"], "rate_steps": steps, "queue": network["queue"]}
        return {**network, "queue": shaper}

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The long flows."""
        return [bulk(params, params["flows"])]
