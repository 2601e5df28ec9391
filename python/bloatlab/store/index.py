"""Enters a part into the database: its runs, their points, and rows of the small tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from bloatlab.store.database import Database
from bloatlab.store.points import Points
from bloatlab.store.records import PARAMETERS, Note, RunRecord
from bloatlab.store.tables import CLAIMS, INVOCATIONS, PARTS, RUNS, UNITS, Table, completed

NOTED = {table.name: table for table in (CLAIMS, UNITS)}
"""Small tables whose rows are written as they are."""


def index(
    database: Database, points: Points, part: str, manifest: str, records: Sequence[RunRecord], notes: Sequence[Note]
) -> None:
    """Enters a part that is on disk. Must be called within a transaction.

    Args:
        database: The store's database.
        points: Its points.
        part: The part's name.
        manifest: Hash of its manifest.
        records: Its runs.
        notes: Its rows of small tables.
    """
    enter(database, points, part, manifest, records, len(notes))
    for note in notes:
        take(database, points, note)


def enter(
    database: Database, points: Points, part: str, manifest: str, records: Sequence[RunRecord], notes: int
) -> None:
    """Enters a part and its runs, but not the rows of its `notes`."""
    database.put(PARTS, [(part, manifest, notes)])
    database.put(RUNS, [record.run_row(points.of(record.scenario, record.parameters), part) for record in records])


def take(database: Database, points: Points, note: Note) -> None:
    """Enters one row of a small table."""
    if note.table == PARAMETERS:
        run_id, text = note.row
        for row in database.rows(RUNS, "run_id = ?", run_id):
            point = points.besides(int(row[2] or 0), json.loads(str(text)))
            database.put(RUNS, [(*row[:2], point, *row[3:])])
    elif note.table == INVOCATIONS.name:
        written = _as_written(INVOCATIONS, len(note.row) + 1)
        database.put(INVOCATIONS, [completed(written, (database.count(INVOCATIONS) + 1, *note.row))])
    else:
        table = NOTED[note.table]
        database.put(table, [completed(_as_written(table, len(note.row)), note.row)])


def _as_written(table: Table, columns: int) -> Table:
    """A table with as many columns as a part has, which are fewer in a part of an older store."""
    return replace(table, columns=dict(list(table.columns.items())[:columns]))
