"""One greedy flow over constant paths, among them paths that Pantheon measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from bloatlab.experiments import parameters as read
from bloatlab.experiments.ccperf.base import CcPerf
from bloatlab.experiments.parameters import Parameter


@dataclass(frozen=True)
class Path:
    """A path from the list of CCPerf."""

    rate: float
    """Mbit/s."""
    one_way: float
    """ms."""
    loss: float
    packets: int
    poisson: bool = False
    """Whether the link delivers packets at the instants of a Poisson process."""


PATHS = {
    "static": Path(16, 7.5, 0, 20),
    "india-aws-india": Path(100.42, 27, 0, 173),
    "aws-korea-china": Path(77.72, 51, 0.0006, 94),
    "aws-california-mexico": Path(114.68, 45, 0, 450),
    "winds": Path(42, 400, 0.0074, 2800),
    "nepal-aws-india": Path(0.57, 28, 0.0477, 14, poisson=True),
    "mexico-cellular": Path(2.64, 88, 0, 130, poisson=True),
    "brazil-colombia-cellular": Path(3.04, 130, 0, 426, poisson=True),
}


class SteadyState(CcPerf):
    """One flow on one constant path."""

    name = "steady-state"
    title = "One flow on real paths"
    question = "How much of a real path can one flow of each congestion control use, and how long a queue does it keep?"
    summary = (
        "One greedy flow crosses the static dumbbell and seven paths that were measured between real hosts: terrestrial, "
        "by satellite (WINDS) and cellular. On the three slowest paths, packets leave the link at random "
        "instants (a Poisson process)."
    )
    defaults: ClassVar[Mapping[str, Any]] = {"rtt": None, "loss": None, "stop": "30s"}
    own = (
        Parameter(
            "path", "static", "",
            allowed=", ".join(PATHS), help="the path: bw, rtt, loss and qlen where they are not given",
            read=read.choice(*PATHS),
        ),
    )  # fmt: skip
    own_axes: ClassVar[Mapping[str, Any]] = {"path": list(PATHS)}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values of the path; rate and queue grow with the number of flows."""
        path, flows = PATHS[values["path"]], values["k"]
        found = {
            "bw": f"{path.rate * flows:.6g}Mbit/s",
            "rtt": f"{2 * path.one_way:g}ms",
            "loss": path.loss,
            "qlen": f"{path.packets * flows}p",
        }
        for name, value in found.items():
            if values[name] is None and not (name == "qlen" and read.is_tc(values["queue"])):
                values[name] = value
        return values

    def vary(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Random deliveries, on the paths that have them."""
        return {"rate": {"kind": "poisson"}} if PATHS[params["path"]].poisson else {}
