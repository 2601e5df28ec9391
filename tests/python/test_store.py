from __future__ import annotations

import json
import os
import sqlite3
import threading
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fake_core
from bloatlab.errors import StoreError
from bloatlab.store import RunRecord, Store, Writer, canonical, run_id, schema

pytestmark = pytest.mark.usefixtures("fake")
UNITS = {("flow", "mean_srtt_l4"): "ms"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def record(seed: int, *, packets: bool = False, reason: str | None = None, **parameters: object) -> RunRecord:
    scenario = canonical({"name": "t", "flows": [{"count": 2}]})
    outcome = None if reason else fake_core.run(scenario, seed, record_packets=packets)
    return RunRecord(
        run_id(scenario, seed, "fake-1"), "t", scenario, seed, "fake-1", parameters, outcome, reason, 0.01, packets
    )


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
    assert store.finished() == {one.run_id: False, two.run_id: False}
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
    fresh = pl.DataFrame(one.outcome.tables()["flow_series"])  # type: ignore[union-attr]
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
            writer.submit(
                RunRecord(**{name: getattr(one, name) for name in one.__slots__} | {"parameters": parameters})
            )
    store = Store(directory)
    assert set(store.runs()["run_id"]) == {one.run_id for one in records}
    assert set(store.finished()) == {one.run_id for one in records if one.outcome}
    for one, (_, failed, parameters) in zip(records, runs, strict=True):
        if failed:
            with pytest.raises(StoreError, match="it broke"):
                store.run(one.run_id)
            continue
        result = store.run(one.run_id)
        assert result.parameters == parameters
        assert result.seed == one.seed
        assert result.digest == one.outcome.digest  # type: ignore[union-attr]
        assert result.flow_metrics == json.loads(one.outcome.metrics_json())["flow_metrics"]  # type: ignore[union-attr]
        assert len(result.flow_series) == 20


def test_a_run_that_is_written_again_replaces_the_old_one(tmp_path: Path) -> None:
    for _ in range(2):
        with Writer(tmp_path) as writer:
            writer.submit(record(1))
    with Writer(tmp_path) as writer:
        writer.submit(record(1, packets=True))
    store = Store(tmp_path)
    assert store.runs().height == 1
    assert store.finished() == {record(1).run_id: True}
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
    for name in (".tmp-dead", "0123456789abcdef"):
        (tmp_path / "parts" / name).mkdir()
        (tmp_path / "parts" / name / "flow_series.parquet").write_bytes(b"half a fi")
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
    with pytest.raises(StoreError, match=r"flow_series.parquet: cannot be read") as error:
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


def test_an_older_store_is_converted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer(tmp_path) as writer:
        writer.submit(record(1))
    called = []
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setitem(schema.CONVERTERS, schema.VERSION - 1, lambda connection: called.append(connection))
    Writer(tmp_path).close()
    Writer(tmp_path).close()
    assert len(called) == 1
    assert Store(tmp_path).runs().height == 1


def test_claims_of_the_first_version_have_no_bound(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        writer.note(
            "INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [("e", "r", "queue", "ms", 1.0, 0.9, 0.0, True, "RFC", "at most")],
        )
    connection = sqlite3.connect(tmp_path / "results.sqlite")
    connection.execute("ALTER TABLE claims DROP COLUMN bound")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    assert "bound" not in Store(tmp_path).claims().columns
    Writer(tmp_path).close()
    assert Store(tmp_path).claims()["bound"].to_list() == [""]


def test_a_full_disk_is_one_line_and_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer(tmp_path) as writer:
        writer.submit(record(1))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    writer = Writer(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("bloatlab.store.parts._write_durably", full)
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
