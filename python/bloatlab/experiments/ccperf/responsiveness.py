"""A path with sudden changes: a step, and a square wave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab.experiments import parameters as read
from bloatlab.experiments.ccperf.base import VARYING, CcPerf, bound, settle, target
from bloatlab.experiments.parameters import Parameter

BOUNDS: Mapping[str, Mapping[str, Any]] = {
    "rate": {"lower": "4Mbit/s", "upper": "16Mbit/s"},
    "rtt": {"lower": "15ms", "upper": "60ms"},
    "loss": {"lower": 0.0, "upper": 0.02},
}
"""Our values: CCPerf names the parameters, but we do not have its values."""
PARAMETER = {"rate": "bw", "rtt": "rtt", "loss": "loss"}


class _Responsiveness(CcPerf):
    criteria = VARYING
    defaults: ClassVar[Mapping[str, Any]] = {"rtt": None, "loss": None}
    own_axes: ClassVar[Mapping[str, Any]] = {"target": list(BOUNDS)}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """The bounds and the constant value: the upper bound of a rate, the lower bound of an RTT or a loss."""
        settle(values, BOUNDS)
        varied = PARAMETER[values["target"]]
        if values[varied] is None:
            values[varied] = values["upper" if varied == "bw" else "lower"]
        values["rtt"] = values["rtt"] or "15ms"
        values["loss"] = values["loss"] or 0.0
        return super().derive(values)


class ResponsivenessStep(_Responsiveness):
    """One change."""

    name = "responsiveness-step"
    title = "A path that changes once"
    question = "How much of the path is used, and how long do packets wait, when the path changes once?"
    summary = (
        "The rate, the RTT or the loss of the path steps up or down in the middle of the run: how much of the new rate "
        "goes unused, and how long a queue the old rate leaves."
    )
    own = (
        target(),
        Parameter(
            "direction", "down", "", allowed="up, down", help="whether the target's value steps up or down",
            read=read.choice("up", "down"),
        ),
        bound("lower", "the lower value; by default 4Mbit/s, 15ms or 0"),
        bound("upper", "the upper value; by default 16Mbit/s, 60ms or 0.02"),
        Parameter("at", "7.5s", "s", allowed="a duration such as 7.5s", help="when it steps", read=read.duration),
    )  # fmt: skip
    own_axes: ClassVar[Mapping[str, Any]] = {"target": list(BOUNDS), "direction": ["up", "down"]}

    def vary(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """One value until the step, the other value after it."""
        first, second = params["lower"], params["upper"]
        if params["direction"] == "down":
            first, second = second, first
        steps = [{"at": "0s", "value": first}, {"at": params["at"], "value": second}]
        return {params["target"]: {"kind": "steps", "steps": steps}}


class ResponsivenessPulse(_Responsiveness):
    """The path changes periodically."""

    name = "responsiveness-pulse"
    title = "A path that changes periodically"
    question = "How much of the path is used, and how long do packets wait, when the path changes periodically?"
    summary = (
        "The rate, the RTT or the loss of the path is a square wave. How much of the rate is used, and how long do "
        "packets wait?"
    )
    own = (
        target(),
        bound("lower", "the lower value; by default 4Mbit/s, 15ms or 0"),
        bound("upper", "the upper value; by default 16Mbit/s, 60ms or 0.02"),
        Parameter(
            "period", "3s", "s", allowed="a duration such as 3s", help="time from one rise to the next",
            read=read.duration,
        ),
    )  # fmt: skip

    def vary(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The square wave, which begins with its upper level."""
        wave = {"kind": "pulse", **{name: params[name] for name in ("lower", "upper", "period")}}
        return {params["target"]: wave}
