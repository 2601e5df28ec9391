"""`export --sqlite`: one file that is queried without bloatlab, and that replaces only what an export made."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab.cli import command
from conftest import REAL
from small_runs import SCENARIO

DOCS = Path(__file__).parents[2] / "docs" / "import-export.md"
real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def ask(file: str | Path, query: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return database.execute(query).fetchall()


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake: object) -> Path:
    """A store of two runs of a scenario, in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCENARIO)
    assert command(["simulate", "s.toml", "--replications", "2", "--out", "results/two", "-q"]) == 0
    return tmp_path


def test_the_tables_hold_every_run(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert command(["export", "results/two", "--sqlite"]) == 0
    assert capsys.readouterr().out == "two.sqlite\n"
    opened = bloatlab.open("results/two")
    assert ask("two.sqlite", "PRAGMA integrity_check") == [("ok",)]
    assert ask("two.sqlite", "SELECT run_id, seed FROM runs ORDER BY seed") == sorted(
        opened.runs().select("run_id", "seed").iter_rows(), key=lambda row: row[1]
    )
    metrics = set(opened.metrics().iter_rows())
    assert set(ask("two.sqlite", "SELECT run_id, scope, entity, metric, value, unit FROM metrics")) == metrics
    series = opened.table("flow_series").drop_nulls("srtt_ms")
    stored = ask("two.sqlite", "SELECT run_id, entity, time_s, value, unit FROM series WHERE quantity = 'srtt_ms'")
    assert sorted(stored) == sorted((*row, "ms") for row in series["run_id", "flow", "time_s", "srtt_ms"].iter_rows())


def test_only_an_export_is_replaced(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["export", "results/two", "--sqlite", "mine.sqlite"]) == 0
    assert command(["export", "results/two", "--sqlite", "-o", "mine.sqlite"]) == 0
    Path("notes.sqlite").write_text("mine")
    Path("link.sqlite").symlink_to("mine.sqlite")
    with contextlib.closing(sqlite3.connect("other.sqlite")) as other:
        other.execute("CREATE TABLE t (x)")
    for name in ("notes.sqlite", "link.sqlite", "other.sqlite", "results/two/results.sqlite", "results"):
        capsys.readouterr()
        assert command(["export", "results/two", "--sqlite", name]) == 2
        assert f"{name}: exists, and bloatlab did not export it" in capsys.readouterr().err
    assert Path("notes.sqlite").read_text() == "mine"
    assert command(["export", "results/two", "--sqlite", "nowhere/x.sqlite"]) == 2
    assert not [path for path in store.iterdir() if path.name.startswith(".")]


def test_a_file_that_failed_leaves_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    assert command(["export", "results/two", "--sqlite"]) == 2
    assert {path.name for path in store.iterdir()} == {"s.toml", "results"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x.sqlite", "--csv"], "`x.sqlite` is the file of --sqlite"),
        (["x.sqlite", "--sqlite", "-o", "y.sqlite"], "either as FILE or as --out"),
        (["--sqlite", "--parquet"], "give one of"),
        (["--sqlite", "--summary"], "--summary needs --csv or --parquet"),
    ],
)
def test_what_does_not_go_together_is_refused(
    store: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert command(["export", "results/two", *words]) == 2
    assert said in capsys.readouterr().err


@real
def test_the_queries_of_the_docs_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    bloatlab.sweep(
        "deep-buffers",
        cca=["newreno", "cubic"],
        qlen=["20p", "80p"],
        replications=2,
        out="results/deep-buffers",
        stop="2s",
    )
    assert command(["export", "results/deep-buffers", "--sqlite"]) == 0
    queries = re.findall(r"```sql\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert len(queries) >= 3
    for query in queries:
        assert ask("deep-buffers.sqlite", query), query
    assert ask("deep-buffers.sqlite", "SELECT DISTINCT typeof(value) FROM parameters WHERE name = 'k'") == [
        ("integer",)
    ]
    assert ask("deep-buffers.sqlite", "SELECT DISTINCT cca FROM flows ORDER BY cca") == [("cubic",), ("newreno",)]
