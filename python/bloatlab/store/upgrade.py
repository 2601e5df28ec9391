"""Converts an older store to this version, one version at a time, and keeps a copy of its database."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.store import layout, metrics, seals
from bloatlab.store.database import Database, check_version, clear_errors, make, version_of
from bloatlab.store.index import index
from bloatlab.store.keep import Keep
from bloatlab.store.layout import DATABASE, PARTS
from bloatlab.store.parts import encoded, mark, replace_durably, write_manifest, write_part
from bloatlab.store.points import Points
from bloatlab.store.records import NOTES, RECORDS, Note, RunRecord, frame_of_notes, frame_of_records
from bloatlab.store.tables import CONTENT, VERSION, completed, content_of

if TYPE_CHECKING:
    import polars as pl


def upgrade(directory: Path) -> Path | None:
    """Converts an older store to this version. The caller must hold the lock.

    The old database is kept next to the new one, and old parts only gain files, so the old store can be restored.

    Returns: The copy of the old database; `None` if there was nothing to do.

    Raises:
        StoreError: The store is damaged, or a newer bloatlab wrote it.
    """
    database = directory / DATABASE
    if not database.exists() or database.stat().st_size == 0:
        return None
    with clear_errors(directory), contextlib.closing(sqlite3.connect(database, timeout=10)) as old:
        version = version_of(old)
        if version >= VERSION:
            check_version(directory, version)
            return None
        copy = _copy(old, directory, version)
        fresh = layout.temporary(directory)
        make(fresh)
        with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            new = Database(connection, {name: [] for name in CONTENT})
            if version >= 4:
                _copy_rows(new, old, version)
            else:
                _fill(new, old, directory / PARTS, version)
        old.execute("PRAGMA journal_mode = DELETE")
    fresh.replace(database)
    return copy


def _copy(old: sqlite3.Connection, directory: Path, version: int) -> Path:
    """Copies the old database to an unused name."""
    names = (f"{DATABASE}.version-{version}{end}" for end in ("", *(f"-{number}" for number in range(2, 1000))))
    path = next(path for name in names if not (path := directory / name).exists() and not path.is_symlink())
    temporary = layout.temporary(directory)
    with contextlib.closing(sqlite3.connect(temporary)) as copy:
        old.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
    temporary.replace(path)
    return path


def _copy_rows(database: Database, old: sqlite3.Connection, version: int) -> None:
    """From version 4 on, versions differ only in columns of the database, and parts stay as they are."""
    tables = content_of(version)
    seals.check_schema(old, tables)
    content = seals.read(old, seals.sums(old), tables)
    with database.transaction():
        for name, rows in content.items():
            database.put(CONTENT[name], [completed(tables[name], row[:-1]) for row in rows])


def _fill(database: Database, old: sqlite3.Connection, parts: Path, version: int) -> None:
    records = _records(old, version)
    values = _metrics(old) if version < 3 else {}
    points = Points(database)
    with database.transaction():
        for part, of_part in records.items():
            frames = {RECORDS: frame_of_records(record.row() for record in of_part)}
            if part in values:
                frames[metrics.TABLE] = metrics.frame(values[part])
            # A missing part is entered without a hash, so that its readers get an error.
            added = write_part(parts, frames) if part is None else (part, _add(layout.part_path(parts, part), frames))
            index(database, points, *added, of_part, [])
        if notes := _notes(old, version):
            index(database, points, *write_part(parts, {NOTES: frame_of_notes(notes)}), [], notes)


def _add(path: Path, frames: Mapping[str, pl.DataFrame]) -> str:
    """Adds tables, the mark and the manifest to a part of an older store. Returns the hash of the manifest."""
    if not path.is_dir():
        return ""
    for table, frame in frames.items():
        replace_durably(path / f"{table}.parquet", encoded(frame))
    mark(path)
    return write_manifest(path)


def _records(old: sqlite3.Connection, version: int) -> dict[str | None, list[RunRecord]]:
    """The runs of each part; failed runs had none."""
    given: dict[str, dict[str, Any]] = defaultdict(dict)
    if version < 3:
        for run_id, name, value in old.execute("SELECT run_id, name, value FROM parameters"):
            given[run_id][name] = json.loads(value)
        more, source = "2 + packets, scenario, NULL", "runs"
    else:
        more, source = "kept, scenario, parameters", "runs JOIN points USING (point)"
    found: dict[str | None, list[RunRecord]] = defaultdict(list)
    for *columns, part, kept, scenario, parameters in old.execute(f"SELECT {_COLUMNS}, {more} FROM {source}"):
        run_id, experiment, seed, engine_version, status, reason, digest, wall_s, events, created = columns
        record = RunRecord(
            run_id, experiment, scenario, seed, engine_version, json.loads(parameters) if parameters else given[run_id],
            digest=digest, events=events, reason=None if status == "done" else reason or "no reason given",
            wall_s=wall_s or 0.0, keep=Keep(kept), created=created,
        )  # fmt: skip
        found[part].append(record)
    return found


_COLUMNS = "run_id, experiment, seed, engine_version, status, reason, digest, wall_s, events, created, part"


def _metrics(old: sqlite3.Connection) -> dict[str | None, list[metrics.Row]]:
    """Metrics by part: before version 3 they were in the database."""
    query = (
        "SELECT part, run_id, scope, entity, metric, value FROM metrics JOIN runs USING (run_id) WHERE part IS NOT NULL"
    )
    found: dict[str | None, list[metrics.Row]] = defaultdict(list)
    for part, *row in old.execute(query):
        found[part].append((row[0], row[1], row[2], row[3], row[4]))
    return found


def _notes(old: sqlite3.Connection, version: int) -> list[Note]:
    """Rows of the small tables."""
    bound = "bound" if version > 1 else "''"
    queries = {
        "units": "SELECT scope, metric, unit FROM units"
        if version > 2
        else "SELECT scope, metric, max(unit) FROM metrics GROUP BY scope, metric",
        "claims": f"SELECT experiment, run_id, name, unit, published, measured, tolerance, holds, source, "
        f"{bound}, '' FROM claims",
        "invocations": "SELECT created, experiment, command, runs, '{}' FROM invocations ORDER BY id",
    }
    return [Note(table, tuple(row)) for table, query in queries.items() for row in old.execute(query)]
