"""Lost data of a store is reported and restored, and an altered bit is never read as a value."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from bitflips import flips
from bloatlab.cli import command
from bloatlab.errors import StoreError
from bloatlab.store import Store, Writer
from bloatlab.store.records import frame_of_records
from bloatlab.store.repair import needs_database, rebuild
from bloatlab.store.tables import INVOCATIONS, RUNS, UNITS
from bloatlab.sweeps import execute
from contents import same, tree, values
from small_runs import runs, simulate
from test_store import record

pytestmark = pytest.mark.usefixtures("fake")


def test_a_store_without_its_database_is_refused_and_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "x"
    execute(runs(3), store, command="bloatlab simulate s.toml")
    with Writer(store) as writer:
        writer.submit(record(5, reason="it broke"))
        writer.parameters(runs(1)[0].run_id, {"more": "1"})
    before = values(Store(store))
    parts = tree(store / "parts")
    (store / "results.sqlite").unlink()
    for act in (lambda: Store(store), lambda: Writer(store), lambda: execute(runs(4), store)):
        with pytest.raises(
            StoreError, match=r"results\.sqlite is missing while parts are there; `bloatlab store repair"
        ):
            act()
    assert simulate(store) == 2
    assert tree(store / "parts") == parts
    assert command(["store", "repair", str(store)]) == 0
    assert "4 runs" in capsys.readouterr().out
    after = values(Store(store))
    for name in ("runs", "points"):
        # Points are numbered in order of arrival.
        before[name], after[name] = (
            found[name].drop("point").sort(pl.all()).unique(maintain_order=True) for found in (before, after)
        )
    points = after.pop("points"), before.pop("points")
    assert set(points[0]["parameters"]) <= set(points[1]["parameters"])
    assert same(after, before)
    assert execute(runs(3), store).read == 3


def test_a_part_that_cannot_be_read_for_once_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "x"
    execute(runs(3), store)
    before = tree(store / "parts")
    (store / "results.sqlite").unlink()
    really = os.open

    def fails(path: os.PathLike[str], *rest: int, **more: int) -> int:
        if Path(path).name == "flow_series.parquet":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return really(path, *rest, **more)

    with monkeypatch.context() as failing:
        failing.setattr(os, "open", fails)
        with pytest.raises(StoreError, match=r"no database is made while a part cannot be read: give the same command"):
            rebuild(store)
    assert tree(store / "parts") == before
    assert command(["store", "repair", str(store)]) == 0
    assert Store(store).table("flow_series")["run_id"].n_unique() == 3


def test_a_folder_with_the_name_of_a_part_is_no_damaged_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "x"
    execute(runs(2), store)
    (store / "parts" / "0123456789abcdef").mkdir()
    (store / "parts" / "0123456789abcdef" / "thesis.txt").write_text("years of work")
    (store / "results.sqlite").unlink()
    assert command(["store", "repair", str(store)]) == 0
    assert capsys.readouterr().err == ""
    assert (store / "parts" / "0123456789abcdef" / "thesis.txt").exists()


def test_a_damaged_database_is_kept_beside_the_one_that_is_rebuilt(tmp_path: Path) -> None:
    store = tmp_path / "x"
    execute(runs(3), store)
    database = store / "results.sqlite"
    data = bytearray(database.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    database.write_bytes(data)
    for act in (lambda: Store(store), lambda: Writer(store)):
        with pytest.raises(StoreError, match=r"`bloatlab store repair"):
            act()
    assert command(["store", "repair", str(store)]) == 0
    assert Store(store).runs().height == 3
    assert (store / "results.sqlite.damaged").read_bytes() == bytes(data)


@pytest.mark.parametrize("file", ["metrics.parquet", "flow_series.parquet", "manifest.json", ""])
@pytest.mark.parametrize("remedy", ["the same command", "store repair"])
def test_a_missing_file_of_a_part_is_an_error_that_is_mended(
    tmp_path: Path, file: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "x"
    execute(runs(3), store)
    before = values(Store(store))
    held = next(iter(Store(store).runs_by_part()))
    path = store / "parts" / held / file
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    table = "flow_series" if file.startswith("flow") else "metrics"
    with pytest.raises(StoreError, match=r"is missing, which holds runs? \w{16}.*; `bloatlab store repair") as error:
        Store(store).table(table)
    assert "\n" not in str(error.value)
    assert command(["store", "check", str(store)]) == 1
    assert "is missing" in capsys.readouterr().out
    if remedy == "store repair":
        assert command(["store", "repair", str(store)]) == 0
    else:
        summary = execute(runs(3), store)
        assert (summary.done > 0, summary.finished) == (True, 3)
    after = values(Store(store))
    for name in ("runs", "invocations", "points"):
        before.pop(name), after.pop(name)
    assert same(before, after)
    # Opening the store for writing removes what no run names any more.
    Writer(store).close()
    assert command(["store", "check", str(store)]) == 0


def test_no_flipped_bit_is_read_as_another_value(tmp_path: Path) -> None:
    store = tmp_path / "x"
    execute(runs(4), store, command="bloatlab simulate s.toml")
    with Writer(store) as writer:
        writer.note("claims", [("e", runs(1)[0].run_id, "queue", "ms", 1.0, 0.9, 0.1, True, "RFC", "")])
    assert flips(store, 300, 1) == []


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [(RUNS, "seed", 43), (RUNS, "digest", "other"), (UNITS, "unit", "s"), (INVOCATIONS, "command", "rm")],
)
def test_a_changed_row_is_no_value(tmp_path: Path, table: object, column: str, value: object) -> None:
    execute(runs(1), tmp_path / "x")
    connection = sqlite3.connect(tmp_path / "x" / "results.sqlite")
    connection.execute(f"UPDATE {table.name} SET {column} = ?", [value])
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=r"is altered; `bloatlab store repair"):
        Store(tmp_path / "x")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM runs",
        "DELETE FROM units WHERE metric = (SELECT min(metric) FROM units)",
        "DELETE FROM seals WHERE name = 'runs'",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
        "DROP INDEX runs_by_part",
    ],
)
def test_a_database_that_lost_or_gained_something_is_refused(tmp_path: Path, statement: str) -> None:
    execute(runs(1), tmp_path / "x")
    connection = sqlite3.connect(tmp_path / "x" / "results.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()
    for act in (lambda: Store(tmp_path / "x"), lambda: Writer(tmp_path / "x")):
        with pytest.raises(StoreError, match=r"store repair"):
            act()


def test_the_record_of_a_run_survives_its_copy() -> None:
    one = replace(record(3, qlen="80p"), metrics={}, tables={})
    (row,) = frame_of_records([one.row()]).iter_rows(named=True)
    assert type(one).of_row(row) == one


def test_a_newer_store_is_not_rebuilt_whatever_its_directory_is_called(tmp_path: Path) -> None:
    directory = tmp_path / "store repair"
    Writer(directory).close()
    with contextlib.closing(sqlite3.connect(directory / "results.sqlite")) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="99"):
        needs_database(directory)
