"""What experiments ask of the registry of congestion controls."""

from __future__ import annotations

import json
from functools import lru_cache

from bloatlab.engines import engine

HELD = ("fixed", "fixed_rate")
"""They hold to what is set, whatever the network does."""


@lru_cache(maxsize=4)
def _kinds(_engine_version: str) -> tuple[str, ...]:
    """Read once an engine, not once a run of a sweep."""
    return tuple(law["kind"] for law in json.loads(engine().algorithms())["congestion_controls"])


def responsive() -> list[str]:
    """Congestion controls that respond to the network, in the registry's order."""
    return [kind for kind in _kinds(engine().engine_version()) if kind not in (*HELD, "python")]
