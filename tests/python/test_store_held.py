"""A store that is read once for several questions."""

from __future__ import annotations

from pathlib import Path

import pytest

import synthetic
from bloatlab.errors import StoreError
from bloatlab.store import Store
from bloatlab.store import store as module


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
