"""Nanoseconds per packet through the bottleneck with every congestion control, and how far that is from a fixed window."""

from __future__ import annotations

import json
import time
from statistics import median
from typing import Any

from bloatlab import _core

RATE = "100Mbit/s"
BASE_RTT = "20ms"
BDP = 167
"""Packets of 1500 bytes."""
SECONDS = 20
AIM = 40.0
"""Most nanoseconds beyond a fixed window."""
BASELINE = "fixed"


def _scenario(law: Any) -> str:
    return json.dumps(
        {
            "name": "laws",
            "duration": f"{SECONDS}s",
            "dumbbell": {"rate": RATE, "rtt": BASE_RTT, "queue": {"kind": "fifo", "limit": f"{BDP}p"}},
            "flows": [{"cca": law}],
        }
    )


def _laws() -> dict[str, str]:
    """The scenario of each law; those that only hold to what is set are set to fill the link."""
    kinds = [law["kind"] for law in json.loads(_core.algorithms())["congestion_controls"]]
    filling = {
        BASELINE: {"kind": BASELINE, "window": BDP * 5 // 4},
        "fixed_rate": {"kind": "fixed_rate", "rate": "90Mbit/s"},
    }
    return {kind: _scenario(filling.get(kind, kind)) for kind in kinds if kind != "python"}


def _once(scenario: str) -> dict[str, Any]:
    began = time.perf_counter_ns()
    outcome = _core.run(scenario, 42)
    took = time.perf_counter_ns() - began
    link = json.loads(outcome.metrics_json())["link_metrics"]["bottleneck"]
    packets = int(link["arrivals"] - link["drops"])
    return {"ns": took / packets, "packets": packets, "drops": int(link["drops"]), "events": outcome.events / packets}


def measure(rounds: int) -> dict[str, Any]:
    """All laws take turns, so that what slows the machine for a while slows all; distances are taken within a round."""
    laws = _laws()
    turns: dict[str, list[dict[str, Any]]] = {kind: [] for kind in laws}
    for _ in range(rounds):
        for kind, scenario in laws.items():
            turns[kind].append(_once(scenario))
    base = [turn["ns"] for turn in turns[BASELINE]]
    results = [
        {
            "kind": kind,
            "ns": median(turn["ns"] for turn in several),
            "ns_best": min(turn["ns"] for turn in several),
            "beyond": median(turn["ns"] - fixed for turn, fixed in zip(several, base, strict=True)),
            "packets": several[0]["packets"],
            "drops": several[0]["drops"],
            "events": several[0]["events"],
        }
        for kind, several in turns.items()
    ]
    what = f"1 flow, {RATE}, {BASE_RTT}, FIFO of 1 BDP, {SECONDS} s"
    return {"what": what, "aim": AIM, "rounds": rounds, "results": results}
