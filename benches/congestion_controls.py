"""Nanoseconds per packet through the bottleneck with each congestion control, and the difference from a fixed window."""

from __future__ import annotations

import json
import multiprocessing
from typing import Any

import undisturbed
from bloatlab import _core

RATE = "100Mbit/s"
BASE_RTT = "20ms"
BDP = 167
"""Packets of 1500 bytes."""
SECONDS = 20
PROCESSES = 5
AIM = 40.0
"""Nanoseconds by which a congestion control may exceed a fixed window."""
BASELINE = "fixed"
WINDOW = {"kind": BASELINE, "window": BDP * 5 // 4}
FILLING = {BASELINE: WINDOW, "fixed_rate": {"kind": "fixed_rate", "rate": "90Mbit/s"}}
"""Congestion controls with a fixed window or rate, set to fill the link."""


def _scenario(control: Any) -> str:
    return json.dumps(
        {
            "name": "congestion-controls",
            "duration": f"{SECONDS}s",
            "dumbbell": {"rate": RATE, "rtt": BASE_RTT, "queue": {"kind": "fifo", "limit": f"{BDP}p"}},
            "flows": [{"cca": control}],
        }
    )


def _counts(scenario: str) -> dict[str, Any]:
    outcome = _core.run(scenario, 42)
    link = json.loads(outcome.metrics_json())["link_metrics"]["bottleneck"]
    packets = int(link["arrivals"] - link["drops"])
    return {"packets": packets, "drops": int(link["drops"]), "events": outcome.events / packets}


def _scenarios() -> dict[str, str]:
    kinds = [control["kind"] for control in json.loads(_core.algorithms())["congestion_controls"]]
    return {kind: _scenario(FILLING.get(kind, kind)) for kind in kinds if kind != "python"}


def _turns(wanted: int, seconds: float) -> undisturbed.Turns:
    """Times all congestion controls in this process."""
    return undisturbed.take_turns({kind: (scenario, 42) for kind, scenario in _scenarios().items()}, wanted, seconds)


def measure(wanted: int, seconds: float) -> dict[str, Any]:
    """Times in several processes, each until every piece of every run was undisturbed `wanted` times or the time is over.

    The memory layout of a process changes the time per packet by some nanoseconds, so the times of several processes are pooled.
    """
    counts = {kind: _counts(scenario) for kind, scenario in _scenarios().items()}
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(1, maxtasksperchild=1) as pool:
        processes = [pool.apply(_turns, (wanted, seconds / PROCESSES)) for _ in range(PROCESSES)]
    timed = {kind: undisturbed.judge([turn for turns in processes for turn in turns[kind]]) for kind in counts}

    def per_packet(kind: str, ns: float) -> float:
        return ns / counts[kind]["packets"]

    base = per_packet(BASELINE, timed[BASELINE].ns)
    results = [
        {
            "kind": kind,
            "ns": per_packet(kind, one.ns),
            "ns_all": per_packet(kind, one.ns_all),
            "beyond": per_packet(kind, one.ns) - base,
            "undisturbed": one.undisturbed,
            "can_judge": one.can_judge and timed[BASELINE].can_judge,
            "runs": one.runs,
            **counts[kind],
        }
        for kind, one in timed.items()
    ]
    what = f"1 flow, {RATE}, {BASE_RTT}, FIFO of 1 BDP, {SECONDS} s"
    return {"what": what, "aim": AIM, "results": results}
