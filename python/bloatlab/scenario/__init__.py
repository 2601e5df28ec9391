"""Builds scenario documents: plain dictionaries in the shape that `bloatlab schema` prints.

Quantities are strings with their unit: `"16Mbit/s"`, `"15ms"`, `"80p"`, `"4MB"`. Only what is given is written; the engine fills
in the defaults and refuses unknown keys with their path. `bloatlab.scenario.models` has the same as pydantic models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bloatlab.plugins import Configured

Document = dict[str, Any]
Algorithm = str | type | Configured | Mapping[str, Any]
"""A queue or congestion control: its name, a table with `kind` and parameters, or a user's class."""


def _given(**values: Any) -> Document:
    return {name: value for name, value in values.items() if value is not None}


def document(
    network: Mapping[str, Any],
    flows: Iterable[Mapping[str, Any]],
    *,
    duration: str,
    name: str | None = None,
    sample_interval: str | None = None,
    warmup: str | None = None,
) -> Document:
    """A whole scenario.

    Args:
        network: What `dumbbell`, `parking_lot` or `boxes` returned.
        flows: What `flow` returned, once per flow or group of flows.
        duration: Length of the run, such as `"15s"`.
        name: Name of the scenario.
        sample_interval: Time between two samples of a series (`"100ms"`).
        warmup: Metrics count from here on (`"0s"`).
    """
    head = _given(name=name, duration=duration, sample_interval=sample_interval, warmup=warmup)
    return head | dict(network) | {"flows": [dict(one) for one in flows]}


def dumbbell(
    rate: str,
    rtt: str,
    *,
    queue: Algorithm | None = None,
    loss: float | None = None,
    reverse_rate: str | None = None,
    reverse_queue: Algorithm | None = None,
    reverse_loss: float | None = None,
    access_rate: str | None = None,
    device_packets: int | None = None,
    overhead: int | None = None,
    header: int | None = None,
) -> Document:
    """One bottleneck that every flow crosses.

    Args:
        rate: Rate of the bottleneck.
        rtt: Propagation both ways, half of it in each direction.
        queue: Queue discipline of the bottleneck.
        loss: Probability that a packet is lost behind the bottleneck.
        reverse_rate: Rate of the way back; absent: a pure delay.
        reverse_queue: Queue discipline of the way back.
        reverse_loss: Probability that a packet is lost on the way back.
        access_rate: Rate of a private link between each sender and the network.
        device_packets: Packets the device holds behind the queue besides the one being sent.
        overhead: Bytes per packet that the link layer adds on the wire.
        header: Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14).
    """
    return {
        "dumbbell": _given(
            rate=rate, rtt=rtt, queue=queue, loss=loss, reverse_rate=reverse_rate, reverse_queue=reverse_queue,
            reverse_loss=reverse_loss, access_rate=access_rate, device_packets=device_packets, overhead=overhead,
            header=header,
        )
    }  # fmt: skip


def parking_lot(
    hops: int,
    rate: str,
    hop_delay: str,
    *,
    queue: Algorithm | None = None,
    reverse_rate: str | None = None,
    device_packets: int | None = None,
    overhead: int | None = None,
    header: int | None = None,
) -> Document:
    """Bottlenecks in a row.

    Args:
        hops: Number of bottlenecks.
        rate: Rate of each.
        hop_delay: Propagation over one hop, one way.
        queue: Queue discipline of each.
        reverse_rate: Rate of each hop on the way back; absent: a pure delay.
        device_packets: Packets a device holds behind the queue besides the one being sent.
        overhead: Bytes per packet that the link layer adds on the wire.
        header: Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14).
    """
    return {
        "parking_lot": _given(
            hops=hops, rate=rate, hop_delay=hop_delay, queue=queue, reverse_rate=reverse_rate,
            device_packets=device_packets, overhead=overhead,
            header=header,
        )
    }  # fmt: skip


def boxes(*specifications: Mapping[str, Any]) -> Document:
    """Any network: tables with `kind` (`link`, `delay`, `loss`) and a unique `name`, which the flows list as their paths."""
    return {"boxes": [dict(one) for one in specifications]}


def flow(
    *,
    name: str | None = None,
    count: int | None = None,
    start: str | None = None,
    stop: str | None = None,
    start_interval: str | None = None,
    start_jitter: str | None = None,
    rtt: str | None = None,
    direction: str | None = None,
    hops: tuple[int, int] | None = None,
    ue: int | None = None,
    qfi: int | None = None,
    path: list[str] | None = None,
    return_path: list[str] | None = None,
    source: str | None = None,
    destination: str | None = None,
    dscp: str | int | None = None,
    cca: Algorithm | None = None,
    traffic: str | Mapping[str, Any] | None = None,
    **tcp: Any,
) -> Document:
    """A flow, or `count` alike.

    Args:
        name: Name; with `count` above 1, `NAME_1`, `NAME_2` and so on.
        count: How many alike.
        start: When the first starts.
        stop: When the application stops; absent: at the end.
        start_interval: Each starts this much later than the one before.
        start_jitter: The start is put off by a random time below this.
        rtt: Its own two-way propagation.
        direction: `"forward"` or `"reverse"`.
        hops: First and last hop crossed in a parking lot, from 1.
        ue: The UE of a cell that it belongs to, from 1.
        qfi: Identifier of its QoS flow in a cell, 0 to 63, which says its bearer.
        path: Names of boxes from sender to receiver.
        return_path: Names of boxes from receiver to sender.
        source: Name of the sending host, for queues that share between hosts; absent: its own.
        destination: Name of the receiving host.
        dscp: Differentiated services code point: a name such as `"EF"`, or 0 to 63.
        cca: Congestion control.
        traffic: `"greedy"`, `"ping"` or a table with `kind`.
        **tcp: Settings of the connection: `mss`, `ack_every`, `delayed_ack`, `initial_window`, `send_buffer`,
            `receive_buffer`, `ecn`, `min_rto`, `loss_detection`, `recovery`, `pacing` and so on.
    """
    built = _given(
        name=name, count=count, start=start, stop=stop, start_interval=start_interval, start_jitter=start_jitter,
        rtt=rtt, direction=direction, hops=list(hops) if hops else None, ue=ue, qfi=qfi, path=path,
        return_path=return_path, source=source, destination=destination, dscp=dscp, cca=cca, traffic=traffic,
    )  # fmt: skip
    settings = _given(**tcp)
    return built | ({"tcp": settings} if settings else {})
