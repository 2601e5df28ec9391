"""The one writer of a store. Finished runs are queued; what has queued up becomes one part and one transaction."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bloatlab.errors import StoreError
from bloatlab.store import metrics, schema
from bloatlab.store.keep import Keep
from bloatlab.store.lock import WriteLock
from bloatlab.store.parts import concatenate, read_table, remove_parts, write_part
from bloatlab.store.points import Points
from bloatlab.store.remote import Mirror, Place, local

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines import ArrowTable

COMMIT_EVERY = 0.1
"""Seconds between the first commits while runs keep coming: large groups, and little to lose."""
COMMIT_SHARE = 0.02
"""Later the share of the time since the start that may pass, up to `COMMIT_AT_LEAST_EVERY`: long sweeps make few parts."""
COMMIT_AT_LEAST_EVERY = 1.0
"""Most seconds between commits."""
MERGE_ABOVE = 32
"""Parts left at closing beyond which they are merged."""
MERGE_BYTES = 64_000_000
"""Largest merged part."""
BACKLOG = 512
"""Runs that may wait to be written."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run that has ended: what was asked and what came of it."""

    run_id: str
    experiment: str
    scenario: str
    """Canonical JSON."""
    seed: int
    engine_version: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`{scope}_metrics` by entity and name, as `--json` has them."""
    tables: Mapping[str, ArrowTable] = field(default_factory=dict)
    """Series, histograms and, if they are kept, packets."""
    digest: str | None = None
    events: int | None = None
    reason: str | None = None
    """Why it failed; absent: it did not."""
    wall_s: float = 0.0
    keep: Keep = Keep.TABLES
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="microseconds"))


class Writer:
    """Writes to a store until closed; use it as a context manager."""

    def __init__(self, place: Place, units: Mapping[tuple[str, str], str] | None = None) -> None:
        """Opens (or makes) the store for writing; raises `StoreError` when another process writes to it.

        Args:
            place: The results directory, or a URL.
            units: Unit of each (scope, metric).
        """
        self.directory = directory = local(place)
        self.stored = 0
        """Runs that are safely on disk."""
        self._queue: list[RunRecord] = []
        self._statements: list[tuple[str, Sequence[Sequence[Any]]]] = []
        self._asked: list[tuple[str, Mapping[str, Any]]] = []
        self._error: StoreError | None = None
        self._closing = False
        self._hurry = False
        self._busy = False
        self._changed = threading.Condition()
        if directory.exists() and not directory.is_dir():
            raise StoreError(f"{directory}: is a file, not a results directory")
        with schema.clear_errors(directory):
            self._parts = directory / schema.PARTS
            directory.mkdir(parents=True, exist_ok=True)
            self._mirror = Mirror.at(directory)
            self._lock = WriteLock(directory)
            try:
                if self._mirror is not None:
                    self._mirror.begin()
                self._parts.mkdir(exist_ok=True)
                self._database = schema.connect_for_writing(directory)
                self._points = Points(self._database)
                self._clean()
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
            self.note("INSERT OR REPLACE INTO units VALUES (?, ?, ?)", [(*key, unit) for key, unit in units.items()])
        self._thread = threading.Thread(target=self._work, name="bloatlab-store", daemon=True)
        self._thread.start()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, record: RunRecord) -> None:
        """Queues a finished run; waits while too many wait to be written."""
        with self._changed:
            while len(self._queue) >= BACKLOG and self._error is None:
                self._changed.wait()
            self._raise_error()
            self._queue.append(record)
            self._changed.notify_all()

    def note(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Queues rows of the small tables (claims, invocations, units)."""
        with self._changed:
            self._raise_error()
            self._statements.append((statement, rows))
            self._changed.notify_all()

    def invocation(self, experiment: str, command: str, runs: int) -> None:
        """Notes the command that asked for `runs` runs."""
        row = (datetime.now(UTC).isoformat(timespec="microseconds"), experiment, command, runs)
        self.note("INSERT INTO invocations (created, experiment, command, runs) VALUES (?, ?, ?, ?)", [row])

    def parameters(self, run_id: str, values: Mapping[str, Any]) -> None:
        """Notes parameters under which a run that was already there is asked for again."""
        with self._changed:
            self._raise_error()
            self._asked.append((run_id, values))
            self._changed.notify_all()

    def hasten(self) -> None:
        """The last runs are under way: commit what there is at once, beside them, so that little is left at the end."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until everything queued so far is on disk."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            while (self._queue or self._statements or self._asked or self._busy) and self._error is None:
                self._changed.wait()
            self._hurry = False
            self._raise_error()

    @property
    def error(self) -> StoreError | None:
        """Why the writer stopped, if it did."""
        return self._error

    def close(self) -> None:
        """Writes what is queued, merges small parts and gives the lock up; raises what went wrong."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        complete = False
        try:
            if self._mirror is not None:
                self._mirror.stop()
            if self._error is None:
                with schema.clear_errors(self.directory):
                    self._merge()
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
                while not (self._queue or self._statements or self._asked or self._closing):
                    self._changed.wait()
                every = min(max(COMMIT_EVERY, COMMIT_SHARE * (time.monotonic() - start)), COMMIT_AT_LEAST_EVERY)
                while not (self._closing or self._hurry) and (rest := last + every - time.monotonic()) > 0:
                    self._changed.wait(rest)
                records, self._queue = self._queue, []
                statements, self._statements = self._statements, []
                asked, self._asked = self._asked, []
                if not (records or statements or asked):
                    return
                self._busy = True
                self._changed.notify_all()
            last = time.monotonic()
            try:
                with schema.clear_errors(self.directory):
                    self._commit(records, statements, asked)
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
            except Exception as error:
                self._fail(error if isinstance(error, StoreError) else StoreError(f"{self.directory}: {error}"))
                return

    def _commit(
        self,
        records: Sequence[RunRecord],
        statements: Sequence[tuple[str, Sequence[Sequence[Any]]]],
        asked: Sequence[tuple[str, Mapping[str, Any]]],
    ) -> None:
        tables: dict[str, list[tuple[str, ArrowTable]]] = defaultdict(list)
        rows: list[metrics.Row] = []
        for record in records:
            for name, table in record.tables.items():
                tables[name].append((record.run_id, table))
            rows += metrics.rows(record.run_id, record.metrics)
        frames = {name: frame for name, of in sorted(tables.items()) if (frame := concatenate(of)).height}
        if rows:
            frames[metrics.TABLE] = metrics.frame(rows)
        part = write_part(self._parts, frames) if frames else None
        with self._transaction():
            self._database.executemany(_INSERT_RUN, [self._run_row(record, part) for record in records])
            for statement, of in statements:
                self._database.executemany(statement, of)
            self._note_parameters(asked)
        self.stored += len(records)

    def _run_row(self, record: RunRecord, part: str | None) -> tuple[Any, ...]:
        point = self._points.of(record.scenario, record.parameters)
        done = record.reason is None
        return (
            record.run_id, record.experiment, point, record.seed, record.engine_version, "done" if done else "failed",
            record.reason, record.digest, record.wall_s, record.events, int(record.keep), record.created,
            part if done else None,
        )  # fmt: skip

    def _note_parameters(self, asked: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        if not asked:
            return
        points = dict(self._database.execute("SELECT run_id, point FROM runs"))
        moved = [
            (after, run_id)
            for run_id, values in asked
            if run_id in points and (after := self._points.besides(points[run_id], values)) != points[run_id]
        ]
        self._database.executemany("UPDATE runs SET point = ? WHERE run_id = ?", moved)

    def _transaction(self) -> _Transaction:
        return _Transaction(self._database)

    def _runs_by_part(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for part, run_id in self._database.execute(
            "SELECT part, run_id FROM runs WHERE part IS NOT NULL ORDER BY part"
        ):
            found[part].append(run_id)
        return found

    def _clean(self) -> None:
        """Removes what a killed writer left: parts that no run names."""
        named = self._runs_by_part()
        for path in self._parts.iterdir():
            if path.name not in named:
                shutil.rmtree(path, ignore_errors=True)

    def _merge(self) -> None:
        """Merges small parts, so that reading thousands of runs opens few files; those that are only at a URL stay."""
        by_part = {part: runs for part, runs in self._runs_by_part().items() if (self._parts / part).is_dir()}
        if len(by_part) <= MERGE_ABOVE:
            return
        group: dict[str, list[str]] = {}
        size = 0
        for part, run_ids in by_part.items():
            part_size = sum(file.stat().st_size for file in (self._parts / part).glob("*.parquet"))
            if size + part_size > MERGE_BYTES:
                self._merge_group(group)
                group, size = {}, 0
            group[part] = run_ids
            size += part_size
        self._merge_group(group)

    def _merge_group(self, group: Mapping[str, Sequence[str]]) -> None:
        if len(group) < 2:
            return
        names = {file.stem for part in group for file in (self._parts / part).glob("*.parquet")}
        frames: dict[str, pl.DataFrame] = {name: read_table(self._parts, name, group) for name in sorted(names)}
        merged = write_part(self._parts, frames)
        with self._transaction():
            rows = [(merged, part) for part in group]
            self._database.executemany("UPDATE runs SET part = ? WHERE part = ?", rows)
        remove_parts(self._parts, group)


class _Transaction:
    """`BEGIN IMMEDIATE` to `COMMIT`, or `ROLLBACK` when something is raised."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._database.execute("COMMIT")
        elif self._database.in_transaction:
            self._database.execute("ROLLBACK")


_INSERT_RUN = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * 13)})"
