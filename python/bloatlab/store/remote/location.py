"""Where a store is: a directory, or a URL with a staging directory on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path

from bloatlab.cache import cache_directory
from bloatlab.errors import StoreError
from bloatlab.store import layout
from bloatlab.store.remote.secrets import has_secrets, without_secrets

STATE = ".mirror.json"
"""File in a staging directory: the URL that it mirrors, and how far the two agree."""

Place = Path | str
"""A directory, or a URL such as `s3://bucket/path`."""

_given: dict[Path, str] = {}
"""URLs with secrets, by staging directory. They are only in the memory of this process."""


def is_url(place: Place) -> bool:
    """Whether a text is a URL and not a path."""
    return isinstance(place, str) and "://" in place


def place(text: str) -> Place:
    """Reads a text: a URL stays unchanged, anything else is a path."""
    return text if is_url(text) else Path(text)


def staging(url: str) -> Path:
    """The staging directory of a URL, by the hash of the URL without its secrets."""
    return cache_directory() / "stores" / hashlib.sha256(without_secrets(normal(url)).encode()).hexdigest()[:16]


def normal(url: str) -> str:
    """The URL without slashes at its end."""
    return url.rstrip("/")


def local(place: Place) -> Path:
    """The directory on this machine: the place itself, or the staging directory of a URL, created if necessary.

    Raises:
        StoreError: The cache cannot be written.
    """
    if not is_url(place):
        return Path(place)
    url = normal(str(place))
    directory = staging(url)
    if has_secrets(url):
        _given[directory] = url
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (directory / STATE).exists():
            write_state(
                directory, {"url": without_secrets(url), "secrets": has_secrets(url), "id": secrets.token_hex(8)}
            )
    except OSError as error:
        raise StoreError(
            f"{directory}: {error.strerror or error} (BLOATLAB_CACHE says where results are staged)"
        ) from error
    return directory


def shown(directory: Place) -> str:
    """The name for messages: the URL without its secrets, also for a staging directory; otherwise the path."""
    if is_url(directory):
        return without_secrets(str(directory))
    state = read_state(Path(directory))
    return str(state["url"]) if state else str(directory)


def url_of(directory: Path, state: dict[str, object]) -> str:
    """The whole URL of a staging directory.

    Raises:
        StoreError: It had a password or a key, which is not stored and was not given to this process.
    """
    if state.get("secrets") and directory not in _given:
        raise StoreError(f"{state['url']}: its password or key is not stored; give the whole URL")
    return _given.get(directory, str(state["url"]))


def read_state(directory: Path) -> dict[str, object] | None:
    """The state of a staging directory; `None` for an ordinary directory.

    Raises:
        StoreError: The state is damaged.
    """
    try:
        state = json.loads((directory / STATE).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{directory / STATE}: cannot be read ({error}); remove {directory} to pull it again"
        ) from error
    if not isinstance(state, dict) or not {"url", "id"} <= state.keys():
        raise StoreError(f"{directory / STATE}: is damaged; remove {directory} to pull it again")
    return state


def write_state(directory: Path, state: dict[str, object]) -> None:
    """Writes the state completely or not at all. Only its owner may read it."""
    write_private(directory / STATE, json.dumps(state, indent=1) + "\n")


def write_private(path: Path, text: str) -> None:
    """Writes a file completely or not at all. Only its owner may read it."""
    temporary = layout.temporary(path.parent)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)
