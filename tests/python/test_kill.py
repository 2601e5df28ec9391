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

CLI = [sys.executable, str(Path(__file__).with_name("fake_cli.py"))]
SCENARIO = """
name = "slow0.03"
duration = "1s"
dumbbell = { rate = "1Mbit/s", rtt = "10ms", queue = { kind = "fifo" } }
flows = [{ cca = "cubic" }]
"""


@pytest.fixture
def sweep(tmp_path: Path) -> list[str]:
    (tmp_path / "s.toml").write_text(SCENARIO)
    return [*CLI, "simulate", "s.toml", "--replications", "150", "--jobs", "2", "--out", "r", "--json"]


def stored(directory: Path) -> int:
    return len(Store(directory).finished())


def wait_for_runs(directory: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        if Store.exists(directory):
            try:
                if stored(directory) >= count:
                    return
            except Exception as error:
                # The store is being made: its tables come in the first transaction.
                if "not a bloatlab store" not in str(error):
                    raise
        time.sleep(0.01)
    raise AssertionError(f"no {count} runs, exit code {process.poll()}")


def test_kill_9_loses_nothing_that_was_stored_and_the_same_command_resumes(tmp_path: Path, sweep: list[str]) -> None:
    directory = tmp_path / "r"
    before = 0
    for _ in range(4):
        process = subprocess.Popen(sweep, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        wait_for_runs(directory, before + 5, process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        store = Store(directory)
        after = store.runs().height
        assert after >= before + 5
        assert store.table("flow_series")["run_id"].n_unique() == after
        assert store.metrics("flow", "mean_srtt_l4").height == after
        before = after
    finished = subprocess.run(sweep, capture_output=True, check=False)
    assert finished.returncode == 0, finished.stderr
    described = json.loads(finished.stdout)
    assert len(described["runs"]) == 150
    assert Store(directory).runs().height == 150
    with Writer(directory):
        pass
    assert not list((directory / "parts").glob(".tmp-*"))


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_resume(tmp_path: Path, sweep: list[str]) -> None:
    directory = tmp_path / "r"
    process = subprocess.Popen(sweep, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    wait_for_runs(directory, 5, process)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == b""
    assert b"interrupted" in err
    assert b"Resume with: bloatlab simulate s.toml" in err
    assert err.count(b"\n") == 1
    kept = Store(directory).runs().height
    assert 5 <= kept < 150
    assert f"{kept} of 150".encode() in err


def test_a_second_process_is_told_who_writes(tmp_path: Path, sweep: list[str]) -> None:
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
def test_a_plan_killed_five_times_ends_as_one_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    plan = tmp_path / "plan.toml"
    plan.write_text('scenario = "s.toml"\nreplications = 60\naxes = { "flows.0.count" = [1, 2] }\n')
    whole, resumed = tmp_path / "whole", tmp_path / "killed"
    assert grid.left_alone(plan, whole, 8, CLI).runs == 120
    taken = grid.killed(plan, resumed, 2, 5, 3, CLI)
    assert len(taken.kills) == 5
    assert taken.kills[0] < 120
    assert grid.differences(whole, resumed) == []
    with Writer(resumed) as writer:
        writer.note("UPDATE runs SET digest = 'other' WHERE seed = ?", [(42,)])
    assert grid.differences(whole, resumed) == ["runs differ: 120 and 120 rows"]
