"""Paths that always change: a random walk, and a recorded rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab.experiments import parameters as read
from bloatlab.experiments.ccperf import traces
from bloatlab.experiments.ccperf.base import VARYING, CcPerf, bound, settle, target
from bloatlab.experiments.parameters import Parameter

GENERATED = "generated"
WALKS: Mapping[str, Mapping[str, Any]] = {
    "rate": {"min": "2Mbit/s", "max": "30Mbit/s", "sigma": "800kbit/s", "start": "16Mbit/s"},
    "rtt": {"min": "10ms", "max": "100ms", "sigma": "2ms", "start": "30ms"},
    "loss": {"min": 0.0, "max": 0.05, "sigma": 0.001, "start": 0.005},
}
"""Our values: CCPerf states the process, but we do not have its values."""
PARAMETER = {"rate": "bw", "rtt": "rtt", "loss": "loss"}


class RandomWalk(CcPerf):
    """The rate, the RTT or the loss is a random walk."""

    name = "random-walk"
    title = "A path that is a random walk"
    question = "How much of a randomly varying path is used, and how long do packets wait?"
    summary = (
        "The rate, the RTT or the loss of the path is a random walk between bounds. Each step repeats the share `rho` of "
        "the step before it and adds a normally distributed number with the standard deviation `sigma`."
    )
    criteria = VARYING
    defaults: ClassVar[Mapping[str, Any]] = {"rtt": None, "loss": None, "stop": "30s"}
    own = (
        target(),
        bound("min", "the lower bound; by default 2Mbit/s, 10ms or 0"),
        bound("max", "the upper bound; by default 30Mbit/s, 100ms or 0.05"),
        bound("sigma", "standard deviation of the random part of a step; by default 800kbit/s, 2ms or 0.001"),
        bound("start", "the first value; by default 16Mbit/s, 30ms or 0.005"),
        Parameter(
            "rho", 0.5, "", allowed="0 to below 1", help="share of a step that the next step repeats",
            read=read.probability,
        ),
        Parameter(
            "interval", "100ms", "s", allowed="a duration such as 100ms", help="time between two steps",
            read=read.duration,
        ),
    )  # fmt: skip
    own_axes: ClassVar[Mapping[str, Any]] = {"target": list(WALKS)}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """The bounds of the walk, and its first value as the constant value."""
        settle(values, WALKS)
        varied = PARAMETER[values["target"]]
        if values[varied] is None:
            values[varied] = values["start"]
        values["rtt"] = values["rtt"] or "15ms"
        values["loss"] = values["loss"] or 0.0
        return super().derive(values)

    def vary(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The random walk, which starts at the constant value."""
        walk = {name: params[name] for name in ("min", "max", "sigma", "rho", "interval")}
        return {params["target"]: {"kind": "random_walk", **walk}}


class ReplayRateTrace(CcPerf):
    """The rate is a recorded one."""

    name = "replay-rate-trace"
    title = "A recorded rate"
    question = "How much of a recorded, varying rate is used, and how long do packets wait?"
    summary = (
        "The bottleneck delivers packets at the instants that a trace lists (in the format of mahimahi, a link emulator). "
        "Without a file, it uses a generated trace that varies and has short outages, as cellular links have."
    )
    criteria = VARYING
    defaults: ClassVar[Mapping[str, Any]] = {"rtt": "40ms", "stop": "30s"}
    packets_per_flow = 100
    own = (
        Parameter(
            "trace", GENERATED, "",
            allowed="a mahimahi trace file, or generated",
            help="milliseconds of deliveries of 1500 bytes, one per line; the trace repeats",
            read=str,
        ),
    )  # fmt: skip

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """The constant rate, which queues see, is the mean rate of the trace."""
        if values["bw"] is None:
            known = traces.generated()
            mean = len(known) * traces.DELIVERY_BITS * 1e3 / known[-1]
            if values["trace"] != GENERATED:
                mean = traces.mean_rate(values["trace"]) or mean
            values["bw"] = f"{round(mean / 1e3)}kbit/s"
        return super().derive(values)

    def vary(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The trace."""
        if params["trace"] == GENERATED:
            return {"rate": {"kind": "mahimahi", "deliveries": list(traces.generated())}}
        return {"rate": {"kind": "mahimahi", "file": params["trace"]}}
