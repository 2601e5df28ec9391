"""Access to files under a URL through fsspec.

Each file is visible completely or not at all, and every error is one line.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bloatlab.errors import StoreError
from bloatlab.store.remote.secrets import has_secrets, scrubbed, without_secrets

WHOLE = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "oss", "memory"})
"""Protocols on which an object appears completely. On others, a file is written under another name and renamed."""
TEMPORARY = ".tmp-"
_CHANGES = (
    "ETag",
    "etag",
    "generation",
    "md5Hash",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "created",
    "size",
)
"""Details that change when a file changes. Each filesystem of fsspec gives some of them."""


class Objects:
    """The files under a URL, by their path within it."""

    def __init__(self, url: str) -> None:
        """Raises `StoreError` if no installed package supports the URL."""
        self._whole_url = url
        self.url = without_secrets(url)
        """What may be shown."""
        try:
            import fsspec
        except ImportError as error:
            raise StoreError(f"{self.url}: needs fsspec: pip install 'bloatlab[cluster]'") from error
        with self._clear():
            self._fs, self._root = fsspec.core.url_to_fs(url)
            self._root = self._root.rstrip("/")
        protocols = self._fs.protocol
        self._whole = bool(WHOLE & set([protocols] if isinstance(protocols, str) else protocols))

    def token(self, name: str) -> str | None:
        """A stamp that changes when the file changes; `None` if there is no file."""
        with self._clear():
            self._fs.invalidate_cache()
            try:
                about = self._fs.info(self._at(name))
            except FileNotFoundError:
                return None
        return json.dumps({key: str(about[key]) for key in _CHANGES if key in about})

    def read(self, name: str) -> bytes | None:
        """The contents of a small file; `None` if there is none."""
        with self._clear():
            self._fs.invalidate_cache()
            try:
                data: bytes = self._fs.cat_file(self._at(name))
            except FileNotFoundError:
                return None
        return data

    def create(self, name: str, data: bytes) -> bool:
        """Creates a small file. Returns false if it exists."""
        with self._clear():
            self._make_parent(name)
            try:
                self._fs.pipe_file(self._at(name), data, mode="create")
            except FileExistsError:
                return False
        return True

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file."""
        with self._clear(), self._landing(name) as path:
            self._fs.pipe_file(path, data)

    def put(self, source: Path, name: str) -> None:
        """Uploads a file. Raises `FileNotFoundError` if the source is gone."""
        if not source.exists():
            raise FileNotFoundError(source)
        with self._clear(), self._landing(name) as path:
            self._fs.put_file(str(source), path)

    def get(self, names: Sequence[str], targets: Sequence[Path]) -> None:
        """Downloads files. Raises `FileNotFoundError` if one is gone."""
        for target in targets:
            target.parent.mkdir(parents=True, exist_ok=True)
        with self._clear(gone=True):
            self._fs.get([self._at(name) for name in names], [str(target) for target in targets])

    def find(self, under: str) -> dict[str, int]:
        """Files below a path within the URL, and their sizes."""
        with self._clear():
            self._fs.invalidate_cache()
            found: dict[str, dict[str, Any]] = self._fs.find(self._at(under), detail=True)
        return {path.removeprefix(self._root).lstrip("/"): int(about["size"] or 0) for path, about in found.items()}

    def remove(self, names: Sequence[str]) -> None:
        """Removes files. A file that is already gone is not an error."""
        for name in names:
            with self._clear(), contextlib.suppress(FileNotFoundError):
                self._fs.rm_file(self._at(name))

    def prune(self, directory: str) -> None:
        """Removes an empty directory, if the filesystem has directories."""
        if not self._whole:
            with contextlib.suppress(Exception):
                self._fs.rmdir(self._at(directory))

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _make_parent(self, name: str) -> None:
        # A bucket is not created implicitly.
        if not self._whole:
            self._fs.makedirs(self._at(name).rpartition("/")[0], exist_ok=True)

    @contextlib.contextmanager
    def _landing(self, name: str) -> Iterator[str]:
        """The path to write to, so that the file appears completely."""
        if self._whole:
            yield self._at(name)
            return
        self._make_parent(name)
        directory, _, base = self._at(name).rpartition("/")
        temporary = f"{directory}/{TEMPORARY}{base}-{secrets.token_hex(4)}"
        yield temporary
        self._fs.mv(temporary, self._at(name))

    @contextlib.contextmanager
    def _clear(self, gone: bool = False) -> Iterator[None]:
        """Turns any error into one line. With `gone`, a missing file is left to the caller."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            if gone and isinstance(error, FileNotFoundError):
                raise
            text = " ".join(str(error).split()) or type(error).__name__
            # The message of a library may contain the URL with its key. Neither the message nor the chain of causes may
            # show it.
            cause = None if has_secrets(self._whole_url) else error
            raise StoreError(f"{self.url}: {scrubbed(text, self._whole_url)}") from cause
