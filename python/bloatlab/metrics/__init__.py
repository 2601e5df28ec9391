"""Every metric once: name, unit, formula, source. The engine that computes them defines them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from bloatlab.engines import engine


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric is."""

    scope: str
    """`flow`, `link`, `network` or `probe`."""
    name: str
    unit: str
    formula: str
    source: str
    better: str
    """`higher`, `lower` or `none`."""


@lru_cache(maxsize=4)
def _read(text: str) -> dict[tuple[str, str], Definition]:
    fields = ("scope", "name", "unit", "formula", "source", "better")
    definitions = [Definition(**{name: row[name] for name in fields}) for row in json.loads(text)]
    return {(definition.scope, definition.name): definition for definition in definitions}


def definitions() -> dict[tuple[str, str], Definition]:
    """Definition of each (scope, name)."""
    return _read(engine().metric_definitions())


def units() -> dict[tuple[str, str], str]:
    """Unit of each (scope, name)."""
    return {key: definition.unit for key, definition in definitions().items()}
