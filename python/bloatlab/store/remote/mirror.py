"""Mirrors a staging directory and its URL: uploads finished runs, and downloads what a reader needs.

The URL holds an ordinary results directory. Parts are immutable and are uploaded once. Then a snapshot of the database,
which only names uploaded parts, replaces the previous one completely. Then parts that it does not name are removed. So
a reader sees one state or the next, at whatever point a driver dies.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bloatlab.errors import StoreError
from bloatlab.store import layout
from bloatlab.store.database import clear_errors, version_of
from bloatlab.store.layout import DATABASE, FILES, MARKER, PARTS, TEMPORARY
from bloatlab.store.lock import WriteLock
from bloatlab.store.parts import mark
from bloatlab.store.remote.lease import LOCK, Lease
from bloatlab.store.remote.location import read_state, url_of, write_private, write_state
from bloatlab.store.remote.objects import Objects
from bloatlab.store.tables import VERSION

PUSH_EVERY = 30.0
"""Seconds between two pushes while runs are made."""
WAIT_S = 20.0
"""Seconds that a reader waits for another reader that pulls the same results."""
PUBLISHED = ".published.json"
"""File in a staging directory: size and time of each additional file when it was last uploaded."""
_log = logging.getLogger("bloatlab")


class Mirror:
    """One staging directory with its URL."""

    def __init__(self, directory: Path, state: dict[str, Any]) -> None:
        """Made by `at`."""
        self.directory = directory
        self._state = state
        self._objects = Objects(url_of(directory, state))
        self.url = self._objects.url
        """The URL without its secrets."""
        self._lease = Lease(self._objects, str(state["id"]))
        self._up: dict[str, int] = {}
        self._pushing = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def at(cls, directory: Path) -> Mirror | None:
        """The mirror whose staging directory this is, if it is one.

        Raises:
            StoreError: What the URL needs is not installed.
        """
        state = read_state(directory)
        return None if state is None else cls(directory, dict(state))

    # Reading

    def pull(self) -> None:
        """Updates the database, unless another process of this machine writes or pulls at the moment.

        Raises:
            StoreError: The URL cannot be read.
        """
        end = time.monotonic() + WAIT_S
        while True:
            try:
                lock = WriteLock(self.directory)
            except StoreError:
                # The writer's own copy is never older than what it has pushed.
                if (self.directory / DATABASE).exists() or time.monotonic() > end:
                    self._reload()
                    return
                time.sleep(0.1)
                continue
            try:
                self._reload()
                self._refresh()
            finally:
                lock.release()
            return

    def fetch(self, parts: Iterable[str]) -> None:
        """Downloads the missing parts, each completely.

        Raises:
            FileNotFoundError: A part is gone or incomplete, because there is a newer state, which may not need it.
            StoreError: The URL cannot be read.
        """
        local = self.directory / PARTS
        missing = [part for part in parts if not (local / part).is_dir()]
        if not missing:
            return
        found = self._objects.find(PARTS)
        for part in missing:
            names = [name for name in found if _part_of(name) == part]
            if not names:
                raise FileNotFoundError(f"{self.url}/{PARTS}/{part}")
            local.mkdir(exist_ok=True)
            temporary = layout.temporary(local)
            temporary.mkdir()
            try:
                mark(temporary)
                self._objects.get(names, [temporary / name.rpartition("/")[2] for name in names])
                # Parts are only removed after another database was uploaded.
                if self._objects.token(DATABASE) != self._state.get("token"):
                    raise FileNotFoundError(f"{self.url}/{PARTS}/{part}")
                # Another process may have fetched it meanwhile.
                with contextlib.suppress(OSError):
                    temporary.rename(layout.part_path(local, part))
            finally:
                layout.remove_part(temporary)

    def fetch_files(self) -> None:
        """Downloads the missing additional files of runs."""
        found = [name.split("/") for name in self._objects.find(FILES) if TEMPORARY not in name]
        paths = {"/".join(way): layout.file_path(self.directory, way[1]) for way in found if len(way) == 2}
        missing = {name: path for name, path in paths.items() if not path.exists()}
        if missing:
            self._objects.get(list(missing), list(missing.values()))

    def _refresh(self) -> None:
        """Takes over the database at the URL if it is new. The caller must hold the lock of the directory."""
        token = self._objects.token(DATABASE)
        database = self.directory / DATABASE
        if token is None:
            if self._state.get("token") is not None:
                self._set_aside("what was at the URL is gone")
                self._note(token=None, digest=None, dirty=False)
            return
        if token == self._state.get("token") and database.exists():
            return
        temporary = layout.temporary(self.directory)
        try:
            try:
                self._objects.get([DATABASE], [temporary])
            except FileNotFoundError as error:
                raise StoreError(f"{self.url}: was removed while it was read") from error
            digest = _digest(temporary)
            known = (self._state.get("digest"), self._state.get("pushing"))
            if digest in known and database.exists():
                # This directory pushed it itself, but its process was killed before it recorded that.
                self._note(token=token, digest=digest)
                return
            if self._state.get("dirty"):
                self._set_aside("another driver has continued at the URL")
            for name in (f"{DATABASE}-wal", f"{DATABASE}-shm"):
                (self.directory / name).unlink(missing_ok=True)
            temporary.replace(database)
            self._note(token=token, digest=digest, dirty=False)
        finally:
            temporary.unlink(missing_ok=True)

    def _set_aside(self, why: str) -> None:
        """Keeps results that were never uploaded, as an ordinary directory next to this one."""
        if not (self.directory / DATABASE).exists():
            return
        aside = self.directory.with_name(f"{self.directory.name}-aside-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
        aside.mkdir()
        for path in self.directory.iterdir():
            if path.name.startswith(DATABASE) or path.name == PARTS:
                path.rename(aside / path.name)
        (self.directory / PUBLISHED).unlink(missing_ok=True)
        _log.warning("%s: %s; results of this machine that were not pushed are kept in %s", self.url, why, aside)

    # Writing

    def begin(self) -> None:
        """Locks the URL for this process and updates the directory. The caller must hold the lock of the directory.

        Raises:
            StoreError: Another driver writes there, or the URL cannot be read or written.
        """
        self._reload()
        self._lease.acquire()
        try:
            self._refresh()
            self._refuse_other()
            self._up = {name: size for name, size in self._objects.find(PARTS).items() if _part_of(name) is not None}
            if self._is_older():
                # The conversion adds files to every part.
                self.fetch({part for name in self._up if (part := _part_of(name)) is not None})
            self._note(dirty=True)
        except BaseException:
            self._lease.release()
            raise

    def _refuse_other(self) -> None:
        """Refuses a URL that holds files but no store."""
        if self._objects.token(DATABASE) is not None:
            return
        other = [name for name in self._objects.find("") if not _is_ours(name)]
        if other:
            raise StoreError(f"{self.url}: is neither empty nor a results directory; choose another --out")

    def _is_older(self) -> bool:
        database = self.directory / DATABASE
        if not database.exists():
            return False
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True)) as connection:
            return version_of(connection) < VERSION

    def start(self, failed: Callable[[StoreError], None]) -> None:
        """Starts to push at intervals. Calls `failed` if another process takes the URL over."""

        def work() -> None:
            while not self._stop.wait(PUSH_EVERY):
                try:
                    self._lease.renew()
                except StoreError as error:
                    failed(error)
                    return
                try:
                    self.push()
                except StoreError as error:
                    _log.warning("%s (tried again in %g s; what is finished is kept here)", error, PUSH_EVERY)

        self._thread = threading.Thread(target=work, name="bloatlab-push", daemon=True)
        self._thread.start()

    def push(self) -> None:
        """Updates the URL.

        Raises:
            StoreError: It cannot be written, or another driver has taken it.
        """
        snapshot = layout.temporary(self.directory)
        with self._pushing:
            try:
                self._push(snapshot)
            finally:
                snapshot.unlink(missing_ok=True)

    def _push(self, snapshot: Path) -> None:
        named = _snapshot(self.directory, snapshot)
        digest = _digest(snapshot)
        if digest != self._state.get("digest"):
            for part in sorted(named):
                self._push_part(part)
            # Recorded before the upload, so that a directory whose driver dies here recognizes its own snapshot.
            self._note(pushing=digest)
            self._lease.renew(now=True)
            self._objects.put(snapshot, DATABASE)
            self._note(token=self._objects.token(DATABASE), digest=digest, pushing=None)
        unnamed = [name for name in self._up if _part_of(name) not in named]
        # Only parts with the mark of bloatlab are removed. The mark is removed last.
        marked = {_part_of(name) for name in unnamed if _is_mark(name)}
        self._objects.remove(sorted((name for name in unnamed if _part_of(name) in marked), key=_is_mark))
        for unneeded in marked:
            self._objects.prune(f"{PARTS}/{unneeded}")
        self._up = {name: size for name, size in self._up.items() if name not in set(unnamed)}

    def _push_part(self, part: str) -> None:
        directory = self.directory / PARTS / part
        if not directory.is_dir() and any(name.split("/")[1] == part for name in self._up):
            # It was pushed from another machine, and was not needed here.
            return
        if not directory.is_dir():
            raise StoreError(f"{directory}: a part of the store is missing")
        for path in sorted(directory.iterdir()):
            name, size = f"{PARTS}/{part}/{path.name}", path.stat().st_size
            if self._up.get(name) != size:
                self._lease.renew()
                self._objects.put(path, name)
                self._up[name] = size

    def publish(self) -> None:
        """Uploads changed files outside the database and the parts: report pages, files of runs, exports."""
        notes = self.directory / PUBLISHED
        published: dict[str, list[int]] = json.loads(notes.read_bytes()) if notes.exists() else {}
        for path in sorted(self.directory.rglob("*")):
            name = path.relative_to(self.directory).as_posix()
            top = name.split("/")[0]
            if path.is_symlink() or not path.is_file() or top == PARTS or top.startswith((DATABASE, ".")):
                continue
            about = path.stat()
            stamp = [about.st_size, about.st_mtime_ns]
            if published.get(name) != stamp:
                self._objects.put(path, name)
                published[name] = stamp
        write_private(notes, json.dumps(published))

    def stop(self) -> None:
        """Stops pushing at intervals. Necessary before parts are merged, because a push may be reading them."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def finish(self, complete: bool) -> None:
        """Pushes the rest, if the store is `complete`, and releases the URL. The database must be closed before.

        Raises:
            StoreError: The rest cannot be pushed. It is kept here, and the same command pushes it.
        """
        self.stop()
        try:
            if complete:
                try:
                    self.push()
                    self.publish()
                except StoreError as error:
                    raise StoreError(f"{error}; all is kept in {self.directory}, the same command pushes it") from error
                self._note(dirty=False)
        finally:
            self._lease.release()

    # What both know

    def _reload(self) -> None:
        """Reads the state again: another process may have pulled or pushed since."""
        self._state = dict(read_state(self.directory) or self._state)

    def _note(self, **values: Any) -> None:
        self._state |= values
        write_state(self.directory, self._state)


def _snapshot(directory: Path, target: Path) -> set[str]:
    """Copies a consistent state of the database, which may be written meanwhile.

    Returns the parts that the copy names.
    """
    target.unlink(missing_ok=True)
    uri = f"file:{quote(str(directory / DATABASE))}?mode=ro"
    with (
        clear_errors(directory),
        contextlib.closing(sqlite3.connect(uri, uri=True, timeout=10)) as source,
        contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        source.backup(copy)
        # A single file, which can be opened where no other file can be written.
        copy.execute("PRAGMA journal_mode = DELETE")
        return {part for (part,) in copy.execute("SELECT part FROM parts")}


def _part_of(name: str) -> str | None:
    """The part that a file at a URL belongs to, if its name is valid: `parts/PART/FILE`."""
    way = name.split("/")
    if len(way) != 3 or way[0] != PARTS or not layout.is_part(way[1]) or not layout.is_in_part(way[2]):
        return None
    return way[1]


def _is_mark(name: str) -> bool:
    return name.endswith(f"/{MARKER}")


def _is_ours(name: str) -> bool:
    """Whether a file at a URL without a database may be a leftover of a killed driver."""
    return _part_of(name) is not None or name == LOCK or TEMPORARY in name


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
