"""The commands that run while faults are injected, and the conditions that hold afterwards."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import grid
from bloatlab import cli
from bloatlab.errors import StoreError
from bloatlab.store import Store, Writer, merge, writer
from bloatlab.store.check import problems
from bloatlab.store.records import RunRecord
from contents import TABLES
from test_store_safety import make_version_3

SCENARIO = 'name = "small"\nduration = "1s"\ndumbbell = { rate = "1Mbit/s", rtt = "10ms" }\nflows = [{}]\n'
FOREIGN = ("thesis.txt", "parts/precious/thesis.txt", "parts/0123456789abcdef/thesis.txt", "files/thesis.txt")
"""Files of another origin in a results directory."""


@dataclass(frozen=True)
class Case:
    """A command on a store."""

    name: str
    words: tuple[str, ...]
    """Arguments of the command, without `--out` or the directory."""
    make: Callable[[Path], None]
    """Creates the store for the command."""
    readable: bool = False
    """Whether the store is readable before the command, so that it must be readable afterwards."""


def simulate(directory: Path, count: int) -> None:
    """A sweep of this many runs without faults."""
    code = bloatlab("simulate", "s.toml", "--replications", str(count), "--json", "--out", str(directory))
    assert code == 0, code


def _nothing(_: Path) -> None:
    """Starts without a store."""


def _some(directory: Path) -> None:
    simulate(directory, 2)


def _lost(directory: Path) -> None:
    simulate(directory, 3)
    (directory / "results.sqlite").unlink()


def _damaged(directory: Path) -> None:
    simulate(directory, 3)
    part = next(iter(Store(directory).runs_by_part()))
    (directory / "parts" / part / "flow_series.parquet").unlink()


SWEEP = ("simulate", "s.toml", "--replications", "4", "--jobs", "1", "--json", "--out")
CASES = (
    Case("a new store", SWEEP, _nothing),
    Case("a second sweep", SWEEP, _some, readable=True),
    Case("an upgrade", ("store", "upgrade"), make_version_3),
    Case("a lost database", ("store", "repair"), _lost),
    Case("a damaged part", ("store", "repair"), _damaged),
)


def bloatlab(*words: str) -> int:
    """Runs a command as from a shell, and returns its exit code."""
    sys.argv = ["bloatlab", *words]
    try:
        cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    raise AssertionError


def make_deterministic() -> None:
    """From now on, every run becomes a part at once, and three parts are merged, so that calls can be numbered."""
    submit = Writer.submit

    def at_once(self: Writer, record: RunRecord) -> None:
        submit(self, record)
        self.flush()

    Writer.submit = at_once  # type: ignore[method-assign]
    writer.COMMIT_EVERY = writer.COMMIT_AT_LEAST_EVERY = 1e6
    merge.MERGE_ABOVE = 2


def add_foreign(directory: Path) -> None:
    """Adds files of another origin next to a store and, if there is one, into it."""
    names = [f"{directory.name}/{name}" for name in FOREIGN] if directory.exists() else []
    for name in ("neighbour/parts/precious/thesis.txt", *names):
        path = directory.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("years of work")


def foreign(directory: Path) -> dict[str, tuple[str, int]]:
    """Files of another origin next to a store and in it."""
    return {str(path): (path.read_text(), path.stat().st_mtime_ns) for path in directory.parent.rglob("thesis.txt")}


def untrue(directory: Path, reference: Path, before: Path, *, readable: bool) -> list[str]:
    """The differences between a store after a fault and a store of the same work without faults."""
    try:
        store = Store(directory)
        ids = store.runs()["run_id"].to_list()
        found = {name: store.table(name) for name in TABLES}
    except StoreError as error:
        text = str(error)
        return [f"it cannot be read: {text}"] if readable or "\n" in text else []
    kept = Store(before).runs()["run_id"].to_list() if readable else []
    wrong = [f"run {run_id} is gone" for run_id in kept if run_id not in ids]
    whole = Store(reference)
    expected = {name: whole.table(name).filter(pl.col("run_id").is_in(ids)) for name in TABLES}
    for name, frame in found.items():
        # The table of a store without runs has no columns.
        if ids and not frame.sort(pl.all()).equals(expected[name].sort(pl.all())):
            wrong.append(f"{name} is untrue: {frame.height} rows for {expected[name].height}")
    return wrong


def resumed(case: Case, directory: Path, reference: Path) -> list[str]:
    """The problems after the same command was run again."""
    code = bloatlab(*case.words, str(directory))
    wrong = [f"the same command again ends with {code}"] if code else []
    try:
        told = [problem for problem in problems(Store(directory)) if not problem.endswith("is left alone")]
        return [*wrong, *grid.differences(reference, directory), *told]
    except StoreError as error:
        return [*wrong, str(error)]


def fresh_copy(before: Path, directory: Path) -> None:
    """A new copy of the store that a case begins with, and files of another origin."""
    shutil.rmtree(directory.parent, ignore_errors=True)
    directory.parent.mkdir(parents=True)
    (directory.parent / "s.toml").write_text(SCENARIO)
    if before.exists():
        shutil.copytree(before, directory)
    add_foreign(directory)
