"""Gives the flows and probes of a measurement the names of those that a scenario has in their place."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bloatlab import language
from bloatlab.errors import ParameterError
from bloatlab.exchange.directions import Directions
from bloatlab.exchange.measurement import Measurement


def named_as_in(measured: Measurement, scenario: Mapping[str, Any]) -> Measurement:
    """The measurement with the names of a scenario.

    A flow keeps its name if the scenario has it. Otherwise it takes the name of the flow with the same direction and mark,
    in the order of both. The same holds for probes. What the scenario does not have keeps its name.

    Raises:
        ParameterError: This version does not accept the scenario.
    """
    plan = language.stored_plan(scenario)
    if plan is None:
        raise ParameterError("--beside: the run has no scenario of this version of bloatlab")
    direction = Directions(plan, {}).of
    theirs = {flow.name: (direction(flow.name), flow.dscp) for flow in plan.flows if flow.traffic != "ping"}
    pings = {flow.name: flow.dscp for flow in plan.flows if flow.traffic == "ping"}
    flows = _matched(
        [flow.name for flow in measured.flows], [(one.direction, one.dscp or 0) for one in measured.flows], theirs
    )
    ways = {name: way for name, (way, _) in theirs.items()}
    flows = _matched(flows, [one.direction for one in measured.flows], ways)
    probes = _matched([one.name for one in measured.probes], [one.dscp or 0 for one in measured.probes], pings)
    probes = _matched(probes, [None for _ in probes], dict.fromkeys(pings))
    return replace(
        measured,
        flows=[replace(flow, name=name) for flow, name in zip(measured.flows, flows, strict=True)],
        probes=[replace(probe, name=name) for probe, name in zip(measured.probes, probes, strict=True)],
    )


def _matched(names: Sequence[str], keys: Sequence[Hashable], theirs: Mapping[str, Hashable]) -> list[str]:
    """Our names. One that they do not have is replaced by the first of theirs that is free and has the same key."""
    free = [name for name in theirs if name not in names]
    found = []
    for name, key in zip(names, keys, strict=True):
        taken = None if name in theirs else next((other for other in free if theirs[other] == key), None)
        if taken is not None:
            free.remove(taken)
        found.append(taken or name)
    return found
