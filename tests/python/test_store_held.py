"""A store that is read once for several questions."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import synthetic
from bloatlab.errors import StoreError
from bloatlab.store import Store, recent
from bloatlab.store import store as module
from bloatlab.store.parts import Part, write_part


def test_a_held_store_does_not_look_for_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = synthetic.write_store(tmp_path / "r", [("a" * 16, {}, 1, synthetic.run_tables(stop=1))])
    store = Store(directory)
    looks = []
    load = module.Content.load
    monkeypatch.setattr(module.Content, "load", lambda *given: looks.append(1) or load(*given))
    with store.held():
        store.runs()
        store.metrics()
        store.run(store.runs()["run_id"][0])
        assert len(looks) == 1
    store.runs()
    assert len(looks) == 2
    with store.held():
        for part in (directory / "parts").iterdir():
            part.rename(part.with_name(part.name + "-gone"))
        with pytest.raises(StoreError, match="is missing"):
            store.metrics()


def test_a_held_store_reads_a_table_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [(name * 16, {}, 1, synthetic.run_tables(stop=1)) for name in "ab"]
    store = Store(synthetic.write_store(tmp_path / "r", runs))
    reads = []
    read = Part.read
    monkeypatch.setattr(Part, "read", lambda part, table: reads.append(table) or read(part, table))
    one, other = store.runs()["run_id"]
    with store.held():
        with store.held():
            store.table("flow_series", [one])
        series = [store.table("flow_series", [run]) for run in (one, other, one)]
        assert reads == ["flow_series"]
    assert series[0].equals(series[2])
    assert series[0]["run_id"].unique().to_list() == [one]
    # What was kept is released, and outside nothing is kept.
    for _ in range(2):
        assert store.table("flow_series", [one]).equals(series[0])
    assert reads == ["flow_series"] * 3


def test_a_held_store_keeps_no_more_than_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(synthetic.write_store(tmp_path / "r", [("a" * 16, {}, 1, synthetic.run_tables(stop=1))]))
    room = int(store.table("flows").estimated_size())
    assert store.table("flow_series").estimated_size() > room
    monkeypatch.setattr(recent, "MOST_BYTES", room)
    reads = []
    read = Part.read
    monkeypatch.setattr(Part, "read", lambda part, table: reads.append(table) or read(part, table))
    with store.held():
        for _ in range(2):
            store.table("flow_series")
            store.table("flows")
    assert reads == ["flow_series", "flows", "flow_series"]


def test_the_rows_of_a_run_may_be_in_several_places(tmp_path: Path) -> None:
    # A run that was made again has rows in two places of a merged part.
    frame = pl.DataFrame({"run_id": ["a", "a", "b", "a", "c"], "time_s": [0.0, 1.0, 2.0, 3.0, 4.0]})
    name, manifest = write_part(tmp_path, {"flow_series": frame})
    held = recent.Recent(tmp_path)
    held.keep()
    for run in ("a", "b", "c", "missing"):
        rows = held.read(name, manifest, "flow_series", [run])
        assert rows is not None
        assert rows.equals(frame.filter(run_id=run))
    assert held.read(name, manifest, "probes", ["a"]) is None


def test_metrics_of_a_held_store_are_those_of_any_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [(name * 16, {}, 1, synthetic.run_tables(stop=1)) for name in "abc"]
    store = Store(synthetic.write_store(tmp_path / "r", runs))
    ids = store.runs()["run_id"].to_list()
    free = store.run_metrics(ids)
    for most in (recent.MOST_RUNS, 1):
        monkeypatch.setattr(recent, "MOST_RUNS", most)
        with store.held():
            assert store.run_metrics(ids[:1]) == {ids[0]: free[ids[0]]}
            assert store.run_metrics(ids[::-1]) == free
            assert list(store.run_metrics(ids)) == ids
