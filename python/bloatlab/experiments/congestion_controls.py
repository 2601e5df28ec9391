"""What experiments ask of the registry of congestion controls: which can be compared."""

from __future__ import annotations

import json
from functools import lru_cache

from bloatlab import language

YARDSTICK = "fixed"
"""How laws are called that control nothing, with a window or rate that stays as it is: they measure a path and do not compete."""


@lru_cache(maxsize=4)
def _comparable(_engine_version: str) -> tuple[str, ...]:
    laws = json.loads(language.algorithms())["congestion_controls"]
    return tuple(law["kind"] for law in laws if law["kind"] != "python" and not law["kind"].startswith(YARDSTICK))


def comparable() -> list[str]:
    """Laws that react to a path, in the registry's order."""
    return list(_comparable(language.version()))
