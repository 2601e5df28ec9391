"""Builders of scenario documents: functions that return plain dictionaries in the shape that `bloatlab schema` prints.

Quantities are strings with their unit: `"16Mbit/s"`, `"15ms"`, `"80p"`, `"4MB"`. A builder writes only what it is given. The
engine fills in the defaults and checks the values when the scenario runs: a `ScenarioError` names the path of the key, the value
and what is allowed. A parameter that a builder does not have is a `TypeError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bloatlab.scenario.tables import Algorithm, Document, Table, given


def document(
    network: Table,
    flows: Iterable[Table],
    *,
    duration: str,
    name: str | None = None,
    sample_interval: str | None = None,
    warmup: str | None = None,
    timeline: Iterable[Table] | None = None,
    expect: Iterable[Table] | None = None,
) -> Document:
    """A whole scenario.

    Args:
        network: What `dumbbell`, `parking_lot`, `cell` or `boxes` returned.
        flows: What `flow` returned, once per flow or group of flows.
        duration: Length of the run, such as `"15s"`; at most `"24h"`.
        name: Name of the scenario.
        sample_interval: Time between two samples of a series (default `"100ms"`).
        warmup: Start of the time that metrics count (default `"0s"`).
        timeline: What changes during the run, in the order of time: tables with `at`, `key` and `value`.
        expect: What the runs must achieve, which only `bloatlab check` reads: tables with `metric` and a bound.
    """
    head = given(name=name, duration=duration, sample_interval=sample_interval, warmup=warmup)
    changes = None if timeline is None else [dict(one) for one in timeline]
    expected = None if expect is None else [dict(one) for one in expect]
    return head | dict(network) | {"flows": [dict(one) for one in flows]} | given(timeline=changes, expect=expected)


def dumbbell(
    rate: str,
    rtt: str,
    *,
    forward_share: float | None = None,
    queue: Algorithm | None = None,
    loss: float | None = None,
    loss_spacing: str | None = None,
    impair: Table | None = None,
    reverse_rate: str | None = None,
    reverse_queue: Algorithm | None = None,
    reverse_loss: float | None = None,
    reverse_impair: Table | None = None,
    vary: Mapping[str, Table] | None = None,
    access_rate: str | None = None,
    shaper: bool | None = None,
    device_packets: int | None = None,
    overhead: int | None = None,
    header: int | None = None,
) -> Document:
    """One bottleneck that every flow crosses.

    Args:
        rate: Rate of the bottleneck.
        rtt: Propagation delay of the round trip.
        forward_share: Share of that delay on the way to the receiver, 0 to 1 (default 0.5).
        queue: Queue discipline of the bottleneck.
        loss: Probability that a packet is lost behind the bottleneck, below 1.
        loss_spacing: `"random"`, or `"even"`: one packet in every 1 / `loss` is lost.
        impair: What else happens to packets behind the bottleneck, as `impairments` returns it.
        reverse_rate: Rate of the way back; absent: the way back is a pure delay.
        reverse_queue: Queue discipline of the way back.
        reverse_loss: Probability that a packet is lost on the way back, below 1.
        reverse_impair: As `impair`, on the way back.
        vary: What changes over time: tables with `kind` under `rate`, `reverse_rate`, `rtt` and `loss`.
        access_rate: Rate of a private link between each sender and the network.
        shaper: Whether the rate is that of a shaper on a faster line: an offload buffer leaves whole, at the start of its time.
        device_packets: Packets that the device holds behind the queue, besides the one being sent.
        overhead: Bytes per packet that the link layer adds on the wire.
        header: Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14).
    """
    return {
        "dumbbell": given(
            rate=rate, rtt=rtt, forward_share=forward_share, queue=queue, loss=loss, loss_spacing=loss_spacing,
            impair=impair, reverse_rate=reverse_rate, reverse_queue=reverse_queue, reverse_loss=reverse_loss,
            reverse_impair=reverse_impair, vary=vary, access_rate=access_rate, shaper=shaper,
            device_packets=device_packets, overhead=overhead, header=header,
        )
    }  # fmt: skip


def impairments(
    *,
    gilbert_elliott: Table | None = None,
    corrupt: float | None = None,
    duplicate: float | None = None,
    jitter: Table | None = None,
) -> Document:
    """What happens to packets of a dumbbell besides queueing, delay and random loss; in the order of the parameters.

    Args:
        gilbert_elliott: Losses in bursts: a table with the probabilities `p`, `r`, `h` and `k`.
        corrupt: Probability that a packet is damaged, below 1; its receiver discards it.
        duplicate: Probability that a packet comes twice, 0 to 1.
        jitter: How the delay differs per packet: a table with `size` (a duration), `distribution` and `reorder`.
    """
    return given(gilbert_elliott=gilbert_elliott, corrupt=corrupt, duplicate=duplicate, jitter=jitter)


def parking_lot(
    hops: int,
    rate: str,
    hop_delay: str,
    *,
    queue: Algorithm | None = None,
    reverse_rate: str | None = None,
    shaper: bool | None = None,
    device_packets: int | None = None,
    overhead: int | None = None,
    header: int | None = None,
) -> Document:
    """Bottlenecks in a row.

    Args:
        hops: Number of bottlenecks, 2 to 64.
        rate: Rate of each.
        hop_delay: Propagation delay of one hop, one way.
        queue: Queue discipline of each.
        reverse_rate: Rate of each hop on the way back; absent: the way back is a pure delay.
        shaper: Whether the rate is that of a shaper on a faster line: an offload buffer leaves whole, at the start of its time.
        device_packets: Packets that a device holds behind the queue, besides the one being sent.
        overhead: Bytes per packet that the link layer adds on the wire.
        header: Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14).
    """
    return {
        "parking_lot": given(
            hops=hops, rate=rate, hop_delay=hop_delay, queue=queue, reverse_rate=reverse_rate,
            shaper=shaper, device_packets=device_packets, overhead=overhead, header=header,
        )
    }  # fmt: skip


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
    path: Sequence[str] | None = None,
    return_path: Sequence[str] | None = None,
    source: str | None = None,
    destination: str | None = None,
    dscp: str | int | None = None,
    cca: Algorithm | None = None,
    traffic: str | Table | None = None,
    **tcp: Any,
) -> Document:
    """A flow, or `count` flows with the same settings.

    Args:
        name: Name; with `count` above 1, `NAME_1`, `NAME_2` and so on.
        count: Number of flows.
        start: When the first flow starts, such as `"2s"`.
        stop: When the application stops; absent: at the end of the run.
        start_interval: Time between the starts of two of these flows.
        start_jitter: Each start is delayed by a random time below this.
        rtt: Propagation delay of the round trip of this flow, instead of the dumbbell's.
        direction: `"forward"` or `"reverse"`.
        hops: First and last hop of a parking lot that it crosses, from 1.
        ue: UE of a cell, from 1.
        qfi: Identifier of its QoS flow in a cell, 0 to 63, which selects its bearer.
        path: Names of the boxes from sender to receiver.
        return_path: Names of the boxes from receiver to sender.
        source: Name of the sending host, for queues that share between hosts; absent: a separate host.
        destination: Name of the receiving host; absent: a separate host.
        dscp: Differentiated services code point: a name such as `"EF"`, or 0 to 63.
        cca: Congestion control.
        traffic: `"greedy"`, `"ping"` or a table with `kind`.
        **tcp: Settings of the connection, such as `mss`, `ack_every`, `initial_window`, `ecn`, `min_rto` and `pacing`.
    """
    built = given(
        name=name, count=count, start=start, stop=stop, start_interval=start_interval, start_jitter=start_jitter,
        rtt=rtt, direction=direction, hops=None if hops is None else list(hops), ue=ue, qfi=qfi,
        path=None if path is None else list(path), return_path=None if return_path is None else list(return_path),
        source=source, destination=destination, dscp=dscp, cca=cca, traffic=traffic,
    )  # fmt: skip
    settings = given(**tcp)
    return built | ({"tcp": settings} if settings else {})
