"""The database of a store: how it is opened for reading and for writing, its version, and what its errors mean to a user."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from bloatlab.errors import StoreError
from bloatlab.store import layout, seals
from bloatlab.store.layout import DATABASE, Kind
from bloatlab.store.lock import is_locked
from bloatlab.store.tables import CONTENT, READABLE, SEALS, VERSION, Row, Table, Value, content_of, statements

_HARDENING = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON"
"""Settings for a database that may come from another person."""


class DamagedDatabaseError(StoreError):
    """The database is damaged. It can be rebuilt from the parts."""

    def __init__(self, directory: Path, what: str) -> None:
        super().__init__(
            f"{directory / DATABASE}: {what}; `bloatlab store repair {directory}` rebuilds it from the parts"
        )


@contextlib.contextmanager
def clear_errors(directory: Path) -> Iterator[None]:
    """Turns errors of SQLite and of the operating system into one line about the directory."""
    try:
        yield
    except seals.AlteredError as error:
        raise DamagedDatabaseError(directory, str(error)) from error
    except UnicodeDecodeError as error:
        # SQLite repeats altered bytes in its messages, and Python cannot decode them.
        why = "is damaged: a text in it is not UTF-8"
        raise DamagedDatabaseError(directory, why) from error
    except sqlite3.Error as error:
        text = str(error)
        if "full" in text:
            raise disk_full(directory) from error
        if "readonly" in text or "unable to open" in text:
            raise StoreError(f"{directory}: cannot be written or read ({text})") from error
        if "locked" in text:
            raise StoreError(f"{directory}: another process holds the store ({text})") from error
        if "disk I/O error" in text:
            raise StoreError(f"{directory}: cannot be written or read ({text}); the same command resumes") from error
        raise DamagedDatabaseError(directory, f"damaged, or not a bloatlab store ({text})") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(directory) from error
        where = error.filename or directory
        raise StoreError(f"{where}: {os.strerror(error.errno) if error.errno else error}") from error


def disk_full(directory: Path) -> StoreError:
    """The error for a full disk."""
    return StoreError(f"{directory}: the disk is full; what was finished is kept, the same command resumes")


@contextlib.contextmanager
def reading(directory: Path) -> Iterator[tuple[sqlite3.Connection, dict[str, Table]]]:
    """A connection that sees the store at one moment, and the tables of the store's version.

    It writes nothing, not even next to the database.

    Raises:
        StoreError: There is no store, it is damaged, or another version of bloatlab wrote it.
    """
    with clear_errors(directory):
        found = layout.kind(directory)
        if found is Kind.LOST:
            raise layout.lost(directory)
        if found is Kind.EMPTY:
            raise StoreError(f"{directory}: holds no results (no {DATABASE})")
        with contextlib.closing(_connect(directory)) as connection:
            connection.executescript(_HARDENING)
            version = version_of(connection)
            check_version(directory, version, READABLE)
            tables = content_of(version)
            connection.execute("BEGIN")
            seals.check_schema(connection, tables)
            yield connection, tables


def _connect(directory: Path) -> sqlite3.Connection:
    database = directory / DATABASE
    if not is_locked(directory):
        logs = [path for end in ("-wal", "-journal") if (path := directory / f"{DATABASE}{end}").exists()]
        if logs:
            return _recovered([database, *logs])
        if _expects_log(database):
            # SQLite would create a log next to the file, which is not needed.
            return _connect_uri(database, "immutable=1")
    return _connect_uri(database, "mode=ro")


def _recovered(files: Sequence[Path]) -> sqlite3.Connection:
    """A copy in memory of a database whose writer was killed. SQLite would update the file itself, which is a write."""
    memory = sqlite3.connect(":memory:")
    try:
        with tempfile.TemporaryDirectory(prefix="bloatlab-") as folder:
            for path in files:
                shutil.copyfile(path, Path(folder, path.name))
            with contextlib.closing(sqlite3.connect(Path(folder, DATABASE))) as copy:
                copy.backup(memory)
    except BaseException:
        memory.close()
        raise
    return memory


def _expects_log(database: Path) -> bool:
    """Whether the header says that commits go to a log (https://www.sqlite.org/fileformat.html, section 1.3.3)."""
    with database.open("rb") as file:
        return file.read(20)[18:20] != b"\x01\x01"


def _connect_uri(database: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(database.resolve()))}?{how}", uri=True, timeout=10)


def version_of(connection: sqlite3.Connection) -> int:
    """The store's version."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_version(directory: Path, version: int, oldest: int = VERSION) -> None:
    """Raises `StoreError` if a newer bloatlab wrote the store, or one that is older than the store version `oldest`."""
    if version > VERSION:
        raise StoreError(
            f"{directory}: written by a newer bloatlab (store version {version}; this one reads up to {VERSION})"
        )
    if version < oldest:
        raise StoreError(
            f"{directory}: written by an older bloatlab (store version {version}); `bloatlab store upgrade {directory}` "
            f"brings it to version {VERSION} and keeps a copy of its database"
        )


def make(path: Path) -> None:
    """Creates an empty database at a path where none exists."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        script = "; ".join(statements())
        connection.executescript(
            f"BEGIN; {script}; PRAGMA application_id = {layout.APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
        )
        Database(connection, {name: [] for name in CONTENT}).commit_sums()


class Database:
    """A database that is written to. It keeps the seal of every row, so that the sums always match the rows."""

    def __init__(self, connection: sqlite3.Connection, content: dict[str, list[Row]]) -> None:
        """Takes a connection, and the rows that `seals.read` found there."""
        self.connection = connection
        self._seals: dict[str, dict[tuple[Value, ...], int]] = {
            name: {CONTENT[name].key_of(row): int(row[-1] or 0) for row in rows} for name, rows in content.items()
        }
        self._totals = {name: seals.sum_of(found.values()) for name, found in self._seals.items()}

    @classmethod
    def open(cls, directory: Path) -> Database:
        """Opens the database of a directory, or creates one. The caller must hold the lock.

        Raises:
            StoreError: It is damaged, or of another version.
        """
        path = directory / DATABASE
        if not path.exists() or path.stat().st_size == 0:
            temporary = layout.temporary(directory)
            make(temporary)
            temporary.replace(path)
        connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
        try:
            connection.executescript(_HARDENING)
            check_version(directory, version_of(connection))
            seals.check_schema(connection)
            content = seals.read(connection, seals.sums(connection))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return cls(connection, content)

    def close(self) -> None:
        """Closes it as one file. While another process reads it, the log stays next to it until the next close."""
        with contextlib.suppress(sqlite3.Error):
            self.connection.execute("PRAGMA busy_timeout = 0")
            self.connection.execute("PRAGMA journal_mode = DELETE")
        self.connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Readers see all writes of this block together, or none."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.commit_sums()
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def put(self, table: Table, rows: Iterable[Sequence[Value]]) -> None:
        """Writes rows. Each replaces the row with the same key."""
        known = self._seals[table.name]
        sealed = []
        for values in rows:
            row = seals.stored(table, values)
            seal = seals.seal_of(table.name, row)
            key = table.key_of(row)
            self._totals[table.name] = seals.sum_of((self._totals[table.name], seal, -known.get(key, 0)))
            known[key] = seal
            sealed.append((*row, seal))
        self.connection.executemany(table.insert, sealed)

    def remove(self, table: Table, keys: Iterable[tuple[Value, ...]]) -> None:
        """Removes the rows with these keys."""
        known = self._seals[table.name]
        keys = list(keys)
        for key in keys:
            self._totals[table.name] = seals.sum_of((self._totals[table.name], -known.pop(key)))
        where = " AND ".join(f"{name} = ?" for name in table.key)
        self.connection.executemany(f"DELETE FROM {table.name} WHERE {where}", keys)

    def count(self, table: Table) -> int:
        """Number of rows."""
        return len(self._seals[table.name])

    def rows(self, table: Table, where: str = "", *values: Value) -> list[Row]:
        """Rows without their seals, such as `rows(RUNS, "part = ?", name)`."""
        query = f"SELECT {', '.join(table.columns)} FROM {table.name}" + (f" WHERE {where}" if where else "")
        return self.connection.execute(query, values).fetchall()

    def runs_by_part(self) -> dict[str, list[str]]:
        """Identities of the runs that each part holds."""
        found: dict[str, list[str]] = defaultdict(list)
        query = "SELECT part, run_id FROM runs WHERE part IS NOT NULL ORDER BY part"
        for part, run_id in self.connection.execute(query):
            found[part].append(run_id)
        return found

    def commit_sums(self) -> None:
        """Writes the sums of the tables within the open transaction."""
        rows = [(name, len(found), self._totals[name]) for name, found in self._seals.items()]
        self.connection.executemany(SEALS.insert, [(*row, seals.seal_of(SEALS.name, row)) for row in rows])
