"""A user's own congestion control or queue, in Python.

Subclass `CongestionControl` or `Queue` and pass the class (or `"module:Class"`) where a name is expected:
`bloatlab.run("deep-buffers", cca=MyControl)`. Parameters come with `configured(MyControl, gain=2)`.

Each call crosses from Rust to Python under the GIL, which costs 0.25 to 0.5 us in addition to the method itself. So
runs with plugins are slower (one call of `on_ack` per ACK, or of `enqueue` and `dequeue` per packet), and do not run in
parallel. The source of the class is part of the identity of a run, so an edited class is run again. `bloatlab.loading`
says who may name a class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


class Window(Protocol):
    """What a congestion control sets, by assigning to the attributes."""

    cwnd: int
    """Congestion window, bytes; at least one MSS."""
    ssthresh: int
    """Slow-start threshold, bytes."""
    mss: int
    """Maximum segment size, bytes of payload (assigning has no effect)."""
    pacing: int
    """Pacing rate, bytes per second; 0: not paced."""
    quantum: int
    """Bytes that pacing may release in one burst. Below two segments, every segment waits for its own time."""


class RateSample(Protocol):
    """A delivery-rate sample; `interval` 0 means that there is none."""

    delivered: int
    """Bytes delivered over the interval."""
    interval: int
    """The longer of the send and the ACK interval, ns."""
    prior_delivered: int
    """The connection's `delivered` when the newest packet of this sample was sent."""
    app_limited: bool
    """The sender had nothing to send at some time in the interval."""


class Ack(Protocol):
    """What one ACK reported to the sender. Times are in ns, amounts in bytes."""

    now: int
    acked: int
    """Newly acknowledged in sequence."""
    delivered_now: int
    """Newly delivered: acknowledged in sequence or by SACK, each byte counted once."""
    delivered: int
    """Delivered since the connection began."""
    lost_now: int
    """Newly marked lost."""
    lost: int
    """Lost since the connection began."""
    rtt: int
    """RTT sample of this ACK; 0 if there is none."""
    one_way: int
    """One-way delay from sender to receiver, from the timestamps. Includes the delay of a delayed ACK. 0 if there is
    none."""
    srtt: int
    """Smoothed RTT."""
    min_rtt: int
    """Smallest RTT so far."""
    prior_in_flight: int
    """In flight before this ACK was processed."""
    in_flight: int
    """In flight after this ACK was processed."""
    una: int
    """Stream offset up to which everything is acknowledged."""
    next: int
    """Stream offset of the next new byte."""
    cwnd_limited: bool
    """The window limited the sender in the last round trip."""
    in_recovery: bool
    """The sender is in loss recovery."""
    disordered: bool
    """Data beyond a hole is acknowledged and no loss is being repaired: segments may have overtaken others."""
    ecn_echo: bool
    """The ACK reported a mark: an ECN echo, or AccECN counters that increased."""
    marked_now: int
    """Delivered by this ACK and marked. With a plain echo, all that the ACK delivers."""
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
        """Sets congestion experienced. Returns false if the packet is not ECN-capable."""

    def drop(self) -> None:
        """Drops the packet. Do not use it afterwards."""


class CongestionControl:
    """Base of a user's congestion control. `__init__` gets the parameters of `configured` as keyword arguments."""

    def on_start(self, window: Window, now: int) -> None:
        """The connection is established; `window` holds the initial window. `now` in ns."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        """An ACK delivered data outside recovery."""
        raise NotImplementedError(f"{type(self).__name__} has no on_ack")

    def on_congestion(self, window: Window, signal: str, ack: Ack) -> None:
        """Congestion was signalled (`loss`, `ecn` or `timeout`), at most once per round trip.

        Set `window.ssthresh`, not `cwnd`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no on_congestion")

    def on_recovered(self, window: Window, ack: Ack) -> None:
        """Recovery has ended; `cwnd` already equals `ssthresh`."""

    def on_undo(self, window: Window, ack: Ack) -> None:
        """The last reduction was unnecessary: `cwnd` and `ssthresh` are at least what they were before it."""

    def on_timeout(self, window: Window, now: int) -> None:
        """The retransmission timer fired; `cwnd` is one MSS."""


class Queue:
    """Base of a user's queue. Keep every accepted packet until `dequeue` returns it or `packet.drop()` drops it."""

    def enqueue(self, packet: Packet, now: int) -> bool:
        """Enqueues a packet. Returns false to drop it. `now` is in ns."""
        raise NotImplementedError(f"{type(self).__name__} has no enqueue")

    def dequeue(self, now: int) -> Packet | None:
        """Returns the next packet to send, or `None` if there is none."""
        raise NotImplementedError(f"{type(self).__name__} has no dequeue")


@dataclass(frozen=True)
class Configured:
    """A plugin class with its parameters."""

    plugin: type
    parameters: dict[str, Any] = field(default_factory=dict)


def configured(plugin: type, **parameters: Any) -> Configured:
    """Returns a plugin class with parameters (JSON values), which its `__init__` gets as keyword arguments."""
    return Configured(plugin, parameters)
