"""Starts the worker of a run, follows it, and ends it."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from bloatlab.engines.linux.exchange import HEADER, Request
from bloatlab.errors import EngineError

COMMAND = (sys.executable, "-P", "-m", "bloatlab.engines.linux.worker")
LOOK_EVERY_S = 0.05
"""Seconds between two looks whether the run is cancelled or takes too long."""
TERMINATE_S = 0.5
"""Seconds from SIGTERM to SIGKILL."""
MOST_BYTES = 65536
MOST_LINES = 5
"""Lines of the worker's standard error that an error repeats."""

Tell = Callable[[float], None]
Check = Callable[[], None]


def make(request: Request, limit_s: float, tell: Tell, check: Check) -> None:
    """Makes a run in a new process. Its outcome is then in the directory of the request.

    The calling thread waits until the process has ended, because the kernel ends the process with this thread.

    Args:
        request: The run.
        limit_s: Seconds after which the process is ended.
        tell: Told the share of the run that is done.
        check: Called again and again; raises if the run is to stop.

    Raises:
        EngineError: The run failed, its process died, or it took longer than `limit_s`.
    """
    worker = _Worker(tell)
    try:
        worker.follow(request, limit_s, check)
    finally:
        worker.end()
    worker.judge(request)


class _Worker:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._error: str | None = None
        self._unread = b""
        self._last: deque[str] = deque(maxlen=MOST_LINES)
        pipe = subprocess.PIPE
        try:
            # A process group of its own: Ctrl-C in a terminal reaches the driver alone, which then ends the worker.
            self._process = subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0)
        except OSError as error:
            raise EngineError(f"its worker cannot be started ({error.strerror or error})") from error

    def follow(self, request: Request, limit_s: float, check: Check) -> None:
        """Sends the request, and reads what the worker says until it ends."""
        end = time.monotonic() + limit_s
        process = self._process
        assert process.stdin is not None
        # The worker may have died; then its output says why.
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(request.text().encode())

        def look() -> None:
            check()
            if time.monotonic() > end:
                raise EngineError(f"the run has not ended after {limit_s:g} s, and was stopped")

        with selectors.DefaultSelector() as selector:
            selector.register(_pipe(process.stdout), selectors.EVENT_READ, self._said)
            selector.register(_pipe(process.stderr), selectors.EVENT_READ, self._complained)
            while selector.get_map():
                for key, _ in selector.select(LOOK_EVERY_S):
                    if read := os.read(key.fd, MOST_BYTES):
                        key.data(read)
                    else:
                        selector.unregister(key.fileobj)
                look()
        while process.poll() is None:
            time.sleep(LOOK_EVERY_S / 10)
            look()

    def _said(self, read: bytes) -> None:
        *lines, self._unread = (self._unread + read).split(b"\n")
        for line in lines:
            said: dict[str, Any] = json.loads(line)
            self._error = said.get("error", self._error)
            if "progress" in said:
                self._tell(said["progress"])

    def _complained(self, read: bytes) -> None:
        self._last.extend(line for line in read.decode(errors="replace").splitlines() if line.strip())

    def end(self) -> None:
        """Ends the worker and everything in its process group, and waits for it."""
        process = self._process
        if process.returncode is None:
            self._signal(signal.SIGTERM)
            end = time.monotonic() + TERMINATE_S
            # It is not reaped yet, so its group cannot be another's when the second signal comes.
            while not _has_ended(process.pid) and time.monotonic() < end:
                time.sleep(LOOK_EVERY_S / 10)
            self._signal(signal.SIGKILL)
            process.wait()
        _pipe(process.stdout).close()
        _pipe(process.stderr).close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def judge(self, request: Request) -> None:
        """Raises `EngineError` if the run failed."""
        if self._error is not None:
            raise EngineError(self._error)
        code = self._process.returncode
        if code == 0 and (Path(request.directory) / HEADER).exists():
            return
        how = f"was ended by {_name(-code)}" if code < 0 else f"ended with exit code {code}"
        said = " | ".join(self._last)
        raise EngineError(f"its worker {how} before the run was done" + (f": {said}" if said else ""))


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
