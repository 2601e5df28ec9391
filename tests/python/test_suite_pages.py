"""The pages of a suite, of which another process makes a part."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bloatlab.experiments import get
from bloatlab.experiments.weighing import EQUAL
from bloatlab.lab import single
from bloatlab.report import make_report
from bloatlab.report import page as pages
from bloatlab.report.beside import beside, shared
from bloatlab.report.page import make_members
from bloatlab.sweeps import ExperimentSource, execute, plan_all
from conftest import REAL

INSTALLED = single.FILE
NAMES = ["steady-state", "shallow-buffers", "loss-resilience", "responsiveness-pulse"]
real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("suite")
    base = {"ccas": "cubic+newreno", "experiments": "+".join(NAMES), "stop": "1s"}
    runs, _ = plan_all(ExperimentSource(get("cc-benchmark")), base, {})
    assert not execute(runs, directory, command="bloatlab run cc-benchmark").failed
    return directory


def _digests(results: Path) -> dict[str, str]:
    return {name: hashlib.sha256((results / f"{name}.html").read_bytes()).hexdigest() for name in NAMES}


def _made_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that this process writes from now on."""
    found: list[str] = []
    write = pages.write
    monkeypatch.setattr(pages, "write", lambda path, text: found.append(path.stem) or write(path, text))
    return found


@pytest.mark.parametrize(("cpus", "count", "elsewhere"), [(1, 12, 0), (2, 3, 0), (2, 4, 1), (8, 11, 4)])
def test_every_page_is_made_once(monkeypatch: pytest.MonkeyPatch, cpus: int, count: int, elsewhere: int) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cpus)
    names = [f"page-{index}" for index in range(count)]
    here, there = shared(names)
    assert sorted([*here, *there]) == sorted(names)
    assert len(there) == elsewhere


@real
def test_both_processes_write_the_same_pages(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    # The other process has the lab of the installation, if there is one.
    monkeypatch.setattr(single, "FILE", INSTALLED)
    here = _made_here(monkeypatch)
    make_report(results)
    assert len(here) == 4, "three pages and the index"
    both = _digests(results)
    make_members(results, NAMES, EQUAL)
    assert both == _digests(results)


@real
def test_pages_that_the_other_process_cannot_make_are_made_here(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    here = _made_here(monkeypatch)
    make_report(results)
    assert sorted(here) == sorted([*NAMES, "index"])


def test_the_other_process_ends_with_a_failure_of_this_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    endless = tmp_path / "python"
    endless.write_text("#!/bin/sh\nexec sleep 1000\n")
    endless.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(endless))
    started: list[subprocess.Popen[bytes] | None] = []
    with pytest.raises(KeyboardInterrupt):
        _interrupt(tmp_path, started)
    (process,) = started
    assert process is not None
    assert process.returncode == -signal.SIGKILL


def _interrupt(directory: Path, started: list[subprocess.Popen[bytes] | None]) -> None:
    with beside(directory, ["page"], {}) as process:
        started.append(process)
        raise KeyboardInterrupt
