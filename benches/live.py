"""Links in real time: ours in userspace, the kernel's HTB, and mahimahi's `mm-link`, one after the other in the same run."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import bloatlab
from bloatlab.engines import find
from bloatlab.errors import BloatlabError

RATES = ("10Mbit/s", "100Mbit/s", "1Gbit/s")
RTT_MS = 20.0
SECONDS = 4.0
UNLIMITED = "100Gbit/s"
OFFLOAD = {"segmentation_offload": True, "receive_offload": True, "send_buffer": "64MB", "receive_buffer": "64MB"}
"""Hosts as Linux has them: several segments in one buffer, which our link splits."""
AIMS = {"rate error": 0.005, "idle RTT": 0.3, "p99 lateness": 0.1, "unlimited Gbit/s": 10.0}
OPPORTUNITY = 1504
"""Bytes of one line of a mahimahi trace."""


def document(rate: str, rtt_ms: float, *, busy: bool) -> dict[str, Any]:
    """One CUBIC flow, or only a ping."""
    greedy = {"name": "greedy", "cca": "cubic", "tcp": OFFLOAD}
    ping = {"name": "ping", "traffic": {"kind": "ping", "interval": "20ms"}}
    return {
        "name": "live",
        "duration": f"{SECONDS:g}s",
        "warmup": "1s",
        "dumbbell": {"rate": rate, "rtt": f"{rtt_ms}ms", "queue": {"kind": "fifo", "limit": "2000p"}},
        "flows": [greedy, ping] if busy else [ping],
    }


def ours(engine: str, rate: str) -> dict[str, Any]:
    """One busy run and one idle run of an engine."""
    busy = bloatlab.run(document(rate, RTT_MS, busy=True), engine=engine)
    idle = bloatlab.run(document(rate, RTT_MS, busy=False), engine=engine)
    wanted = bloatlab.units.rate(rate) * 1e-6
    network = busy.network_metrics
    return {
        "mbps": busy.link_metrics["bottleneck"]["throughput"],
        "rate error": abs(busy.link_metrics["bottleneck"]["throughput"] / wanted - 1),
        "idle RTT": abs(idle.probe_metrics["ping"]["p50_rtt"] - RTT_MS),
        "p50 lateness": network.get("p50_lateness"),
        "p99 lateness": network.get("p99_lateness"),
        "cpu": network.get("link_cpu"),
        "suspect": busy.suspect,
    }


def mahimahi(rate_mbps: float, folder: Path) -> dict[str, Any]:
    """A download by iperf3 through `mm-link`, with the payload's rate."""
    opportunities = rate_mbps * 1e6 / 8 / OPPORTUNITY
    trace = folder / "trace"
    period_ms = 1000
    trace.write_text("".join(f"{int(i * period_ms / opportunities) + 1}\n" for i in range(int(opportunities))))
    server = subprocess.Popen(["iperf3", "--server", "--one-off"], stdout=subprocess.DEVNULL)
    try:
        inside = f"iperf3 --client $MAHIMAHI_BASE --reverse --time {SECONDS:g} --json"
        command = ["mm-link", trace, trace, "--", "sh", "-c", inside]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    finally:
        server.terminate()
        server.wait()
    result = json.loads(done.stdout)
    return {"mbps": result["end"]["sum_received"]["bits_per_second"] * 1e-6}


def measure(repetitions: int) -> dict[str, Any]:
    """Measures each link at each rate in turn, so that a temporary load of the machine slows all of them."""
    engines = {"userspace": "linux", "kernel": "linux-kernel"}
    missing: dict[str, str] = {}
    for name, engine in list(engines.items()):
        try:
            find(engine)
            ours(engine, RATES[0])
        except BloatlabError as error:
            missing[name] = str(error)
            del engines[name]
    has_mahimahi = all(map(shutil.which, ("mm-link", "iperf3")))
    if not has_mahimahi:
        missing["mm-link"] = "mahimahi and iperf3 are not both installed"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for rate in (*RATES, UNLIMITED):
            turns: dict[str, list[dict[str, Any]]] = {}
            for _ in range(repetitions):
                for name, engine in engines.items():
                    if rate != UNLIMITED:
                        turns.setdefault(name, []).append(ours(engine, rate))
                    elif name == "userspace":
                        turns.setdefault(name, []).append(unlimited(engine))
                if has_mahimahi:
                    mbps = bloatlab.units.rate(rate if rate != UNLIMITED else "10Gbit/s") * 1e-6
                    turns.setdefault("mm-link", []).append(mahimahi(mbps, Path(folder)))
            for name, results in turns.items():
                rows.append({"link": name, "rate": rate, **medians(results)})
    return {"rows": rows, "missing": missing, "aims": AIMS}


def unlimited(engine: str) -> dict[str, Any]:
    """A single flow over a link that does not limit it."""
    run = bloatlab.run(document(UNLIMITED, 0.1, busy=True), engine=engine)
    return {"mbps": run.flow_metrics["greedy"]["mean_throughput_l4"], "cpu": run.network_metrics["link_cpu"]}


def medians(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of each value over the turns, and how many turns were suspect."""
    keys = [key for key in results[0] if key != "suspect"]
    found = {key: [one[key] for one in results if one[key] is not None] for key in keys}
    suspect = sum(one.get("suspect") is not None for one in results)
    return {**{key: median(values) if values else None for key, values in found.items()}, "suspect": suspect}
