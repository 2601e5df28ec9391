"""Repairs a store: rebuilds the database from the parts, and the small tables of damaged parts from the database."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bloatlab.errors import StoreError
from bloatlab.store import layout
from bloatlab.store.content import Content
from bloatlab.store.database import DamagedDatabaseError, Database, clear_errors, make
from bloatlab.store.index import enter, take
from bloatlab.store.layout import DATABASE, MANIFEST, MARKER, PARTS, Kind
from bloatlab.store.lock import WriteLock
from bloatlab.store.parts import DamagedError, Part, UnreadableError, write_part
from bloatlab.store.points import Points
from bloatlab.store.records import NOTES, RECORDS, Note, RunRecord, frame_of_notes, notes_of
from bloatlab.store.tables import CLAIMS, CONTENT, INVOCATIONS, UNITS
from bloatlab.store.tables import PARTS as PARTS_TABLE


@dataclass
class Rebuilt:
    """The result of rebuilding a database."""

    runs: int = 0
    parts: int = 0
    damaged: list[str] = field(default_factory=list)
    """Parts that could not be read, and why."""
    aside: Path | None = None
    """Path of the damaged database."""


def needs_database(directory: Path) -> bool:
    """Whether the database is missing or damaged.

    Raises:
        StoreError: The directory is no store, or another version of bloatlab wrote it.
    """
    found = layout.kind(directory)
    if found is Kind.EMPTY:
        raise StoreError(f"{directory}: holds no results (no {DATABASE})")
    if found is Kind.LOST:
        return True
    try:
        Content.load(directory)
    except DamagedDatabaseError:
        return True
    return False


def rebuild(directory: Path) -> Rebuilt:
    """Rebuilds the database from the parts. A damaged database is renamed, never deleted.

    Raises:
        StoreError: Another process writes there, or the disk is full.
    """
    rebuilt = Rebuilt()
    with _locked(directory):
        fresh = layout.temporary(directory)
        make(fresh)
        with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            _fill(Database(connection, {name: [] for name in CONTENT}), directory / PARTS, rebuilt)
        rebuilt.aside = _set_aside(directory)
        fresh.replace(directory / DATABASE)
    return rebuilt


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    with clear_errors(directory):
        lock = WriteLock(directory)
        try:
            yield
        finally:
            lock.release()


def _fill(database: Database, parts: Path, rebuilt: Rebuilt) -> None:
    whole: list[tuple[Part, list[RunRecord], list[Note]]] = []
    newest: dict[str, tuple[str, str]] = {}
    for path in sorted(parts.iterdir()):
        if not layout.is_part(path.name) or not _is_ours(path):
            continue
        try:
            part = Part(parts, path.name, None)
            part.check()
            records, notes = part.read(RECORDS), part.read(NOTES)
        except UnreadableError as error:
            # The database would not name the part, and the next writer would remove it.
            raise StoreError(
                f"{parts.parent}: {error}; no database is made while a part cannot be read: give the same command "
                "again, or move the part away"
            ) from error
        except DamagedError as error:
            rebuilt.damaged.append(str(error))
            continue
        of_part = [] if records is None else [RunRecord.of_row(row) for row in records.iter_rows(named=True)]
        for record in of_part:
            newest[record.run_id] = max(newest.get(record.run_id, ("", "")), (record.created, part.name))
        whole.append((part, of_part, [] if notes is None else notes_of(notes)))
    points = Points(database)
    # A writer that was killed while it merged parts has left some rows twice.
    seen: set[Note] = set()
    with database.transaction():
        for part, of_part, of_notes in whole:
            fresh = [note for note in of_notes if note not in seen]
            seen.update(fresh)
            current = [record for record in of_part if newest[record.run_id] == (record.created, part.name)]
            enter(database, points, part.name, part.digest, current, len(fresh))
        for note in sorted(seen, key=lambda note: note.created):
            take(database, points, note)
    rebuilt.runs, rebuilt.parts = len(newest), len(whole)


def _is_ours(path: Path) -> bool:
    """Whether a directory with the name of a part was made by bloatlab.

    A directory of another origin has neither of these files.
    """
    return (path / MARKER).exists() or (path / MANIFEST).exists()


def _set_aside(directory: Path) -> Path | None:
    """Renames a damaged database and its log to an unused name."""
    if not (directory / DATABASE).exists():
        return None
    names = (f"{DATABASE}.damaged{end}" for end in ("", *(f"-{number}" for number in range(2, 1000))))
    aside = next(path for name in names if not (path := directory / name).exists() and not path.is_symlink())
    for end in ("-wal", "-shm", "-journal", ""):
        with contextlib.suppress(FileNotFoundError):
            (directory / f"{DATABASE}{end}").rename(aside.with_name(aside.name + end))
    return aside


def renew_notes(parts: Path, database: Database) -> None:
    """Writes the rows of small tables of damaged parts without runs into a new part."""
    held = database.runs_by_part()
    lost = []
    for name, manifest, _ in database.rows(PARTS_TABLE):
        if name not in held:
            # Its runs were made again, so only its notes are needed.
            try:
                Part(parts, str(name), str(manifest)).check()
            except (DamagedError, FileNotFoundError):
                lost.append((name,))
    if not lost:
        return
    notes = [
        Note(table.name, row[1:] if table is INVOCATIONS else row)
        for table in (UNITS, CLAIMS, INVOCATIONS)
        for row in database.rows(table)
    ]
    part, manifest = write_part(parts, {NOTES: frame_of_notes(notes)})
    with database.transaction():
        database.put(PARTS_TABLE, [(part, manifest, len(notes))])
        database.remove(PARTS_TABLE, lost)
