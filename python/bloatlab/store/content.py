"""The checked contents of a store's database at one moment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.errors import StoreError
from bloatlab.store import seals
from bloatlab.store.database import reading
from bloatlab.store.layout import DATABASE
from bloatlab.store.remote import shown
from bloatlab.store.tables import POINTS, RUNS, Row, Table, completed

if TYPE_CHECKING:
    import polars as pl

LOOKS = 5
"""Number of attempts to read a database that changes meanwhile, before its state counts as an error."""


class Content:
    """The rows of every table. Each row was compared with its seal."""

    def __init__(self, directory: Path, sums: tuple[Row, ...], rows: Mapping[str, Sequence[Row]]) -> None:
        """Made by `load`."""
        self._directory = directory
        self.sums = sums
        self._rows = rows

    @classmethod
    def load(cls, directory: Path, before: Content | None = None) -> Content:
        """Reads a store's database. Returns `before` if nothing has changed since.

        Raises:
            StoreError: There is no store, or it is damaged.
        """
        for look in range(1, LOOKS + 1):
            stamp = _stamp(directory)
            try:
                with reading(directory) as (connection, tables):
                    sums = seals.sums(connection)
                    if before is not None and before.sums == sums:
                        return before
                    found = seals.read(connection, sums, tables)
                    rows = {name: [completed(tables[name], row[:-1]) for row in of] for name, of in found.items()}
                    return cls(directory, sums, rows)
            except StoreError:
                # A writer that opens or closes the database changes how it must be read.
                if look == LOOKS or _stamp(directory) == stamp:
                    raise
        raise AssertionError

    def rows(self, table: Table) -> list[Row]:
        """A table's rows, without their seals."""
        return list(self._rows[table.name])

    @cached_property
    def runs(self) -> dict[str, dict[str, Any]]:
        """All runs by identity, in the order in which they ended."""
        runs = [dict[str, Any](zip(RUNS.columns, row, strict=True)) for row in self.rows(RUNS)]
        return {run["run_id"]: run for run in sorted(runs, key=lambda run: (run["created"], run["run_id"]))}

    @cached_property
    def points(self) -> dict[int, tuple[str, str]]:
        """Scenario and parameters of every point, both tables in JSON.

        Raises:
            StoreError: One of them is not a table. The seals do not exclude this, because whoever makes a store can
                also seal it.
        """
        for point, scenario, parameters in self._rows["points"]:
            for name, text in (("scenario", scenario), ("parameters", parameters)):
                if not _is_table(str(text)):
                    raise StoreError(
                        f"{shown(self._directory)}: the {name} of its point {point} is no table in JSON, so bloatlab did "
                        "not write it; run the sweep again into another directory"
                    )
        return {point: (scenario, parameters) for point, scenario, parameters in self._rows["points"]}  # type: ignore[misc]

    @cached_property
    def manifests(self) -> dict[str, str]:
        """Hash of the manifest of every part."""
        return {str(part): str(manifest) for part, manifest, *_ in self._rows["parts"]}

    def frame(self, table: Table, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """A table, or some of its columns, as a frame."""
        import polars as pl

        if table is POINTS:
            self.points  # noqa: B018 (checks them)
        types = {str: pl.String, int: pl.Int64, float: pl.Float64}
        names = {name: types[of] for name, of in table.columns.items()}
        frame = pl.DataFrame(self.rows(table), schema=names, orient="row")
        return frame if columns is None else frame.select(*columns)


def _is_table(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _stamp(directory: Path) -> list[tuple[int, int] | None]:
    """A stamp that changes when the database changes."""
    found: list[tuple[int, int] | None] = []
    for end in ("", "-wal", "-journal"):
        try:
            stat = (directory / f"{DATABASE}{end}").stat()
        except OSError:
            found.append(None)
        else:
            found.append((stat.st_size, stat.st_mtime_ns))
    return found
