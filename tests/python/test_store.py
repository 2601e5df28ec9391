from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fake_core
from bloatlab.errors import StoreError
from bloatlab.store import Keep, RunRecord, Store, Writer, canonical, run_id
from bloatlab.store.layout import APPLICATION_ID
from bloatlab.store.parts import mark, write_manifest
from bloatlab.store.repair import rebuild
from bloatlab.store.seals import seal_of, sum_of
from bloatlab.store.tables import ADDED, PARTS, content_of, statements
from bloatlab.sweeps.plan import PlannedRun
from bloatlab.sweeps.record import done
from bloatlab.sweeps.record import failed as failed_record

pytestmark = pytest.mark.usefixtures("fake")
UNITS = {("flow", "mean_srtt_l4"): "ms"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def record(seed: int, *, packets: bool = False, reason: str | None = None, **parameters: object) -> RunRecord:
    scenario = canonical({"name": "t", "flows": [{"count": 2}]})
    keep = Keep.PACKETS if packets else Keep.TABLES
    planned = PlannedRun(
        run_id(scenario, seed, "fake-1"), "t", scenario, seed, fake_core.Fake(), "fake-1", parameters, {}, keep=keep
    )  # fmt: skip
    if reason:
        return failed_record(planned, reason, 0.01)
    outcome = fake_core.run(scenario, seed, record_packets=packets)
    return done(planned, outcome.metrics_json(), outcome.tables(), digest=outcome.digest, events=1000, wall_s=0.01)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=5), st.integers(0, 2**63 - 1), st.text(max_size=5))
def test_identity_depends_on_content_alone(document: dict[str, object], seed: int, version: str) -> None:
    shuffled = dict(reversed(list(document.items())))
    identity = run_id(canonical(document), seed, version)
    assert identity == run_id(canonical(shuffled), seed, version)
    assert len(identity) == 16
    int(identity, 16)
    assert identity != run_id(canonical(document), seed + 1, version)
    assert identity != run_id(canonical({**document, "another key": 1}), seed, version)
    assert identity != run_id(canonical(document), seed, version + "+")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    one, two = record(1, qlen="80p"), record(2, qlen="40p")
    with Writer(tmp_path / "r", UNITS) as writer:
        writer.submit(one)
        writer.submit(two)
    store = Store(tmp_path / "r")
    assert store.runs()["seed"].to_list() == [1, 2]
    assert store.finished() == {one.run_id: Keep.TABLES, two.run_id: Keep.TABLES}
    parameters = store.parameters().sort("run_id")
    assert set(parameters["value"]) == {'"80p"', '"40p"'}
    metrics = store.metrics("flow", "mean_srtt_l4")
    assert metrics.height == 4
    assert set(metrics["unit"]) == {"ms"}
    # A metric without a value is absent.
    assert store.metrics("network")["metric"].unique().to_list() == ["agg_throughput_l4"]
    series = store.table("flow_series")
    assert series.columns[0] == "run_id"
    assert series.height == 40
    fresh = pl.DataFrame(one.tables["flow_series"])
    assert store.run(one.run_id).flow_series.to_polars().equals(fresh)
    assert store.run(one.run_id[:12]).run_id == one.run_id


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.booleans(), st.dictionaries(st.text(max_size=6), json_values, max_size=3)),
        max_size=12,
        unique_by=lambda run: run[0],
    )
)
def test_round_trip_of_any_runs(tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, bool, dict]]) -> None:
    directory = tmp_path_factory.mktemp("store")
    records = [record(seed, reason="it broke" if failed else None) for seed, failed, _ in runs]
    with Writer(directory) as writer:
        for one, (_, _, parameters) in zip(records, runs, strict=True):
            writer.submit(replace(one, parameters=parameters))
    store = Store(directory)
    assert set(store.runs()["run_id"]) == {one.run_id for one in records}
    assert set(store.finished()) == {one.run_id for one in records if one.reason is None}
    for one, (_, failed, parameters) in zip(records, runs, strict=True):
        if failed:
            with pytest.raises(StoreError, match="it broke"):
                store.run(one.run_id)
            continue
        result = store.run(one.run_id)
        assert result.parameters == parameters
        assert result.seed == one.seed
        assert result.digest == one.digest
        assert result.flow_metrics == one.metrics["flow_metrics"]
        assert len(result.flow_series) == 20


def test_a_run_that_is_written_again_replaces_the_old_one(tmp_path: Path) -> None:
    for _ in range(2):
        with Writer(tmp_path) as writer:
            writer.submit(record(1))
    with Writer(tmp_path) as writer:
        writer.submit(record(1, packets=True))
    store = Store(tmp_path)
    assert store.runs().height == 1
    assert store.finished() == {record(1).run_id: Keep.PACKETS}
    assert store.table("flow_series").height == 20
    assert store.table("packets").height == 3


def test_many_small_parts_are_merged_at_closing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bloatlab.store.writer.COMMIT_EVERY", 0.0)
    with Writer(tmp_path) as writer:
        for seed in range(40):
            writer.submit(record(seed))
            writer.flush()
        before = list((tmp_path / "parts").iterdir())
    assert len(before) == 40
    assert len(list((tmp_path / "parts").iterdir())) == 1
    store = Store(tmp_path)
    assert store.table("flow_series").height == 40 * 20
    assert store.run(record(5).run_id).seed == 5
    assert store.table("flow_series", [record(5).run_id]).height == 20
    assert store.table("no_such_table").is_empty()


def test_a_reader_sees_runs_while_the_writer_is_open(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        writer.submit(record(1))
        writer.flush()
        assert Store(tmp_path).runs().height == 1


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with Writer(tmp_path), pytest.raises(StoreError, match=f"process {os.getpid()} is writing here"):
        Writer(tmp_path)
    Writer(tmp_path).close()


def test_orphans_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        writer.submit(record(1))
    for name in (".tmp-fedcba9876543210", "0123456789abcdef"):
        (tmp_path / "parts" / name).mkdir()
        (tmp_path / "parts" / name / "flow_series.parquet").write_bytes(b"half a fi")
        mark(tmp_path / "parts" / name)
    assert Store(tmp_path).table("flow_series").height == 20
    Writer(tmp_path).close()
    assert len(list((tmp_path / "parts").iterdir())) == 1


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no results"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="holds no results"):
        Store(tmp_path / "nothing")
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        Store(file)
    with pytest.raises(StoreError, match="is a file"):
        Writer(file)


def test_not_a_store(tmp_path: Path) -> None:
    (tmp_path / "results.sqlite").write_bytes(b"this is not a database, not at all" * 100)
    for open_it in (Store, Writer):
        with pytest.raises(StoreError, match="damaged, or not a bloatlab store"):
            open_it(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    connection = sqlite3.connect(other / "results.sqlite")
    connection.execute("CREATE TABLE precious (x)")
    connection.close()
    for open_it in (Store, Writer):
        with pytest.raises(StoreError, match="not a bloatlab store"):
            open_it(other)
    connection = sqlite3.connect(other / "results.sqlite")
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("precious",)]
    connection.close()


def test_a_damaged_store_is_one_line(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        writer.submit(record(1))
    (part,) = (tmp_path / "parts").iterdir()
    good = (part / "flow_series.parquet").read_bytes()
    (part / "flow_series.parquet").write_bytes(good[: len(good) // 2])
    with pytest.raises(
        StoreError, match=r"flow_series.parquet is altered, which holds run \w{16}; `bloatlab store repair"
    ) as error:
        Store(tmp_path).table("flow_series")
    assert "\n" not in str(error.value)
    (part / "flow_series.parquet").unlink()
    part.rename(part.with_name("gone"))
    with pytest.raises(StoreError, match="missing"):
        Store(tmp_path).table("flow_series")
    database = tmp_path / "results.sqlite"
    data = bytearray(database.read_bytes())
    data[1024:] = b"\xff" * (len(data) - 1024)
    database.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        Store(tmp_path).metrics()


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    Writer(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "results.sqlite")
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    for open_it in (Store, Writer):
        with pytest.raises(StoreError, match="newer bloatlab"):
            open_it(tmp_path)


FIRST_VERSION = """
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
    measured REAL, tolerance REAL, holds INTEGER, source TEXT NOT NULL, PRIMARY KEY (experiment, run_id, name)
);
CREATE TABLE invocations (
    id INTEGER PRIMARY KEY, created TEXT NOT NULL, experiment TEXT NOT NULL, command TEXT NOT NULL, runs INTEGER NOT NULL
);
PRAGMA application_id = 0x424C4142;
PRAGMA user_version = 1;
INSERT INTO runs VALUES
    ('aaaaaaaaaaaaaaaa', 'e', '{"x":1}', 1, 'v', 'done', NULL, 'd1', 0.5, 9, 0, '2026-01-01', '0123456789abcdef'),
    ('bbbbbbbbbbbbbbbb', 'e', '{"x":1}', 2, 'v', 'done', NULL, 'd2', 0.5, 9, 1, '2026-01-02', '0123456789abcdef'),
    ('cccccccccccccccc', 'e', '{"x":2}', 1, 'v', 'failed', 'it broke', NULL, 0.1, NULL, 0, '2026-01-03', NULL);
INSERT INTO parameters VALUES
    ('aaaaaaaaaaaaaaaa', 'qlen', '"80p"'), ('bbbbbbbbbbbbbbbb', 'qlen', '"80p"'),
    ('cccccccccccccccc', 'qlen', '"40p"');
INSERT INTO metrics VALUES
    ('aaaaaaaaaaaaaaaa', 'flow', 'flow_1', 'mean_srtt_l4', 58.5, 'ms'),
    ('aaaaaaaaaaaaaaaa', 'network', 'network', 'jain', 1.0, ''),
    ('bbbbbbbbbbbbbbbb', 'flow', 'flow_1', 'mean_srtt_l4', 59.5, 'ms');
INSERT INTO claims VALUES ('e', 'aaaaaaaaaaaaaaaa', 'queue', 'ms', 1.0, 0.9, 0.0, 1, 'RFC');
"""


A, B, C = ("a" * 16, "b" * 16, "c" * 16)
PART = "0123456789abcdef"


def make_first_version(directory: Path) -> None:
    (directory / "parts" / PART).mkdir(parents=True)
    pl.DataFrame({"run_id": [A, B], "time_s": [0.1, 0.2]}).write_parquet(
        directory / "parts" / PART / "flow_series.parquet"
    )
    connection = sqlite3.connect(directory / "results.sqlite")
    connection.executescript(FIRST_VERSION)
    connection.close()


def test_a_store_of_the_first_version_is_upgraded_beside_a_copy(tmp_path: Path) -> None:
    make_first_version(tmp_path)
    old = (tmp_path / "results.sqlite").read_bytes()
    with pytest.raises(StoreError, match=r"older bloatlab .store version 1.; `bloatlab store upgrade"):
        Store(tmp_path)
    assert (tmp_path / "results.sqlite").read_bytes() == old
    Writer(tmp_path).close()
    store = Store(tmp_path)
    assert store.runs()["point"].to_list() == [1, 1, 2]
    assert store.finished() == {A: Keep.TABLES, B: Keep.PACKETS}
    one = store.run(A)
    assert (one.parameters, one.scenario, one.digest) == ({"qlen": "80p"}, {"x": 1}, "d1")
    assert (one.flow_metrics, one.network_metrics) == ({"flow_1": {"mean_srtt_l4": 58.5}}, {"jain": 1.0})
    assert one.flow_series.to_polars()["time_s"].to_list() == [0.1]
    assert store.metrics("flow")["unit"].to_list() == ["ms", "ms"]
    assert store.parameters()["value"].to_list() == ['"80p"', '"80p"', '"40p"']
    assert store.claims()["bound"].to_list() == [""]
    with pytest.raises(StoreError, match="it broke"):
        store.run(C)
    copy = sqlite3.connect(f"file:{tmp_path}/results.sqlite.version-1?mode=ro", uri=True)
    assert copy.execute("SELECT count(*) FROM metrics").fetchone() == (3,)
    copy.close()
    Writer(tmp_path).close()
    assert [path.name for path in tmp_path.glob("results.sqlite*")].count("results.sqlite.version-1") == 1
    assert len(list(tmp_path.glob("results.sqlite.version-*"))) == 1


def make_older(directory: Path, version: int) -> None:
    """A store without the columns that later versions added, in the database and in its parts."""
    for records in (directory / "parts").glob("*/records.parquet"):
        if version < 5:
            pl.read_parquet(records).drop(ADDED[5][1]).write_parquet(records)
    for notes in (directory / "parts").glob("*/notes.parquet"):
        frame = pl.read_parquet(notes)
        rows = [
            json.dumps(json.loads(row)[:-1]) if table in ("invocations", "claims") else row
            for table, row in frame.select("table", "row").iter_rows()
        ]
        frame.with_columns(pl.Series("row", rows)).write_parquet(notes)
    manifests = {part.name: write_manifest(part) for part in (directory / "parts").iterdir()}
    tables = content_of(version)
    with contextlib.closing(sqlite3.connect(directory / "results.sqlite")) as old:
        rows = {
            name: old.execute(f"SELECT {', '.join(of.columns)} FROM {name}").fetchall() for name, of in tables.items()
        }
    rows[PARTS.name] = [(part, manifests[part], notes) for part, _, notes in rows[PARTS.name]]
    (directory / "results.sqlite").unlink()
    with contextlib.closing(sqlite3.connect(directory / "results.sqlite", isolation_level=None)) as made:
        made.executescript("; ".join(statements(tables)))
        made.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}")
        for name, table in tables.items():
            sealed = [(*row, seal_of(name, row)) for row in rows[name]]
            made.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * (len(table.columns) + 1))})", sealed)
            total = (name, len(sealed), sum_of(row[-1] for row in sealed))
            made.execute("INSERT INTO seals VALUES (?, ?, ?, ?)", (*total, seal_of("seals", total)))


def test_a_store_of_version_5_is_read_as_it_is_and_upgraded_by_a_writer(tmp_path: Path) -> None:
    with Writer(tmp_path, UNITS) as writer:
        writer.submit(record(1, qlen="80p"))
        writer.invocation("t", "bloatlab run t --sweep qlen=80p", 1)
        writer.note("claims", [("t", record(1).run_id, "queue", "ms", 1.0, 0.9, 0.0, True, "RFC", "", "")])
    before = contents(tmp_path)
    make_older(tmp_path, 5)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert contents(tmp_path) == before
    assert Store(tmp_path).invocations()["axes"].to_list() == ["{}"]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files
    with Writer(tmp_path) as writer:
        assert writer.upgraded == tmp_path / "results.sqlite.version-5"
        writer.invocation("t", "bloatlab sweep plan.toml", 2, {"qlen": ["80p", "20p"]})
    commands = Store(tmp_path).invocations()
    assert commands["axes"].to_list() == ["{}", '{"qlen": ["80p", "20p"]}']
    # Its parts, with and without the new column, rebuild a database of this version.
    (tmp_path / "results.sqlite").unlink()
    assert rebuild(tmp_path).runs == 1
    assert Store(tmp_path).invocations().equals(commands)
    assert Store(tmp_path).claims()["kind"].to_list() == [""]


def test_a_store_of_version_4_gains_the_engine_and_keeps_its_parts(tmp_path: Path) -> None:
    with Writer(tmp_path, UNITS) as writer:
        for seed in (1, 2):
            writer.submit(record(seed, qlen="80p"))
        writer.submit(record(3, reason="it broke"))
        writer.invocation("t", "bloatlab run t", 3)
    before = contents(tmp_path)
    make_older(tmp_path, 4)
    files = {path: path.read_bytes() for path in (tmp_path / "parts").rglob("*") if path.is_file()}
    with pytest.raises(StoreError, match=r"older bloatlab .store version 4."):
        Store(tmp_path)
    Writer(tmp_path).close()
    assert contents(tmp_path) == before
    assert {path: path.read_bytes() for path in (tmp_path / "parts").rglob("*") if path.is_file()} == files
    runs = Store(tmp_path).runs()
    assert runs.select("engine", "repetition").unique().rows() == [("sim", 0)]
    # The parts of version 4 rebuild a database of this version.
    (tmp_path / "results.sqlite").unlink()
    assert rebuild(tmp_path).runs == 3
    assert contents(tmp_path) == before


def test_an_altered_store_of_version_4_is_not_upgraded(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        writer.submit(record(1, qlen="80p"))
    make_older(tmp_path, 4)
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite", isolation_level=None)) as database:
        database.execute("UPDATE runs SET seed = 7")
    with pytest.raises(StoreError, match="a row of its table `runs` is altered"):
        Writer(tmp_path)


def contents(directory: Path) -> dict[str, Any]:
    store = Store(directory)
    series = store.table("flow_series")
    frames = (store.runs(), store.points(), store.metrics(), store.claims(), store.invocations(), series)
    return {str(place): frame.rows() for place, frame in enumerate(frames)}


def test_runs_of_a_point_share_scenario_and_parameters(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        for seed in range(5):
            writer.submit(record(seed, qlen="80p"))
        writer.submit(record(7, qlen="40p"))
    store = Store(tmp_path)
    assert store.points()["parameters"].to_list() == ['{"qlen":"80p"}', '{"qlen":"40p"}']
    assert store.runs()["point"].to_list() == [1, 1, 1, 1, 1, 2]


def test_a_run_asked_for_under_more_parameters_has_them_too(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        writer.submit(record(1, qlen="80p"))
        writer.submit(record(2, qlen="80p"))
    with Writer(tmp_path) as writer:
        writer.parameters(record(1).run_id, {"qlen": "other", "cca": "bbr"})
        writer.parameters(record(2).run_id, {"qlen": "other"})
    store = Store(tmp_path)
    assert store.run(record(1).run_id).parameters == {"qlen": "80p", "cca": "bbr"}
    assert store.run(record(2).run_id).parameters == {"qlen": "80p"}


def test_a_full_disk_is_one_line_and_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer(tmp_path) as writer:
        writer.submit(record(1))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    writer = Writer(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("bloatlab.store.parts.write_durably", full)
        writer.submit(record(2))
        with pytest.raises(StoreError, match="the disk is full"):
            writer.close()
    store = Store(tmp_path)
    assert store.runs()["seed"].to_list() == [1]
    assert len(list((tmp_path / "parts").iterdir())) == 1
    with Writer(tmp_path) as writer:
        writer.submit(record(2))
    assert Store(tmp_path).runs().height == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="Permission denied"):
        Writer(tmp_path / "r")


def test_a_directory_that_cannot_be_made() -> None:
    with pytest.raises(StoreError, match="/proc/nowhere"):
        Writer(Path("/proc/nowhere"))


def test_submitting_from_many_threads(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:

        def work(first: int) -> None:
            for seed in range(first, first + 25):
                writer.submit(record(seed))

        threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert Store(tmp_path).runs().height == 100
    assert writer.stored == 100


def test_unknown_run(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        writer.submit(record(1))
        writer.submit(record(2))
    store = Store(tmp_path)
    with pytest.raises(StoreError, match="there is no run `zzz`"):
        store.run("zzz")
    with pytest.raises(StoreError, match="several runs"):
        store.run("")
