"""Tables of parts that were read a moment ago, so that several questions to a store read each file once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.store.parts import Part

if TYPE_CHECKING:
    import polars as pl

MOST_BYTES = 256_000_000
"""Memory of all kept tables. A table for which there is no room is read again each time."""
CLOSED = -1
"""Room in which not even an empty table fits."""


class Recent:
    """Reads tables of parts, and keeps them between `keep` and `forget`."""

    def __init__(self, parts: Path) -> None:
        """Keeps nothing until `keep`.

        Args:
            parts: The directory of all parts.
        """
        self._parts = parts
        self._kept: dict[tuple[str, str, str], pl.DataFrame | None] = {}
        self._room = CLOSED

    def read(self, part: str, manifest: str, table: str) -> pl.DataFrame | None:
        """A table, or `None` if the part has no such table. Raises as `Part` does.

        Args:
            part: The part's name.
            manifest: Hash of its manifest.
            table: The table's name.
        """
        key = (part, manifest, table)
        if key in self._kept:
            return self._kept[key]
        frame = Part(self._parts, part, manifest).read(table)
        size = 0 if frame is None else int(frame.estimated_size())
        if size <= self._room:
            self._kept[key] = frame
            self._room -= size
        return frame

    def keep(self) -> None:
        """Keeps the tables that are read from now on, as far as there is room."""
        self._room = MOST_BYTES

    def forget(self) -> None:
        """Releases every kept table, and keeps no others."""
        self._kept.clear()
        self._room = CLOSED
