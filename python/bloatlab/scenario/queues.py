"""The queues of a scenario, by the link they stand before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def queues_of(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Name of each link of a canonical document that the user gave a queue, and that queue."""
    if dumbbell := scenario.get("dumbbell"):
        found = {"bottleneck": dumbbell["queue"]}
        return found | ({"reverse": dumbbell["reverse_queue"]} if dumbbell.get("reverse_rate") else {})
    if lot := scenario.get("parking_lot"):
        return {f"hop_{number}": lot["queue"] for number in range(1, lot["hops"] + 1)}
    return {box["name"]: box["queue"] for box in scenario.get("boxes", ()) if box["kind"] == "link"}
