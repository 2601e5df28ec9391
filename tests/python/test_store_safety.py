"""The store touches nothing that it did not make, and reads no altered bit as a value."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import grid
from bitflips import flips
from bloatlab.cli import command
from bloatlab.errors import StoreError
from bloatlab.store import Store, Writer, remote
from bloatlab.store.database import Database
from bloatlab.store.files import GENERATOR, write_page
from bloatlab.store.repair import needs_database, rebuild
from bloatlab.store.tables import INVOCATIONS, PARTS, RUNS, UNITS
from bloatlab.store.upgrade import upgrade
from bloatlab.sweeps import PlannedRun, ScenarioSource, execute, plan
from contents import same, tree, values
from test_store import record

pytestmark = pytest.mark.usefixtures("fake")

SCENARIO = 'name = "small"\nduration = "1s"\ndumbbell = { rate = "1Mbit/s" }\nflows = [{}]\n'


def runs(count: int) -> list[PlannedRun]:
    document = {"name": "small", "duration": "1s", "dumbbell": {"rate": "1Mbit/s"}, "flows": [{}]}
    return plan(ScenarioSource(document), replications=count)


def simulate(out: Path) -> int:
    Path("s.toml").write_text(SCENARIO)
    return command(["simulate", "s.toml", "--out", str(out), "--json"])


# What is not ours stays


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
    # Even with the mark: what is not ours in it keeps it.
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
    """Whoever makes a store can seal it as well, so the form of a name is checked beside its seal."""
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
    """A copy of a store whose writer never came to its end: its last commits are in SQLite's log."""
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
    assert command(["compare", str(directory), str(directory)]) == 0
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
    assert "is up to date already" in capsys.readouterr().out


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


# What is lost is told, and comes back


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
        # Points are numbered as they come.
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


# Secrets


SECRET = "wJalrXUtnFEMI/K7MDENG"


@pytest.mark.parametrize(
    "url",
    [
        f"memory://AKIA:{SECRET}@bucket/results",
        f"memory://bucket/results?token={SECRET}",
        f"memory://bucket/results#access_token={SECRET}",
    ],
)
def test_a_key_in_a_url_is_kept_nowhere(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))
    Path("s.toml").write_text(SCENARIO)
    words = ["simulate", "s.toml", "--out", url, "--json"]
    monkeypatch.setattr("sys.argv", ["bloatlab", *words])
    assert command(words) == 0
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    for path in (tmp_path / "machine").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    import fsspec

    fs, root = fsspec.core.url_to_fs(url)
    for name in fs.find(root):
        assert SECRET.encode() not in fs.cat_file(name), name
    with pytest.raises(StoreError) as error:
        Store(url.replace("results", "nothing"))
    assert SECRET not in str(error.value)


def test_what_a_library_says_of_a_key_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))
    url = f"memory://AKIA:{SECRET}@bucket/results"

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError(f"403 for {url} with {SECRET}")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.info", fails)
    with pytest.raises(StoreError, match=r"403 for") as error:
        Store(url)
    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None


def test_a_staging_directory_asks_for_the_key_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))
    url = f"memory://AKIA:{SECRET}@bucket/asked"
    execute(runs(1), url)
    directory = remote.local(url)
    monkeypatch.setattr("bloatlab.store.remote.location._given", {})
    with pytest.raises(StoreError, match=r"its password or key is not stored; give the whole URL"):
        Store(directory)
    assert Store(url).runs().height == 1


def test_state_files_are_their_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))
    old = os.umask(0)
    try:
        execute(runs(1), "memory://private/results")
    finally:
        os.umask(old)
    directory = remote.local("memory://private/results")
    for name in (".mirror.json", ".published.json", ".lock"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


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


def test_the_record_of_a_run_survives_its_copy() -> None:
    one = replace(record(3, qlen="80p"), metrics={}, tables={})
    row = dict(zip(("run_id", "experiment", "scenario", "parameters", "seed", "engine_version", "status", "reason", "digest",
                    "wall_s", "events", "kept", "created"), one.row(), strict=True))  # fmt: skip
    assert type(one).of_row(row) == one


def test_a_newer_store_is_not_rebuilt_whatever_its_directory_is_called(tmp_path: Path) -> None:
    directory = tmp_path / "store repair"
    Writer(directory).close()
    with contextlib.closing(sqlite3.connect(directory / "results.sqlite")) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="99"):
        needs_database(directory)
