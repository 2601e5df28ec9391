"""Connects to a dask cluster, with TLS if the scheduler uses it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client, Security

CONNECT_S = 10
"""Seconds in which a scheduler must answer, and in which a lost one may come back."""
_NEEDED = {"tls_ca_file": "ca-file", "tls_client_cert": "client.cert"}
"""The files that TLS needs, and their keys below `distributed.comm.tls` in dask's configuration. The key may be in the
certificate's file."""


def connect(scheduler: str) -> Client:
    """A client of the scheduler at an address, or of the one that a scheduler file (`file:PATH`) names.

    Certificates of a `tls://` scheduler are those of dask's configuration.

    Raises:
        ClusterError: Nothing answers at the address, the answer is not from a scheduler, or certificates are missing.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(f"a cluster needs {error.name}: pip install 'bloatlab[cluster]'") from error
    # Its log would repeat on many lines what the error says on one.
    for name in ("distributed", "distributed.client", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    address = _address(scheduler)
    security = _security(scheduler) if address.startswith("tls://") else None
    try:
        return Client(address, security=security, timeout=CONNECT_S, set_as_default=False)
    except Exception as error:
        raise ClusterError(f"scheduler {scheduler}: {said(error)}") from error


def _address(scheduler: str) -> str:
    """The address itself, or the address in the scheduler file."""
    if not scheduler.startswith("file:"):
        if "://" not in scheduler:
            raise ClusterError(
                f"scheduler `{scheduler}`: must be such as tcp://host:8786, tls://host:8786 or file:PATH"
            )
        return scheduler
    path = Path(scheduler.removeprefix("file://").removeprefix("file:"))
    if not path.is_file():
        raise ClusterError(f"scheduler {scheduler}: there is no such file (dask scheduler --scheduler-file PATH)")
    try:
        address = json.loads(path.read_bytes())["address"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterError(f"scheduler {scheduler}: is no scheduler file, it has no `address`") from error
    return str(address)


def _security(scheduler: str) -> Security:
    """TLS as configured in dask. Refuses a connection that is not encrypted."""
    from distributed import Security

    security = Security(require_encryption=True)
    missing = [f"distributed.comm.tls.{key}" for name, key in _NEEDED.items() if getattr(security, name) is None]
    if missing:
        raise ClusterError(
            f"scheduler {scheduler}: TLS needs certificates, and dask's configuration has no {' and no '.join(missing)} "
            "(docs/security.md says how to set them)"
        )
    return security


def said(error: BaseException | None) -> str:
    """The text of an error on one line."""
    return " ".join(str(error).split()) or type(error).__name__
