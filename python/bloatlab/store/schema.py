"""The SQLite side of a store: its tables, its version, and how an older store is brought up to it."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from bloatlab.errors import StoreError

DATABASE = "results.sqlite"
PARTS = "parts"
APPLICATION_ID = 0x424C4142
VERSION = 2

TABLES = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, experiment TEXT NOT NULL, scenario TEXT NOT NULL, seed INTEGER NOT NULL,
    engine_version TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('done', 'failed')), reason TEXT, digest TEXT,
    wall_s REAL, events INTEGER, packets INTEGER NOT NULL DEFAULT 0, created TEXT NOT NULL, part TEXT
) WITHOUT ROWID;
CREATE INDEX runs_by_part ON runs (part);
CREATE TABLE parameters (
    run_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run_id, name)
) WITHOUT ROWID;
CREATE TABLE metrics (
    run_id TEXT NOT NULL, scope TEXT NOT NULL, entity TEXT NOT NULL, metric TEXT NOT NULL, value REAL NOT NULL,
    unit TEXT NOT NULL, PRIMARY KEY (run_id, scope, entity, metric)
) WITHOUT ROWID;
CREATE TABLE claims (
    experiment TEXT NOT NULL, run_id TEXT NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, published REAL NOT NULL,
    measured REAL, tolerance REAL, holds INTEGER, source TEXT NOT NULL, bound TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (experiment, run_id, name)
);
CREATE TABLE invocations (
    id INTEGER PRIMARY KEY, created TEXT NOT NULL, experiment TEXT NOT NULL, command TEXT NOT NULL, runs INTEGER NOT NULL
);
"""

# From a version to the next: the one place where an older store is converted.
CONVERTERS: dict[int, Callable[[sqlite3.Connection], object]] = {
    1: lambda connection: connection.execute("ALTER TABLE claims ADD COLUMN bound TEXT NOT NULL DEFAULT ''"),
}


@contextmanager
def clear_errors(directory: Path) -> Iterator[None]:
    """Turns what SQLite and the operating system say into one line about the directory."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "full" in text:
            raise disk_full(directory) from error
        if "readonly" in text or "unable to open" in text:
            raise StoreError(f"{directory}: cannot be written or read ({text})") from error
        if "locked" in text:
            raise StoreError(f"{directory}: another process holds the store ({text})") from error
        raise StoreError(f"{directory / DATABASE}: damaged, or not a bloatlab store ({text})") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(directory) from error
        where = error.filename or directory
        raise StoreError(f"{where}: {os.strerror(error.errno) if error.errno else error}") from error


def disk_full(directory: Path) -> StoreError:
    """The error for a full disk."""
    return StoreError(f"{directory}: the disk is full; what was finished is kept, the same command resumes")


def connect_for_reading(directory: Path) -> sqlite3.Connection:
    """A read-only connection to an existing store."""
    database = directory / DATABASE
    if directory.exists() and not directory.is_dir():
        raise StoreError(f"{directory}: is a file, not a results directory")
    if not database.exists():
        raise StoreError(f"{directory}: holds no results (no {DATABASE})")
    uri = f"file:{quote(str(database.resolve()))}?mode=ro"
    if not os.access(directory, os.W_OK):
        uri += "&immutable=1"  # SQLite's WAL wants to write beside the file.
    connection = sqlite3.connect(uri, uri=True, timeout=10)
    try:
        _check(connection, directory)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_for_writing(directory: Path) -> sqlite3.Connection:
    """A connection that may write; makes or converts the store. Hold the lock."""
    database = directory / DATABASE
    fresh = not database.exists() or database.stat().st_size == 0
    connection = sqlite3.connect(database, timeout=10, isolation_level=None, check_same_thread=False)
    try:
        if fresh:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(
                f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
            )
        _convert(connection, directory)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, directory: Path) -> int:
    """The store's version; refuses a foreign database and a store from the future."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application != APPLICATION_ID:
        raise StoreError(f"{directory / DATABASE}: is a database, but not a bloatlab store")
    if version > VERSION:
        raise StoreError(
            f"{directory}: written by a newer bloatlab (store version {version}; this one reads up to {VERSION})"
        )
    return version


def _convert(connection: sqlite3.Connection, directory: Path) -> None:
    version = _check(connection, directory)
    while version < VERSION:
        if version not in CONVERTERS:
            raise StoreError(f"{directory}: store version {version} cannot be converted to {VERSION}")
        connection.execute("BEGIN IMMEDIATE")
        CONVERTERS[version](connection)
        version += 1
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
