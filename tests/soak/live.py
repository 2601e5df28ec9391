"""Kills runs and shells in real time at random moments; prints how many, and everything that was left behind.

    python tests/soak/live.py [--kills 50] [--seed 1]

Every other one is a shell, and half of both have no privileges. After each kill, no process, no namespace, no device and no
route may be left. A run whose results do not fit on the disk ends with an error.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import real_time
from real_time import PRIVILEGES, Command

LONGEST_S = 3.0
"""The latest kill after the start of a command."""


def words(what: str, scenario: Path, out: Path) -> list[str | Path]:
    """The words of a command that lasts for a minute."""
    if what == "run":
        return ["simulate", scenario, "--engine", "linux", "--out", out]
    # The program starts other programs.
    return ["shell", "--rate", "20Mbit/s", "--out", out, "--", "sh", "-c", "sleep 60 & sleep 60"]


def killed(what: str, scenario: Path, by: str, after: float, target: random.Random) -> str | None:
    """Kills a run or a shell. Returns what was left; `None`: nothing."""
    before = real_time.host()
    out = scenario.parent / f"out{after}"
    command = Command(words(what, scenario, out), by=PRIVILEGES[by](), folder=scenario.parent)
    time.sleep(after)
    # The driver, or any process of the run.
    victims = command.processes()
    victim = command.process.pid if target.random() < 0.7 or not victims else target.choice(victims)
    try:
        os.kill(victim, signal.SIGKILL)
        if victim != command.process.pid:
            # A run that loses its worker ends with an error, without a traceback.
            _, complaints = command.end()
            if "Traceback" in complaints:
                return complaints
        real_time.wait_for(lambda: command.processes() == [], "a process is left")
    except ProcessLookupError:
        pass
    except AssertionError as error:
        return f"{error}: {command.processes()}"
    command.end()
    return None if real_time.host() == before else "a device or a route has changed"


def full_disk(scenario: Path) -> str | None:
    """Stores a run on a disk that is full. Returns what was wrong; `None`: nothing."""
    small = 'mkdir -p small && mount -t tmpfs -o size=64k tmpfs small && exec "$@"'
    command = Command(
        ["simulate", scenario, "--engine", "linux", "--out", "small/results"],
        by=("unshare", "--mount", "sh", "-c", small, "sh"), folder=scenario.parent,
    )  # fmt: skip
    _, complaints = command.end()
    if command.process.returncode == 0 or "Traceback" in complaints:
        return f"exit code {command.process.returncode}: {complaints}"
    return None if command.processes() == [] else "a process is left"


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if why := real_time.obstacle():
        print(f"skipped: {why}")
        return 0
    chance = random.Random(given.seed)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        scenario = Path(folder) / "two.toml"
        scenario.write_text(real_time.TWO_FLOWS.format(duration="60s"))
        for number in range(given.kills):
            what = "run" if number % 2 == 0 else "shell"
            by = "as it is" if number % 4 < 2 else "a plain user"
            if left := killed(what, scenario, by, chance.uniform(0, LONGEST_S), chance):
                wrong.append(f"kill {number} ({what}, {by}): {left}")
        scenario.write_text(real_time.TWO_FLOWS.format(duration="1s"))
        if left := full_disk(scenario):
            wrong.append(f"full disk: {left}")
    print(f"{given.kills} kills and a full disk: {len(wrong)} went wrong", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
