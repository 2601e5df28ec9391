"""The one writer of a store. Finished runs are queued. All runs in the queue become one part and one transaction."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.errors import StoreError
from bloatlab.store import layout, metrics
from bloatlab.store.database import Database, clear_errors
from bloatlab.store.identity import canonical
from bloatlab.store.index import index
from bloatlab.store.layout import PARTS, Kind
from bloatlab.store.lock import WriteLock
from bloatlab.store.merge import merge
from bloatlab.store.parts import concatenate, write_part
from bloatlab.store.points import Points
from bloatlab.store.records import NOTES, PARAMETERS, RECORDS, Note, RunRecord, frame_of_notes, frame_of_records, now
from bloatlab.store.remote import Mirror, Place, local
from bloatlab.store.remote.secrets import without_secrets
from bloatlab.store.repair import renew_notes
from bloatlab.store.tables import PARTS as PARTS_TABLE
from bloatlab.store.tables import UNITS, Value
from bloatlab.store.upgrade import upgrade

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines import ArrowTable

COMMIT_EVERY = 0.1
"""Seconds between the first commits while runs arrive, so that groups are large and little is lost by a kill."""
COMMIT_SHARE = 0.02
"""Later, time between commits as a share of the time since the start, up to `COMMIT_AT_LEAST_EVERY`. So long sweeps
make few parts."""
COMMIT_AT_LEAST_EVERY = 1.0
"""Most seconds between commits."""
BACKLOG = 512
"""Largest number of runs that wait to be written."""


class Writer:
    """Writes to a store until it is closed. Use it as a context manager."""

    def __init__(self, place: Place, units: Mapping[tuple[str, str], str] | None = None) -> None:
        """Opens or creates the store for writing. Converts an older store, and keeps a copy of its database.

        Args:
            place: The results directory, or a URL.
            units: Unit of each (scope, metric).

        Raises:
            StoreError: Another process writes to it, it is damaged, or the directory holds something else.
        """
        self.directory = directory = local(place)
        self.stored = 0
        """Runs that are safely on disk."""
        self._queue: list[RunRecord] = []
        self._notes: list[Note] = []
        self._error: StoreError | None = None
        self._closing = False
        self._hurry = False
        self._busy = False
        self._changed = threading.Condition()
        with clear_errors(directory):
            self._parts = directory / PARTS
            _refuse_lost(directory)
            directory.mkdir(parents=True, exist_ok=True)
            self._mirror = Mirror.at(directory)
            self._lock = WriteLock(directory)
            try:
                # Another process may have created files here since the first check.
                _refuse_lost(directory)
                if self._mirror is not None:
                    self._mirror.begin()
                self._parts.mkdir(exist_ok=True)
                self.upgraded = upgrade(directory)
                """Copy of the database of an older store that this writer converted."""
                self._database = Database.open(directory)
                self._clean()
                self._points = Points(self._database)
            except BaseException:
                try:
                    if self._mirror is not None:
                        self._mirror.finish(complete=False)
                finally:
                    self._lock.release()
                raise
        if self._mirror is not None:
            self._mirror.start(self._fail)
        if units:
            known = {row[:2]: row[2] for row in self._database.rows(UNITS)}
            self.note("units", [(*key, unit) for key, unit in units.items() if known.get(key) != unit])
        self._thread = threading.Thread(target=self._work, name="bloatlab-store", daemon=True)
        self._thread.start()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, record: RunRecord) -> None:
        """Queues a finished run. Blocks while too many runs wait to be written."""
        with self._changed:
            while len(self._queue) >= BACKLOG and self._error is None:
                self._changed.wait()
            self._raise_error()
            self._queue.append(record)
            self._changed.notify_all()

    def note(self, table: str, rows: Sequence[Sequence[Value]]) -> None:
        """Queues rows of a small table (`claims` or `units`). Each replaces the row with the same key."""
        with self._changed:
            self._raise_error()
            self._notes += [Note(table, tuple(row)) for row in rows]
            self._changed.notify_all()

    def invocation(
        self, experiment: str, command: str, runs: int, axes: Mapping[str, Sequence[Any]] | None = None
    ) -> None:
        """Records the command that requested `runs` runs, without the passwords and keys in its URLs.

        Args:
            experiment: Name of the experiment.
            command: The command.
            runs: Number of runs.
            axes: The values of each swept parameter, in the order of the user; absent: nothing is swept.
        """
        order = json.dumps({name: list(values) for name, values in (axes or {}).items()})
        self.note("invocations", [(now(), experiment, without_secrets(command), runs, order)])

    def parameters(self, run_id: str, values: Mapping[str, Any]) -> None:
        """Records additional parameters under which a stored run is requested."""
        self.note(PARAMETERS, [(run_id, canonical(dict(values)))])

    def hasten(self) -> None:
        """Commits the queued runs at once.

        Called when the last runs of a plan start, so that little is left at the end.
        """
        with self._changed:
            self._hurry = True
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until everything queued so far is on disk."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            while (self._queue or self._notes or self._busy) and self._error is None:
                self._changed.wait()
            self._hurry = False
            self._raise_error()

    @property
    def error(self) -> StoreError | None:
        """Why the writer stopped, if it did."""
        return self._error

    def close(self) -> None:
        """Writes the queued runs, merges small parts and releases the lock.

        Raises the error that stopped the writer.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        complete = False
        try:
            if self._mirror is not None:
                self._mirror.stop()
            if self._error is None:
                with clear_errors(self.directory):
                    # Runs that were made again have left parts that are no longer needed.
                    self._clean()
                    merge(self._parts, self._database)
                complete = True
        finally:
            self._database.close()
            try:
                if self._mirror is not None:
                    self._mirror.finish(complete)
            finally:
                self._lock.release()
        self._raise_error()

    def _fail(self, error: StoreError) -> None:
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        start = time.monotonic()
        last = 0.0
        while True:
            with self._changed:
                while not (self._queue or self._notes or self._closing):
                    self._changed.wait()
                every = min(max(COMMIT_EVERY, COMMIT_SHARE * (time.monotonic() - start)), COMMIT_AT_LEAST_EVERY)
                while not (self._closing or self._hurry) and (rest := last + every - time.monotonic()) > 0:
                    self._changed.wait(rest)
                records, self._queue = self._queue, []
                notes, self._notes = self._notes, []
                if not (records or notes):
                    return
                self._busy = True
                self._changed.notify_all()
            last = time.monotonic()
            try:
                with clear_errors(self.directory):
                    self._commit(records, notes)
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
            except Exception as error:
                self._fail(error if isinstance(error, StoreError) else StoreError(f"{self.directory}: {error}"))
                return

    def _commit(self, records: Sequence[RunRecord], notes: Sequence[Note]) -> None:
        notes = [note for note in notes if note.table != PARAMETERS or self._points.are_new(note)]
        frames = frames_of(records)
        if notes:
            frames[NOTES] = frame_of_notes(notes)
        if frames:
            part, manifest = write_part(self._parts, frames)
            with self._database.transaction():
                index(self._database, self._points, part, manifest, records, notes)
        self.stored += len(records)

    def _clean(self) -> None:
        """Removes parts that a killed writer left and parts that no run needs.

        Only removes parts with the mark of bloatlab.
        """
        if self._mirror is None:
            renew_notes(self._parts, self._database)
        needed = self._database.runs_by_part()
        rows = self._database.rows(PARTS_TABLE)
        unneeded = [(name,) for name, _, notes in rows if name not in needed and not notes]
        if unneeded:
            with self._database.transaction():
                self._database.remove(PARTS_TABLE, unneeded)
        known = {name for name, _, _ in self._database.rows(PARTS_TABLE)}
        for path in self._parts.iterdir():
            if layout.is_temporary(path.name) or (layout.is_part(path.name) and path.name not in known):
                layout.remove_part(path)


def frames_of(records: Sequence[RunRecord]) -> dict[str, pl.DataFrame]:
    """The tables of a part that holds these runs; empty without runs."""
    tables: dict[str, list[tuple[str, ArrowTable]]] = defaultdict(list)
    rows: list[metrics.Row] = []
    for record in records:
        for name, table in record.tables.items():
            tables[name].append((record.run_id, table))
        rows += metrics.rows(record.run_id, record.metrics)
    frames = {name: frame for name, of in sorted(tables.items()) if (frame := concatenate(of)).height}
    if rows:
        frames[metrics.TABLE] = metrics.frame(rows)
    if records:
        frames[RECORDS] = frame_of_records(record.row() for record in records)
    return frames


def _refuse_lost(directory: Path) -> None:
    if layout.kind(directory) is Kind.LOST:
        raise layout.lost(directory)
