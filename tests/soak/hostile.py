"""Reads crafted stores and documents. Each read returns values or a refusal of one line, and changes nothing.

    python tests/soak/hostile.py [--seconds 600] [--seed 1]

The cases are the tests' (`tests/python/test_hostile.py`), more of them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl

from bloatlab.errors import BloatlabError, StoreError
from bloatlab.result import Result
from bloatlab.scenario.read import read
from bloatlab.store import Store
from bloatlab.store.layout import DATABASE, PARTS
from bloatlab.store.parts import encoded, write_manifest
from bloatlab.store.seals import seal_of, sum_of
from bloatlab.store.tables import CONTENT, SEALS, Row, Table, Value
from bloatlab.sweeps import ScenarioSource, execute, plan

ODD: tuple[object, ...] = (
    "", "x", "../../x", "/etc", "nul\0", "[" * 2_000, "\ud800", "\u202eabc", "{}", "[]", "null", "1e999", '{"a": NaN}', "\n",
    "é" * 500,
    0, 1, -1, 3, 2**31, 2**62, -(2**63), 0.0, -0.5, 1e308, float("inf"), None, b"\0\xff", "done", "failed", "0123456789abcdef",
)  # fmt: skip
"""Values that a column may not expect."""

Draw = random.Random


def reseal(connection: sqlite3.Connection, table: Table, rows: Iterable[Row]) -> None:
    """Replaces the rows of a table, with valid seals."""
    connection.execute(f"DELETE FROM {table.name}")
    seals = []
    for row in rows:
        seals.append(seal_of(table.name, row))
        connection.execute(table.insert, (*row, seals[-1]))
    total = (table.name, len(seals), sum_of(seals))
    connection.execute(SEALS.insert, (*total, seal_of(SEALS.name, total)))


def crafted_row(store: Path, draw: Draw) -> None:
    """Changes a value in a column, with a valid seal."""
    table = draw.choice(list(CONTENT.values()))
    connection = sqlite3.connect(store / DATABASE)
    try:
        rows: list[Row] = [row[:-1] for row in connection.execute(table.select)]
        if not rows:
            return
        row, place = draw.randrange(len(rows)), draw.randrange(len(table.columns))
        rows[row] = (*rows[row][:place], crafted(rows[row][place], draw), *rows[row][place + 1 :])
        reseal(connection, table, rows)
        connection.commit()
    except (sqlite3.Error, UnicodeEncodeError, OverflowError, TypeError):
        # SQLite itself refuses the value, so that no store holds it.
        connection.rollback()
    finally:
        connection.close()


def crafted(value: Value, draw: Draw) -> Value:
    """A value of any type, or JSON of another form."""
    odd = draw.choice(ODD)
    if isinstance(value, str) and value[:1] == "{" and value[-1:] == "}" and draw.random() < 0.7:
        document = json.loads(value)
        if isinstance(document, dict) and document and draw.random() < 0.7:
            document[draw.choice(list(document))] = None if isinstance(odd, bytes) else odd
            return json.dumps(document)
        return json.dumps(None if isinstance(odd, bytes) else [odd])
    return odd  # type: ignore[return-value]


def crafted_table(store: Path, draw: Draw) -> None:
    """Replaces a Parquet file of a part, with a valid manifest and hashes."""
    parts = sorted((store / PARTS).iterdir())
    part = draw.choice(parts)
    path = draw.choice(sorted(part.glob("*.parquet")))
    path.write_bytes(encoded(changed(pl.read_parquet(path), draw)))
    digest = write_manifest(part)
    connection = sqlite3.connect(store / DATABASE)
    rows: list[Row] = [row[:-1] for row in connection.execute(CONTENT["parts"].select)]
    rows = [(row[0], digest, row[2]) if row[0] == part.name else row for row in rows]
    reseal(connection, CONTENT["parts"], rows)
    connection.commit()
    connection.close()


def changed(frame: pl.DataFrame, draw: Draw) -> pl.DataFrame:
    """A frame without a column, with one of another type, or with other rows."""
    column = draw.choice(frame.columns)
    match draw.randrange(6):
        case 0:
            return frame.drop(column)
        case 1:
            return frame.rename({column: "other"})
        case 2:
            return frame.with_columns(pl.lit(draw.choice([1, 0.5, "x", None, True])).alias(column))
        case 3:
            return frame.clear()
        case 4:
            return pl.concat([frame, frame])
        case _:
            return pl.DataFrame({"x": [1]})


def damaged_file(store: Path, draw: Draw) -> None:
    """A file with other bytes, a cut or nothing."""
    files = sorted(path for path in store.rglob("*") if path.is_file() and path.name != ".lock")
    path = draw.choice(files)
    data = bytearray(path.read_bytes())
    match draw.randrange(4):
        case 0:
            data = data[: draw.randrange(len(data) + 1)]
        case 1:
            data += draw.randbytes(draw.randrange(1, 200))
        case 2:
            path.unlink()
            return
        case _:
            for _ in range(draw.randrange(1, 30)):
                data[draw.randrange(len(data))] = draw.randrange(256)
    path.write_bytes(data)


def readings(store: Store) -> Iterable[Callable[[], object]]:
    """Every way to read a store."""
    names = (
        "flows",
        "links",
        "probes",
        "flow_series",
        "link_series",
        "probe_series",
        "metrics",
        "histograms",
        "packets",
    )
    yield from (store.runs, store.points, store.parameters, store.metrics, store.claims, store.invocations)
    yield from (store.finished, store.runs_by_part, store.manifests)
    yield from (lambda name=name: store.table(name) for name in names)  # type: ignore[misc]
    for run_id, experiment in store.runs().select("run_id", "experiment").rows():
        yield lambda run_id=run_id: whole(store.run(run_id))
        yield lambda experiment=experiment: store.run_parameters(experiment)
        yield lambda experiment=experiment: store.places(experiment)


def whole(result: Result) -> object:
    """Every stored table of a result."""
    return [result.flows, result.links, result.flow_series, result.link_series, result.histograms, repr(result)]


def one_line(error: BloatlabError) -> None:
    """A refusal is one line without control characters."""
    text = str(error)
    if not text or any(c in text for c in "\n\r\0\x1b\u202e"):
        raise AssertionError(f"a refusal of another form: {text!r}")


def attempt(store: Path, draw: Draw) -> int:
    """Reads a crafted store, and returns how many reads were refused."""
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file() and path.suffix != ".lock"}
    refused = 0
    try:
        opened = Store(store)
        acts = list(readings(opened))
    except StoreError as error:
        one_line(error)
        return 1
    for act in acts:
        try:
            act()
        except BloatlabError as error:
            one_line(error)
            refused += 1
    after = {path: path.read_bytes() for path in store.rglob("*") if path.is_file() and path.suffix != ".lock"}
    if before != after:
        raise AssertionError("reading has written to the store")
    return refused


CHANGES = (crafted_row, crafted_row, crafted_table, damaged_file)


def case(template: Path, work: Path, seed: int) -> int:
    """Reads one crafted copy of a store, and returns how many reads were refused."""
    draw = random.Random(seed)
    store = work / "store"
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(template, store)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        try:
            draw.choice(CHANGES)(store, draw)
        except (sqlite3.Error, OSError, IndexError, pl.exceptions.PolarsError):
            # An earlier change left nothing to change.
            break
    return attempt(store, draw)


DOCUMENT = """\
name = "small"
duration = "1s"
warmup = "100ms"
[dumbbell]
rate = "1Mbit/s"
rtt = "10ms"
queue = { kind = "codel", target = "5ms" }
vary.rate = { kind = "steps", steps = [{ at = "10ms", value = "2Mbit/s" }] }
[[flows]]
cca = { kind = "cubic", beta = 0.7 }
tcp = { mss = 1448, ecn = true }
[[flows]]
traffic = { kind = "finite", bytes = "10kB" }
start = "1ms"
"""
PIECES = (
    "[[", "]]", "[", "]", "{", "}", "=", ".", '"', "'", '"""', "\n", "\\u0000", "\\ud800", "#", ",", "nan", "inf", "-inf",
    "1e400",
    "0x7fffffffffffffff", "1979-05-27T07:32:00Z", "07:32:00", "1979-05-27", "true", "9" * 5000, "flows", "cca", "tcp.mss",
    "name = 1\n",
    "\u202e", "\x00", "\ufeff", "[" * 3000, "{ a = " * 3000, "a." * 3000, '"\\U00110000"', "-0.0", "1_000", "dumbbell.rate",
)  # fmt: skip
"""Pieces of TOML, and text that TOML does not allow."""
NUMBERS = ("0", "1", "2", "10", "500", "1448", "65000", "65001", "1e9", "9" * 30, "00", "0.5", "-1")


def document(folder: Path, seed: int) -> bool:
    """Reads a changed scenario file, and returns whether it was refused."""
    draw = random.Random(seed)
    text = DOCUMENT
    for _ in range(draw.randrange(1, 5)):
        at = draw.randrange(len(text) + 1)
        if draw.random() < 0.7:
            # Another number, most often a valid one.
            text = re.sub(r"\d+", lambda found: found[0] if draw.random() < 0.95 else draw.choice(NUMBERS), text)
            continue
        until = min(len(text), at + draw.choice((0, 0, 1, 3, 20, 100)))
        other = draw.randrange(len(text) + 1)
        piece = draw.choice((draw.choice(PIECES), text[other : other + 30], chr(draw.randrange(1, 0x3000))))
        text = text[:at] + piece + text[until:]
    suffix = draw.choice((".toml", ".toml", ".toml", ".json"))
    file = folder / f"case{suffix}"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        plan(ScenarioSource(read(file)))
    except BloatlabError as error:
        one_line(error)
        return True
    except ValueError as error:
        # The engine's refusal of a document.
        if type(error).__name__ != "ScenarioError":
            raise
        return True
    return False


def soak(template: Path, seconds: float, seed: int) -> bool:
    """Runs cases for this time. Returns false at a finding."""
    end = time.monotonic() + seconds
    stores = documents = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            number = seed * 10**9 + stores
            try:
                refused += case(template, Path(folder), number) > 0
                stores += 1
                for _ in range(20):
                    document(Path(folder), seed * 10**9 + documents)
                    documents += 1
            except Exception as error:
                print(f"store case {number}, document case {seed * 10**9 + documents}: {error!r}")
                return False
    print(f"{stores} stores, of which {refused} were refused in part or whole, and {documents} documents: no finding")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "template"
        (Path(folder) / "s.toml").write_text(DOCUMENT)
        execute(
            plan(ScenarioSource(read(Path(folder) / "s.toml")), replications=3),
            template,
            command="bloatlab simulate s.toml",
        )
        return 0 if soak(template, given.seconds, given.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
