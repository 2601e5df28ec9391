"""Points of a sweep: a scenario and the parameters that made it, stored once for all runs that differ in their seed alone."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from bloatlab.store.identity import canonical


class Points:
    """The points of a store that is written to; numbers them as they come."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Reads those that are there."""
        self._connection = connection
        self._numbers: dict[bytes, int] = {}
        self._known: dict[tuple[int, str], int] = {}
        for point, scenario, parameters in connection.execute("SELECT point, scenario, parameters FROM points"):
            self._numbers[_key(scenario, parameters)] = point

    def of(self, scenario: str, parameters: Mapping[str, Any]) -> int:
        """The point's number; a new one is stored within the transaction that is open."""
        text = canonical(dict(parameters))
        key = _key(scenario, text)
        point = self._numbers.get(key)
        if point is None:
            point = self._numbers[key] = len(self._numbers) + 1
            self._connection.execute("INSERT INTO points VALUES (?, ?, ?)", (point, scenario, text))
        return point

    def besides(self, point: int, parameters: Mapping[str, Any]) -> int:
        """The point that has these parameters too; those that it has already stay as they are."""
        text = canonical(dict(parameters))
        known = self._known.get((point, text))
        if known is None:
            query = "SELECT scenario, parameters FROM points WHERE point = ?"
            scenario, there = self._connection.execute(query, (point,)).fetchone()
            known = self._known[point, text] = self.of(scenario, {**parameters, **json.loads(there)})
        return known


def _key(scenario: str, parameters: str) -> bytes:
    return hashlib.sha256(f"{scenario}\n{parameters}".encode()).digest()[:16]
