"""Which parameters of a queue are tuned: a few, chosen by rules from the registry.

A queue that controls a delay is tuned by its target delay and its interval, from a tenth of the default to ten times
the default. Any other queue is tuned by its limit, from ten packets to the default. Both have a logarithmic scale.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bloatlab import language, units
from bloatlab.analysis.space import Vary
from bloatlab.errors import ParameterError, unknown
from bloatlab.experiments.queues import MTU, comparable, described

DELAYS = ("target", "target_delay", "threshold", "interval", "rtt")
"""Names of the parameters for a target delay and for the interval over which it is judged."""
LIMITS = ("limit", "memlimit")
BOTTLENECK = "bottleneck"
AROUND = 10.0
LEAST = 10
"""Smallest limit in packets: an initial window."""


def knobs(kind: str) -> list[Vary]:
    """The parameters of a queue that are tuned, named `KIND.PARAMETER`.

    Raises:
        ParameterError: There is no such queue, or it only wraps other queues.
    """
    if kind not in comparable():
        raise unknown("queue that can be tuned", kind, comparable())
    parameters = described()[kind]
    found = [_delay(kind, name, parameters[name]) for name in DELAYS if _is_duration(parameters.get(name))]
    return found or [_limit(kind, name, of) for name in LIMITS if (of := parameters.get(name)) and of["default"]]


def _is_duration(parameter: Mapping[str, Any] | None) -> bool:
    return parameter is not None and parameter["type"] == "duration" and parameter["default"] is not None


def _delay(kind: str, name: str, parameter: Mapping[str, Any]) -> Vary:
    default = units.duration(parameter["default"])
    low, high = default / AROUND, default * AROUND
    least, to, most = (parameter.get("range") or "").partition(" to ")
    if to:
        low, high = max(low, units.duration(least)), min(high, units.duration(most))
    # In whole microseconds, the unit of tc.
    return Vary(f"{kind}.{name}", (), round(1e6 * low), round(1e6 * high), "us", True)


def _limit(kind: str, name: str, parameter: Mapping[str, Any]) -> Vary:
    if parameter["type"] == "integer":
        return Vary(f"{kind}.{name}", (), LEAST, float(parameter["default"]), "", True)
    default = units.queue_limit(parameter["default"])
    if default.unit == "packets":
        return Vary(f"{kind}.{name}", (), LEAST, default.value, "p", True)
    return Vary(f"{kind}.{name}", (), LEAST * MTU, default.value, "B", True)


def default_of(knob: Vary) -> float:
    """Default of the registry in the unit of the range."""
    kind, _, name = knob.name.partition(".")
    given = described()[kind][name]["default"]
    if knob.unit == "us":
        return round(1e6 * units.duration(given))
    return float(str(given)) if not knob.unit else float(units.queue_limit(given).value)


def tc_of(queue: Any, device: str = "eth0") -> str:
    """The tc commands that set up a queue on Linux, or what Linux lacks for it."""
    try:
        return "; ".join(language.tc(json.dumps(queue), device))
    except language.ScenarioError as error:
        return f"not on Linux: {error}"


def queue_path(scenario: str) -> str:
    """Path of the queue to tune in a scenario: that of the link `bottleneck`, or the only one.

    Args:
        scenario: The canonical document as JSON.

    Raises:
        ParameterError: The scenario has no such queue, or it is not clear which one is meant.
    """
    queues = language.plan(scenario).queues
    if BOTTLENECK in queues:
        return str(queues[BOTTLENECK].queue_path)
    paths = {str(link.queue_path): name for name, link in queues.items()}
    if len(paths) != 1:
        found = f"several links have a queue: {', '.join(paths.values())}" if paths else "no link has a queue"
        raise ParameterError(
            f"it is not clear which queue to tune, because {found} (allowed: one queue, or a link named `{BOTTLENECK}`)"
        )
    return next(iter(paths))
