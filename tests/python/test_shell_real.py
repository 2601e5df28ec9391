"""Programs behind a bottleneck on the real Linux stack: shells, and programs as the traffic of a scenario."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bloatlab
import real_time
from bloatlab.engines import Cancelled, find
from bloatlab.errors import EngineError, ParameterError
from bloatlab.store import Store

WHY = real_time.obstacle()
pytestmark = pytest.mark.skipif(WHY is not None, reason=f"no runs in real time here: {WHY}")

FAST = ("--rate", "50Mbit/s", "--rtt", "20ms", "--no-report", "--out", "results")
LONG = ("--", "sleep", "600")


def shell(folder: Path, *words: str, by: Sequence[str] = ()) -> real_time.Command:
    return real_time.Command(["shell", *words], by=by, folder=folder)


def ran(folder: Path, *words: str, by: Sequence[str] = ()) -> tuple[int, str, str]:
    command = shell(folder, *words, by=by)
    output, complaints = command.end()
    assert command.processes() == []
    return command.process.returncode, output, complaints


@pytest.mark.parametrize("privileges", real_time.PRIVILEGES)
def test_a_shell_needs_no_privileges_and_leaves_nothing(tmp_path: Path, privileges: str) -> None:
    before = real_time.host()
    script = "echo $BLOATLAB_SERVER depth $BLOATLAB_SHELL; cat /proc/net/dev | tail -1 | cut -d: -f1; exit 7"
    by = real_time.by(privileges, tmp_path)
    code, output, complaints = ran(tmp_path, *FAST, "--", "sh", "-c", script, by=by)
    assert code == 7, complaints
    assert output.split() == ["10.64.0.1", "depth", "1", "eth0"]
    assert "the program ran" in complaints
    assert real_time.host() == before
    assert run_of(tmp_path).scenario["flows"][0]["traffic"]["client"][0] == "sh"


def test_the_server_answers_http_through_the_bottleneck(tmp_path: Path) -> None:
    fetch = (
        "import os, time, urllib.request as r; a = os.environ['BLOATLAB_SERVER']; t = time.monotonic();"
        "n = len(r.urlopen(f'http://{a}/500kB').read()); print(n, time.monotonic() - t)"
    )
    slow = ("--rate", "4Mbit/s", "--rtt", "20ms", "--no-report", "--out", "results")
    code, output, complaints = ran(tmp_path, *slow, "--pcap", "x.pcap", "--", "python3", "-c", fetch)
    assert code == 0, complaints
    length, seconds = output.split()
    # 500 kB and the headers of their packets take a second at 4 Mbit/s.
    assert (length, float(seconds) > 1.0) == ("500000", True)
    # The headers of at least 346 segments.
    assert (tmp_path / "x.pcap").stat().st_size > 346 * 54
    assert 0 < run_of(tmp_path).link_metrics["bottleneck"]["throughput"] <= 4.0


def test_shells_nest(tmp_path: Path) -> None:
    inner = f"{shutil.which('python3')} -c 'pass'"
    words = ("bash", "-c", f"echo $BLOATLAB_SHELL; {inner}")
    bloatlab_of = (real_time.PYTHON, "-m", "bloatlab", "shell", *FAST[:-1], "inner", "--", *words)
    code, output, complaints = ran(tmp_path, *FAST, "--", *bloatlab_of)
    assert code == 0, complaints
    assert output.split() == ["2"]


def test_a_time_limit_ends_the_program(tmp_path: Path) -> None:
    code, _, _ = ran(tmp_path, *FAST, "--time-limit", "500ms", *LONG)
    assert code == 124


@pytest.mark.parametrize("victim", ["the command", "its worker"])
def test_nothing_is_left_of_a_killed_shell(tmp_path: Path, victim: str) -> None:
    before = real_time.host()
    command = shell(tmp_path, *FAST, *LONG)
    # The command, the three processes of its worker, the server and the program.
    real_time.wait_for(lambda: len(command.processes()) >= 6, "the program has started")
    others = [process for process in command.processes() if process != command.process.pid]
    os.kill(command.process.pid if victim == "the command" else min(others), signal.SIGKILL)
    real_time.wait_for(lambda: command.processes() == [], "all processes have ended")
    command.end()
    assert command.process.returncode != 0
    assert real_time.host() == before


def test_the_world_outside_is_off(tmp_path: Path) -> None:
    code, output, _ = ran(tmp_path, *FAST, "--", "sh", "-c", "cut -f2 /proc/net/route")
    # Hosts of the scenario, 10.0.0.0/8, and no default route.
    assert (code, output.split()[1:]) == (0, ["0000000A"])


OUTSIDE = """set -e
ip link set lo up
ip address add 192.0.2.1/32 dev lo
ip route add default dev lo
"$0" -P -m bloatlab.engines.linux.servers &
until "$0" -c 'import socket; socket.create_connection(("192.0.2.1", 80))' 2> /dev/null; do :; done
"$@"
"""
"""A machine with a server in its network: in namespaces of the test's own, which end with their first process."""


@pytest.mark.skipif(shutil.which("slirp4netns") is None, reason="slirp4netns is not installed")
@pytest.mark.skipif(os.geteuid() != 0, reason="the test makes a network for the shell to reach, which needs root")
def test_the_world_outside_is_reached_through_the_bottleneck(tmp_path: Path) -> None:
    by = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", OUTSIDE, real_time.PYTHON)
    fetch = "import urllib.request as r; print(len(r.urlopen('http://192.0.2.1/200kB', timeout=20).read()))"
    code, output, complaints = ran(tmp_path, *FAST, "--internet", "--", "python3", "-c", fetch, by=by)
    assert (code, output) == (0, "200000\n"), complaints
    assert (run_of(tmp_path).link_metrics["bottleneck"]["throughput"]) > 0
    # The name server of the machine is not reachable from there.
    code, output, complaints = ran(tmp_path, *FAST, "--internet", "--", "cat", "/etc/resolv.conf", by=by)
    assert (code, output) == (0, "nameserver 10.0.2.3\n"), complaints


def run_of(folder: Path) -> bloatlab.Result:
    store = Store(folder / "results")
    return store.run(store.runs()["run_id"][0])


def test_programs_as_traffic() -> None:
    print_it = "import os; print(os.environ['BLOATLAB_SERVER'], flush=True)"
    document = {
        "name": "programs",
        "duration": "2s",
        "dumbbell": {"rate": "20Mbit/s", "rtt": "10ms", "queue": {"kind": "fifo", "limit": "100p"}},
        "flows": [
            {"name": "web", "cca": "reno", "traffic": {"kind": "http", "page": "50kB", "interval": "100ms"}},
            {"name": "own", "traffic": {"kind": "command", "client": ["python3", "-c", print_it]}},
            {"name": "greedy", "cca": "cubic"},
        ],
    }
    with pytest.raises(ParameterError, match=r"flows\.1\.traffic: starts the program `python3 -c"):
        bloatlab.run(document, engine="linux")
    with pytest.raises(EngineError, match=r"flows\.0\.traffic: `http` is a program"):
        bloatlab.run(document, allow_plugins=True)
    run = bloatlab.run(document, engine="linux", allow_plugins=True)
    web = run.probe_metrics["web"]
    assert web["transactions"] >= 1
    # Two round trips: the handshake and the page.
    assert web["min_rtt" if "min_rtt" in web else "p50_rtt"] >= 20
    assert "rtos" not in web
    assert run.flow_metrics["web"]["rx_packets"] > 34
    printed = pl.DataFrame(run.table("printed")).filter(pl.col("program") == "own")
    assert printed["text"].to_list() == ["10.64.0.3"]


def of_command(client: list[str], server: list[str]) -> dict[str, Any]:
    traffic = {"kind": "command", "client": client, "server": server}
    return {
        "name": "command",
        "duration": "1s",
        "dumbbell": {"rate": "20Mbit/s", "rtt": "10ms"},
        "flows": [{"name": "own", "traffic": traffic}],
    }


def test_a_program_that_fails_makes_its_run_suspect() -> None:
    run = bloatlab.run(of_command(["sh", "-c", "exit 5"], []), engine="linux", allow_plugins=True)
    assert "the program of flow `own` ended with exit code 5" in (run.suspect or "")
    with pytest.raises(EngineError, match=r"flow `own`: `sh` ended at once \(exit status: 1\): no"):
        bloatlab.run(of_command(["true"], ["sh", "-c", "echo no; exit 1"]), engine="linux", allow_plugins=True)
    with pytest.raises(EngineError, match=r"flows\.0\.traffic: the program `no-such-program` is not installed"):
        bloatlab.run(of_command(["no-such-program"], []), engine="linux", allow_plugins=True)


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_iperf3_as_traffic() -> None:
    document = {
        "name": "iperf3",
        "duration": "3s",
        "dumbbell": {"rate": "20Mbit/s", "rtt": "10ms", "queue": {"kind": "fifo", "limit": "100p"}},
        "flows": [{"name": "down", "traffic": {"kind": "iperf3", "streams": 2}, "stop": "2s"}],
    }
    run = bloatlab.run(document, engine="linux")
    report = json.loads("".join(pl.DataFrame(run.table("printed")).filter(pl.col("program") == "down")["text"]))
    # The end of the flow ends the client, which then reports what it has.
    assert report["start"]["test_start"]["num_streams"] == 2
    assert report["end"]["receiver_tcp_congestion"] == "cubic"
    assert run.flow_metrics["down"]["mean_throughput_l4"] > 0


def test_a_cancelled_run_ends_its_programs() -> None:
    engine = find("linux")
    control = engine.control()
    control.cancel()
    with pytest.raises(Cancelled):
        engine.run('{"duration": "60s"}', 1, control=control)
