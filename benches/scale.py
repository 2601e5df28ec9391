"""Time per packet for several numbers of flows, relative to one flow, and memory per flow."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
FLOWS = (1, 10, 100, 1_000, 10_000)
AIMS = {10: 1.2, 100: 1.6, 1_000: 3.0, 10_000: 6.0}
"""Time per packet, relative to one flow."""
LINKS = {"1 Gbit/s": (5.0, 1_667), "10 Gbit/s": (1.0, 16_667)}
"""Duration in seconds, and a FIFO of one bandwidth-delay product in packets."""
MEMORY_AIM_KB = 15.0
MEMORY_FLOWS = 1_000


def document(rate: str, queue: str, flows: int) -> dict[str, Any]:
    """CUBIC flows that share one bottleneck with an RTT of 20 ms."""
    seconds, packets = LINKS[rate]
    discipline = {"kind": "fifo", "limit": f"{packets}p"} if queue == "fifo" else {"kind": queue}
    return {
        "name": "scale",
        "duration": f"{seconds:g}s",
        "dumbbell": {"rate": rate.replace(" ", ""), "rtt": "20ms", "queue": discipline},
        "flows": [{"name": "bulk", "count": flows, "cca": "cubic"}],
    }


def once(path: Path) -> dict[str, Any]:
    """Runs a scenario in a separate process, to measure its memory."""
    done = subprocess.run([sys.executable, HERE / "once.py", path], capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(repetitions: int) -> dict[str, Any]:
    """Measures all numbers of flows in turn, so that a temporary load of the machine slows all of them."""
    rows = []
    memory: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scale.json"
        for rate in LINKS:
            for queue in ("fifo", "fq_codel"):
                turns: dict[int, list[float]] = {flows: [] for flows in FLOWS}
                for _ in range(repetitions):
                    for flows in FLOWS:
                        path.write_text(json.dumps(document(rate, queue, flows)))
                        run = once(path)
                        turns[flows].append(run["ns"] / run["packets"])
                        memory.setdefault(flows, run["memory_kb"])
                for flows in FLOWS:
                    ratios = [many / one for many, one in zip(turns[flows], turns[1], strict=True)]
                    rows.append(
                        {
                            "rate": rate,
                            "queue": queue,
                            "flows": flows,
                            "ns": median(turns[flows]),
                            "ratio": median(ratios),
                            "aim": AIMS.get(flows),
                        }
                    )
    kb = (memory[MEMORY_FLOWS] - memory[1]) / (MEMORY_FLOWS - 1)
    return {"rows": rows, "memory_kb": kb, "memory_flows": MEMORY_FLOWS, "memory_aim_kb": MEMORY_AIM_KB}
