"""One driver at a time on a URL: a lock object that expires unless its holder renews it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import time
from datetime import UTC, datetime
from typing import Any

from bloatlab.errors import StoreError
from bloatlab.store.remote.objects import Objects

LOCK = ".lock"
LEASE_S = 120.0
"""Seconds after which a lock that was not renewed counts no more."""
RENEW_S = 20.0
"""Seconds after which the holder renews it at the next occasion."""


class Lease:
    """The lock of a URL, from `acquire` to `release`."""

    def __init__(self, objects: Objects, owner: str) -> None:
        """`owner` is the staging directory: who holds its lock of this machine is the heir of whoever held it before."""
        self._objects = objects
        self._owner = owner
        self._holder = secrets.token_hex(8)
        self._since = _now()
        self._renewed = 0.0

    def acquire(self) -> None:
        """Takes the lock; call it holding the staging directory's.

        Raises:
            StoreError: Another driver holds it; the text says who and until when.
        """
        if not self._objects.create(LOCK, self._body()):
            found = self._read()
            if found is not None and found.get("owner") != self._owner and float(found.get("expires", 0)) > time.time():
                raise self._held(found)
            self._objects.write(LOCK, self._body())
            # Two that found it expired at once: the later wrote over the earlier.
            found = self._read() or {}
            if found.get("holder") != self._holder:
                raise self._held(found)
        self._renewed = time.monotonic()

    def renew(self, *, now: bool = False) -> None:
        """Renews it if it is time, or `now`.

        Raises:
            StoreError: Somebody else took it, as this process did not renew it for long.
        """
        if not now and time.monotonic() - self._renewed < RENEW_S:
            return
        found = self._read()
        if found is None or found.get("holder") != self._holder:
            raise StoreError(
                f"{self._objects.url}: another driver has taken it over, as this one did not renew its lock within "
                f"{LEASE_S:g} s; nothing more is written there"
            )
        self._objects.write(LOCK, self._body())
        self._renewed = time.monotonic()

    def release(self) -> None:
        """Gives it up, if it is still ours; an object that cannot be removed expires."""
        with contextlib.suppress(StoreError):
            if (self._read() or {}).get("holder") == self._holder:
                self._objects.remove([LOCK])

    def _read(self) -> dict[str, Any] | None:
        data = self._objects.read(LOCK)
        try:
            found = json.loads(data) if data else None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def _body(self) -> bytes:
        expires = time.time() + LEASE_S
        body = {
            "owner": self._owner, "holder": self._holder, "host": socket.gethostname(), "pid": os.getpid(),
            "since": self._since, "expires": expires, "until": _text(expires),
        }  # fmt: skip
        return json.dumps(body).encode()

    def _held(self, found: dict[str, Any]) -> StoreError:
        who = f"process {found.get('pid', '?')} on {found.get('host', 'another machine')}"
        until = found.get("until", "?")
        return StoreError(
            f"{self._objects.url}: {who} writes here (its lock holds until {until}, and longer while it runs); "
            "wait for it or choose another --out"
        )


def _now() -> str:
    return _text(time.time())


def _text(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds")
