"""The worker of a run in real time without namespaces: the simulator makes the run, and `FAKE_LIVE` says what goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from bloatlab import _core
from bloatlab.engines.linux import native, worker

HOW = os.environ.get("FAKE_LIVE", "")


class Doubtful:
    """An outcome that its engine doubts."""

    suspect = "3 frames left more than 1 ms late"

    def __init__(self, outcome: _core.Outcome) -> None:
        self._outcome = outcome

    def __getattr__(self, name: str) -> Any:
        return getattr(self._outcome, name)


def enter(_driver: int) -> None:
    # Namespaces can only be entered without threads, and soon after the start.
    assert threading.active_count() == 1
    assert "polars" not in sys.modules


def run(
    scenario: str, seed: int, *, kernel_link: bool, record_packets: bool, control: _core.Control, files: str, **_: Any
) -> tuple[Any, int, int | None]:
    if HOW == "dies":
        print("the link thread is gone\nno device left", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if HOW == "fails":
        raise OSError(f"veth: {os.strerror(1)}")
    if HOW == "hangs":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "600"])
        Path("pids.tmp").write_text(f"{os.getpid()} {child.pid}")
        Path("pids.tmp").rename("pids")
        time.sleep(600)
    if HOW == "slow":
        time.sleep(3 * worker.PROGRESS_EVERY_S)
    outcome = _core.run(scenario, seed, record_packets=record_packets, control=control)
    if HOW == "prints":
        (Path(files) / "web.txt").write_text("first\nsecond\n")
    return Doubtful(outcome) if HOW == "doubts" else outcome, 10**9, None


native.enter = enter
native.run = run
sys.exit(worker.main(sys.argv[1:]))
