"""Time of `bloatlab run` from the shell: one run with its report, and a sweep."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

BLOATLAB = Path(sys.executable).with_name("bloatlab")


@dataclass(frozen=True)
class Took:
    """Wall time and CPU time of one command, in seconds."""

    wall: float
    cpu: float


def timed(arguments: list[str], one_core: bool = False) -> Took:
    """Times a command. With `one_core`, all its threads share one CPU core."""
    command: list[str] = [str(BLOATLAB), *arguments]
    if one_core:
        core = min(os.sched_getaffinity(0))
        command = ["taskset", "--cpu-list", str(core), *command]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"bench: {' '.join(command)} failed: {done.stderr.strip()[-300:]}")
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def report(repetitions: int) -> dict[str, Any]:
    """Times `bloatlab run deep-buffers` with its report, each time into a new directory.

    A first run, which is not counted, puts Vega into the user's cache as the first page of a user does.
    """
    taken = []
    for _ in range(repetitions + 1):
        with tempfile.TemporaryDirectory() as directory:
            taken.append(timed(["run", "deep-buffers", "--out", f"{directory}/out"]))
            if not Path(directory, "out", "report.html").exists():
                raise SystemExit("bench: bloatlab run deep-buffers made no report")
    del taken[0]
    return {
        "wall_s": median(took.wall for took in taken),
        "wall_s_best": min(took.wall for took in taken),
        "cpu_s": median(took.cpu for took in taken),
        "repetitions": repetitions,
    }


MODES = (("one core, --jobs 1", 1, True), ("--jobs 1", 1, False), ("--jobs 2", 2, False))
"""Name, threads, and whether only one CPU core is used. Otherwise the thread that writes results may use another core."""


def sweep(queues: int, rtts: int, repetitions: int) -> dict[str, Any]:
    """Times `queues` x `rtts` different runs of 15 s in every mode, in turn, each time into a new directory."""
    qlen = ",".join(f"{40 + 2 * i}p" for i in range(queues))
    rtt = ",".join(f"{10 + i}ms" for i in range(rtts))
    runs = queues * rtts
    # Holding a process to one core needs taskset (util-linux).
    modes = [mode for mode in MODES if not mode[2] or shutil.which("taskset")]
    taken: dict[str, list[dict[str, float]]] = {name: [] for name, *_ in modes}
    for _ in range(repetitions):
        for name, jobs, one_core in modes:
            with tempfile.TemporaryDirectory() as directory:
                out = f"{directory}/out"
                arguments = ["run", "deep-buffers", "--sweep", f"qlen={qlen}", "--sweep", f"rtt={rtt}", "--json"]
                took = timed([*arguments, "--jobs", str(jobs), "--out", out], one_core)
                stored, engine, events = engine_time(Path(out))
            if stored != runs:
                raise SystemExit(f"bench: the sweep stored {stored} runs, not {runs}")
            overhead = (took.wall * jobs - engine) / runs
            taken[name].append(
                {"wall_s": took.wall, "cpu_s": took.cpu, "runs_per_s": runs / took.wall, "engine_s": engine,
                 "overhead_ms_per_run": overhead * 1e3, "events_per_s": events / took.wall}
            )  # fmt: skip
    fastest = taken[MODES[-1][0]]
    ratios = {
        name: median(a["wall_s"] / b["wall_s"] for a, b in zip(taken[name], fastest, strict=True)) for name, *_ in modes
    }
    return {
        "runs": runs,
        "repetitions": repetitions,
        "modes": {
            name: {key: median(one[key] for one in several) for key in several[0]} for name, several in taken.items()
        },
        "jobs_2_is_faster_by": ratios,
    }


def engine_time(directory: Path) -> tuple[int, float, int]:
    """Number of runs in the store, their seconds in the engine (including waits for the GIL), and their events."""
    connection = sqlite3.connect(directory / "results.sqlite")
    try:
        row = connection.execute("SELECT count(*), sum(wall_s), sum(events) FROM runs WHERE status = 'done'").fetchone()
        return row[0], row[1] or 0.0, row[2] or 0
    finally:
        connection.close()
