"""No command that reads a store runs code that the store brings, whatever is in its files."""

from __future__ import annotations

import json
import pickle
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bloatlab import cli
from bloatlab.store import Keep
from bloatlab.sweeps import ScenarioSource, execute, plan

READING = [
    ["report", "r", "--again"],
    ["figure", "r", "comparison", "-o", "x.svg"],
    ["figure", "r", "time_series", "-o", "x.html"],
    ["export", "r", "--csv", "-o", "out"],
    ["export", "r", "--parquet", "--summary", "-o", "out"],
    ["compare", "r", "--by", "dumbbell.rate=1Mbit/s,2Mbit/s"],
]


class Payload:
    """Unpickled it leaves a file."""

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        return open, ("ran", "w")


PICKLED = pickle.dumps(Payload())


def made(name: str, directory: str) -> None:
    """A store of four runs."""
    document = {
        "name": name,
        "duration": "1s",
        "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms", "queue": "fifo"},
        "flows": [{}],
    }
    axes = {"dumbbell.rate": ["1Mbit/s", "2Mbit/s"]}
    execute(plan(ScenarioSource(document), axes=axes, replications=2, keep=Keep.TABLES), directory)


@pytest.fixture(autouse=True)
def _store(fake: None) -> None:
    made("small", "r")


def read_everything() -> list[int]:
    codes = [cli.command(arguments) for arguments in READING]
    assert not Path("ran").exists()
    return codes


def test_the_payload_runs_when_it_is_unpickled() -> None:
    pickle.loads(PICKLED).close()
    assert Path("ran").exists()


def test_parquet_with_pickles_in_its_metadata_and_columns() -> None:
    for path in Path("r/parts").glob("*/*.parquet"):
        table = pq.read_table(path)
        fields = [
            field.with_metadata(
                {
                    "ARROW:extension:name": "arrow.py_extension_type",
                    "ARROW:extension:metadata": PICKLED,
                    "pickle": PICKLED,
                }
            )
            for field in table.schema
        ]
        table = pa.table(
            dict(zip(table.column_names, table.columns, strict=True)), pa.schema(fields, {"pandas": PICKLED})
        )
        table = table.append_column("object", pa.array([PICKLED] * table.num_rows, pa.binary()))
        pq.write_table(table, path)
    read_everything()


def test_a_database_with_pickles_for_texts() -> None:
    with sqlite3.connect("r/results.sqlite") as database:
        database.execute("UPDATE runs SET reason = ?, digest = ?", (PICKLED, PICKLED))
        database.execute(
            "UPDATE points SET parameters = ?", (json.dumps({"py/reduce": [{"py/type": "os.system"}, "touch ran"]}),)
        )
    read_everything()


def test_a_database_whose_tables_are_views_that_load_an_extension() -> None:
    with sqlite3.connect("r/results.sqlite") as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(runs)")]
        database.execute("ALTER TABLE runs RENAME TO kept")
        shown = ", ".join("load_extension('./evil.so') AS reason" if name == "reason" else name for name in columns)
        database.execute(f"CREATE VIEW runs AS SELECT {shown} FROM kept")
    assert set(read_everything()) == {2}


def test_files_in_a_store_are_never_imported() -> None:
    for name in ("sitecustomize", "conftest", "plan", "bloatlab", "polars", "altair"):
        (Path("r") / f"{name}.py").write_text("open('ran', 'w')\n")
        shutil.copy(f"r/{name}.py", "r/parts")
    (Path("r") / "templates").mkdir()
    (Path("r/templates") / "report.html").write_text("{{ ''.__class__.__mro__[1].__subclasses__() }}")
    assert set(read_everything()) == {0}


def test_templates_in_names_are_text() -> None:
    made("{{ 7 * 191 }}{% include 'x' %}${7*191}", "named")
    assert cli.command(["report", "named", "--again"]) == 0
    page = Path("named/report.html").read_text(encoding="utf-8")
    assert "{{ 7 * 191 }}" in page
    assert "1337" not in page
