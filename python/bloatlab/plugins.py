"""A user's own congestion control or queue, in Python.

Subclass `CongestionControl` or `Queue` and pass the class (or `"module:Class"`) where a name is expected:
`bloatlab.run("deep-buffers", cca=MyControl)`. Parameters come with `configured(MyControl, gain=2)`.

Every call crosses from Rust to Python under the GIL and costs a quarter to half a microsecond plus what the method does, so runs
with plugins are slower by their calls (an `on_ack` an ACK; an `enqueue` and a `dequeue` a packet) and do not run in parallel.
The source of the class is part of the run's identity: an edited class runs again.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bloatlab.errors import ParameterError

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")
_KEYS = ("cca", "congestion_control", "queue", "reverse_queue")


class Window(Protocol):
    """What a congestion control steers; assign to its attributes."""

    cwnd: int
    """Congestion window, bytes; at least one MSS."""
    ssthresh: int
    """Slow-start threshold, bytes."""
    mss: int
    """Maximum segment size, bytes of payload (assigning has no effect)."""
    pacing: int
    """Pacing rate, bytes per second; 0: not paced."""
    quantum: int
    """Bytes that pacing may let go together; below two segments each waits for its own time."""


class RateSample(Protocol):
    """A delivery-rate sample; `interval` 0 means that there is none."""

    delivered: int
    """Bytes delivered over the interval."""
    interval: int
    """The longer of the send and the ACK interval, ns."""
    prior_delivered: int
    """The connection's `delivered` when the newest packet of this sample was sent."""
    app_limited: bool
    """The sender had nothing to send at some point of the interval."""


class Ack(Protocol):
    """What one ACK told the sender. Times in ns, amounts in bytes."""

    now: int
    acked: int
    """Newly acknowledged in sequence."""
    delivered_now: int
    """Newly delivered, in sequence or by SACK, each byte once."""
    delivered: int
    """Delivered since the connection began."""
    lost_now: int
    """Newly marked lost."""
    lost: int
    """Lost since the connection began."""
    rtt: int
    """RTT sample of this ACK; 0: none."""
    one_way: int
    """Delay from sender to receiver by the timestamps, a delayed ACK's wait included; 0: none."""
    srtt: int
    """Smoothed RTT."""
    min_rtt: int
    """Smallest RTT so far."""
    prior_in_flight: int
    """In flight before this ACK."""
    in_flight: int
    """In flight after it."""
    una: int
    """Stream offset up to which everything is acknowledged."""
    next: int
    """Stream offset of the next new byte."""
    cwnd_limited: bool
    """The window limited the sender in the last round trip."""
    in_recovery: bool
    """The sender is in loss recovery."""
    ecn_echo: bool
    """The ACK told of a mark: an ECN echo, or AccECN's counters went up."""
    marked_now: int
    """Delivered by this ACK and marked; all that it delivers, where the echo says no more."""
    rate: RateSample
    """The delivery-rate sample."""


class Packet(Protocol):
    """A packet as a queue sees it."""

    id: int
    """Unique in the run."""
    size: int
    """Bytes on the wire."""
    flow: int
    """Identity of the flow."""
    ecn: int
    """The ECN field: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced."""
    enqueued_at: int
    """When it entered this queue, ns."""

    def mark(self) -> bool:
        """Sets congestion experienced; false when the packet is not ECN-capable."""

    def drop(self) -> None:
        """Discards the packet; forget it afterwards."""


class CongestionControl:
    """Base of a user's congestion control. Parameters given with `configured` arrive as keyword arguments of `__init__`."""

    def on_start(self, window: Window, now: int) -> None:
        """The connection is established; `window` holds the initial window. `now` in ns."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        """An ACK delivered data outside recovery."""
        raise NotImplementedError(f"{type(self).__name__} has no on_ack")

    def on_congestion(self, window: Window, signal: str, ack: Ack) -> None:
        """Congestion (`loss`, `ecn` or `timeout`), at most once a round trip: set `window.ssthresh`, not `cwnd`."""
        raise NotImplementedError(f"{type(self).__name__} has no on_congestion")

    def on_recovered(self, window: Window, ack: Ack) -> None:
        """Recovery is over; `cwnd` already is `ssthresh`."""

    def on_undo(self, window: Window, ack: Ack) -> None:
        """The last reduction was needless: `cwnd` and `ssthresh` are at least what they were before it."""

    def on_timeout(self, window: Window, now: int) -> None:
        """The retransmission timer fired; `cwnd` is one MSS."""


class Queue:
    """Base of a user's queue. Hold every accepted packet until `dequeue` returns it or it is dropped with `packet.drop()`."""

    def enqueue(self, packet: Packet, now: int) -> bool:
        """Takes a packet in; false: it is dropped. `now` in ns."""
        raise NotImplementedError(f"{type(self).__name__} has no enqueue")

    def dequeue(self, now: int) -> Packet | None:
        """The next packet to send, or `None` when there is none."""
        raise NotImplementedError(f"{type(self).__name__} has no dequeue")


@dataclass(frozen=True)
class Configured:
    """A plugin class with its parameters."""

    plugin: type
    parameters: dict[str, Any] = field(default_factory=dict)


def configured(plugin: type, **parameters: Any) -> Configured:
    """A plugin class with parameters (JSON values), which arrive as keyword arguments of its `__init__`."""
    return Configured(plugin, parameters)


@dataclass(frozen=True)
class Factory:
    """Makes instances of a plugin class. Unlike a closure it can be compared, and sent to another process."""

    plugin: type

    def __call__(self, params: dict[str, Any]) -> object:
        """An instance with these parameters."""
        return self.plugin(**params)


Factories = dict[str, Callable[[dict[str, Any]], object]]


def resolve(document: Mapping[str, Any]) -> tuple[dict[str, Any], Factories]:
    """Replaces every class, `Configured` and `"module:Class"` in a scenario by its table, and collects their factories.

    Raises:
        ParameterError: A class cannot be imported, or is neither a congestion control nor a queue.
    """
    factories: Factories = {}
    resolved = _walk(document, "", factories)
    assert isinstance(resolved, dict)
    return resolved, factories


def _walk(value: Any, key: str, factories: Factories) -> Any:
    if isinstance(value, type):
        return _table(value, {}, factories)
    if isinstance(value, Configured):
        return _table(value.plugin, value.parameters, factories)
    if isinstance(value, str) and key in _KEYS and _REFERENCE.match(value):
        return _table(load(value), {}, factories)
    if isinstance(value, Mapping):
        if value.get("kind") == "python" and isinstance(value.get("class"), str):
            return _table(load(value["class"]), value.get("params", {}), factories)
        return {name: _walk(item, name, factories) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item, key, factories) for item in value]
    return value


def _table(plugin: type, parameters: Mapping[str, Any], factories: Factories) -> dict[str, Any]:
    if not issubclass(plugin, CongestionControl | Queue):
        raise ParameterError(
            f"{plugin.__qualname__}: must be a subclass of bloatlab.CongestionControl or bloatlab.Queue"
        )
    reference = f"{plugin.__module__}:{plugin.__qualname__}"
    factories[reference] = Factory(plugin)
    return {"kind": "python", "class": reference, "source": fingerprint(plugin), "params": dict(parameters)}


def load(reference: str) -> type:
    """The class that `module:Class` names; modules of the working directory are found as well."""
    module_name, _, path = reference.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:
        raise ParameterError(f"`{reference}`: cannot be imported ({type(error).__name__}: {error})") from error
    if not isinstance(found, type):
        raise ParameterError(f"`{reference}`: is not a class")
    return found


def fingerprint(plugin: type) -> str:
    """SHA-256 of the class's source: of its whole module, whose helpers it may use, or else of the classes themselves."""
    digest = hashlib.sha256()
    for part in plugin.__mro__:
        if part is object or part.__module__ == __name__:
            continue
        try:
            file = inspect.getsourcefile(part)
            source = Path(file).read_bytes() if file else inspect.getsource(part).encode()
        except (OSError, TypeError):
            # Typed at a prompt: there is no source, but there is its code.
            source = repr([(name, _code(item)) for name, item in sorted(vars(part).items())]).encode()
        digest.update(source)
    return digest.hexdigest()


def _code(item: object) -> tuple[bytes, str] | str:
    code = getattr(item, "__code__", None)
    return (code.co_code, repr([c for c in code.co_consts if not inspect.iscode(c)])) if code else type(item).__name__
