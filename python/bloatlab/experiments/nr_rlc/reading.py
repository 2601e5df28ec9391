"""Reads metrics of the published runs by case, and writes them as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bloatlab.experiments import phrases
from bloatlab.experiments.claim import Cases
from bloatlab.experiments.nr_rlc.setup import ELEPHANT, MICE

BEARER = "ue_1"


class Reader:
    """Metrics by case."""

    def __init__(self, cases: Cases) -> None:
        self.cases = cases

    def flow(self, case: str, flow: str, name: str) -> float:
        """A metric of a flow."""
        return float(self.cases[case]["flow_metrics"][flow][name])

    def got(self, case: str, flow: str) -> int:
        """How many of its packets arrived."""
        return round(self.flow(case, flow, "rx_packets"))

    def delay(self, case: str, flow: str) -> float:
        """The mean one-way delay of a flow, ms."""
        return self.flow(case, flow, "mean_delay")

    def both(self, case: str, name: str) -> int:
        """A count of both flows."""
        return round(self.flow(case, MICE, name) + self.flow(case, ELEPHANT, name))

    def mean(self, cases: Sequence[str], flow: str, name: str) -> float:
        """The mean of a metric of a flow over runs."""
        return math.fsum(self.flow(case, flow, name) for case in cases) / len(cases)

    def longest(self, case: str) -> float:
        """The longest sojourn time in the RLC, ms."""
        return float(self.cases[case]["link_metrics"][BEARER]["max_sojourn"])


def ms(value: float) -> str:
    """Milliseconds as text."""
    return f"{value:,.1f}" if value >= 10 else f"{value:.2f}"


def fall(before: float, after: float) -> float:
    """Decrease of a value in percent."""
    return 100 * (before - after) / before


def spread(values: Sequence[float], show: Callable[[float], str]) -> str:
    """Mean and range as text."""
    mean = math.fsum(values) / len(values)
    return f"{show(mean)} ({show(min(values))} to {show(max(values))})"


def span(values: Sequence[int]) -> str:
    """Range as text."""
    return phrases.span(values, str)


def whole(value: float) -> str:
    """A whole number as text."""
    return f"{value:,.0f}"


def tenth(value: float) -> str:
    """A number with one decimal as text."""
    return f"{value:,.1f}"
