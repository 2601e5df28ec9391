"""Faults at the n-th call on files below one directory, in processes forked from this one.

`faults.c` does it, loaded with LD_PRELOAD: `preloaded` compiles it and starts Python with it. This process must neither
start threads nor read tables, because forked processes would wait for threads that they do not have.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

HANGS_AFTER_S = 300
"""Seconds after which a case counts as hanging. Cases normally take much less."""
LIBRARY = "BLOATLAB_FAULTS"


class Mode(IntEnum):
    """The fault at the call. The numbers are those of faults.c."""

    IO_ERROR = 1
    """It fails with EIO."""
    DISK_FULL = 2
    """Half of a write succeeds, then ENOSPC. Every later write, mkdir and open of a new file fails, too."""
    KILL = 3
    """`kill -9` before it."""
    KILL_AFTER_HALF = 4
    """`kill -9` after half of a write, or after any other call."""


def has_compiler() -> bool:
    """Whether faults.c can be compiled here."""
    return shutil.which("cc") is not None


def preloaded(work: Path, command: Sequence[str]) -> int:
    """Runs a Python command with the library, and returns its exit code."""
    work.mkdir(parents=True, exist_ok=True)
    library = work.resolve() / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), LIBRARY: str(library)}
    return subprocess.run([sys.executable, *command], env=environment, check=False).returncode


class Faults:
    """The library in this process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ[LIBRARY])
        self._library.faults_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
        self._library.faults_arm.restype = None
        self._library.faults_calls.restype = ctypes.c_long

    def arm(self, directory: Path, call: int, mode: Mode) -> None:
        """From now on, call number `call` (from 1) below the directory has the fault. With 0, calls are only
        counted."""
        self._library.faults_arm(os.fsencode(directory), call, mode)

    def calls(self) -> int:
        """Calls since it was armed."""
        return int(self._library.faults_calls())


@dataclass(frozen=True)
class Ended:
    """How a forked process ended."""

    code: int
    """Exit code, or minus the signal."""
    out: str
    err: str


def forked(act: Callable[[], int | None], directory: Path) -> Ended:
    """Runs a function in a fork of this process, with its output in files of a directory."""
    outputs = [directory / "out", directory / "err"]
    process = os.fork()
    if process == 0:
        code = 70
        try:
            signal.alarm(HANGS_AFTER_S)
            for number, path in enumerate(outputs, 1):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            code = act() or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(process, 0)
    out, err = (path.read_text(errors="replace") for path in outputs)
    return Ended(os.waitstatus_to_exitcode(status), out, err)
