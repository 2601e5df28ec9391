"""Runs one scenario with the engine of the package and prints what it took, as JSON. A process of its own, like ns-2's."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

from bloatlab import _core


def resident_kb() -> int:
    """Memory in use now; on systems without /proc the most that ever was."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def main() -> None:
    """Times `run`: from the document's text to an outcome with every metric, histogram and series."""
    text = Path(sys.argv[1]).read_text()
    before = resident_kb()
    began = time.perf_counter_ns()
    outcome = _core.run(text, 42)
    took = time.perf_counter_ns() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
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
