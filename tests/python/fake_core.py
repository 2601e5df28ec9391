"""An engine in place of the simulator: deterministic, instant, and able to fail on request."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import gates
from bloatlab.engines import Cancelled, Refusal, find
from bloatlab.engines.registry import read
from bloatlab.registry import Registry

LOOK_EVERY_S = 0.002
HANGS_AFTER_S = 300.0
"""No correct test waits that long. It only ends a test that would hang."""


class PluginError(RuntimeError):
    pass


class StalledError(RuntimeError):
    pass


class Control:
    def __init__(self) -> None:
        self._event = threading.Event()
        self.progress = 0.0

    def cancel(self) -> None:
        self._event.set()


class Outcome:
    suspect = None

    def __init__(self, scenario: dict[str, Any], seed: int, packets: bool) -> None:
        text = json.dumps([scenario, seed], sort_keys=True)
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.events = 1000
        base = int(self.digest[:4], 16) / 65536
        flows = [f"flow_{i + 1}" for i in range(scenario["flows"][0].get("count", 1))]
        self._metrics = {
            "flow_metrics": {
                flow: {"mean_throughput_l4": 15 + base, "mean_srtt_l4": 58.0, "total_retransmissions_l4": 3}
                for flow in flows
            },
            "link_metrics": {"bottleneck": {"mean_sojourn": 10.0, "loss_rate": 0.0}},
            "network_metrics": {"agg_throughput_l4": 15.0, "jain": None},
            "probe_metrics": {},
        }
        times = [0.1 * i for i in range(10)]
        self._tables = {
            "flows": pa.table({"flow": flows, "cca": [json.dumps(scenario["flows"][0].get("cca", "cubic"))] * len(flows)}),
            "flow_series": pa.table(
                {
                    "time_s": times * len(flows),
                    "flow": [flow for flow in flows for _ in times],
                    "srtt_ms": pa.array([None, *[50 + base + i for i in range(9)]] * len(flows), pa.float64()),
                }
            ),
            "link_series": pa.table({"time_s": times, "link": ["bottleneck"] * 10, "queue_packets": list(range(10))}),
            "probe_series": pa.table(
                {"time_s": pa.array([], pa.float64()), "probe": pa.array([], pa.string()), "rtt_ms": pa.array([], pa.float64())}
            ),
            "flow_metrics": pa.table({"flow": flows}),
        }  # fmt: skip
        if packets:
            self._tables["packets"] = pa.table({"time_ns": [1, 2, 3], "event": ["send", "send", "drop"]})

    def tables(self) -> dict[str, Any]:
        return dict(self._tables)

    def metrics_json(self) -> str:
        return json.dumps(self._metrics)

    def write_pcap(self, path: str, link: str | None = None) -> None:
        if "packets" not in self._tables:
            raise ValueError("no packets were recorded")
        Path(path).write_bytes(b"\xd4\xc3\xb2\xa1" + self.digest.encode())


def engine_version() -> str:
    return "fake-1"


def _wait_at_gate(seed: int, control: Control | None) -> None:
    end = time.monotonic() + HANGS_AFTER_S
    while not gates.is_open(seed):
        if (control or Control())._event.wait(LOOK_EVERY_S):
            raise Cancelled
        if time.monotonic() > end:
            raise RuntimeError("nobody opens the gate")


def run(
    scenario_json: str,
    seed: int,
    *,
    record_packets: bool = False,
    control: Control | None = None,
    plugins: Any = None,
) -> Outcome:
    scenario = json.loads(scenario_json)
    name = scenario.get("name", "")
    if name == "fails" and seed % 2:
        raise PluginError("odd seeds fail")
    if name == "stalls" and seed % 2:
        raise StalledError(f"flow `flow_1`: simulated time did not move from 0 s for 4210688 events (seed {seed})")
    if name == gates.GATED:
        _wait_at_gate(seed, control)
    for reference, factory in (plugins or {}).items():
        assert ":" in reference
        factory({})
    return Outcome(scenario, seed, record_packets)


class Fake:
    """The engine; its functions are looked up when they are called, so that tests can replace them."""

    name = "sim"
    reproducible = True
    concurrency = None

    def __reduce__(self) -> Any:
        # By name: a worker in this process must not get a copy of the class, whose functions tests cannot replace.
        return find, (self.name,)

    def version(self) -> str:
        return engine_version()

    def available(self) -> str | None:
        return None

    def supports(self, scenario: object) -> list[Refusal]:
        return []

    def control(self) -> Control:
        return Control()

    def run(self, *arguments: Any, **more: Any) -> Outcome:
        return run(*arguments, **more)


IN_PLACE_OF_SIM = Registry("engine", {"sim": "fake_core:Fake"}, read)
"""What tests put in place of `registry.ENGINES`."""
