"""The store touches nothing that it did not make."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest

import grid
from bloatlab.cli import command
from bloatlab.errors import StoreError
from bloatlab.store import Store, Writer
from bloatlab.store.database import Database
from bloatlab.store.files import GENERATOR, write_page
from bloatlab.store.tables import PARTS, RUNS
from bloatlab.store.upgrade import upgrade
from bloatlab.sweeps import execute
from contents import tree, values
from small_runs import runs, simulate
from test_store import record

pytestmark = pytest.mark.usefixtures("fake")


@pytest.mark.parametrize("name", ["parts/precious/thesis.txt", "thesis.txt", "parts/0123456789abcdef/thesis.txt"])
def test_a_directory_of_somebody_else_is_refused_untouched(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "x"
    (target / name).parent.mkdir(parents=True)
    (target / name).write_text("years of work")
    before = tree(target)
    assert simulate(target) == 2
    assert "is neither empty nor a results directory; choose another --out" in capsys.readouterr().err
    assert tree(target) == before


def test_a_foreign_folder_among_the_parts_of_a_store_stays(tmp_path: Path) -> None:
    execute(runs(2), tmp_path / "x")
    for name in ("precious", "0123456789abcdef", ".tmp-0123456789abcdef"):
        (tmp_path / "x" / "parts" / name).mkdir()
        (tmp_path / "x" / "parts" / name / "thesis.txt").write_text("years of work")
    # A part with the mark is not removed either, if it holds other files.
    (tmp_path / "x" / "parts" / "0123456789abcdef" / ".bloatlab").write_text("a copied mark")
    execute(runs(3), tmp_path / "x")
    assert len(list((tmp_path / "x" / "parts").glob("*/thesis.txt"))) == 3
    assert (tmp_path / "x" / "parts" / ".tmp-0123456789abcdef" / "thesis.txt").exists()


@pytest.mark.parametrize("link", ["parts", "results.sqlite", ".lock", "files"])
def test_a_link_inside_a_store_is_refused_and_its_target_untouched(tmp_path: Path, link: str) -> None:
    store, target = tmp_path / "store", tmp_path / "target"
    execute(runs(1), store)
    target.mkdir()
    (target / "thesis.txt").write_text("years of work")
    path = store / link
    if path.exists():
        path.rename(tmp_path / "moved")
        shutil.move(tmp_path / "moved", target / link)
        path.symlink_to(target / link)
    else:
        path.symlink_to(target)
    before = tree(target)
    for act in (lambda: Store(store).runs(), lambda: Writer(store)):
        with pytest.raises(StoreError, match=r"is a symbolic link"):
            act()
    assert tree(target) == before


def test_a_linked_part_is_refused(tmp_path: Path) -> None:
    execute(runs(1), tmp_path / "store")
    held = next(iter(Store(tmp_path / "store").runs_by_part()))
    part = tmp_path / "store" / "parts" / held
    part.rename(tmp_path / "elsewhere")
    part.symlink_to(tmp_path / "elsewhere")
    before = tree(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"is a symbolic link"):
        Store(tmp_path / "store").table("flow_series")
    assert tree(tmp_path / "elsewhere") == before


@pytest.mark.parametrize("name", ["../../x", "/etc", "..", "0123456789ABCDEF", "", "0123456789abcdef/.."])
@pytest.mark.parametrize("column", ["run_id", "part"])
def test_names_from_a_database_never_become_a_path(tmp_path: Path, name: str, column: str) -> None:
    """Whoever makes a store can also seal it, so names are validated in addition to their seals."""
    store = tmp_path / "a" / "store"
    execute(runs(1), store)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis.txt").write_text("years of work")
    database = Database.open(store)
    with database.transaction():
        (row,) = database.rows(RUNS)
        changed = dict(zip(RUNS.columns, row, strict=True)) | {column: name}
        if column == "part":
            (part,) = database.rows(PARTS, "part = ?", row[-1])
            database.put(PARTS, [(name, *part[1:])])
        database.remove(RUNS, [(row[0],)])
        database.put(RUNS, [tuple(changed.values())])
    database.close()
    for act in (lambda: Store(store).runs(), lambda: Writer(store)):
        with pytest.raises(StoreError, match=f"it names a {column.removesuffix('_id')} "):
            act()
    assert (tmp_path / "x" / "thesis.txt").exists()


def test_a_page_of_another_origin_is_not_written_over(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("<h1>My own page</h1>")
    with pytest.raises(StoreError, match=r"report\.html: was not made by bloatlab"):
        write_page(page, "ours")
    assert page.read_text() == "<h1>My own page</h1>"
    page.unlink()
    for _ in range(2):
        write_page(page, GENERATOR.decode())
    (tmp_path / "thesis.html").write_text(GENERATOR.decode())
    page.unlink()
    page.symlink_to(tmp_path / "thesis.html")
    with pytest.raises(StoreError, match=r"report\.html: was not made by bloatlab"):
        write_page(page, "ours")


def test_an_export_writes_over_nothing_that_it_did_not_make(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    execute(runs(1), tmp_path / "x")
    before = tree(tmp_path / "x")
    for _ in range(2):
        assert command(["export", str(tmp_path / "x"), "--csv"]) == 0
    assert (tmp_path / "x-csv" / "runs.csv").exists()
    assert tree(tmp_path / "x") == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "runs.csv").write_text("my own runs")
    assert command(["export", str(tmp_path / "x"), "--csv", "-o", str(tmp_path / "mine")]) == 2
    assert "runs.csv: exists, and bloatlab did not export it" in capsys.readouterr().err
    assert (tmp_path / "mine" / "runs.csv").read_text() == "my own runs"


def killed(directory: Path, copy: Path) -> None:
    """A copy of a store whose writer did not finish: its last commits are in SQLite's log."""
    with Writer(directory) as writer:
        writer.submit(record(7))
        writer.flush()
        shutil.copytree(directory, copy)


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_reading_writes_nothing(tmp_path: Path, how: str) -> None:
    execute(runs(3), tmp_path / "closed")
    killed(tmp_path / "closed", tmp_path / "killed")
    directory = tmp_path / how
    assert (directory / "results.sqlite-wal").exists() == (how == "killed")
    before = tree(directory)
    store = Store(directory)
    values(store)
    store.run(record(7).run_id).flow_series.to_polars()
    grid.differences(directory, directory)
    assert command(["compare", str(directory), str(directory), "--no-report"]) == 0
    assert command(["runs", str(directory)]) == 0
    assert command(["store", "check", str(directory)]) == 0
    assert tree(directory) == before
    assert store.runs().height == 4


def test_an_older_store_is_not_converted_by_reading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_version_3(tmp_path / "old")
    before = tree(tmp_path / "old")
    for words in (["report"], ["export", "--csv"], ["runs"], ["store", "check"]):
        assert command([*words, str(tmp_path / "old")]) == 2
        assert "`bloatlab store upgrade" in capsys.readouterr().err
    assert tree(tmp_path / "old") == before
    assert command(["store", "upgrade", str(tmp_path / "old")]) == 0
    assert "the old database is kept as results.sqlite.version-3" in capsys.readouterr().out
    after = tree(tmp_path / "old")
    assert after["results.sqlite.version-3"][0][:16] == b"SQLite format 3\0"
    assert before.keys() <= after.keys()
    store = Store(tmp_path / "old")
    assert store.runs()["status"].to_list() == ["done", "failed"]
    assert store.run("a" * 16).parameters == {"qlen": "80p"}
    assert store.run("a" * 16).flow_series.to_polars()["time_s"].to_list() == [0.1]
    assert store.run("a" * 16).network_metrics == {"jain": 1.0}
    assert store.invocations()["command"].to_list() == ["bloatlab run e"]
    assert command(["store", "upgrade", str(tmp_path / "old")]) == 0
    assert "is already up to date" in capsys.readouterr().out


def make_version_3(directory: Path) -> None:
    part = directory / "parts" / "0123456789abcdef"
    part.mkdir(parents=True)
    one = "a" * 16
    pl.DataFrame({"run_id": [one], "time_s": [0.1]}).write_parquet(part / "flow_series.parquet")
    row = {"run_id": [one], "scope": ["network"], "entity": ["network"], "metric": ["jain"], "value": [1.0]}
    pl.DataFrame(row).write_parquet(part / "metrics.parquet")
    connection = sqlite3.connect(directory / "results.sqlite")
    connection.executescript("""
        CREATE TABLE points (point INTEGER PRIMARY KEY, scenario TEXT NOT NULL, parameters TEXT NOT NULL);
        CREATE TABLE runs (
            run_id TEXT PRIMARY KEY, experiment TEXT NOT NULL, point INTEGER NOT NULL REFERENCES points, seed INTEGER NOT NULL,
            engine_version TEXT NOT NULL, status TEXT NOT NULL, reason TEXT, digest TEXT, wall_s REAL, events INTEGER,
            kept INTEGER NOT NULL, created TEXT NOT NULL, part TEXT
        ) WITHOUT ROWID;
        CREATE TABLE units (scope TEXT, metric TEXT, unit TEXT, PRIMARY KEY (scope, metric)) WITHOUT ROWID;
        CREATE TABLE claims (
            experiment TEXT, run_id TEXT, name TEXT, unit TEXT, published REAL, measured REAL, tolerance REAL, holds INTEGER,
            source TEXT, bound TEXT NOT NULL DEFAULT '', PRIMARY KEY (experiment, run_id, name)
        );
        CREATE TABLE invocations (
            id INTEGER PRIMARY KEY, created TEXT NOT NULL, experiment TEXT NOT NULL, command TEXT NOT NULL, runs INTEGER NOT NULL
        );
        PRAGMA application_id = 0x424C4142;
        PRAGMA user_version = 3;
        INSERT INTO points VALUES (1, '{"x":1}', '{"qlen":"80p"}');
        INSERT INTO runs VALUES
            ('aaaaaaaaaaaaaaaa', 'e', 1, 1, 'v', 'done', NULL, 'd1', 0.5, 9, 2, '2026-01-01', '0123456789abcdef'),
            ('cccccccccccccccc', 'e', 1, 2, 'v', 'failed', 'it broke', NULL, 0.1, NULL, 2, '2026-01-03', NULL);
        INSERT INTO units VALUES ('network', 'jain', '');
        INSERT INTO invocations VALUES (1, '2026-01-01', 'e', 'bloatlab run e', 2);
    """)
    connection.close()


def test_an_upgrade_that_is_cut_short_leaves_the_old_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_version_3(tmp_path / "old")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("bloatlab.store.upgrade.write_manifest", fails)
        with pytest.raises(StoreError, match=r"the disk is full"):
            Writer(tmp_path / "old")
    with pytest.raises(StoreError, match=r"store version 3"):
        Store(tmp_path / "old")
    assert upgrade(tmp_path / "old") is not None
    assert Store(tmp_path / "old").runs().height == 2


def test_a_url_with_something_else_is_refused_untouched(tmp_path: Path) -> None:
    there = tmp_path / "nfs" / "r"
    (there / "parts" / "precious").mkdir(parents=True)
    (there / "parts" / "precious" / "thesis.txt").write_text("years of work")
    with pytest.raises(StoreError, match=r"is neither empty nor a results directory"):
        execute(runs(1), f"file://{there}")
    assert [path.name for path in there.rglob("*") if path.is_file()] == ["thesis.txt"]


def test_a_foreign_folder_at_a_url_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))
    there = tmp_path / "nfs" / "r"
    execute(runs(1), f"file://{there}")
    for name in ("precious", "0123456789abcdef"):
        (there / "parts" / name).mkdir()
        (there / "parts" / name / "metrics.parquet").write_text("years of work")
    execute(runs(3), f"file://{there}")
    assert len(list((there / "parts").glob("*/metrics.parquet"))) >= 3
    assert (there / "parts" / "precious" / "metrics.parquet").read_text() == "years of work"
    assert (there / "parts" / "0123456789abcdef" / "metrics.parquet").read_text() == "years of work"
