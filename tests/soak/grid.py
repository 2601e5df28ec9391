"""Compares a sweep that is killed with `kill -9` and resumed several times with the same sweep without kills.

    python tests/soak/grid.py PLAN [--kills 5] [--seed 1] [--jobs 2] [--work DIR]

Both must end with the same tables: no run is lost or stored twice, and every number is equal. Prints the cost of the
sweep: wall-clock time, runs per second, memory over time and the size of the store.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import polars as pl

from bloatlab.errors import StoreError
from bloatlab.store import Store
from bloatlab.sweeps.document import read_plan
from gates import Gate

CLI = (sys.executable, "-m", "bloatlab")
LOOK_EVERY = 0.05


@dataclass
class Taken:
    """What a sweep took."""

    runs: int
    wall_s: float = 0.0
    memory_mb: list[float] = field(default_factory=list)
    """Resident memory of the driver at every sample."""
    store_mb: float = 0.0
    kills: list[int] = field(default_factory=list)
    """Runs that were stored when it was killed."""

    def __str__(self) -> str:
        """In one line."""
        half = len(self.memory_mb) // 2
        early, late = (median(part or [0.0]) for part in (self.memory_mb[:half], self.memory_mb[half:]))
        killed = f", killed after {', '.join(map(str, self.kills))} runs" if self.kills else ""
        return (
            f"{self.runs} runs in {self.wall_s:.1f} s, {self.runs / self.wall_s:.1f} runs/s{killed}; "
            f"memory {early:.0f} MB in the first half, {late:.0f} MB in the second (medians), "
            f"{max(self.memory_mb, default=0.0):.0f} MB at most, for the page; store {self.store_mb:.1f} MB"
        )


def left_alone(plan: Path, directory: Path, jobs: int, cli: Sequence[str] = CLI) -> Taken:
    """The sweep without kills."""
    taken = Taken(len(read_plan(plan).runs()))
    start = time.monotonic()
    process = _start(plan, directory, jobs, cli)
    while process.poll() is None:
        _look(process.pid, taken)
        time.sleep(LOOK_EVERY)
    if process.returncode:
        raise RuntimeError(f"the sweep ended with exit code {process.returncode}")
    taken.wall_s = time.monotonic() - start
    taken.store_mb = _size(directory)
    return taken


def killed(
    plan: Path, directory: Path, jobs: int, kills: int, seed: int, cli: Sequence[str] = CLI, gate: Gate | None = None
) -> Taken:
    """The sweep with this many kills, each at a random time after a random number of runs.

    With a gate, it is killed when exactly that number of runs is stored.
    """
    draw = random.Random(seed)
    taken = Taken(len(read_plan(plan).runs()))
    start = time.monotonic()
    for share in sorted(draw.uniform(0.02, 0.95) for _ in range(kills)):
        before = finished(directory)
        count = math.ceil(share * taken.runs)
        if gate is not None:
            gate.open_for(count)
        process = _start(plan, directory, jobs, cli)
        while process.poll() is None:
            look = time.monotonic()
            if len(finished(directory)) >= count:
                break
            _look(process.pid, taken)
            # Counting a large store takes time, which must not delay the sweep.
            time.sleep(max(LOOK_EVERY, 20 * (time.monotonic() - look)))
        if gate is None:
            time.sleep(draw.uniform(0.0, 0.3))
        process.kill()
        process.wait()
        after = finished(directory)
        if not before <= after:
            raise AssertionError(f"{len(before - after)} runs that were stored are gone")
        taken.kills.append(len(after))
    if gate is not None:
        gate.open_for(taken.runs)
    rest = left_alone(plan, directory, jobs, cli)
    taken.wall_s = time.monotonic() - start
    taken.memory_mb += rest.memory_mb
    taken.store_mb = rest.store_mb
    return taken


def differences(one: Path, other: Path) -> list[str]:
    """The differences between the two stores, without wall-clock times."""
    stores = Store(one), Store(other)
    tables = {
        "runs": [store.runs().drop("wall_s", "created", "point").sort("run_id") for store in stores],
        "parameters": [store.parameters().sort("run_id", "name") for store in stores],
        "metrics": [store.metrics().sort("run_id", "scope", "entity", "metric") for store in stores],
    }
    for name in ("flow_series", "link_series", "histograms"):
        tables[name] = [store.table(name) for store in stores]
        tables[name] = [table.sort(pl.all()) if table.width > 1 else table for table in tables[name]]
    found = [f"{name} differ: {a.height} and {b.height} rows" for name, (a, b) in tables.items() if not a.equals(b)]
    twice = tables["metrics"][1].select("run_id", "scope", "entity", "metric").is_duplicated().sum()
    return [*found, f"{twice} metrics are there twice"] if twice else found


def finished(directory: Path) -> set[str]:
    """Runs that are stored."""
    try:
        return set(Store(directory).finished())
    except StoreError:
        # The store does not exist yet, or its tables are not written yet.
        return set()


def _start(plan: Path, directory: Path, jobs: int, cli: Sequence[str]) -> subprocess.Popen[bytes]:
    command = [*cli, "sweep", str(plan), "--out", str(directory), "--jobs", str(jobs)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def _look(pid: int, taken: Taken) -> None:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return
    resident = next((line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")), None)
    if resident is not None:
        taken.memory_mb.append(int(resident) / 1024)


def _size(directory: Path) -> float:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) / 1e6


def main() -> int:
    """The exit code is 1 if the two sweeps differ."""
    parser = argparse.ArgumentParser(description="A sweep killed and resumed, beside the same sweep left alone.")
    parser.add_argument("plan", type=Path)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("results/soak"))
    given = parser.parse_args()
    whole, resumed = given.work / "whole", given.work / "killed"
    print(f"left alone: {left_alone(given.plan, whole, given.jobs)}", flush=True)
    print(f"killed: {killed(given.plan, resumed, given.jobs, given.kills, given.seed)}", flush=True)
    found = differences(whole, resumed)
    print("\n".join(found) if found else "the same tables: none lost, none twice")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
