"""Nanoseconds per packet through the bottleneck, of this engine and of ns-2 in turn."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
NS2 = HERE / "ns2" / "dumbbell.tcl"


@dataclass(frozen=True)
class Case:
    """One scenario: benches/scenarios/NAME.json for bloatlab, and the arguments of benches/ns2/dumbbell.tcl for ns-2."""

    name: str
    what: str
    flows: int
    control: str
    rate_mbps: int
    rtt_ms: int
    queue: str
    limit: int
    seconds: int
    note: str = ""


CASES = (
    Case("p1", "1 NewReno flow, 16 Mbit/s, 15 ms, FIFO of 80 packets, 60 s", 1, "newreno", 16, 15, "DropTail", 80, 60),
    Case("p2", "10 CUBIC flows, 1 Gbit/s, 20 ms, FIFO of 1 BDP, 10 s", 10, "cubic", 1000, 20, "DropTail", 1667, 10),
    Case(
        "p3", "100 CUBIC flows, 1 Gbit/s, 20 ms, FQ-CoDel, 10 s", 100, "cubic", 1000, 20, "SFQ", 10240, 10,
        note="ns-2 with SFQ, 1024 buckets: Debian's has no FQ-CoDel",
    ),
)  # fmt: skip


def has_ns2() -> bool:
    """Whether ns-2 is installed."""
    return shutil.which("ns") is not None


def ours(case: Case) -> dict[str, Any]:
    """Runs a case with bloatlab."""
    command = [sys.executable, HERE / "once.py", HERE / "scenarios" / f"{case.name}.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def theirs(case: Case) -> dict[str, Any]:
    """Runs a case with ns-2. The script times only the event loop, without reading Tcl and making nodes."""
    arguments = (case.flows, case.control, case.rate_mbps, case.rtt_ms, case.queue, case.limit, case.seconds)
    done = subprocess.run(["ns", NS2, *map(str, arguments)], capture_output=True, text=True, check=False)
    found = re.search(r"packets (\d+) drops (\d+) microseconds (\d+)", done.stdout)
    if found is None:
        raise SystemExit(f"bench: ns-2 failed on {case.name}: {(done.stderr or done.stdout).strip()[-300:]}")
    return {"ns": int(found[3]) * 1000, "packets": int(found[1]), "drops": int(found[2])}


def measure(case: Case, repetitions: int, peer: bool) -> dict[str, Any]:
    """Measures both in turn, so that a temporary load of the machine slows both."""
    runs: dict[str, list[dict[str, Any]]] = {"ours": [], "ns2": []}
    for _ in range(repetitions):
        runs["ours"].append(ours(case))
        if peer:
            runs["ns2"].append(theirs(case))
    result: dict[str, Any] = {"case": case.name, "what": case.what, "note": case.note, "repetitions": repetitions}
    for name, several in runs.items():
        if several:
            each = [one["ns"] / one["packets"] for one in several]
            result[name] = {
                "ns_per_packet": median(each),
                "ns_per_packet_best": min(each),
                "packets": several[0]["packets"],
                "drops": several[0]["drops"],
            }
    result["events_per_s"] = median(one["events"] * 1e9 / one["ns"] for one in runs["ours"])
    if peer:
        pairs = zip(runs["ours"], runs["ns2"], strict=True)
        result["ratio"] = median(b["ns"] / b["packets"] / (a["ns"] / a["packets"]) for a, b in pairs)
    return result
