"""Runs one scenario and prints its time, memory and counts as JSON. Benchmarks start it as a separate process, as ns-2."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

from bloatlab import _core


def memory_kb(field: str) -> int:
    """Reads a field of /proc/self/status: `VmRSS` (memory in use) or `VmHWM` (its maximum). 0 on systems without it.

    `getrusage` cannot be used: its maximum includes the memory of the process that started this one.
    """
    status = Path("/proc/self/status")
    found = re.search(rf"^{field}:\s+(\d+) kB", status.read_text() if status.exists() else "", re.MULTILINE)
    return int(found[1]) if found else 0


def main() -> None:
    """Times `run`, from the text of the document to an outcome with all metrics, histograms and series."""
    text = Path(sys.argv[1]).read_text()
    before = memory_kb("VmRSS")
    began = time.perf_counter_ns()
    outcome = _core.run(text, 42)
    took = time.perf_counter_ns() - began
    memory = memory_kb("VmHWM") - before
    link = json.loads(outcome.metrics_json())["link_metrics"]["bottleneck"]
    # Packets in the queue at the end (at most its limit) count as passed here, but not in ns-2.
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
