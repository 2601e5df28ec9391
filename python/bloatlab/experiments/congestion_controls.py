"""The congestion controls of the registry that experiments compare."""

from __future__ import annotations

import json
from functools import lru_cache

from bloatlab import language

CONSTANT = "fixed"
"""Prefix of algorithms with a constant window or rate, which measure a path and do not compete."""


@lru_cache(maxsize=4)
def _comparable(_engine_version: str) -> tuple[str, ...]:
    algorithms = json.loads(language.algorithms())["congestion_controls"]
    return tuple(one["kind"] for one in algorithms if one["kind"] != "python" and not one["kind"].startswith(CONSTANT))


def comparable() -> list[str]:
    """Congestion controls that react to the path, in the order of the registry."""
    return list(_comparable(language.version()))
