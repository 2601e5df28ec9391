"""Runs on the real Linux stack: as root, without privileges, cancelled, killed and starved."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import polars as pl
import pytest

import bloatlab
import real_time
from bloatlab.errors import EngineError
from bloatlab.store import Store

WHY = real_time.obstacle()
pytestmark = pytest.mark.skipif(WHY is not None, reason=f"no runs in real time here: {WHY}")

HOME_NETWORK = {
    "name": "home-network",
    "duration": "2s",
    "sample_interval": "50ms",
    "dumbbell": {"rate": "10Mbit/s", "rtt": "30ms", "queue": "fq_codel", "loss": 0.001},
    "flows": [
        {"name": "bulk", "count": 2, "cca": "cubic"},
        {"name": "web", "traffic": {"kind": "fetch", "response": "20kB", "interval": "50ms"}},
        {"name": "call", "traffic": {"kind": "cbr", "rate": "100kbit/s", "packet": "160B"}, "dscp": "EF"},
        {"name": "file", "traffic": {"kind": "finite", "bytes": "100kB"}},
        {"name": "upload", "direction": "reverse", "traffic": {"kind": "poisson", "rate": "1Mbit/s"}},
        {"name": "ping", "traffic": {"kind": "ping", "interval": "50ms"}},
    ],
}


@pytest.fixture(scope="module")
def home_network() -> bloatlab.Result:
    return bloatlab.run(HOME_NETWORK, engine="linux", packets=True)


def test_every_kind_of_traffic_runs(home_network: bloatlab.Result) -> None:
    flows = home_network.flow_metrics
    for name in ("bulk_1", "bulk_2", "web", "call", "file", "upload"):
        assert flows[name]["mean_throughput_l4"] > 0, name
        assert flows[name]["tx_packets"] >= flows[name]["rx_packets"] > 0, name
    assert flows["file"]["flow_completion_time_l4"] < 2
    probes = home_network.probe_metrics
    assert probes["web"]["transactions"] > 0
    assert probes["ping"]["transactions"] > 0


def test_packets_are_conserved_and_late_ones_take_no_rate(home_network: bloatlab.Result) -> None:
    link = home_network.link_metrics["bottleneck"]
    packets = pl.DataFrame(home_network.packets)
    events = packets.filter(pl.col("box") == "bottleneck").group_by("event").len()
    count = dict(events.iter_rows())
    assert count["enqueue"] == count["dequeue"] + count.get("drop", 0) + link["backlog_packets"]
    assert link["throughput"] <= 10.0
    flows = home_network.flow_metrics
    assert all(flow["min_rtt_l4"] >= 30 for flow in flows.values() if "min_rtt_l4" in flow)
    replies = pl.DataFrame(home_network.probe_series).filter(pl.col("probe") == "ping")
    assert replies["rtt_ms"].min() >= 30


def test_the_run_records_its_own_accuracy(home_network: bloatlab.Result) -> None:
    network = home_network.network_metrics
    assert 0 <= network["p50_lateness"] <= network["p99_lateness"] <= network["max_lateness"]
    assert network["device_drops"] == 0
    assert 0 < network["link_cpu"] < 1
    lateness = pl.DataFrame(home_network.histograms).filter(pl.col("quantity") == "lateness")
    assert lateness["weight"].sum() > 1000


@pytest.mark.parametrize("privileges", real_time.PRIVILEGES)
def test_a_run_leaves_nothing_and_needs_no_privileges(tmp_path: Path, privileges: str) -> None:
    before = real_time.host()
    scenario = tmp_path / "two.toml"
    scenario.write_text(real_time.TWO_FLOWS.format(duration="1s"))
    command = real_time.Command(
        ["simulate", scenario, "--engine", "linux", "--json"], by=real_time.by(privileges, tmp_path), folder=tmp_path
    )
    output, complaints = command.end()
    # A busy machine makes the run suspect, which is no failure.
    assert command.process.returncode == 0 or "is suspect" in complaints, complaints
    assert json.loads(output)
    assert command.processes() == []
    assert real_time.host() == before


def test_an_experiment_runs_without_privileges(tmp_path: Path) -> None:
    words = "run home-router --engine linux --set time=1s --set maxq=20 --set queue=fifo --out results"
    command = real_time.Command(words.split(), by=real_time.by("a plain user", tmp_path), folder=tmp_path)
    _, complaints = command.end()
    assert command.process.returncode == 0 or "is suspect" in complaints, complaints
    (status,) = Store(tmp_path / "results").runs()["status"]
    assert status in ("done", "suspect")


@pytest.mark.parametrize("privileges", real_time.PRIVILEGES)
def test_nothing_is_left_of_a_killed_run(tmp_path: Path, privileges: str) -> None:
    before = real_time.host()
    scenario = tmp_path / "two.toml"
    scenario.write_text(real_time.TWO_FLOWS.format(duration="60s"))
    command = real_time.Command(
        ["simulate", scenario, "--engine", "linux"], by=real_time.by(privileges, tmp_path), folder=tmp_path
    )
    real_time.wait_for(lambda: len(command.namespaces()) > 0, "the run has started")
    os.kill(command.process.pid, signal.SIGKILL)
    real_time.wait_for(lambda: command.processes() == [], "all processes have ended")
    command.end()
    assert real_time.host() == before


def test_a_cancelled_run_ends_within_a_second(tmp_path: Path) -> None:
    scenario = tmp_path / "two.toml"
    scenario.write_text(real_time.TWO_FLOWS.format(duration="60s"))
    command = real_time.Command(["simulate", scenario, "--engine", "linux"], folder=tmp_path)
    real_time.wait_for(lambda: len(command.namespaces()) > 0, "the run has started")
    start = time.monotonic()
    os.kill(command.process.pid, signal.SIGINT)
    command.end()
    assert time.monotonic() - start < 5
    assert command.processes() == []


def test_a_starved_link_is_doubted_and_loses_no_rate(tmp_path: Path) -> None:
    document = {
        "name": "starved",
        "duration": "6s",
        "warmup": "3s",
        "dumbbell": {"rate": "5Mbit/s", "rtt": "10ms", "queue": {"kind": "fifo", "limit": "2000p"}},
        "flows": [{"count": 20, "cca": "reno"}],
    }
    scenario = tmp_path / "starved.json"
    scenario.write_text(json.dumps(document))
    command = real_time.Command(["simulate", scenario, "--engine", "linux", "--out", "results"], folder=tmp_path)
    real_time.wait_for(lambda: len(command.namespaces()) > 0, "the run has started")
    time.sleep(4)
    workers = [process for process in command.processes() if process != command.process.pid]
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    time.sleep(1)
    for worker in workers:
        os.kill(worker, signal.SIGCONT)
    _, complaints = command.end()
    assert command.process.returncode == 1
    assert "is suspect: 1 % of the frames left" in complaints
    store = Store(tmp_path / "results")
    run = store.run(store.runs()["run_id"].item())
    assert run.suspect
    assert run.link_metrics["bottleneck"]["utilization"] > 0.999


def test_what_linux_cannot_do_is_refused_by_key() -> None:
    document = {**HOME_NETWORK, "flows": [{"cca": "vivace"}, {"cca": "cubic", "tcp": {"ack_every": 1}}]}
    with pytest.raises(EngineError, match=r"flows\.0\.cca") as refused:
        bloatlab.run(document, engine="linux")
    assert "flows.1.tcp.ack_every" in str(refused.value)
