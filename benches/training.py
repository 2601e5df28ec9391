"""Typical runs that make the profile of a profile-guided build (`make release`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bloatlab import _core

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
QUEUES = ("fifo", "codel", "fq_codel", "pie", "red", "cake", "dualpi2")
CONTROLS = ("newreno", "cubic", "bbr", "bbr3", "copa", "prague", "vegas", "ledbat")


def mixed(queue: str, control: str) -> dict[str, Any]:
    """A home link with downloads, web pages, a call and a ping, and some loss."""
    return {
        "name": "training",
        "duration": "20s",
        "dumbbell": {"rate": "50Mbit/s", "rtt": "30ms", "queue": queue, "loss": 0.0005},
        "flows": [
            {"name": "bulk", "count": 3, "cca": control},
            {"name": "web", "traffic": {"kind": "fetch", "response": "500kB", "interval": "1s"}},
            {"name": "call", "traffic": {"kind": "cbr", "rate": "1Mbit/s"}},
            {"name": "ping", "traffic": {"kind": "ping"}},
        ],
    }


def main() -> None:
    """Runs all scenarios."""
    documents = [json.loads((SCENARIOS / f"{name}.json").read_text()) for name in ("p1", "p2", "p3")]
    documents += [mixed(queue, "cubic") for queue in QUEUES]
    documents += [mixed("fq_codel", control) for control in CONTROLS]
    for document in documents:
        _core.run(json.dumps(document), 1)


if __name__ == "__main__":
    main()
