"""A user's own congestion control or queue, in Python.

Subclass `CongestionControl` or `Queue` and pass the class (or `"module:Class"`) where a name is expected:
`bloatlab.run("deep-buffers", cca=MyControl)`. Parameters come with `configured(MyControl, gain=2)`.

Every call crosses from Rust to Python under the GIL and costs a quarter to half a microsecond plus what the method does. So runs
with plugins are slower by their calls (one `on_ack` per ACK; one `enqueue` and one `dequeue` per packet) and do not run in
parallel. The source of the class is part of the run's identity: an edited class runs again. `bloatlab.loading` says who may name
a class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


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
