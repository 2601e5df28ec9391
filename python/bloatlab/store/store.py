"""Reading a store: what ran, with what parameters, and what came of it."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from bloatlab.errors import StoreError
from bloatlab.store import metrics, schema
from bloatlab.store.keep import Keep
from bloatlab.store.parts import read_table
from bloatlab.store.remote import Mirror, Place, is_url, local
from bloatlab.store.writer import Writer

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines import ArrowTable
    from bloatlab.result import Result

_COLUMNS = {
    "run_id": str, "experiment": str, "point": int, "seed": int, "engine_version": str, "status": str, "reason": str,
    "digest": str, "wall_s": float, "events": int, "kept": int, "created": str,
}  # fmt: skip
_CLAIMS = {
    "experiment": str, "run_id": str, "name": str, "unit": str, "published": float, "measured": float, "tolerance": float,
    "holds": int, "source": str, "bound": str,
}  # fmt: skip

ATTEMPTS = 10
"""Looks at which parts there are before one that is missing is an error: a store at a URL may change while much is fetched."""


class Store:
    """A results directory, opened for reading. Many processes may read while one writes."""

    def __init__(self, place: Place) -> None:
        """Opens an existing store; one of an older version is converted.

        Args:
            place: The results directory, or a URL as `s3://bucket/path`, from which comes what is needed.

        Raises:
            StoreError: There is no store, it is damaged, or a newer bloatlab wrote it.
        """
        self.directory = local(place)
        self._mirror = Mirror.at(self.directory)
        if self._mirror is not None and is_url(place):
            self._mirror.pull()
            if not Store.exists(self.directory):
                raise StoreError(f"{place}: holds no results (no {schema.DATABASE})")
        with self._connection() as connection:
            older = schema.is_older(connection)
        if older:
            Writer(self.directory).close()

    @classmethod
    def exists(cls, place: Place) -> bool:
        """Whether there is a store to open."""
        directory = local(place)
        if is_url(place) and (mirror := Mirror.at(directory)) is not None:
            mirror.pull()
        return (directory / schema.DATABASE).exists()

    def fetch_files(self) -> None:
        """Of a store at a URL: brings the files here that runs left beside their tables (`files/`)."""
        if self._mirror is not None:
            self._mirror.fetch_files()

    def publish(self) -> None:
        """Of a store at a URL: uploads what was written beside it (report pages, exports)."""
        if self._mirror is not None:
            self._mirror.publish()

    def writer(self) -> Writer:
        """A writer to this store; raises `StoreError` when another process writes to it."""
        return Writer(self.directory)

    def runs(self) -> pl.DataFrame:
        """One row a run, as they ended.

        `run_id`, `experiment`, `point` (equal for runs that differ in their seed alone), `seed`, `engine_version`, `status`
        (`done` or `failed`), `reason`, `digest`, `wall_s` (s), `events`, `kept` (a `Keep`), `created` (UTC).
        """
        return self._frame(f"SELECT {', '.join(_COLUMNS)} FROM runs ORDER BY created, run_id", _COLUMNS)

    def points(self) -> pl.DataFrame:
        """One row a point: `point`, `scenario` and `parameters`, both as JSON."""
        query = "SELECT point, scenario, parameters FROM points ORDER BY point"
        return self._frame(query, {"point": int, "scenario": str, "parameters": str})

    def parameters(self) -> pl.DataFrame:
        """`run_id`, `name`, `value` (JSON) of every run's parameters."""
        import polars as pl

        with self._connection() as connection:
            points = connection.execute("SELECT point, parameters FROM points").fetchall()
            runs = connection.execute("SELECT run_id, point FROM runs ORDER BY run_id").fetchall()
        values = [
            (point, name, json.dumps(value, sort_keys=True))
            for point, text in points
            for name, value in json.loads(text).items()
        ]
        of_points = pl.DataFrame(values, {"point": pl.Int64, "name": pl.String, "value": pl.String}, orient="row")
        of_runs = pl.DataFrame(runs, {"run_id": pl.String, "point": pl.Int64}, orient="row")
        return of_runs.join(of_points, on="point", maintain_order="left_right").select("run_id", "name", "value")

    def metrics(self, scope: str | None = None, metric: str | None = None) -> pl.DataFrame:
        """`run_id`, `scope`, `entity`, `metric`, `value`, `unit` of every run.

        Args:
            scope: `flow`, `link`, `network`, `probe` or `experiment`; absent: all.
            metric: Name of a metric; absent: all.
        """
        import polars as pl

        frame = metrics.frame([]) if (found := self.table(metrics.TABLE)).is_empty() else found
        for name, value in {"scope": scope, "metric": metric}.items():
            if value is not None:
                frame = frame.filter(pl.col(name) == value)
        units = self._frame("SELECT scope, metric, unit FROM units", dict.fromkeys(("scope", "metric", "unit"), str))
        frame = frame.join(units, on=["scope", "metric"], how="left", maintain_order="left")
        return frame.with_columns(pl.col("unit").fill_null(""))

    def claims(self) -> pl.DataFrame:
        """Published values against ours; `holds` is null where the source states no tolerance."""
        return self._frame(f"SELECT {', '.join(_CLAIMS)} FROM claims ORDER BY rowid", _CLAIMS)

    def invocations(self) -> pl.DataFrame:
        """The commands that asked for runs, oldest first."""
        columns = {"created": str, "experiment": str, "command": str, "runs": int}
        return self._frame(f"SELECT {', '.join(columns)} FROM invocations ORDER BY id", columns)

    def table(self, name: str, run_ids: Sequence[str] | None = None) -> pl.DataFrame:
        """A table of docs/architecture.md over many runs, with `run_id` first.

        Args:
            name: `flow_series`, `histograms`, ...
            run_ids: The runs wanted; absent: all.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                by_part = self._runs_by_part(run_ids)
                if self._mirror is not None:
                    self._mirror.fetch(by_part)
                return read_table(self.directory / schema.PARTS, name, by_part)
            except FileNotFoundError as error:
                # A writer that closes merges parts; the next look sees their new names.
                if attempt == ATTEMPTS:
                    raise StoreError(f"{error}: a part of the store is missing") from error
                if self._mirror is not None:
                    self._mirror.pull()
        raise AssertionError

    def finished(self) -> dict[str, Keep]:
        """Identities of the runs that are done, and how much of each is kept."""
        with self._connection() as connection:
            rows = connection.execute("SELECT run_id, kept FROM runs WHERE status = 'done'")
            return {run_id: Keep(kept) for run_id, kept in rows}

    def run_metrics(self, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Metrics of some runs in the form of `--json`: scope, entity, metric."""
        return metrics.nested(run_ids, self.table(metrics.TABLE, run_ids))

    def run_parameters(self, experiment: str) -> dict[str, dict[str, Any]]:
        """Parameters of each finished run of an experiment, as they ended; runs of a point share one dictionary."""
        points, runs = self._done(experiment)
        read = {point: json.loads(text) for point, text in points.items()}
        return {run_id: read[point] for run_id, point, _ in runs}

    def places(self, experiment: str) -> dict[tuple[str, int], str]:
        """Finished runs of an experiment by their parameters (canonical JSON) and seed."""
        points, runs = self._done(experiment)
        return {(points[point], seed): run_id for run_id, point, seed in runs}

    def _done(self, experiment: str) -> tuple[dict[int, str], list[tuple[str, int, int]]]:
        query = "SELECT run_id, point, seed FROM runs WHERE experiment = ? AND status = 'done' ORDER BY created, run_id"
        with self._connection() as connection:
            points = dict(connection.execute("SELECT point, parameters FROM points"))
            return points, connection.execute(query, (experiment,)).fetchall()

    def run(self, run_id: str) -> Result:
        """One run's result; an unambiguous beginning of its identity is enough.

        Tables that were not kept are made again by the engine that made the run.
        """
        from bloatlab.result import Result
        from bloatlab.sweeps import one

        row = self.find(run_id)
        if row["status"] != "done":
            raise StoreError(f"{self.directory}: run {row['run_id']} failed: {row['reason']}")
        identity = row["run_id"]

        @cache
        def again() -> Mapping[str, ArrowTable]:
            return one.simulate_again(result, packets=False).tables()

        def load(name: str) -> ArrowTable:
            if row["kept"] < Keep.TABLES:
                return one.table_of(identity, again(), name)
            return self.table(name, [identity]).drop("run_id")

        result = Result(
            run_id=identity,
            experiment=row["experiment"],
            scenario=json.loads(row["scenario"]),
            parameters=json.loads(row["parameters"]),
            seed=row["seed"],
            engine_version=row["engine_version"],
            digest=row["digest"],
            metrics=self.run_metrics([identity])[identity],
            load=load,
            recorded=row["kept"] >= Keep.PACKETS,
        )
        return result

    def find(self, run_id: str) -> dict[str, Any]:
        """The row of `runs` whose identity begins so, with the `scenario` and the `parameters` of its point."""
        pattern = run_id.replace("%", "").replace("_", "") + "%"
        columns = [*_COLUMNS, "scenario", "parameters"]
        query = f"SELECT {', '.join(columns)} FROM runs JOIN points USING (point) WHERE run_id LIKE ? LIMIT 2"
        with self._connection() as connection:
            rows = connection.execute(query, (pattern,)).fetchall()
        if len(rows) != 1:
            why = "several runs begin with" if rows else "there is no run"
            raise StoreError(f"{self.directory}: {why} `{run_id}` (bloatlab export lists them as run_id)")
        return dict(zip(columns, rows[0], strict=True))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with schema.clear_errors(self.directory):
            connection = schema.connect_for_reading(self.directory)
            try:
                yield connection
            finally:
                connection.close()

    def _frame(self, query: str, columns: Mapping[str, type]) -> pl.DataFrame:
        import polars as pl

        types = {str: pl.String, int: pl.Int64, float: pl.Float64}
        with self._connection() as connection:
            rows = connection.execute(query).fetchall()
        return pl.DataFrame(rows, schema={name: types[of] for name, of in columns.items()}, orient="row")

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
