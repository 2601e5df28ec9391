"""One writer at a time: an advisory lock that the kernel drops when its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from bloatlab.errors import StoreError


class WriteLock:
    """Holds the directory's write lock from creation to `release`."""

    def __init__(self, directory: Path) -> None:
        """Takes the lock, or raises `StoreError` with the process that holds it."""
        self._descriptor = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip() or "another process"
            os.close(self._descriptor)
            raise StoreError(
                f"{directory}: process {holder} is writing here; wait for it or choose another --out"
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Gives the lock up."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
