"""Reading a store: what ran, with what parameters, and what came of it."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.errors import StoreError
from bloatlab.store import schema
from bloatlab.store.parts import read_table
from bloatlab.store.writer import Writer

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.result import Result

_RUN_COLUMNS = (
    "run_id, experiment, scenario, seed, engine_version, status, reason, digest, wall_s, events, packets, created"
)


class Store:
    """A results directory, opened for reading. Many processes may read while one writes."""

    def __init__(self, directory: Path | str) -> None:
        """Opens an existing store.

        Args:
            directory: The results directory.

        Raises:
            StoreError: There is no store, it is damaged, or a newer bloatlab wrote it.
        """
        self.directory = Path(directory)
        with self._connection():
            pass

    @classmethod
    def exists(cls, directory: Path | str) -> bool:
        """Whether there is a store to open."""
        return (Path(directory) / schema.DATABASE).exists()

    def writer(self) -> Writer:
        """A writer to this store; raises `StoreError` when another process writes to it."""
        return Writer(self.directory)

    def runs(self) -> pl.DataFrame:
        """One row a run: identity, experiment, scenario (JSON), seed, status, reason, digest, wall-clock seconds."""
        return self._frame(f"SELECT {_RUN_COLUMNS} FROM runs ORDER BY created, run_id")

    def parameters(self) -> pl.DataFrame:
        """`run_id`, `name`, `value` (JSON) of every run's parameters."""
        return self._frame("SELECT run_id, name, value FROM parameters")

    def metrics(self, scope: str | None = None, metric: str | None = None) -> pl.DataFrame:
        """`run_id`, `scope`, `entity`, `metric`, `value`, `unit` of every run, in one query.

        Args:
            scope: `flow`, `link`, `network` or `probe`; absent: all.
            metric: Name of a metric; absent: all.
        """
        conditions = {"scope": scope, "metric": metric}
        given = {name: value for name, value in conditions.items() if value is not None}
        where = " WHERE " + " AND ".join(f"{name} = ?" for name in given) if given else ""
        query = f"SELECT run_id, scope, entity, metric, value, unit FROM metrics{where}"
        return self._frame(query, tuple(given.values()))

    def claims(self) -> pl.DataFrame:
        """Published values against ours; `holds` is null where the source states no tolerance."""
        return self._frame("SELECT * FROM claims ORDER BY rowid")

    def invocations(self) -> pl.DataFrame:
        """The commands that asked for runs, oldest first."""
        return self._frame("SELECT created, experiment, command, runs FROM invocations ORDER BY id")

    def table(self, name: str, run_ids: Sequence[str] | None = None) -> pl.DataFrame:
        """A table of docs/architecture.md over many runs, with `run_id` first.

        Args:
            name: `flow_series`, `histograms`, ...
            run_ids: The runs wanted; absent: all.
        """
        for attempt in (1, 2):
            try:
                return read_table(self.directory / schema.PARTS, name, self._runs_by_part(run_ids))
            except FileNotFoundError as error:
                # A writer that closes merges parts; the second look sees their new names.
                if attempt == 2:
                    raise StoreError(f"{error}: a part of the store is missing") from error
        raise AssertionError

    def finished(self) -> dict[str, bool]:
        """Identities of the runs that are done, and whether their packets were recorded."""
        with self._connection() as connection:
            rows = connection.execute("SELECT run_id, packets FROM runs WHERE status = 'done'")
            return {run_id: bool(packets) for run_id, packets in rows}

    def run_metrics(self, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Metrics of some runs in the form of `--json`: scope, entity, metric."""
        found: dict[str, dict[str, Any]] = {
            run_id: {"flow_metrics": {}, "link_metrics": {}, "network_metrics": {}, "probe_metrics": {}}
            for run_id in run_ids
        }
        with self._connection() as connection:
            for start in range(0, len(run_ids), 500):
                some = run_ids[start : start + 500]
                marks = ", ".join("?" * len(some))
                query = f"SELECT run_id, scope, entity, metric, value FROM metrics WHERE run_id IN ({marks})"
                for run_id, scope, entity, metric, value in connection.execute(query, some):
                    metrics = found[run_id][f"{scope}_metrics"]
                    (metrics if scope == "network" else metrics.setdefault(entity, {}))[metric] = value
        return found

    def run(self, run_id: str) -> Result:
        """One run's result; an unambiguous beginning of its identity is enough."""
        from bloatlab.result import Result

        row = self.find(run_id)
        if row["status"] != "done":
            raise StoreError(f"{self.directory}: run {row['run_id']} failed: {row['reason']}")
        identity = row["run_id"]
        with self._connection() as connection:
            rows = connection.execute("SELECT name, value FROM parameters WHERE run_id = ?", (identity,))
            parameters = {name: json.loads(value) for name, value in rows}

        def load(name: str) -> pl.DataFrame:
            return self.table(name, [identity]).drop("run_id")

        return Result(
            run_id=identity,
            experiment=row["experiment"],
            scenario=json.loads(row["scenario"]),
            parameters=parameters,
            seed=row["seed"],
            engine_version=row["engine_version"],
            digest=row["digest"],
            metrics=self.run_metrics([identity])[identity],
            load=load,
            recorded=bool(row["packets"]),
        )

    def find(self, run_id: str) -> dict[str, Any]:
        """The row of `runs` whose identity begins so."""
        pattern = run_id.replace("%", "").replace("_", "") + "%"
        query = f"SELECT {_RUN_COLUMNS} FROM runs WHERE run_id LIKE ? LIMIT 2"
        with self._connection() as connection:
            rows = connection.execute(query, (pattern,)).fetchall()
        if len(rows) != 1:
            why = "several runs begin with" if rows else "there is no run"
            raise StoreError(f"{self.directory}: {why} `{run_id}` (bloatlab export lists them as run_id)")
        return dict(zip(_RUN_COLUMNS.split(", "), rows[0], strict=True))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with schema.clear_errors(self.directory):
            connection = schema.connect_for_reading(self.directory)
            try:
                yield connection
            finally:
                connection.close()

    def _frame(self, query: str, values: tuple[Any, ...] = ()) -> pl.DataFrame:
        import polars as pl

        with self._connection() as connection:
            cursor = connection.execute(query, values)
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
        types: dict[str, pl.DataType] = {"value": pl.String() if "parameters" in query else pl.Float64()}
        types |= dict.fromkeys(("seed", "events", "packets", "holds", "runs"), pl.Int64())
        types |= dict.fromkeys(("wall_s", "published", "measured", "tolerance"), pl.Float64())
        return pl.DataFrame(rows, schema=[(name, types.get(name, pl.String())) for name in names], orient="row")

    def _runs_by_part(self, run_ids: Sequence[str] | None) -> dict[str, list[str]]:
        wanted = None if run_ids is None else set(run_ids)
        found: dict[str, list[str]] = defaultdict(list)
        with self._connection() as connection:
            for part, run_id in connection.execute(
                "SELECT part, run_id FROM runs WHERE part IS NOT NULL ORDER BY part"
            ):
                if wanted is None or run_id in wanted:
                    found[part].append(run_id)
        return found
