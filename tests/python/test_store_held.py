"""A store that is read once for several questions."""

from __future__ import annotations

from pathlib import Path

import pytest

import synthetic
from bloatlab.errors import StoreError
from bloatlab.store import Store, recent
from bloatlab.store import store as module
from bloatlab.store.parts import Part


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
