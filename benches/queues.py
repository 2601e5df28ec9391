"""Nanoseconds a packet, in and out of every queue, and how far that is from a plain FIFO."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

FAIR = {"cake", "drr", "dualpi2", "fq", "fq_codel", "fq_pie", "hhf", "sfb", "sfq"}
"""Queues that look a flow up, or hold several queues."""

SHAPERS = {"htb", "policer", "priority", "tbf"}
"""Wrappers: what they cost is mostly what is inside."""


def aim(kind: str) -> float | None:
    """Most nanoseconds beyond `fifo`."""
    if kind == "fifo" or kind in SHAPERS:
        return None
    return 40.0 if kind in FAIR else 15.0


def measure(rounds: int) -> dict[str, Any]:
    """One process, all queues taking turns; built first, so that compiling does not count."""
    command = ["cargo", "run", "--quiet", "--release", "--package", "bloatlab-aqm", "--example", "queues"]
    done = subprocess.run(
        [*command, "--", "--rounds", str(rounds)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    for one in result["results"]:
        one["aim"] = aim(one["kind"])
    return result
