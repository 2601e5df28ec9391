"""Nanoseconds per packet to enqueue and dequeue in each queue, and the difference from a plain FIFO."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

FAIR = {"cake", "drr", "dualpi2", "fq", "fq_codel", "fq_pie", "hhf", "sfb", "sfq"}
"""Queues that classify packets by flow or have several queues."""

SHAPERS = {"htb", "policer", "priority", "tbf"}
"""Wrappers. Most of their time is that of the queue inside."""


def aim(kind: str) -> float | None:
    """Nanoseconds by which a queue may exceed `fifo`. None if it has no limit."""
    if kind == "fifo" or kind in SHAPERS:
        return None
    return 40.0 if kind in FAIR else 15.0


def measure(rounds: int) -> dict[str, Any]:
    """Measures all queues in turn, in one process. Compiling is not timed."""
    command = ["cargo", "run", "--quiet", "--release", "--package", "bloatlab-aqm", "--example", "queues"]
    done = subprocess.run(
        [*command, "--", "--rounds", str(rounds)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    for one in result["results"]:
        one["aim"] = aim(one["kind"])
    return result
