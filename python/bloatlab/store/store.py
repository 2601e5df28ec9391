"""Reads a store: its runs, their parameters and their results."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import bloatlab
from bloatlab import tables
from bloatlab.engines import DEFAULT
from bloatlab.engines.again import Origin
from bloatlab.errors import BloatlabError, StoreError
from bloatlab.loading import NO_PLUGINS
from bloatlab.plots import Plots
from bloatlab.result import Result
from bloatlab.store import frames, metrics
from bloatlab.store.content import Content
from bloatlab.store.keep import Keep
from bloatlab.store.layout import DATABASE, PARTS
from bloatlab.store.parts import DamagedError, Part, damage, joined
from bloatlab.store.recent import Recent
from bloatlab.store.remote import Mirror, Place, is_url, local, shown
from bloatlab.store.tables import CLAIMS, INVOCATIONS, POINTS, RUNS, UNITS
from bloatlab.store.writer import Writer

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines import ArrowTable, Outcome

ATTEMPTS = 10
"""Number of attempts before a missing part is an error: a store at a URL may change while parts are fetched."""


class Store:
    """A results directory, opened for reading.

    Many processes may read while one writes. Reading does not write anything.
    """

    def __init__(self, place: Place) -> None:
        """Opens an existing store.

        Args:
            place: The results directory, or a URL such as `s3://bucket/path`, from which the necessary files are
                fetched.

        Raises:
            StoreError: There is no store, it is damaged, or another version of bloatlab wrote it.
        """
        self.directory = local(place)
        self._mirror = Mirror.at(self.directory)
        if self._mirror is not None and is_url(place):
            self._mirror.pull()
            if not Store.exists(self.directory):
                raise StoreError(f"{shown(place)}: holds no results (no {DATABASE})")
        self._last: Content | None = None
        self._held = False
        self._recent = Recent(self.directory / PARTS)
        self._content()

    @classmethod
    def exists(cls, place: Place) -> bool:
        """Whether there is a store to open."""
        directory = local(place)
        if is_url(place) and (mirror := Mirror.at(directory)) is not None:
            mirror.pull()
        return (directory / DATABASE).exists()

    def fetch_files(self) -> None:
        """For a store at a URL: downloads the additional files of runs (`files/`)."""
        if self._mirror is not None:
            self._mirror.fetch_files()

    def publish(self) -> None:
        """For a store at a URL: uploads report pages and exports."""
        if self._mirror is not None:
            self._mirror.publish()

    def writer(self) -> Writer:
        """A writer to this store. Raises `StoreError` if another process writes to it."""
        return Writer(self.directory)

    def runs(self) -> pl.DataFrame:
        """One row per run, in the order in which they ended.

        `run_id`, `experiment`, `point` (equal for runs of the same scenario and parameters), `seed`, `engine`,
        `engine_version`, `repetition` (of this seed, from 0), `status` (`done`, `failed`, or `suspect`: its engine
        doubts the measurement), `reason`, `digest`, `wall_s` (s), `events`, `kept` (a `Keep`), `created` (UTC).
        """
        names = [name for name in RUNS.columns if name != "part"]
        return self._content().frame(RUNS, names).sort("created", "run_id", maintain_order=True)

    def points(self) -> pl.DataFrame:
        """One row per point: `point`, and `scenario` and `parameters` as JSON."""
        return self._content().frame(POINTS).sort("point")

    def parameters(self) -> pl.DataFrame:
        """`run_id`, `name`, `value` (JSON) of every run's parameters; `engine` is one of them where engines differ."""
        import polars as pl

        content = self._content()
        points = [(point, parameters) for point, (_, parameters) in sorted(content.points.items())]
        runs = [(run_id, run["point"]) for run_id, run in sorted(content.runs.items())]
        # `json.dumps` with options makes an encoder at each call.
        encode = json.JSONEncoder(sort_keys=True).encode
        values = [(point, name, encode(value)) for point, text in points for name, value in json.loads(text).items()]
        of_points = pl.DataFrame(values, {"point": pl.Int64, "name": pl.String, "value": pl.String}, orient="row")
        of_runs = pl.DataFrame(runs, {"run_id": pl.String, "point": pl.Int64}, orient="row")
        found = of_runs.join(of_points, on="point", maintain_order="left_right").select("run_id", "name", "value")
        engines = [(run_id, "engine", json.dumps(name)) for run_id, name in _engines(content.runs.values())]
        return pl.concat([found, pl.DataFrame(engines, found.schema, orient="row")])

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
        units = self._content().frame(UNITS)
        frame = frame.join(units, on=["scope", "metric"], how="left", maintain_order="left")
        return frame.with_columns(pl.col("unit").fill_null(""))

    def claims(self) -> pl.DataFrame:
        """Published values and ours. `holds` is null if the source states no tolerance."""
        return self._content().frame(CLAIMS)

    def invocations(self) -> pl.DataFrame:
        """The commands that requested runs, oldest first.

        `created` (UTC), `experiment`, `command`, `runs`, `axes`: as JSON, the values of each swept parameter in the order in
        which the user gave them.
        """
        return self._content().frame(INVOCATIONS).sort("created", "id").drop("id")

    def table(self, name: str, run_ids: Sequence[str] | None = None) -> pl.DataFrame:
        """A table of docs/architecture.md over many runs, with `run_id` first.

        Args:
            name: `flow_series`, `histograms`, ...
            run_ids: The runs wanted; absent: all.
        """
        for _ in range(ATTEMPTS):
            content = self._content()
            by_part = _runs_by_part(content, run_ids)
            try:
                if self._mirror is not None:
                    self._mirror.fetch(by_part)
                return self._read(name, by_part, content)
            except (FileNotFoundError, DamagedError) as error:
                found = error
                self._held = False
                # A writer merges parts when it closes. The next attempt sees their new names.
                if self._mirror is not None:
                    self._mirror.pull()
                elif self._content() is content:
                    break
        raise self._damage(found, by_part) from found

    def _read(self, name: str, by_part: Mapping[str, Sequence[str]], content: Content) -> pl.DataFrame:
        frames = []
        for part, wanted in by_part.items():
            frame = self._recent.read(part, content.manifests[part], name, wanted)
            if frame is not None:
                frames.append(frame)
        return joined(frames)

    def _damage(self, found: Exception, by_part: Mapping[str, Sequence[str]]) -> StoreError:
        if not isinstance(found, DamagedError):
            gone = next((part for part in by_part if not (self.directory / PARTS / part).is_dir()), "")
            found = DamagedError(gone, "", "is missing")
        return damage(shown(self.directory), by_part.get(found.part, ()), found)

    def origin(self, run_id: str) -> Origin:
        """What a run was made from."""
        return _origin(self.find(run_id))

    def has_tables(self, run_id: str) -> bool:
        """Whether a run's tables were kept, or can be made again without importing what the user has not named."""
        if self.find(run_id)["kept"] >= Keep.TABLES:
            return True
        try:
            self.origin(run_id).prepare(NO_PLUGINS)
        except BloatlabError:
            return False
        return True

    def finished(self) -> dict[str, Keep]:
        """Identities of the runs that are done, and how much of each is stored."""
        runs = self._content().runs
        return {run_id: Keep(run["kept"]) for run_id, run in runs.items() if run["status"] == "done"}

    def runs_by_part(self) -> dict[str, list[str]]:
        """The parts that hold runs, and which runs each holds."""
        return _runs_by_part(self._content(), None)

    def manifests(self) -> dict[str, str]:
        """Every part, with the hash of its manifest."""
        return dict(self._content().manifests)

    def fetch_part(self, part: str) -> None:
        """For a store at a URL: downloads a part, if it exists."""
        if self._mirror is not None:
            with suppress(FileNotFoundError):
                self._mirror.fetch([part])

    def damaged(self, run_ids: Iterable[str]) -> dict[str, str]:
        """The runs that cannot be read because a file of their part is missing or altered, with the reason."""
        content = self._content()
        found: dict[str, str] = {}
        for part, held in _runs_by_part(content, run_ids).items():
            self.fetch_part(part)
            try:
                Part(self.directory / PARTS, part, content.manifests[part]).check()
            except FileNotFoundError:
                found |= dict.fromkeys(held, f"{PARTS}/{part} is missing")
            except DamagedError as error:
                found |= dict.fromkeys(held, str(error))
        return found

    def run_metrics(self, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Metrics of some runs in the form of `--json`: scope, entity, metric. While the store is held, they are shared."""
        return self._recent.nested(run_ids, lambda missing: self.table(metrics.TABLE, missing))

    def run_parameters(self, experiment: str) -> dict[str, dict[str, Any]]:
        """Parameters of each finished run of an experiment, as they ended.

        Where engines differ, `engine` is one of the parameters. Runs of a point share one dictionary.
        """
        points, runs = self._done(experiment)
        engines = dict(_engines(runs))
        read: dict[tuple[int, str | None], dict[str, Any]] = {}
        found = {}
        for run in runs:
            engine = engines.get(run["run_id"])
            of_point = read.get((run["point"], engine))
            if of_point is None:
                own = {} if engine is None else {"engine": engine}
                of_point = read[run["point"], engine] = {**json.loads(points[run["point"]][1]), **own}
            found[run["run_id"]] = of_point
        return found

    def places(self, experiment: str) -> dict[tuple[str, int], str]:
        """Finished runs of an experiment, by parameters (canonical JSON) and seed.

        Where several engines made runs, those of the simulator are meant, or else those of the engine that ended first.
        """
        points, runs = self._done(experiment)
        meant = _meant(runs)
        return {(points[run["point"]][1], run["seed"]): run["run_id"] for run in runs if run["engine"] == meant}

    def main_engine(self, experiment: str) -> str:
        """The engine whose runs answer the question of an experiment: the simulator, or else that whose run ended first."""
        return _meant(self._done(experiment)[1])

    def _done(self, experiment: str) -> tuple[dict[int, tuple[str, str]], list[dict[str, Any]]]:
        content = self._content()
        runs = [run for run in content.runs.values() if run["experiment"] == experiment and run["status"] == "done"]
        return content.points, runs

    def run(self, run_id: str) -> Result:
        """The result of one run. An unambiguous prefix of its identity is enough.

        Tables that were not kept are made again by the engine that made the run, if it is reproducible.
        """
        return self.results([run_id])[0]

    def results(self, run_ids: Sequence[str]) -> list[Result]:
        """The results of several runs, in this order. Their metrics are read at once.

        Args:
            run_ids: Identities, or unambiguous prefixes of them.

        Raises:
            StoreError: There is no such run, or one of them failed.
        """
        rows = [self.find(run_id) for run_id in run_ids]
        for row in rows:
            if row["status"] == "failed":
                raise StoreError(f"{self.directory}: run {row['run_id']} failed: {row['reason']}")
        metrics = self.run_metrics([row["run_id"] for row in rows])
        return [self._result(row, metrics[row["run_id"]]) for row in rows]

    def _result(self, row: Mapping[str, Any], metrics: Mapping[str, Any]) -> Result:
        identity = row["run_id"]
        origin = _origin(row)

        def simulate(packets: bool) -> Outcome:
            return origin.simulate(result.plugins, result.given_engine, packets=packets)

        @cache
        def again() -> Mapping[str, ArrowTable]:
            return simulate(packets=False).tables()

        def load(name: str) -> ArrowTable:
            if row["kept"] < Keep.TABLES:
                return tables.named(identity, again(), name)
            return self.table(name, [identity]).drop("run_id")

        result = Result(
            run_id=identity,
            experiment=row["experiment"],
            scenario=json.loads(row["scenario"]),
            parameters=json.loads(row["parameters"]),
            seed=row["seed"],
            engine=row["engine"],
            engine_version=row["engine_version"],
            repetition=row["repetition"],
            suspect=row["reason"] if row["status"] == "suspect" else None,
            digest=row["digest"],
            metrics=metrics,
            load=load,
            with_packets=lambda: simulate(packets=True),
            recorded=row["kept"] >= Keep.PACKETS,
        )
        return result

    def find(self, run_id: str) -> dict[str, Any]:
        """The row of `runs` whose identity has this prefix, with the `scenario` and the `parameters` of its point."""
        content = self._content()
        whole = content.runs.get(run_id)
        found = [whole] if whole else [row for identity, row in content.runs.items() if identity.startswith(run_id)]
        if len(found) != 1:
            why = "several runs begin with" if found else "there is no run"
            where = shown(self.directory)
            raise StoreError(f"{where}: {why} `{ascii(run_id)[1:-1]}` (`bloatlab runs {where}` lists them)")
        scenario, parameters = content.points[found[0]["point"]]
        return {**found[0], "scenario": scenario, "parameters": parameters}

    def to_polars(self, scope: str | None = None, metric: str | None = None, *, wide: bool = False) -> pl.DataFrame:
        """The metrics of every finished run with its parameters beside them.

        Args:
            scope: As for `metrics`.
            metric: As for `metrics`.
            wide: One row per run, with a column for each metric, such as `flow_1.mean_srtt_l4`. Otherwise one row per
                run and metric.

        Returns:
            `run_id`, `experiment`, `engine`, `seed`, a column for each parameter, then either `scope`, `entity`,
            `metric`, `value` and `unit`, or the metrics. A parameter with the name of another column gets an underscore.
        """
        return frames.with_parameters(self.runs(), self.parameters(), self.metrics(scope, metric), wide=wide)

    @property
    def plot(self) -> Plots:
        """Draws a figure that compares the runs: `store.plot("delay_throughput")`; an Altair chart.

        It needs the packages of `bloatlab[report]`.
        """
        return Plots(lambda: bloatlab.figures.of_runs(self), of_runs=True)

    def __repr__(self) -> str:
        return str(bloatlab.display.text_of_store(self))

    def _repr_html_(self) -> str:
        return str(bloatlab.display.html_of_store(self))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Reads the database and the tables once for all that happens inside, instead of at each call.

        If a writer merges parts meanwhile, the database is read again. Inside another `held`, it changes nothing.
        """
        if self._held:
            yield
            return
        self._content()
        self._held = True
        self._recent.keep()
        try:
            yield
        finally:
            self._held = False
            self._recent.forget()

    def _content(self) -> Content:
        if not self._held or self._last is None:
            self._last = Content.load(self.directory, self._last)
        return self._last


def _origin(row: Mapping[str, Any]) -> Origin:
    return Origin(row["run_id"], row["engine"], row["engine_version"], row["scenario"], row["seed"])


def _engines(runs: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each run with its engine, where engines differ; else nothing."""
    found = [(run["run_id"], run["engine"]) for run in runs]
    return found if len({engine for _, engine in found}) > 1 else []


def _meant(runs: Iterable[Mapping[str, Any]]) -> str:
    """The engine that is meant where several have made runs."""
    engines = list(dict.fromkeys(run["engine"] for run in runs))
    return DEFAULT if DEFAULT in engines else next(iter(engines), DEFAULT)


def _runs_by_part(content: Content, run_ids: Iterable[str] | None) -> dict[str, list[str]]:
    """The parts that hold these runs (absent: all), and which runs each holds."""
    wanted = content.runs if run_ids is None else set(run_ids)
    found: dict[str, list[str]] = defaultdict(list)
    for run_id, run in content.runs.items():
        if run["part"] is not None and run_id in wanted:
            found[run["part"]].append(run_id)
    return found
