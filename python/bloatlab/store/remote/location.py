"""Where a store is: a directory, or a URL with a staging directory on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path

from bloatlab.errors import StoreError

STATE = ".mirror.json"
"""In a staging directory: which URL it mirrors, and how far the two agree."""

Place = Path | str
"""A directory, or a URL as `s3://bucket/path`."""


def is_url(place: Place) -> bool:
    """Whether it is a URL and no path."""
    return isinstance(place, str) and "://" in place


def place(text: str) -> Place:
    """What a text names: a URL as it is, else a path."""
    return text if is_url(text) else Path(text)


def cache() -> Path:
    """Where staging directories are: `BLOATLAB_CACHE`, or `bloatlab` in the user's cache."""
    if given := os.environ.get("BLOATLAB_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bloatlab"


def staging(url: str) -> Path:
    """The staging directory of a URL, by its hash."""
    return cache() / "stores" / hashlib.sha256(normal(url).encode()).hexdigest()[:16]


def normal(url: str) -> str:
    """The URL without slashes at its end."""
    return url.rstrip("/")


def local(place: Place) -> Path:
    """The directory of this machine: the place itself, or the staging directory of a URL, made if there is none.

    Raises:
        StoreError: The cache cannot be written.
    """
    if not is_url(place):
        return Path(place)
    directory = staging(str(place))
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not (directory / STATE).exists():
            write_state(directory, {"url": normal(str(place)), "id": secrets.token_hex(8)})
    except OSError as error:
        raise StoreError(
            f"{directory}: {error.strerror or error} (BLOATLAB_CACHE says where results are staged)"
        ) from error
    return directory


def shown(directory: Place) -> str:
    """What a user calls it: the URL of a staging directory, else the path."""
    state = read_state(Path(directory)) if not is_url(directory) else None
    return str(state["url"]) if state else str(directory)


def read_state(directory: Path) -> dict[str, object] | None:
    """What a staging directory knows of its URL; `None`: it is an ordinary directory.

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
    assert isinstance(state, dict)
    return state


def write_state(directory: Path, state: dict[str, object]) -> None:
    """Writes it whole or not at all."""
    temporary = directory / f"{STATE}.{os.getpid()}"
    temporary.write_text(json.dumps(state, indent=1) + "\n")
    temporary.replace(directory / STATE)
