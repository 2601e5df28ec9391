"""Files that runs leave beside their tables, in the form of an experiment's source: `files/` of a results directory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from bloatlab.store import schema

FILES = "files"


def write_files(directory: Path, makers: Mapping[str, Callable[[Path], object]], created: str) -> None:
    """Writes those that are not there or older than their run, each whole or not at all.

    Args:
        directory: The results directory.
        makers: What writes each file, by name.
        created: When the run finished, as the store has it.

    Raises:
        StoreError: A file cannot be written.
    """
    since = datetime.fromisoformat(created).timestamp()
    with schema.clear_errors(directory):
        (directory / FILES).mkdir(exist_ok=True)
        for name, make in makers.items():
            path = directory / FILES / name
            if not (path.exists() and path.stat().st_mtime >= since):
                write_whole(path, make)


def write_whole(path: Path, make: Callable[[Path], object]) -> None:
    """Writes under another name and renames: a reader never sees half a file."""
    # The ending stays: by it figures choose their format.
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        make(temporary)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
