"""The queues of a scenario by the names of their links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def queues_of(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Queues of a canonical document by link, for the links whose queue a user can set."""
    if dumbbell := scenario.get("dumbbell"):
        found = {"bottleneck": dumbbell["queue"]}
        return found | ({"reverse": dumbbell["reverse_queue"]} if dumbbell.get("reverse_rate") else {})
    if lot := scenario.get("parking_lot"):
        return {f"hop_{number}": lot["queue"] for number in range(1, lot["hops"] + 1)}
    return {box["name"]: box["queue"] for box in scenario.get("boxes", ()) if box["kind"] == "link"}
