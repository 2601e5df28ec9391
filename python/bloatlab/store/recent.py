"""What was read of a store a moment ago, so that several questions to a store read each file once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.store import metrics
from bloatlab.store.parts import Part, of_runs

if TYPE_CHECKING:
    import polars as pl

MOST_BYTES = 256_000_000
"""Memory of all kept tables. A table for which there is no room is read again each time."""
MOST_RUNS = 5000
"""Number of runs whose nested metrics are kept."""
CLOSED = -1
"""Room in which not even an empty table fits."""

Key = tuple[str, str, str]
"""A part, the hash of its manifest, and a table."""


class Recent:
    """Reads tables of parts, and keeps them between `keep` and `forget`."""

    def __init__(self, parts: Path) -> None:
        """Keeps nothing until `keep`.

        Args:
            parts: The directory of all parts.
        """
        self._parts = parts
        self._kept: dict[Key, pl.DataFrame | None] = {}
        self._places: dict[Key, dict[str, list[tuple[int, int]]]] = {}
        self._metrics: dict[str, dict[str, Any]] = {}
        self._room = CLOSED

    def read(self, part: str, manifest: str, table: str, run_ids: Sequence[str]) -> pl.DataFrame | None:
        """The rows of these runs in a table, or `None` if the part has no such table. Raises as `Part` does.

        Args:
            part: The part's name.
            manifest: Hash of its manifest.
            table: The table's name.
            run_ids: The runs.
        """
        key = (part, manifest, table)
        frame = self._frame(key)
        if frame is None or len(run_ids) != 1 or key not in self._kept:
            return frame if frame is None else of_runs(frame, run_ids)
        return self._of_run(key, frame, run_ids[0])

    def nested(
        self, run_ids: Sequence[str], read: Callable[[Sequence[str]], pl.DataFrame]
    ) -> dict[str, dict[str, Any]]:
        """`metrics.nested` of these runs, which callers must not change.

        Args:
            run_ids: The runs.
            read: Reads the metrics of runs.
        """
        missing = [run_id for run_id in run_ids if run_id not in self._metrics]
        found = metrics.nested(missing, read(missing)) if missing else {}
        if self._room != CLOSED and len(self._metrics) + len(found) <= MOST_RUNS:
            self._metrics |= found
        return {run_id: found[run_id] if run_id in found else self._metrics[run_id] for run_id in run_ids}

    def keep(self) -> None:
        """Keeps what is read from now on, as far as there is room."""
        self._room = MOST_BYTES

    def forget(self) -> None:
        """Releases everything, and keeps nothing more."""
        self._kept.clear()
        self._places.clear()
        self._metrics.clear()
        self._room = CLOSED

    def _frame(self, key: Key) -> pl.DataFrame | None:
        if key in self._kept:
            return self._kept[key]
        part, manifest, table = key
        frame = Part(self._parts, part, manifest).read(table)
        size = 0 if frame is None else int(frame.estimated_size())
        if size <= self._room:
            self._kept[key] = frame
            self._room -= size
        return frame

    def _of_run(self, key: Key, frame: pl.DataFrame, run_id: str) -> pl.DataFrame:
        """The rows of one run in a kept table. Searching all rows for each run would take longer than reading them."""
        import polars as pl

        if key not in self._places:
            places: dict[str, list[tuple[int, int]]] = {}
            start = 0
            for length, run in frame["run_id"].rle().struct.unnest().iter_rows():
                places.setdefault(run, []).append((start, length))
                start += length
            self._places[key] = places
        rows = [frame.slice(start, length) for start, length in self._places[key].get(run_id, ())]
        return pl.concat(rows) if rows else frame.clear()
