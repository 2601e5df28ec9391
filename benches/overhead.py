"""Overhead of an executor per run, from a sweep of tiny runs on threads and on a dask cluster of this machine."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import shell
from bloatlab.settings import RunSettings
from bloatlab.store import Keep
from bloatlab.sweeps import ScenarioSource, execute, plan

WORKERS = 2
AIM_MS = 3.0
TINY = {"name": "tiny", "duration": "1s", "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms"}, "flows": [{}]}


@contextmanager
def cluster() -> Iterator[str]:
    """Starts a cluster with `WORKERS` workers and gives the address of its scheduler."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
    ) as made:
        yield made.scheduler_address


def measure(runs: int, repetitions: int) -> dict[str, Any]:
    """Milliseconds of overhead per run: wall time x workers / runs, minus the time in the engine. The modes take turns."""
    if importlib.util.find_spec("distributed") is None:
        return _measure(runs, repetitions, {"threads": RunSettings(jobs=WORKERS)})
    with cluster() as address:
        return _measure(
            runs, repetitions, {"threads": RunSettings(jobs=WORKERS), "LocalCluster": RunSettings(scheduler=address)}
        )


def _measure(runs: int, repetitions: int, executors: dict[str, RunSettings]) -> dict[str, Any]:
    taken: dict[str, list[dict[str, float]]] = {}
    for turn in range(repetitions + 1):
        for keep in (Keep.METRICS, Keep.TABLES):
            planned = plan(ScenarioSource(TINY), replications=runs, keep=keep)
            for name, settings in executors.items():
                with tempfile.TemporaryDirectory() as directory:
                    wall = execute(planned, directory, settings).wall_s
                    stored, engine, _ = shell.engine_time(Path(directory))
                if stored != runs:
                    raise SystemExit(f"bench: {name} stored {stored} runs, not {runs}")
                # The first turn is not measured, because workers import modules in it.
                if turn:
                    taken.setdefault(f"{name}, {keep.name.lower()} kept", []).append(
                        {
                            "overhead_ms_per_run": (wall * WORKERS - engine) / runs * 1e3,
                            "engine_ms_per_run": engine / runs * 1e3,
                            "runs_per_s": runs / wall,
                        }
                    )
    modes = {
        name: {key: median(one[key] for one in several) for key in several[0]}
        | {"overhead_ms_per_run_best": min(one["overhead_ms_per_run"] for one in several)}
        for name, several in taken.items()
    }
    return {"runs": runs, "repetitions": repetitions, "workers": WORKERS, "aim_ms": AIM_MS, "modes": modes}
