"""The folders of guests. One that a killed process left behind is removed by the next process that starts a guest."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

PREFIX = "bloatlab-guest-"
LOCK = "lock"
"""A file that the process of a folder holds locked as long as it lives."""


@contextmanager
def folder() -> Iterator[Path]:
    """An empty folder for a guest, which is removed in the end."""
    _tidy()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        made = Path(name)
        # It gets its name when it is locked, so that nobody finds it without its lock.
        with (made / f"{LOCK}.new").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            Path(lock.name).rename(made / LOCK)
            yield made


@cache
def _tidy() -> None:
    """Once in a process: removes what killed processes left behind."""
    remove_left(Path(tempfile.gettempdir()))


def remove_left(directory: Path) -> None:
    """Removes the folders of this user in a directory whose process has gone. Whatever else has such a name stays."""
    for found in directory.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if found.is_symlink() or found.stat().st_uid != os.getuid():
                continue
            handle = os.open(found / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(found)
            finally:
                os.close(handle)
