"""The lock of a directory, for one writer at a time. The kernel releases it when the process dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from bloatlab.errors import StoreError
from bloatlab.store.layout import LOCK

_LOOKS = 50
_LOOK_EVERY = 0.01
"""Seconds. A reader that calls `is_locked` holds the lock for microseconds. A writer waits for that."""


class WriteLock:
    """Holds the directory's write lock from creation to `release`."""

    def __init__(self, directory: Path) -> None:
        """Takes the lock, or raises `StoreError` with the process that holds it."""
        self._descriptor = os.open(
            directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
        )
        if not self._take():
            holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            who = f"process {holder}" if holder.isdigit() else "another process"
            raise StoreError(f"{directory}: {who} is writing here; wait for it or choose another --out")
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def _take(self) -> bool:
        for _ in range(_LOOKS):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOOK_EVERY)
            else:
                return True
        return False

    def release(self) -> None:
        """Releases the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_locked(directory: Path) -> bool:
    """Whether a process writes to the directory."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
