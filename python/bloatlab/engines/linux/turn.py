"""One run in real time at once: two would take CPU time from each other, and measure that."""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bloatlab.errors import EngineError

LOCK = "lock"
"""The run that has it is under way."""
NEXT = "next"
"""The run that has it is the next one."""
RUN = "run-"
SHELL = "shell-"
LOCK_END = ".lock"
MOST_NAMES = 10
_log = logging.getLogger("bloatlab")


@contextmanager
def turn(wait: Callable[[], None]) -> Iterator[Path]:
    """Waits until no other run of this user is under way, and gives a temporary directory for this one.

    The kernel releases the locks when their holder dies. What a killed run left is removed by the next one.

    Args:
        wait: Called again and again while another run has the lock; pauses for a moment, or raises to give up.

    Raises:
        EngineError: There is no place for temporary files.
    """
    try:
        home = _home()
        own = _open(home / LOCK)
    except OSError as error:
        raise _no_place(error) from error
    try:
        # Who makes many runs queues behind those who wait, because they hold the second lock.
        try:
            next_ = _open(home / NEXT)
        except OSError as error:
            raise _no_place(error) from error
        try:
            told = _wait_for(next_, own, wait, told=False)
            _wait_for(own, own, wait, told=told)
        finally:
            os.close(next_)
        os.ftruncate(own, 0)
        os.pwrite(own, f"{os.getpid()}\n".encode(), 0)
        for left in home.glob(f"{RUN}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=RUN, dir=home) as directory:
            yield Path(directory)
    finally:
        os.close(own)


@contextmanager
def beside() -> Iterator[Path]:
    """Gives a temporary directory for a run that waits for no other, and removes those that killed runs left.

    Raises:
        EngineError: There is no place for temporary files.
    """
    try:
        home = _home()
        for lock in home.glob(f"{SHELL}*{LOCK_END}"):
            _remove_if_left(lock)
        descriptor, lock = _own_lock(home)
    except OSError as error:
        raise _no_place(error) from error
    directory = lock.with_suffix("")
    try:
        directory.mkdir(mode=0o700)
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _no_place(error: OSError) -> EngineError:
    return EngineError(f"{error.filename}: {error.strerror or error}")


def _own_lock(home: Path) -> tuple[int, Path]:
    """Makes a file and locks it, before another process can take it for one that was left."""
    while True:
        path = home / f"{SHELL}{secrets.token_hex(8)}{LOCK_END}"
        descriptor = _open(path)
        if _take(descriptor) and path.exists():
            return descriptor, path
        os.close(descriptor)


def _remove_if_left(lock: Path) -> None:
    """Removes the lock and the directory of a run that has been killed."""
    try:
        descriptor = _open(lock)
    except FileNotFoundError:
        return
    try:
        if _take(descriptor):
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _wait_for(descriptor: int, own: int, wait: Callable[[], None], *, told: bool) -> bool:
    """Takes a lock. Returns whether the user was told that it takes time."""
    while not _take(descriptor):
        if not told:
            _log.warning("bloatlab: waits for another run in real time%s", _holder(own))
            told = True
        wait()
    return told


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    process = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
    return f" (of process {process})" if process.isdigit() else ""


def _home() -> Path:
    """The directory of this user's runs, among the temporary files.

    Others can take a name there, and in a user namespace another user has the same number. Then the next name is tried.

    Raises:
        EngineError: Others have taken all names.
        OSError: There is no directory for temporary files.
    """
    first = Path(tempfile.gettempdir()) / f"bloatlab-{os.getuid()}"
    for name in (first, *(first.with_name(f"{first.name}-{number}") for number in range(1, MOST_NAMES))):
        with suppress(FileExistsError):
            name.mkdir(mode=0o700)
        found = name.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
            return name
    raise EngineError(f"{first}: belongs to another user; set TMPDIR to a directory of yours")
