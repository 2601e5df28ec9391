"""The metrics that are compared, and how close they are meant to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

Metrics = Mapping[str, Any]
"""Metrics of a run in the form of `--json`."""
LINK = "bottleneck"


@dataclass(frozen=True)
class Aim:
    """A metric, and the largest difference of its means that counts as equal: the larger of a share and a number.

    Attributes:
        name: Its name in JSON.
        title: What tables call it.
        unit: Its unit; empty for counts and shares.
        relative: As a share of the kernel's mean.
        absolute: In `unit`.
        read: Its value in a run; `None` if the run has none.
    """

    name: str
    title: str
    unit: str
    relative: float
    absolute: float
    read: Callable[[Metrics], float | None]

    @property
    def heading(self) -> str:
        """The title with the unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def text(self) -> str:
        """The aim in words, such as `10 % or 1 ms`."""
        share = f"{100 * self.relative:g} %"
        return share if not self.absolute else f"{share} or {self.absolute:g} {self.unit}".rstrip()

    def allowed(self, value: float) -> float:
        """The largest difference from this value."""
        return max(self.relative * abs(value), self.absolute)


def _link(name: str) -> Callable[[Metrics], float | None]:
    return lambda metrics: _number(metrics["link_metrics"][LINK].get(name))


def _flows(name: str) -> Callable[[Metrics], float | None]:
    """The mean over the flows that have the metric."""

    def read(metrics: Metrics) -> float | None:
        found = [float(of[name]) for of in metrics["flow_metrics"].values() if of.get(name) is not None]
        return fmean(found) if found else None

    return read


def _retransmissions(metrics: Metrics) -> float | None:
    return _number(metrics["network_metrics"].get("total_retransmissions"))


def _ping(metrics: Metrics) -> float | None:
    return next((_number(of.get("p95_rtt")) for of in metrics.get("probe_metrics", {}).values()), None)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


AIMS = (
    Aim("utilization", "utilization", "", 0.02, 0.0, _link("utilization")),
    Aim("sojourn", "sojourn time", "ms", 0.10, 1.0, _link("mean_sojourn")),
    Aim("srtt", "sRTT", "ms", 0.05, 0.0, _flows("mean_srtt_l4")),
    Aim("in_flight", "in flight", "segments", 0.05, 0.0, _flows("mean_in_flight_l4")),
    Aim("ping", "ping p95", "ms", 0.10, 1.0, _ping),
    Aim("drops", "drops", "", 0.15, 3.0, _link("drops")),
    Aim("marks", "marks", "", 0.15, 3.0, _link("marks")),
    Aim("retransmissions", "retransmissions", "", 0.20, 3.0, _retransmissions),
)
"""Sojourn time and ping: 1 ms is a jiffy of the kernel."""
