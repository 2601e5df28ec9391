"""All runs of a store in one SQLite file of tidy tables, which can be queried without bloatlab (docs/import-export.md)."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.errors import StoreError
from bloatlab.store.layout import new_name

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.store import Store

APPLICATION_ID = 0x626C6F78
"""What `PRAGMA application_id` says of a file that this module made; a store's database has another one."""
VERSION = 1
"""`PRAGMA user_version`: version of the tables."""

SCHEMA = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, experiment TEXT NOT NULL, seed INTEGER NOT NULL, repetition INTEGER NOT NULL,
    engine TEXT NOT NULL, engine_version TEXT NOT NULL, status TEXT NOT NULL, created TEXT NOT NULL, wall_s REAL
) WITHOUT ROWID;
CREATE TABLE parameters (
    run_id TEXT NOT NULL REFERENCES runs, name TEXT NOT NULL, value, PRIMARY KEY (run_id, name)
) WITHOUT ROWID;
CREATE TABLE flows (
    run_id TEXT NOT NULL REFERENCES runs, flow TEXT NOT NULL, cca TEXT, traffic TEXT, start_s REAL, stop_s REAL,
    base_rtt_ms REAL, mss INTEGER, PRIMARY KEY (run_id, flow)
) WITHOUT ROWID;
CREATE TABLE metrics (
    run_id TEXT NOT NULL REFERENCES runs, scope TEXT NOT NULL, entity TEXT NOT NULL, metric TEXT NOT NULL,
    value REAL, unit TEXT NOT NULL, PRIMARY KEY (run_id, scope, entity, metric)
) WITHOUT ROWID;
CREATE TABLE series (
    run_id TEXT NOT NULL REFERENCES runs, scope TEXT NOT NULL, entity TEXT NOT NULL, quantity TEXT NOT NULL,
    time_s REAL NOT NULL, value REAL, unit TEXT NOT NULL
);
"""
INDEX = "CREATE INDEX series_of ON series (quantity, run_id, scope, entity, time_s);"
SERIES = ("flow", "link", "probe")
_UNITS = {
    "cwnd": "segments", "ssthresh": "segments", "in_flight": "segments", "retransmissions": "segments",
    "drops": "packets", "marks": "packets",
}  # fmt: skip
_ENDINGS = {"_ms": "ms", "_mbps": "Mbit/s", "_packets": "packets", "_bytes": "B"}
"""Units by the last part of a column's name."""


def write(store: Store, path: Path) -> None:
    """Writes the runs of a store to a file, which appears when it is complete.

    Args:
        store: The store.
        path: The file. It is replaced only if an earlier export made it.

    Raises:
        StoreError: Another file has this name, or the file cannot be written.
    """
    refuse_others(path)
    temporary = path.with_name(f".{path.name}.{new_name()}")
    try:
        try:
            with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as to:
                # The file has no name yet, so that a crash can leave no damaged export.
                to.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {SCHEMA}")
                to.execute("BEGIN")
                for table, rows in _tables(store):
                    _insert(to, table, rows)
                to.execute("COMMIT")
                to.executescript(f"{INDEX} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};")
            refuse_others(path)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def refuse_others(path: Path) -> None:
    """Raises `StoreError` if a file has this name that no export made."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    if not stat.S_ISREG(mode) or not _is_ours(path):
        raise StoreError(f"{path}: exists, and bloatlab did not export it; choose another file")


def _is_ours(path: Path) -> bool:
    """Whether the header says so (https://www.sqlite.org/fileformat.html, section 1.3)."""
    with path.open("rb") as file:
        header = file.read(72)
    return header.startswith(b"SQLite format 3\0") and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _insert(to: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    width = len(to.execute(f"PRAGMA table_info({table})").fetchall())
    to.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", rows)


def _tables(store: Store) -> Iterator[tuple[str, Iterable[tuple[Any, ...]]]]:
    runs = store.runs()
    columns = ("run_id", "experiment", "seed", "repetition", "engine", "engine_version", "status", "created", "wall_s")
    yield "runs", runs.select(columns).iter_rows()
    parameters = store.parameters().select("run_id", "name", "value")
    yield "parameters", ((run_id, name, _plain(value)) for run_id, name, value in parameters.iter_rows())
    yield (
        "flows",
        _chosen(store.table("flows"), ("run_id", "flow", "cca", "traffic", "start_s", "stop_s", "base_rtt_ms", "mss")),
    )
    yield "metrics", store.metrics().select("run_id", "scope", "entity", "metric", "value", "unit").iter_rows()
    for scope in SERIES:
        yield "series", _tidy(store.table(f"{scope}_series"), scope)


def _plain(text: str) -> Any:
    """A value that the store holds as JSON: a number or a text as it is, a list or a table as JSON."""
    value = json.loads(text)
    too_large = isinstance(value, int) and not -(2**63) <= value < 2**63
    return text if isinstance(value, list | dict) or too_large else value


def _chosen(frame: pl.DataFrame, columns: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """Rows with these columns; a column that the frame lacks is null."""
    import polars as pl

    if frame.is_empty():
        return iter(())
    return frame.select(
        pl.col(name).cast(pl.String) if name in frame.columns and frame[name].dtype == pl.Categorical
        else pl.col(name) if name in frame.columns else pl.lit(None).alias(name)
        for name in columns
    ).iter_rows()  # fmt: skip


def _tidy(frame: pl.DataFrame, scope: str) -> Iterator[tuple[Any, ...]]:
    """One row per entity, instant and quantity that has a value."""
    import polars as pl

    for name in frame.columns:
        if name in ("run_id", "time_s", scope) or not frame[name].dtype.is_numeric():
            continue
        unit = _UNITS.get(name) or next((of for end, of in _ENDINGS.items() if name.endswith(end)), "")
        of = frame.select("run_id", pl.col(scope).cast(pl.String), "time_s", pl.col(name).cast(pl.Float64))
        for run_id, entity, time_s, value in of.drop_nulls(name).iter_rows():
            yield run_id, scope, entity, name, time_s, value, unit
