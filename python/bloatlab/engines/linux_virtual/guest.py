"""Runs a kernel in virtual time with one request, follows it, and ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bloatlab.engines.linux_virtual import folders, image
from bloatlab.engines.linux_virtual.kernels import Kernel
from bloatlab.errors import EngineError

MEMORY = "1G"
"""The most memory that a guest takes. It takes only what it needs, and the same value in each run, because the kernel's
random numbers depend on it."""
START = 1_700_000_000_000_000_000
"""Time of the guest's clock at its start, ns since 1970."""
LOOK_EVERY_S = 0.02
STALLED_S = 300.0
"""Seconds of real time without progress after which a guest is ended."""
TERMINATE_S = 0.5
"""Seconds from SIGTERM to SIGKILL."""
MOST_LINES = 5
"""Lines of the guest's console that an error repeats."""
REQUEST, PROGRESS, ERROR, CONSOLE = "request.json", "progress", "error", "console"


@contextmanager
def finished(
    kernel: Kernel,
    request: Mapping[str, Any],
    seed: int,
    answer: str,
    check: Callable[[float], None],
    initramfs: Path | None = None,
) -> Iterator[Path]:
    """Runs a guest, and gives the folder with what it wrote.

    Args:
        kernel: The kernel.
        request: What the guest is to do.
        seed: Seed of the kernel's random numbers.
        answer: The file that the guest writes last.
        check: Told the share of the run that is done, again and again; raises if the run is to stop.
        initramfs: The file system that the kernel starts from; the agent's by default.

    Raises:
        EngineError: The guest failed, died or stalled.
    """
    path = initramfs or image.image()[0]
    with folders.folder() as folder:
        (folder / REQUEST).write_text(json.dumps(request), encoding="utf-8")
        with (folder / CONSOLE).open("wb") as console, _cpu() as cpu:
            process = subprocess.Popen(
                _command(kernel, path),
                cwd=folder,
                env=_environment(kernel, folder, seed, cpu),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=console,
                # A new process group: a kernel consists of several processes, and Ctrl-C in a terminal must not reach them.
                process_group=0,
            )
            try:
                _follow(process, folder, check)
            finally:
                _end(process)
        _judge(process, folder, answer)
        yield folder


_in_use: Counter[int] = Counter()
"""Guests of this process by CPU."""
_lock = threading.Lock()


@contextmanager
def _cpu() -> Iterator[int]:
    """The CPU that the fewest guests of this process use."""
    with _lock:
        cpu = min(sorted(os.sched_getaffinity(0)), key=lambda one: _in_use[one])
        _in_use[cpu] += 1
    try:
        yield cpu
    finally:
        with _lock:
            _in_use[cpu] -= 1


def _command(kernel: Kernel, initramfs: Path) -> list[str]:
    return [
        str(kernel.program),
        f"mem={MEMORY}",
        f"initrd={initramfs}",
        "rdinit=/init",
        "con=null",
        "ssl=null",
        "con0=null,fd:2",
        "quiet",
        "seccomp=on",
        "time-travel=inf-cpu",
        f"time-travel-start={START}",
    ]


def _environment(kernel: Kernel, folder: Path, seed: int, cpu: int) -> dict[str, str]:
    shared = "/dev/shm"
    return {
        # The kernel keeps a folder in its home as long as it runs.
        "HOME": str(folder),
        # It keeps its memory in a file there, which is fast only in memory.
        "TMPDIR": shared if os.access(shared, os.W_OK) else str(folder),
        "LD_PRELOAD": str(kernel.preload),
        "BLOATLAB_SEED": str(seed),
        "BLOATLAB_CPU": str(cpu),
    }


def _follow(process: subprocess.Popen[bytes], folder: Path, check: Callable[[float], None]) -> None:
    """Waits for the guest's end."""
    seen, moved = "", time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_EVERY_S)
            return
        said = _text(folder / PROGRESS)
        if said != seen:
            seen, moved = said, time.monotonic()
        check(_share(said))
        if time.monotonic() - moved > STALLED_S:
            raise EngineError(f"the guest made no progress for {STALLED_S:g} s, and was stopped{_printed(folder)}")


def _share(said: str) -> float:
    # The guest may be about to write it.
    with suppress(ValueError):
        return float(said)
    return 0.0


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the guest and all of its processes."""
    if process.returncode is not None:
        return
    # On SIGTERM the kernel cleans up behind itself.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(TERMINATE_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _judge(process: subprocess.Popen[bytes], folder: Path, answer: str) -> None:
    """Raises `EngineError` if the guest failed."""
    if why := _text(folder / ERROR):
        raise EngineError(why)
    if not (folder / answer).exists():
        code = process.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        raise EngineError(f"the guest {how} before the run was done{_printed(folder)}")


def _printed(folder: Path) -> str:
    lines = [line for line in _text(folder / CONSOLE).splitlines() if line.strip()]
    return f": {' | '.join(lines[-MOST_LINES:])}" if lines else ""


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
