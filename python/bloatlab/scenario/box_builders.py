"""Builders of boxes, from which any network can be made."""

from __future__ import annotations

from collections.abc import Mapping

from bloatlab.scenario.tables import Algorithm, Document, Table, given


def boxes(*specifications: Table) -> Document:
    """Any network of boxes, made by `link`, `delay`, `loss`, `corrupt` and `duplicate`; flows name them in their paths."""
    return {"boxes": [dict(one) for one in specifications]}


def link(
    name: str,
    rate: str,
    *,
    delay: str | None = None,
    queue: Algorithm | None = None,
    vary: Mapping[str, Table] | None = None,
    shaper: bool | None = None,
    device_packets: int | None = None,
    overhead: int | None = None,
    header: int | None = None,
    host: str | None = None,
) -> Document:
    """A box with a queue, the transmitter behind it, and the propagation after that.

    Args:
        name: Unique name.
        rate: Rate of the transmitter.
        delay: Propagation delay, one way.
        queue: Queue discipline.
        vary: What changes over time: tables with `kind` under `rate` and `delay`.
        shaper: Whether the rate is that of a shaper on a faster line: an offload buffer leaves whole, at the start of its time.
        device_packets: Packets that the device holds behind the queue, besides the one being sent.
        overhead: Bytes per packet that the link layer adds on the wire.
        header: Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14).
        host: `"device"` or `"netem"` if the link is the network device of the hosts whose paths begin with it.
    """
    return given(
        kind="link", name=name, rate=rate, delay=delay, queue=queue, vary=vary, shaper=shaper,
        device_packets=device_packets, overhead=overhead, header=header, host=host,
    )  # fmt: skip


def delay(name: str, delay: str, *, jitter: Table | None = None, vary: Table | None = None) -> Document:
    """A box that holds every packet for a time.

    Args:
        name: Unique name.
        delay: The time, such as `"20ms"`.
        jitter: How the time differs per packet: a table with `size`, `distribution` and `reorder`.
        vary: How the time changes: a table with `kind`.
    """
    return given(kind="delay", name=name, delay=delay, jitter=jitter, vary=vary)


def loss(
    name: str,
    probability: float | None = None,
    *,
    spacing: str | None = None,
    gilbert_elliott: Table | None = None,
    vary: Table | None = None,
) -> Document:
    """A box that loses packets.

    Args:
        name: Unique name.
        probability: Probability that a packet is lost, below 1.
        spacing: `"random"`, or `"even"`: one packet in every 1 / `probability` is lost.
        gilbert_elliott: Losses in bursts instead: a table with the probabilities `p`, `r`, `h` and `k`.
        vary: How the probability changes: a table with `kind`.
    """
    return given(
        kind="loss", name=name, probability=probability, spacing=spacing, gilbert_elliott=gilbert_elliott, vary=vary
    )


def corrupt(name: str, probability: float, *, vary: Table | None = None) -> Document:
    """A box that damages packets; their receiver discards them by the checksum.

    Args:
        name: Unique name.
        probability: Probability that a packet is damaged, below 1.
        vary: How the probability changes: a table with `kind`.
    """
    return given(kind="corrupt", name=name, probability=probability, vary=vary)


def duplicate(name: str, probability: float, *, vary: Table | None = None) -> Document:
    """A box that lets packets through twice.

    Args:
        name: Unique name.
        probability: Probability that a packet comes twice, 0 to 1.
        vary: How the probability changes: a table with `kind`.
    """
    return given(kind="duplicate", name=name, probability=probability, vary=vary)


def outage(name: str, first: str, length: str, *, interval: str | None = None) -> Document:
    """A box that drops every packet during an outage.

    Args:
        name: Unique name.
        first: When the first outage begins, such as `"10s"`.
        length: How long an outage lasts, such as `"500ms"`.
        interval: Time from the beginning of one outage to the beginning of the next; absent: there is one outage.
    """
    return given(kind="outage", name=name, first=first, length=length, interval=interval)
