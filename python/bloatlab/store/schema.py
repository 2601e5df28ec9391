"""The SQLite side of a store: how it is opened, its version, and what its errors mean to a user."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from bloatlab.errors import StoreError
from bloatlab.store import tables
from bloatlab.store.convert import CONVERTERS

DATABASE = "results.sqlite"
PARTS = "parts"
APPLICATION_ID = 0x424C4142
VERSION = 3


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


def is_older(connection: sqlite3.Connection) -> bool:
    """Whether the store must be converted before it can be read."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0]) < VERSION


def connect_for_writing(directory: Path) -> sqlite3.Connection:
    """A connection that may write; makes or converts the store. Hold the lock."""
    database = directory / DATABASE
    fresh = not database.exists() or database.stat().st_size == 0
    connection = sqlite3.connect(database, timeout=10, isolation_level=None, check_same_thread=False)
    try:
        if fresh:
            connection.execute("PRAGMA journal_mode = WAL")
            made = "; ".join(tables.ALL)
            connection.executescript(
                f"BEGIN; {made}; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
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
        CONVERTERS[version](connection, directory / PARTS)
        version += 1
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
