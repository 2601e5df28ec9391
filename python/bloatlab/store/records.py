"""The tables of a part that describe its runs and the small tables. The database can be rebuilt from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bloatlab.engines import DEFAULT
from bloatlab.store.identity import canonical
from bloatlab.store.keep import Keep
from bloatlab.store.tables import ADDED, Row, Value

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines import ArrowTable

RECORDS = "records"
"""Table of a part: a row for each run, with its scenario and its parameters."""
NOTES = "notes"
"""Table of a part: rows of the small tables, as JSON, in the order in which they were written."""
PARAMETERS = "parameters"
"""Kind of note: additional parameters under which a stored run was requested."""
_TYPES = {
    "run_id": str, "experiment": str, "scenario": str, "parameters": str, "seed": int, "engine": str,
    "engine_version": str, "repetition": int, "status": str, "reason": str, "digest": str, "wall_s": float,
    "events": int, "kept": int, "created": str,
}  # fmt: skip
_NOTE_TYPES = {"created": str, "table": str, "row": str}


def now() -> str:
    """The current time in the form of the store, UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run that has ended: its inputs and its results."""

    run_id: str
    experiment: str
    scenario: str
    """Canonical JSON."""
    seed: int
    engine_version: str
    parameters: Mapping[str, Any]
    engine: str = DEFAULT
    repetition: int = 0
    """Which run of this seed it is, from 0; of a reproducible engine there is only one."""
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`{scope}_metrics` by entity and name, as `--json` has them."""
    tables: Mapping[str, ArrowTable] = field(default_factory=dict)
    """Series, histograms and, if they are kept, packets."""
    digest: str | None = None
    events: int | None = None
    reason: str | None = None
    """Why it failed, or is suspect; absent: it is neither."""
    suspect: bool = False
    """Whether the engine doubts its own measurement; metrics and tables are kept."""
    wall_s: float = 0.0
    keep: Keep = Keep.TABLES
    created: str = field(default_factory=now)

    @property
    def status(self) -> str:
        """`done`, `failed` or `suspect`."""
        if self.reason is None:
            return "done"
        return "suspect" if self.suspect else "failed"

    def row(self) -> Row:
        """Its row in the table `records`."""
        return (
            self.run_id, self.experiment, self.scenario, canonical(dict(self.parameters)), self.seed, self.engine,
            self.engine_version, self.repetition, self.status, self.reason, self.digest, self.wall_s, self.events,
            int(self.keep), self.created,
        )  # fmt: skip

    def run_row(self, point: int, part: str) -> Row:
        """Its row in the table `runs` of the database."""
        return (
            self.run_id, self.experiment, point, self.seed, self.engine, self.engine_version, self.repetition,
            self.status, self.reason, self.digest, self.wall_s, self.events, int(self.keep), self.created, part,
        )  # fmt: skip

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> RunRecord:
        """The record that a row of the table `records` holds, without metrics and tables."""
        values = {name: row[name] for name in _TYPES if name not in ("status", "kept", "parameters")}
        suspect = row["status"] == "suspect"
        return cls(**values, parameters=json.loads(row["parameters"]), keep=Keep(row["kept"]), suspect=suspect)


@dataclass(frozen=True, slots=True)
class Note:
    """A row of a small table (`units`, `claims`, `invocations`), or `PARAMETERS` of a run."""

    table: str
    row: tuple[Value, ...]
    created: str = field(default_factory=now)


def frame_of_records(rows: Iterable[Row]) -> pl.DataFrame:
    """The table `records`."""
    return _frame(rows, _TYPES)


def with_all_columns(records: pl.DataFrame) -> pl.DataFrame:
    """The table `records` of a part that an older store may have written, with the columns of this version."""
    import polars as pl

    whole = frame_of_records([])
    missing = [
        pl.lit(value, whole.schema[name]).alias(name)
        for name, value in ADDED[5][1].items()
        if name not in records.columns
    ]
    return records.with_columns(missing)


def frame_of_notes(notes: Sequence[Note]) -> pl.DataFrame:
    """The table `notes`."""
    return _frame([(note.created, note.table, json.dumps(note.row)) for note in notes], _NOTE_TYPES)


def notes_of(frame: pl.DataFrame) -> list[Note]:
    """The notes of a table."""
    rows = frame.select(*_NOTE_TYPES).iter_rows()
    return [Note(table, tuple(json.loads(row)), created) for created, table, row in rows]


def _frame(rows: Iterable[Row], types: Mapping[str, type]) -> pl.DataFrame:
    import polars as pl

    kinds = {str: pl.String, int: pl.Int64, float: pl.Float64}
    return pl.DataFrame(list(rows), schema={name: kinds[of] for name, of in types.items()}, orient="row")
