"""Runs one scenario with the engine of the package and prints what it took, as JSON. A process of its own, like ns-2's."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

from bloatlab import _core


def memory_kb(field: str) -> int:
    """A field of /proc/self/status: `VmRSS`, memory in use, or `VmHWM`, the most that was in use; 0 on systems without it.

    `getrusage` does not serve: what it gives begins with the memory of the process that started this one.
    """
    status = Path("/proc/self/status")
    found = re.search(rf"^{field}:\s+(\d+) kB", status.read_text() if status.exists() else "", re.MULTILINE)
    return int(found[1]) if found else 0


def main() -> None:
    """Times `run`: from the document's text to an outcome with every metric, histogram and series."""
    text = Path(sys.argv[1]).read_text()
    before = memory_kb("VmRSS")
    began = time.perf_counter_ns()
    outcome = _core.run(text, 42)
    took = time.perf_counter_ns() - began
    memory = memory_kb("VmHWM") - before
    link = json.loads(outcome.metrics_json())["link_metrics"]["bottleneck"]
    # What the queue still holds at the end (at most one limit of it) counts as passed; ns-2's does not.
    packets = int(link["arrivals"] - link["drops"])
    report = {
        "ns": took,
        "packets": packets,
        "drops": int(link["drops"]),
        "events": outcome.events,
        "memory_kb": memory,
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
