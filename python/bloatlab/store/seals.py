"""Seals: a hash of every row of the database, and a sum of them for every table, so that an altered bit is detected."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from bloatlab.store import layout
from bloatlab.store.tables import CONTENT, SEALS, Row, Table, Value, statements

_MODULUS = 1 << 62
STATUS = ("done", "failed", "suspect")


class AlteredError(Exception):
    """The database was altered; the text says where."""


def seal_of(table: str, row: Sequence[Value]) -> int:
    """48 bits of BLAKE2b over a row's values and their types."""
    digest = blake2b(repr(tuple(row)).encode("utf-8", "surrogatepass"), digest_size=6, person=table.encode())
    return int.from_bytes(digest.digest(), "big")


def sum_of(seals: Iterable[int]) -> int:
    """The sum of the seals of a table's rows."""
    return sum(seals) % _MODULUS


def stored(table: Table, values: Sequence[Value]) -> Row:
    """The values as SQLite returns them: whole numbers in a column of floats are floats, and booleans are 0 or 1."""
    return tuple(_stored(of, value) for of, value in zip(table.columns.values(), values, strict=True))


def _stored(of: type, value: Value) -> Value:
    if value is None or value != value:
        # SQLite knows no NaN.
        return None
    if of is str:
        # A message of a user's code may contain a lone surrogate, which UTF-8 cannot encode.
        return str(value).encode("utf-8", "backslashreplace").decode()
    return int(value) if of is int else float(value)


def sums(connection: sqlite3.Connection) -> tuple[Row, ...]:
    """The sums of all tables, which differ if anything in the database differs.

    Raises:
        AlteredError: They were altered.
    """
    found = connection.execute(SEALS.select).fetchall()
    _check_rows(SEALS, found)
    if {row[0] for row in found} != set(CONTENT):
        raise AlteredError("the sums of its tables are not those that were written")
    return tuple(row[:-1] for row in found)


def check_schema(connection: sqlite3.Connection, tables: Mapping[str, Table] = CONTENT) -> None:
    """Raises `AlteredError` if the database has a table, index, view or trigger that is not the store's."""
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master") if sql is not None}
    if found != set(statements(tables)):
        raise AlteredError("its tables are not those of a results directory")


def read(
    connection: sqlite3.Connection, sealed: Iterable[Row], tables: Mapping[str, Table] = CONTENT
) -> dict[str, list[Row]]:
    """Every table, with the seal of each row as its last value.

    Raises:
        AlteredError: A row or a sum was altered, or a value does not have the required form.
    """
    expected: Mapping[Value, Row] = {row[0]: row for row in sealed}
    content = {}
    for name, table in tables.items():
        rows: list[Row] = connection.execute(table.select).fetchall()
        _check_rows(table, rows)
        if (name, len(rows), sum_of(int(row[-1] or 0) for row in rows)) != expected[name]:
            raise AlteredError(f"rows of its table `{name}` are missing or were added")
        content[name] = rows
    _check_names(content, tables["runs"])
    return content


def _check_rows(table: Table, rows: Sequence[Row]) -> None:
    for row in rows:
        if seal_of(table.name, row[:-1]) != row[-1]:
            raise AlteredError(f"a row of its table `{table.name}` is altered")
    for column, values in zip(table.columns, zip(*rows, strict=True), strict=False):
        if not table.accepts(column, set(map(type, values))):
            raise AlteredError(
                f"its table `{table.name}` holds a value in `{column}` that has not the type of that column"
            )
    if len({table.key_of(row) for row in rows}) != len(rows):
        raise AlteredError(f"its table `{table.name}` holds a row twice")


def _check_names(content: Mapping[str, Sequence[Row]], runs: Table) -> None:
    """Values that are used as a path or a key must be valid names."""
    points = {row[0] for row in content["points"]}
    parts = {row[0] for row in content["parts"]}
    for row in content["runs"]:
        run = dict(zip(runs.columns, row, strict=False))
        run_id, status, kept, point, part = (run[name] for name in ("run_id", "status", "kept", "point", "part"))
        if not layout.is_run_id(str(run_id)):
            raise AlteredError(f"it names a run {ascii(run_id)[:80]}; a run has 16 hexadecimal digits")
        if (
            status not in STATUS
            or kept not in range(4)
            or point not in points
            or (part is not None and part not in parts)
        ):
            raise AlteredError(f"its run {run_id} has no valid state, or refers to a point or part that does not exist")
    for part in parts:
        if not layout.is_part(str(part)):
            raise AlteredError(f"it names a part {ascii(part)[:80]}; a part has 16 hexadecimal digits")
