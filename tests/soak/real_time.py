"""Runs in real time that are started from outside: the command, what it leaves behind, and whether this machine can run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import bloatlab
from bloatlab.engines.linux import native

MARK = "BLOATLAB_TEST_RUN"
"""Environment variable that every process of a command inherits."""
NOBODY = 65534
DROP = f"exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --inh-caps=-all --no-new-privs"


def _open_to_all(path: Path) -> bool:
    return all(place.stat().st_mode & 0o001 for place in (path, *path.parents))


def _as_nobody() -> Sequence[str]:
    """Starts a program as a user without privileges.

    Python and its packages may be in a home directory that this user may not enter. Then they are mounted again below an
    empty directory in its place, in a mount namespace of the command's own.
    """
    needed = dict.fromkeys(Path(path).resolve() for path in (sys.base_prefix, sys.prefix, bloatlab.__path__[0]))
    hidden = [path for path in needed if not _open_to_all(path)]
    steps = ["set -e", "mount -t tmpfs tmpfs /mnt"]
    steps += [f"mkdir /mnt/{i}; mount --bind '{path}' /mnt/{i}" for i, path in enumerate(hidden)]
    closed = {next(p for p in reversed((path, *path.parents)) if not p.stat().st_mode & 0o001) for path in hidden}
    steps += [f"mount -t tmpfs -o mode=755 tmpfs '{path}'" for path in closed]
    steps += [f"mkdir -p '{path}'; mount --bind /mnt/{i} '{path}'" for i, path in enumerate(hidden)]
    return ("unshare", "--mount", "sh", "-c", "\n".join([*steps, f'{DROP} "$@"']), "sh")


PRIVILEGES: dict[str, Callable[[], Sequence[str]]] = {
    "as it is": tuple,
    "a plain user": _as_nobody,
    "another user namespace": lambda: ("unshare", "--user", "--map-root-user", "--net", "--mount"),
}
"""What a command is started by, so that it has more or fewer privileges."""
PYTHON = sys.executable
DEADLINE_S = 10.0

TWO_FLOWS = """
name = "two-flows"
duration = "{duration}"
[dumbbell]
rate = "20Mbit/s"
rtt = "20ms"
queue = {{kind = "fifo", limit = "50p"}}
[[flows]]
name = "download"
cca = "cubic"
[[flows]]
name = "ping"
traffic = {{kind = "ping", interval = "50ms"}}
"""


def by(privileges: str, folder: Path) -> Sequence[str]:
    """What starts a command with these privileges, which can then write into the folder."""
    if privileges == "a plain user":
        if os.geteuid() != 0:
            pytest.skip("this is one already")
        for place in (folder, *folder.parents[:2]):
            place.chmod(0o777)
    return PRIVILEGES[privileges]()


def obstacle() -> str | None:
    """Why this machine cannot run anything in real time; `None`: it can."""
    if not native.built():
        return "this build has no engine for real time"
    probe = json.loads(native.probe())
    return None if probe["runs"] else str(probe["why"])


class Command:
    """A `bloatlab` command with a mark, so that every process it starts can be found."""

    def __init__(self, words: Sequence[str | Path], *, by: Sequence[str] = (), folder: Path | None = None) -> None:
        """Starts it.

        Args:
            words: The words after `bloatlab`.
            by: The program that starts it, with its arguments.
            folder: Working directory.
        """
        self.mark = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [*by, sys.executable, "-m", "bloatlab", *map(str, words)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
            env={**os.environ, MARK: self.mark}, start_new_session=True,
        )  # fmt: skip

    def processes(self) -> list[int]:
        """The ids of the processes that it started and that are still there, itself included."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"{MARK}={self.mark}".encode() in environment:
                found.append(int(entry.name))
        return found

    def namespaces(self) -> set[str]:
        """The network namespaces of its processes, apart from ours."""
        found = set()
        for process in self.processes():
            try:
                found.add(str(Path(f"/proc/{process}/ns/net").readlink()))
            except OSError:
                continue
        return found - {str(Path("/proc/self/ns/net").readlink())}

    def end(self) -> tuple[str, str]:
        """Waits for it. Returns its standard output and standard error."""
        return self.process.communicate(timeout=120)


def wait_for(holds: Callable[[], object], what: str) -> None:
    """Waits until something holds.

    Raises:
        AssertionError: It did not hold in time.
    """
    end = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def host() -> str:
    """The network devices and routes of this namespace."""
    names = ("dev", "route", "fib_trie")
    texts = [Path(f"/proc/net/{name}").read_text() for name in names]
    devices = sorted(line.partition(":")[0].strip() for line in texts[0].splitlines())
    return "\n".join([*devices, *texts[1:]])
