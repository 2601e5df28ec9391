"""What is done to a store while faults are injected, and what must hold afterwards."""

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
"""Files of somebody else in a results directory."""


@dataclass(frozen=True)
class Case:
    """A command on a store."""

    name: str
    words: tuple[str, ...]
    """Of the command, after which comes `--out` or the directory."""
    make: Callable[[Path], None]
    """Makes the store that the command finds."""
    readable: bool = False
    """Whether the store can be read beforehand, so that it must be afterwards."""


def simulate(directory: Path, count: int) -> None:
    """A sweep of this many runs, left alone."""
    code = bloatlab("simulate", "s.toml", "--replications", str(count), "--json", "--out", str(directory))
    assert code == 0, code


def _nothing(_: Path) -> None:
    """There is no store yet."""


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
    """A command as from a shell; gives its exit code."""
    sys.argv = ["bloatlab", *words]
    try:
        cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    raise AssertionError


def make_deterministic() -> None:
    """From here on every run becomes a part at once and parts are merged from three on, so that calls can be numbered."""
    submit = Writer.submit

    def at_once(self: Writer, record: RunRecord) -> None:
        submit(self, record)
        self.flush()

    Writer.submit = at_once  # type: ignore[method-assign]
    writer.COMMIT_EVERY = writer.COMMIT_AT_LEAST_EVERY = 1e6
    merge.MERGE_ABOVE = 2


def add_foreign(directory: Path) -> None:
    """Puts somebody else's files beside a store and, where there is one, into it."""
    names = [f"{directory.name}/{name}" for name in FOREIGN] if directory.exists() else []
    for name in ("neighbour/parts/precious/thesis.txt", *names):
        path = directory.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("years of work")


def foreign(directory: Path) -> dict[str, tuple[str, int]]:
    """Somebody else's files beside and in a store."""
    return {str(path): (path.read_text(), path.stat().st_mtime_ns) for path in directory.parent.rglob("thesis.txt")}


def untrue(directory: Path, reference: Path, before: Path, *, readable: bool) -> list[str]:
    """What a store says after a fault that the same work without one does not say, or has forgotten."""
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
    """What is wrong once the same command has been given again."""
    code = bloatlab(*case.words, str(directory))
    wrong = [f"the same command again ends with {code}"] if code else []
    try:
        told = [problem for problem in problems(Store(directory)) if not problem.endswith("is left alone")]
        return [*wrong, *grid.differences(reference, directory), *told]
    except StoreError as error:
        return [*wrong, str(error)]


def fresh_copy(before: Path, directory: Path) -> None:
    """A new copy of the store that a case begins with, with somebody else's files."""
    shutil.rmtree(directory.parent, ignore_errors=True)
    directory.parent.mkdir(parents=True)
    (directory.parent / "s.toml").write_text(SCENARIO)
    if before.exists():
        shutil.copytree(before, directory)
    add_foreign(directory)
