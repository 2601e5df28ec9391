"""kill -9 and Ctrl-C while a sweep runs, from outside, again and again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import grid
from bloatlab.store import Store, Writer
from gates import Gate

CLI = [sys.executable, str(Path(__file__).with_name("fake_cli.py"))]
SCENARIO = """
name = "gated"
duration = "1s"
dumbbell = { rate = "1Mbit/s", rtt = "10ms", queue = { kind = "fifo" } }
flows = [{ cca = "cubic" }]
"""


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(tmp_path / "gate", monkeypatch.setenv)


@pytest.fixture
def sweep(tmp_path: Path) -> list[str]:
    (tmp_path / "s.toml").write_text(SCENARIO)
    return [*CLI, "simulate", "s.toml", "--replications", "150", "--jobs", "2", "--out", "r", "--json"]


def stored(directory: Path) -> int:
    return len(Store(directory).finished())


def wait_for_runs(directory: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Waits until this many runs are stored; the deadline only ends a test that hangs."""
    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None:
        if Store.exists(directory):
            try:
                if stored(directory) >= count:
                    return
            except Exception as error:
                # The store is being created: its tables are written in the first transaction.
                if "not a bloatlab store" not in str(error):
                    raise
        time.sleep(0.01)
    raise AssertionError(f"no {count} runs, exit code {process.poll()}")


def test_kill_9_loses_nothing_that_was_stored_and_the_same_command_resumes(
    tmp_path: Path, sweep: list[str], gate: Gate
) -> None:
    directory = tmp_path / "r"
    for count in (5, 10, 15, 20):
        gate.open_for(count)
        process = subprocess.Popen(sweep, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        wait_for_runs(directory, count, process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        store = Store(directory)
        assert store.runs().height == count
        assert store.table("flow_series")["run_id"].n_unique() == count
        assert store.metrics("flow", "mean_srtt_l4").height == count
    gate.open_for(150)
    finished = subprocess.run(sweep, capture_output=True, check=False)
    assert finished.returncode == 0, finished.stderr
    described = json.loads(finished.stdout)
    assert len(described["runs"]) == 150
    assert Store(directory).runs().height == 150
    with Writer(directory):
        pass
    assert not list((directory / "parts").glob(".tmp-*"))


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_resume(tmp_path: Path, sweep: list[str], gate: Gate) -> None:
    directory = tmp_path / "r"
    gate.open_for(5)
    process = subprocess.Popen(sweep, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    wait_for_runs(directory, 5, process)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert out == b""
    assert b"interrupted" in err
    assert b"Resume with: bloatlab simulate s.toml" in err
    assert err.count(b"\n") == 1
    assert Store(directory).runs().height == 5
    assert b"5 of 150" in err


def test_a_second_process_is_told_who_writes(tmp_path: Path, sweep: list[str], gate: Gate) -> None:
    gate.open_for(1)
    process = subprocess.Popen(sweep, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for_runs(tmp_path / "r", 1, process)
        os.kill(process.pid, signal.SIGSTOP)
        second = subprocess.run(sweep, capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert f"process {process.pid} is writing here" in second.stderr
    finally:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("fake")
def test_a_plan_killed_five_times_ends_as_one_left_alone(tmp_path: Path, gate: Gate) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    plan = tmp_path / "plan.toml"
    plan.write_text('scenario = "s.toml"\nreplications = 120\naxes = { "flows.0.count" = [2] }\n')
    whole, resumed = tmp_path / "whole", tmp_path / "killed"
    gate.open_for(120)
    assert grid.left_alone(plan, whole, 8, CLI).runs == 120
    taken = grid.killed(plan, resumed, 2, 5, 3, CLI, gate)
    assert taken.kills == sorted(set(taken.kills))
    assert 0 < taken.kills[0] < taken.kills[-1] < 120
    assert grid.differences(whole, resumed) == []
    with Writer(resumed) as writer:
        writer.parameters(str(Store(resumed).runs()["run_id"][0]), {"more": 1})
    assert grid.differences(whole, resumed) == ["parameters differ: 120 and 121 rows"]
