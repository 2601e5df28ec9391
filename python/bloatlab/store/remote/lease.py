"""The lock of a URL, for one driver at a time. It is an object that expires unless its holder renews it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import socket
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bloatlab.errors import StoreError
from bloatlab.store.remote.objects import TEMPORARY, Objects

LOCK = ".lock"
LEASE_S = 120.0
"""Seconds after which a lock expires if its holder does not renew it."""
RENEW_S = 20.0
"""Seconds after which the holder renews the lock at the next occasion."""


class Lease:
    """The lock of a URL, from `acquire` to `release`."""

    def __init__(self, objects: Objects, owner: str) -> None:
        """`owner` is the staging directory. Whoever holds its local lock may replace an earlier holder with the same owner."""
        self._objects = objects
        self._owner = owner
        self._holder = secrets.token_hex(8)
        self._since = _now()
        self._renewed = 0.0

    def acquire(self) -> None:
        """Takes the lock. The caller must hold the lock of the staging directory.

        Raises:
            StoreError: Another driver holds it. The text says which one, and until when.
        """
        if not self._objects.create(LOCK, self._body()):
            found = self._read(LOCK)
            if found.get("owner") != self._owner and _is_in_force(found):
                raise self._held(found)
            self._replace(found)
        self._renewed = time.monotonic()

    def _replace(self, found: Mapping[str, Any]) -> None:
        """Replaces a lock that has expired. Of several drivers that try, only one can create the claim."""
        claim = f"{TEMPORARY}lock-after-{hashlib.sha256(str(found.get('holder')).encode()).hexdigest()[:16]}"
        if not self._objects.create(claim, self._body()):
            claimed = self._read(claim)
            if claimed.get("owner") != self._owner and _is_in_force(claimed):
                raise self._held(claimed)
            # The driver that made the claim died before it had the lock.
            self._objects.write(claim, self._body())
        try:
            # Another driver may have replaced the lock before the claim was made.
            current = self._read(LOCK)
            if current.get("holder") != found.get("holder"):
                raise self._held(current)
            self._objects.write(LOCK, self._body())
        finally:
            self._objects.remove([claim])

    def renew(self, *, now: bool = False) -> None:
        """Renews the lock if it is time, or `now`.

        Raises:
            StoreError: Another driver took it, because this process did not renew it in time.
        """
        if not now and time.monotonic() - self._renewed < RENEW_S:
            return
        if self._read(LOCK).get("holder") != self._holder:
            raise StoreError(
                f"{self._objects.url}: another driver has taken over, because this driver did not renew its lock within "
                f"{LEASE_S:g} s. This driver writes nothing more there. To continue, start the same command again"
            )
        self._objects.write(LOCK, self._body())
        self._renewed = time.monotonic()

    def release(self) -> None:
        """Releases the lock, if this driver still holds it. An object that cannot be removed expires."""
        with contextlib.suppress(StoreError):
            if self._read(LOCK).get("holder") == self._holder:
                self._objects.remove([LOCK])

    def _read(self, name: str) -> dict[str, Any]:
        """What a lock or claim says; empty if there is none, or if it cannot be read."""
        data = self._objects.read(name)
        try:
            found = json.loads(data) if data else None
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _body(self) -> bytes:
        expires = time.time() + LEASE_S
        body = {
            "owner": self._owner, "holder": self._holder, "host": socket.gethostname(), "pid": os.getpid(),
            "since": self._since, "expires": expires, "until": _text(expires),
        }  # fmt: skip
        return json.dumps(body).encode()

    def _held(self, found: Mapping[str, Any]) -> StoreError:
        who = f"process {found.get('pid', '?')} on {found.get('host', 'another machine')}"
        until = found.get("until", "?")
        return StoreError(
            f"{self._objects.url}: {who} writes here (its lock holds until {until}, and longer while it runs); "
            "wait for it or choose another --out"
        )


def _is_in_force(found: Mapping[str, Any]) -> bool:
    try:
        return float(found.get("expires", 0)) > time.time()
    except (TypeError, ValueError):
        return False


def _now() -> str:
    return _text(time.time())


def _text(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds")
