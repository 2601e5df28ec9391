"""Files that runs leave beside their tables, in the form of an experiment's source: `files/` of a results directory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from bloatlab.errors import StoreError
from bloatlab.store import layout
from bloatlab.store.database import clear_errors
from bloatlab.store.layout import FILES, TEMPORARY

GENERATOR = b'<meta name="generator" content="bloatlab">'
"""Mark of every page that bloatlab makes."""
_BEGINNING = 2000


def write_files(directory: Path, makers: Mapping[str, Callable[[Path], object]], created: str) -> None:
    """Writes the files that are missing or older than their run. Each is written completely or not at all.

    Args:
        directory: The results directory.
        makers: The function that writes each file, by name.
        created: When the run finished, as the store has it.

    Raises:
        StoreError: A file cannot be written, or a name leads out of the directory.
    """
    since = datetime.fromisoformat(created).timestamp()
    with clear_errors(directory):
        paths = {layout.file_path(directory, name): make for name, make in makers.items()}
        (directory / FILES).mkdir(exist_ok=True)
        for path, make in paths.items():
            if not (path.exists() and path.stat().st_mtime >= since):
                write_whole(path, make)


def write_page(path: Path, page: str, mark: bytes = GENERATOR) -> None:
    """Writes a page completely or not at all. Never overwrites a page that bloatlab did not make.

    Args:
        path: The path of the page.
        page: Its text, which has the mark near its beginning.
        mark: The mark that an existing page must have to be overwritten.

    Raises:
        StoreError: Something else is there, or the page cannot be written.
    """
    try:
        if is_foreign(path, mark):
            raise StoreError(f"{path}: was not made by bloatlab, so it is not written over; move it away")
        write_whole(path, lambda temporary: temporary.write_text(page, encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def is_foreign(path: Path, mark: bytes) -> bool:
    """Whether something has this path that is not a page with this mark."""
    return path.is_symlink() or (path.exists() and mark not in _beginning(path))


def _beginning(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(_BEGINNING)


def write_whole(path: Path, make: Callable[[Path], object]) -> None:
    """Writes under another name and renames, so that a reader never sees half a file."""
    # The suffix stays, because figures choose their format by it.
    temporary = path.with_name(f"{TEMPORARY}{layout.new_name()}{path.suffix}")
    try:
        make(temporary)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
