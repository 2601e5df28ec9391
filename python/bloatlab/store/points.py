"""Points of a sweep: a scenario and its parameters, stored once for all runs that differ only in their seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bloatlab.store.database import Database
from bloatlab.store.identity import canonical
from bloatlab.store.records import Note
from bloatlab.store.tables import POINTS, RUNS


class Points:
    """The points of a store that is written to. Numbers new points in order of arrival."""

    def __init__(self, database: Database) -> None:
        """Reads the stored points."""
        self._database = database
        self._numbers: dict[bytes, int] = {}
        self._known: dict[tuple[int, str], int] = {}
        for point, scenario, parameters in database.rows(POINTS):
            self._numbers[_key(str(scenario), str(parameters))] = int(point or 0)
        self._next = max(self._numbers.values(), default=0) + 1

    def of(self, scenario: str, parameters: Mapping[str, Any]) -> int:
        """The number of a point. A new point is stored within the open transaction."""
        text = canonical(dict(parameters))
        key = _key(scenario, text)
        point = self._numbers.get(key)
        if point is None:
            point = self._numbers[key] = self._next
            self._next += 1
            self._database.put(POINTS, [(point, scenario, text)])
        return point

    def besides(self, point: int, parameters: Mapping[str, Any]) -> int:
        """The point with these additional parameters. Parameters that it already has do not change."""
        text = canonical(dict(parameters))
        known = self._known.get((point, text))
        if known is None:
            ((_, scenario, there),) = self._database.rows(POINTS, "point = ?", point)
            known = self._known[point, text] = self.of(str(scenario), {**parameters, **json.loads(str(there))})
        return known

    def are_new(self, note: Note) -> bool:
        """Whether a run lacks one of the parameters of a note."""
        run_id, text = note.row
        found = self._database.rows(RUNS, "run_id = ?", run_id)
        if not found:
            return False
        ((_, _, there),) = self._database.rows(POINTS, "point = ?", found[0][2])
        return not json.loads(str(text)).keys() <= json.loads(str(there)).keys()


def _key(scenario: str, parameters: str) -> bytes:
    return hashlib.sha256(f"{scenario}\n{parameters}".encode()).digest()[:16]
