"""The layout of a results directory: valid names, paths that stay inside, and deletion.

Names that come from a database, a file or a URL are untrusted. They are checked against a pattern before they become a
path. Symbolic links are refused. Only files with the marker of bloatlab are deleted.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from enum import Enum
from pathlib import Path

from bloatlab.errors import StoreError

DATABASE = "results.sqlite"
PARTS = "parts"
FILES = "files"
LOCK = ".lock"
MARKER = ".bloatlab"
"""File in every part that says that bloatlab made it."""
MANIFEST = "manifest.json"
TEMPORARY = ".tmp-"
APPLICATION_ID = 0x424C4142

_HEX = "[0-9a-f]{16}"
_PART = re.compile(rf"{_HEX}\Z")
_TEMPORARY = re.compile(rf"\.tmp-{_HEX}\Z")
_TABLE = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
_IN_PART = re.compile(rf"(?:\.bloatlab|manifest\.json|\.tmp-{_HEX}|[a-z][a-z0-9_]{{0,63}}\.parquet)\Z")
_FILE = re.compile(r"[^\x00-\x1f\x7f/\\]{1,200}\Z")
_LEFT_BEFORE_THE_DATABASE = re.compile(rf"(?:\.lock|\.published\.json|\.mirror\.json(?:\.\d+)?|\.tmp-{_HEX}|parts)\Z")
_LOCK = re.compile(rb"(?:\d{1,20}\n)?")
_HEADER = b"SQLite format 3\0"
_HEADER_BYTES = 72


class Kind(Enum):
    """The kinds of directory that the store distinguishes."""

    EMPTY = "empty"
    """It does not exist, or it only holds leftovers of a killed start."""
    STORE = "store"
    LOST = "lost"
    """Parts without a database."""


def kind(directory: Path) -> Kind:
    """Returns the kind of a directory without opening the database.

    Raises:
        StoreError: It is a file, has a symbolic link in place of a file of the store, or has files of another origin.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(directory.stat().st_mode):
            raise StoreError(f"{directory}: is a file, not a results directory")
        names = {path.name for path in directory.iterdir()}
        for name in (LOCK, PARTS, FILES, *(f"{DATABASE}{end}" for end in ("", "-wal", "-shm", "-journal"))):
            refuse_link(directory / name)
        if LOCK in names and not _LOCK.fullmatch(_beginning(directory / LOCK)):
            raise StoreError(f"{directory / LOCK}: is not a lock of bloatlab's; choose another --out")
        if DATABASE in names and _is_database(directory / DATABASE):
            return Kind.STORE
        if _has_parts(directory / PARTS):
            return Kind.LOST
        if not all(_LEFT_BEFORE_THE_DATABASE.match(name) for name in names) or _has_any(directory / PARTS):
            raise StoreError(f"{directory}: is neither empty nor a results directory; choose another --out")
    return Kind.EMPTY


def _beginning(path: Path) -> bytes:
    if not path.is_file():
        raise StoreError(f"{path}: is not a regular file")
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)


def _is_database(path: Path) -> bool:
    header = _beginning(path)
    if not header:
        return False
    if not header.startswith(_HEADER) or len(header) < _HEADER_BYTES:
        raise StoreError(f"{path}: damaged, or not a bloatlab store (its first bytes are not those of a database)")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StoreError(f"{path}: is a database, but not a bloatlab store")
    return True


def _has_parts(parts: Path) -> bool:
    return any((parts / name / MARKER).is_file() for name in _listed(parts) if _PART.match(name))


def _has_any(parts: Path) -> bool:
    return any(not _TEMPORARY.match(name) for name in _listed(parts))


def _listed(directory: Path) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def lost(directory: object) -> StoreError:
    """The error for parts without a database."""
    return StoreError(
        f"{directory}: {DATABASE} is missing while parts are there; `bloatlab store repair {directory}` rebuilds it from them"
    )


def refuse_link(path: Path) -> None:
    """Raises `StoreError` if the path is a symbolic link."""
    if path.is_symlink():
        raise StoreError(f"{path}: is a symbolic link; links inside a results directory are not followed")


def part_path(parts: Path, name: object) -> Path:
    """The directory of a part that a database or a URL names.

    Raises:
        StoreError: The name is not valid for a part, or the path is a symbolic link.
    """
    if not isinstance(name, str) or not _PART.match(name):
        raise StoreError(f"{parts.parent}: names a part {quoted(name)}; a part has 16 hexadecimal digits")
    refuse_link(parts)
    refuse_link(parts / name)
    return parts / name


def is_part(name: str) -> bool:
    """Whether a name is valid for a part."""
    return _PART.match(name) is not None


is_run_id = is_part
"""Whether a name is valid for the identity of a run, which has the same form as the name of a part."""


def is_table(name: str) -> bool:
    """Whether a name is valid for a table."""
    return _TABLE.match(name) is not None


def is_in_part(name: str) -> bool:
    """Whether a part may hold a file of this name."""
    return _IN_PART.match(name) is not None


def file_path(directory: Path, name: str) -> Path:
    """The path of a file that a run leaves beside its tables.

    Raises:
        StoreError: The name could lead out of the directory.
    """
    if not _FILE.match(name) or name.startswith("."):
        raise StoreError(f"{directory}: {quoted(name)} is not a valid file name of a run")
    refuse_link(directory / FILES)
    refuse_link(directory / FILES / name)
    return directory / FILES / name


def quoted(name: object) -> str:
    """A name for a message: on one line, and not too long."""
    return ascii(name)[:80]


def new_name() -> str:
    """A random name."""
    return secrets.token_hex(8)


def temporary(directory: Path) -> Path:
    """A temporary path, for a file that is written before it gets its name."""
    return directory / f"{TEMPORARY}{new_name()}"


def is_temporary(name: str) -> bool:
    """Whether a name is that of a temporary file."""
    return _TEMPORARY.match(name) is not None


def remove_part(path: Path) -> bool:
    """Removes a part if bloatlab made it and it holds no other files. Returns whether it is gone.

    Files are removed one by one through the open directory, so that no link is followed.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return not path.exists()
    try:
        names = os.listdir(descriptor)  # noqa: PTH208 - of the directory that is open
        if names and (MARKER not in names or not all(map(is_in_part, names))):
            return False
        # The marker is removed last, so that the rest of an interrupted removal still has it.
        for name in sorted(names, key=MARKER.__eq__):
            os.unlink(name, dir_fd=descriptor)
        path.rmdir()
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
