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
from dataclasses import dataclass
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

Check = Callable[[], None]


def _ignore(_: object) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What is done with what the worker says."""

    progress: Callable[[float], None] = _ignore
    """Told the share of the run that is done."""
    sample: Callable[[list[dict[str, Any]]], None] = _ignore
    """Told each sample: rows of the table `link_series`."""


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """A program of the run has the standard streams of the worker."""

    output: Callable[[bytes], None] | None = None
    """Told what the program prints; `None`: it has our own standard streams."""
    descriptors: tuple[int, ...] = ()
    """Descriptors that the worker inherits."""


def make(request: Request, limit_s: float, heard: Heard, check: Check, terminal: Terminal | None = None) -> None:
    """Makes a run in a new process. Its outcome is then in the directory of the request.

    The calling thread waits until the process has ended, because the kernel ends the process with this thread.

    Args:
        request: The run.
        limit_s: Seconds after which the process is ended.
        heard: What is done with what the worker says.
        check: Called again and again; raises if the run is to stop.
        terminal: Who has the standard streams; `None`: no program of the run.

    Raises:
        EngineError: The run failed, its process died, or it took longer than `limit_s`.
    """
    worker = _Worker(request, heard, terminal)
    try:
        worker.follow(limit_s, check)
    finally:
        worker.end()
    worker.judge(request)


class _Worker:
    def __init__(self, request: Request, heard: Heard, terminal: Terminal | None) -> None:
        self._heard = heard
        self._terminal = terminal
        self._error: str | None = None
        self._unread = b""
        self._last: deque[str] = deque(maxlen=MOST_LINES)
        try:
            self._process, self._says = self._start(request.text().encode(), terminal)
        except OSError as error:
            raise EngineError(f"its worker cannot be started ({error.strerror or error})") from error

    def _start(self, request: bytes, terminal: Terminal | None) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        """Starts the process and sends the request. Returns the process, and what it says."""
        pipe = subprocess.PIPE
        if terminal is None:
            # A new process group, so that Ctrl-C in a terminal only reaches the driver, which then ends the worker.
            process = subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0)
            _send(_pipe(process.stdin), request)
            return process, _pipe(process.stdout)
        (its_request, our_request), (our_says, its_says) = os.pipe(), os.pipe()
        try:
            # In our process group, the one that may use the terminal.
            process = subprocess.Popen(
                (*COMMAND, str(its_request), str(its_says)),
                stdin=None if terminal.output is None else subprocess.DEVNULL,
                stdout=None if terminal.output is None else pipe,
                stderr=None if terminal.output is None else subprocess.STDOUT,
                pass_fds=(its_request, its_says, *terminal.descriptors),
            )
        finally:
            os.close(its_request)
            os.close(its_says)
        _send(os.fdopen(our_request, "wb"), request)
        return process, os.fdopen(our_says, "rb")

    def follow(self, limit_s: float, check: Check) -> None:
        """Reads what the worker says until it ends."""
        end = time.monotonic() + limit_s
        process = self._process

        def look() -> None:
            check()
            if time.monotonic() > end:
                raise EngineError(f"the run has not ended after {limit_s:g} s, and was stopped")

        with selectors.DefaultSelector() as selector:
            read = selectors.EVENT_READ
            selector.register(self._says, read, self._said)
            if self._terminal is None:
                selector.register(_pipe(process.stderr), read, self._complained)
            elif self._terminal.output is not None:
                selector.register(_pipe(process.stdout), read, self._terminal.output)
            while selector.get_map():
                for key, _ in selector.select(LOOK_EVERY_S):
                    if text := os.read(key.fd, MOST_BYTES):
                        key.data(text)
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
                self._heard.progress(said["progress"])
            for sample in said.get("samples", ()):
                self._heard.sample(sample)

    def _complained(self, read: bytes) -> None:
        self._last.extend(line for line in read.decode(errors="replace").splitlines() if line.strip())

    def end(self) -> None:
        """Ends the worker and everything that it started, and waits for it."""
        process = self._process
        if process.returncode is None:
            self._signal(signal.SIGTERM)
            end = time.monotonic() + TERMINATE_S
            # It is not reaped yet, so its group cannot be another's when the second signal comes.
            while not _has_ended(process.pid) and time.monotonic() < end:
                time.sleep(LOOK_EVERY_S / 10)
            self._signal(signal.SIGKILL)
            process.wait()
        for stream in (self._says, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            if self._terminal is None:
                os.killpg(self._process.pid, number)
            else:
                # The kernel ends all of its namespace with it.
                os.kill(self._process.pid, number)

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


def _send(pipe: IO[bytes], request: bytes) -> None:
    # The worker may have died; then its output says why.
    with suppress(BrokenPipeError), pipe:
        pipe.write(request)


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
