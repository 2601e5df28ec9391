"""The tables of a store's SQLite database. Each is defined once, for creating, writing and checking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bloatlab.engines import DEFAULT

Value = str | int | float | None
Row = tuple[Value, ...]

_SQL: dict[type, str] = {str: "TEXT", int: "INTEGER", float: "REAL"}
SEAL = "seal"
"""Last column of every table: a hash of the row (`seals.seal_of`)."""


@dataclass(frozen=True)
class Table:
    """A table: its columns in order, the columns that may be null, and its key."""

    name: str
    columns: Mapping[str, type]
    key: tuple[str, ...]
    nullable: frozenset[str] = frozenset()

    @property
    def create(self) -> str:
        """The statement that creates the table."""
        columns = [
            f"{name} {_SQL[of]}" + ("" if name in self.nullable else " NOT NULL") for name, of in self.columns.items()
        ]
        return f"CREATE TABLE {self.name} ({', '.join(columns)}, {SEAL} INTEGER NOT NULL, PRIMARY KEY ({', '.join(self.key)}))"

    @property
    def insert(self) -> str:
        """The statement that writes a row with its seal, and replaces the row with the same key."""
        return f"INSERT OR REPLACE INTO {self.name} VALUES ({', '.join('?' * (len(self.columns) + 1))})"

    @property
    def select(self) -> str:
        """The statement that reads every row with its seal, in the order in which they were first written."""
        return f"SELECT {', '.join(self.columns)}, {SEAL} FROM {self.name} ORDER BY rowid"

    def key_of(self, row: Sequence[Value]) -> tuple[Value, ...]:
        """A row's key."""
        return tuple(row[place] for place in self.key_places)

    @property
    def key_places(self) -> tuple[int, ...]:
        """Indices of the key's columns."""
        names = list(self.columns)
        return tuple(names.index(name) for name in self.key)

    def accepts(self, column: str, kinds: set[type]) -> bool:
        """Whether a column may hold values of these types."""
        allowed = {self.columns[column]} | ({type(None)} if column in self.nullable else set())
        return kinds <= allowed


RUNS = Table(
    "runs",
    {
        "run_id": str, "experiment": str, "point": int, "seed": int, "engine": str, "engine_version": str,
        "repetition": int, "status": str, "reason": str, "digest": str, "wall_s": float, "events": int, "kept": int,
        "created": str, "part": str,
    },
    ("run_id",),
    frozenset({"reason", "digest", "wall_s", "events", "part"}),
)  # fmt: skip
POINTS = Table("points", {"point": int, "scenario": str, "parameters": str}, ("point",))
UNITS = Table("units", {"scope": str, "metric": str, "unit": str}, ("scope", "metric"))
CLAIMS = Table(
    "claims",
    {
        "experiment": str, "run_id": str, "name": str, "unit": str, "published": float, "measured": float,
        "tolerance": float, "holds": int, "source": str, "bound": str, "kind": str,
    },
    ("experiment", "run_id", "name"),
    frozenset({"measured", "tolerance", "holds"}),
)  # fmt: skip
INVOCATIONS = Table(
    "invocations", {"id": int, "created": str, "experiment": str, "command": str, "runs": int, "axes": str}, ("id",)
)
"""`axes`: the values of each swept parameter in the order of the user, as JSON."""
PARTS = Table("parts", {"part": str, "manifest": str, "notes": int}, ("part",))
"""Every part, with the hash of its manifest and its number of notes (rows of small tables)."""
SEALS = Table("seals", {"name": str, "rows": int, "total": int}, ("name",))
"""The number of rows of every other table and the sum of their seals, so that a missing row is detected."""

CONTENT = {table.name: table for table in (RUNS, POINTS, UNITS, CLAIMS, INVOCATIONS, PARTS)}
VERSION = 7
"""Version of the store."""
READABLE = 5
"""The oldest version that is read without an upgrade."""
ADDED: Mapping[int, tuple[str, Mapping[str, Value]]] = {
    5: (RUNS.name, {"engine": DEFAULT, "repetition": 0}),
    6: (INVOCATIONS.name, {"axes": "{}"}),
    7: (CLAIMS.name, {"kind": ""}),
}
"""The columns that a version added to a table, with their values in rows of older stores."""
RUNS_BY_PART = "CREATE INDEX runs_by_part ON runs (part)"


def content_of(version: int) -> dict[str, Table]:
    """The tables of a store of this version; it must be at least 4."""
    content = dict(CONTENT)
    for since, (name, added) in ADDED.items():
        if since > version:
            older = {column: of for column, of in content[name].columns.items() if column not in added}
            content[name] = replace(content[name], columns=older)
    return content


def completed(table: Table, row: Sequence[Value]) -> Row:
    """A row of `table` of an older store, without its seal, with the columns of this version."""
    known = dict(zip(table.columns, row, strict=True))
    for name, added in ADDED.values():
        if name == table.name:
            known = {**added, **known}
    return tuple(known[column] for column in CONTENT[table.name].columns)


def statements(tables: Mapping[str, Table] = CONTENT) -> list[str]:
    """The statements that make a database with these tables."""
    return [*(table.create for table in (*tables.values(), SEALS)), RUNS_BY_PART]
