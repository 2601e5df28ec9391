"""Time to read a large store: one new process opens it, another reads every metric."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from bloatlab.store import Keep, RunRecord, Writer, canonical, run_id

RUNS = 57_600
"""As in examples/aqm-survey-grid.toml."""
REPLICATIONS = 16
MEASURES = 12
AIM_S = 2.0
OPEN = "from bloatlab.store import Store; print(len(Store({directory!r}).finished()))"
READ = "from bloatlab.store import Store; print(Store({directory!r}).metrics().height)"


def fill(directory: Path, runs: int) -> None:
    """Writes `runs` runs, each with its measures."""
    with Writer(directory) as writer:
        for index in range(runs):
            point, seed = divmod(index, REPLICATIONS)
            queue = {"kind": "fq_codel", "limit": "1000p"}
            scenario = canonical({"name": "grid", "point": point, "dumbbell": {"queue": queue}, "flows": [{}] * 4})
            values = {f"measure_{number}": float(index + number) for number in range(MEASURES)}
            writer.submit(
                RunRecord(
                    run_id(scenario, seed, "bench"), "grid", scenario, seed, "bench", {"point": point},
                    metrics={"experiment_metrics": values}, digest="0" * 64, events=index, keep=Keep.MEASURES,
                )
            )  # fmt: skip


def measure(repetitions: int, runs: int = RUNS) -> dict[str, Any]:
    """Seconds of each process, from start to end."""
    with tempfile.TemporaryDirectory() as directory:
        fill(Path(directory, "grid"), runs)
        taken = {
            name: [_timed(program.format(directory=f"{directory}/grid")) for _ in range(repetitions)]
            for name, program in {"open": OPEN, "metrics": READ}.items()
        }
    return {
        "runs": runs,
        "aim_s": AIM_S,
        **{f"{name}_s": median(times) for name, times in taken.items()},
        **{f"{name}_s_best": min(times) for name, times in taken.items()},
    }


def _timed(program: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
