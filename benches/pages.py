"""Time of the page of every experiment, beside the time of its runs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bloatlab.experiments import CATALOGUE, Suite
from shell import timed

AIM_S = 1.0
AIM_SHARE = 1 / 3
"""A page takes at most this share of the time of the runs, or `AIM_S`."""
SHORT = {"stop": "6s", "warmup": "2s"}
"""Parameters of runs that only try the benchmark."""


def measure(quick: bool) -> list[dict[str, Any]]:
    """Times the runs of each experiment without a page, then its page. Members of a suite are measured alone.

    Args:
        quick: Short runs. Their pages are nearly as large as those of whole runs, so the share is too large.
    """
    return [_one(name, quick) for name in CATALOGUE]


def _one(name: str, quick: bool) -> dict[str, Any]:
    experiment = CATALOGUE[name]
    known = {parameter.name for parameter in experiment.parameters}
    settings = [f"--set={key}={value}" for key, value in SHORT.items() if quick and key in known]
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory, "out")
        runs = timed(["run", name, *settings, "--json", "--out", str(out)])
        made = timed(["report", str(out)])
        # The page is up to date now, so this is the rest of the command.
        read = timed(["report", str(out)])
        pages = [path for path in out.glob("*.html") if path.name != "lab.html"]
        if not pages:
            raise SystemExit(f"bench: {name} has no page")
        sizes = [path.stat().st_size for path in pages]
    page_s = max(0.0, made.wall - read.wall)
    return {
        "experiment": name,
        "suite": isinstance(experiment, Suite),
        "runs_s": runs.wall,
        "page_s": page_s,
        "share": page_s / runs.wall,
        # The machine's other work changes this ratio little.
        "cpu_share": max(0.0, made.cpu - read.cpu) / runs.cpu,
        "missed": page_s > max(AIM_S, AIM_SHARE * runs.wall),
        "pages": len(sizes),
        "largest_mb": max(sizes) / 1e6,
    }
