"""Tests a store under faults, kills and flipped bits. Prints the number of cases, and every case that failed.

    python tests/soak/store.py [--every 1] [--kills 200] [--flips 10000] [--flips-killed 2000] [--seed 1] [--work DIR]

Every file call of a small sweep, of an upgrade and of a repair fails or ends the process, one by one. Then the same
command must end with the same tables, and no file of another origin may have changed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "python")]

import fake_core
import grid
from bitflips import flips
from bloatlab.engines import registry
from cases import CASES, SWEEP, Case, bloatlab, foreign, fresh_copy, make_deterministic, resumed, simulate, untrue
from contents import is_part_of
from faults import LIBRARY, Ended, Faults, Mode, forked, preloaded

RUNS_OF_KILLED = 40
"""Runs of the sweep that is killed at random calls."""
NOTHING = Path("/nonexistent")


class Soak:
    """The directories of a soak, and the library that makes faults."""

    def __init__(self, work: Path) -> None:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self.faults = Faults()
        self.work = work
        self.before, self.reference = work / "before", work / "reference"
        self.directory = work / "case" / "x"

    def import_all(self) -> None:
        """Imports once what a sweep and its checks import, so that no case needs time for it."""

        def modules() -> list[str]:
            simulate(self.reference, 1)
            simulate(self.directory, 1)
            grid.differences(self.reference, self.directory)
            return sorted(sys.modules)

        fresh_copy(NOTHING, self.directory)
        for name in self.complaints(modules):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)

    def begin(self) -> None:
        """The store before the command, with files of another origin."""
        fresh_copy(self.before, self.directory)

    def make(self, act: Callable[[], int | None]) -> None:
        """Makes `before` and `reference` in a separate process."""
        for directory in (self.before, self.reference):
            shutil.rmtree(directory, ignore_errors=True)
        fresh_copy(NOTHING, self.directory)
        ended = self.fork(act)
        if ended.code:
            raise RuntimeError(f"exit code {ended.code}: {ended.out}{ended.err}")

    def fork(self, act: Callable[[], int | None]) -> Ended:
        """Runs a function in a separate process."""

        def there() -> int | None:
            os.chdir(self.directory.parent)
            return act()

        return forked(there, self.work)

    def complaints(self, check: Callable[[], list[str]]) -> list[str]:
        """The problems that a check in a separate process finds."""

        def told() -> None:
            found = check()
            print(f"\n{json.dumps(found)}")

        ended = self.fork(told)
        if ended.code:
            return [f"the check ended with {ended.code}: {ended.err.strip()[-600:]}"]
        return [str(line) for line in json.loads(ended.out.splitlines()[-1])]


def every_call(soak: Soak, case: Case, every: int) -> Iterator[str]:
    """One case with each fault at every call, or at one of `every` calls."""

    def make() -> int:
        make_deterministic()
        case.make(soak.before)
        if soak.before.exists():
            shutil.copytree(soak.before, soak.reference)
        return bloatlab(*case.words, str(soak.reference))

    def command(call: int, mode: Mode) -> Ended:
        def armed() -> int:
            make_deterministic()
            soak.faults.arm(soak.directory, call, mode)
            code = bloatlab(*case.words, str(soak.directory))
            print(f"\n{soak.faults.calls()}")
            return code

        return soak.fork(armed)

    def check(ended: Ended) -> list[str]:
        make_deterministic()
        wrong = untrue(soak.directory, soak.reference, soak.before, readable=case.readable)
        if ended.code == 0:
            wrong += [f"after exit code 0: {found}" for found in grid.differences(soak.reference, soak.directory)]
        return wrong + resumed(case, soak.directory, soak.reference)

    soak.make(make)
    soak.begin()
    total = int(command(0, Mode.KILL).out.splitlines()[-1])
    tried = missed = 0
    for mode in Mode:
        # Each mode begins at another call, so that a subset covers different calls in each mode.
        for call in range(1 + mode * every // (len(Mode) + 1), total + 1, every):
            soak.begin()
            theirs = foreign(soak.directory)
            ended = command(call, mode)
            # On a busy machine a command may need fewer calls. Then it has had no fault, and must have succeeded.
            met = ended.code != 0 or int(ended.out.splitlines()[-1]) >= call
            wrong = _said(ended, mode if met else None) + soak.complaints(lambda ended=ended: check(ended))
            if foreign(soak.directory) != theirs:
                wrong.append("a file of somebody else has changed")
            tried += met
            missed += not met
            yield from (f"{case.name}, {mode.name} at call {call} of {total}: {problem}" for problem in wrong)
    if missed > tried // 4:
        yield f"{case.name}: {missed} of {tried + missed} faults were not met, since the number of calls differs by too much"
    print(f"{case.name}: {total} calls, {tried} faults" + f", {missed} not met" * (missed > 0), flush=True)


def _said(ended: Ended, mode: Mode | None) -> list[str]:
    """The problem with the end of a command that had this fault, if there is one."""
    if mode is None:
        return [f"without a fault it said {ended.err!r}"] if ended.err else []
    if mode in (Mode.KILL, Mode.KILL_AFTER_HALF):
        return [] if ended.code == -signal.SIGKILL else [f"it was not killed but ended with {ended.code}: {ended.err}"]
    lines = ended.err.strip().splitlines()
    if ended.code not in (0, 2) or len(lines) != (ended.code == 2):
        return [f"it ended with {ended.code} and said {ended.err!r}"]
    return []


def random_kills(soak: Soak, kills: int, seed: int) -> Iterator[str]:
    """Sweeps on two threads, each killed at random calls until it ends. Its tables then equal those of a sweep without
    kills."""
    draw = random.Random(seed)
    words = [*SWEEP, str(soak.directory)]
    words[words.index("4")], words[words.index("1")] = str(RUNS_OF_KILLED), "2"

    def act(call: int) -> Ended:
        def armed() -> int:
            soak.faults.arm(soak.directory, call, Mode.KILL)
            return bloatlab(*words)

        return soak.fork(armed)

    stored = soak.work / "stored.json"

    def check() -> list[str]:
        before = set(json.loads(stored.read_text()))
        after = grid.finished(soak.directory)
        stored.write_text(json.dumps(sorted(after)))
        return [f"{len(before - after)} runs that were stored are gone"] if before - after else []

    soak.make(lambda: simulate(soak.reference, RUNS_OF_KILLED))
    done = sweeps = 0
    while done < kills:
        soak.begin()
        stored.write_text("[]")
        sweeps += 1
        theirs = foreign(soak.directory)
        while (ended := act(draw.randint(1, 300) if done < kills else 0)).code == -signal.SIGKILL:
            done += 1
            yield from (f"kill {done}: {problem}" for problem in soak.complaints(check))
        if ended.code or ended.err:
            yield f"sweep {sweeps} ended with {ended.code}: {ended.err}"
        wrong = soak.complaints(lambda: grid.differences(soak.reference, soak.directory))
        yield from (f"sweep {sweeps}: {problem}" for problem in wrong)
        if foreign(soak.directory) != theirs:
            yield f"sweep {sweeps}: a file of somebody else has changed"
    print(f"{done} kills in {sweeps} sweeps of {RUNS_OF_KILLED} runs", flush=True)


def flipped_bits(soak: Soak, closed: int, killed: int, seed: int) -> Iterator[str]:
    """Flips in a store that was closed, and in one whose writer was killed: its last commits are in SQLite's log."""

    def make() -> None:
        make_deterministic()
        simulate(soak.before, 4)
        shutil.copytree(soak.before, soak.reference)

    def killed_writer() -> int:
        make_deterministic()
        simulate(soak.directory, 3)
        words = list(SWEEP)
        words[words.index("4")] = "9"
        soak.faults.arm(soak.directory, 250, Mode.KILL)
        return bloatlab(*words, str(soak.directory))

    soak.make(make)
    yield from soak.complaints(
        lambda: [f"a store that was closed: {flip}" for flip in flips(soak.before, closed, seed)]
    )
    print(f"{closed} flips in a store that was closed", flush=True)
    fresh_copy(NOTHING, soak.directory)
    ended = soak.fork(killed_writer)
    log = soak.directory / "results.sqlite-wal"
    if ended.code != -signal.SIGKILL or not log.exists() or not log.stat().st_size:
        yield f"no writer was killed with commits in its log: {ended}"
    # A damaged log may give an older state: fewer rows, but no other ones.
    found = soak.complaints(lambda: flips(soak.directory, killed, seed, is_part_of))
    yield from (f"a store whose writer was killed: {flip}" for flip in found)
    print(f"{killed} flips in a store whose writer was killed", flush=True)


def main() -> int:
    """The exit code is 1 if a case failed."""
    parser = argparse.ArgumentParser(description="A store under faults, kills and flipped bits.")
    parser.add_argument("--every", type=int, default=1, help="inject a fault at every Nth call")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--flips", type=int, default=10_000)
    parser.add_argument("--flips-killed", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=[case.name for case in CASES], help="inject faults in this case alone")
    parser.add_argument("--work", type=Path, default=Path("results/soak-store"))
    given = parser.parse_args()
    work = given.work.resolve()
    if LIBRARY not in os.environ:
        return preloaded(work, sys.argv)
    registry.ENGINES = fake_core.IN_PLACE_OF_SIM
    soak = Soak(work / "soak")
    soak.import_all()
    count = 0
    for found in (
        *(every_call(soak, case, given.every) for case in CASES if given.only in (None, case.name)),
        random_kills(soak, given.kills, given.seed),
        flipped_bits(soak, given.flips, given.flips_killed, given.seed),
    ):
        for problem in found:
            count += 1
            print(problem, flush=True)
    print(f"{count} went wrong" if count else "nothing went wrong", flush=True)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
