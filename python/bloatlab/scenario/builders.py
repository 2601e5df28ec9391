"""Builders of scenario documents: functions that return plain dictionaries in the shape that `bloatlab schema` prints.

Quantities are strings with their unit: `"16Mbit/s"`, `"15ms"`, `"80p"`, `"4MB"`. A builder writes only what it is given. The
engine fills in the defaults and checks the values when the scenario runs: a `ScenarioError` names the path of the key, the value
and what is allowed. A parameter that a builder does not have is a `TypeError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bloatlab.plugins import Configured

Document = dict[str, Any]
Table = Mapping[str, Any]
"""A table of the document, with the keys that the schema gives it."""
Algorithm = str | type | Configured | Table
"""A queue or congestion control: its name, a table with `kind` and parameters, or a user's class."""


def _given(**values: Any) -> Document:
    return {name: value for name, value in values.items() if value is not None}


def document(
    network: Table,
    flows: Iterable[Table],
    *,
    duration: str,
    name: str | None = None,
    sample_interval: str | None = None,
    warmup: str | None = None,
    timeline: Iterable[Table] | None = None,
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
    """
    head = _given(name=name, duration=duration, sample_interval=sample_interval, warmup=warmup)
    changes = None if timeline is None else [dict(one) for one in timeline]
    return head | dict(network) | {"flows": [dict(one) for one in flows]} | _given(timeline=changes)


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
        device_packets: Packets that the device holds behind the queue, besides the one being sent.
        overhead: Bytes per packet that the link layer adds on the wire.
        header: Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14).
    """
    return {
        "dumbbell": _given(
            rate=rate, rtt=rtt, forward_share=forward_share, queue=queue, loss=loss, loss_spacing=loss_spacing,
            impair=impair, reverse_rate=reverse_rate, reverse_queue=reverse_queue, reverse_loss=reverse_loss,
            reverse_impair=reverse_impair, vary=vary, access_rate=access_rate, device_packets=device_packets,
            overhead=overhead, header=header,
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
    return _given(gilbert_elliott=gilbert_elliott, corrupt=corrupt, duplicate=duplicate, jitter=jitter)


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
        hops: Number of bottlenecks, 2 to 64.
        rate: Rate of each.
        hop_delay: Propagation delay of one hop, one way.
        queue: Queue discipline of each.
        reverse_rate: Rate of each hop on the way back; absent: the way back is a pure delay.
        device_packets: Packets that a device holds behind the queue, besides the one being sent.
        overhead: Bytes per packet that the link layer adds on the wire.
        header: Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14).
    """
    return {
        "parking_lot": _given(
            hops=hops, rate=rate, hop_delay=hop_delay, queue=queue, reverse_rate=reverse_rate,
            device_packets=device_packets, overhead=overhead, header=header,
        )
    }  # fmt: skip


def cell(
    *,
    radio: Table | None = None,
    wire: Table | None = None,
    backhaul: Table | None = None,
    queue: Algorithm | None = None,
    buffer: str | None = None,
    marking: Table | None = None,
    sdap: Table | None = None,
    uplink_queue: Algorithm | None = None,
    uplink_buffer: str | None = None,
    bearers: Iterable[Table] | None = None,
) -> Document:
    """A 5G cell behind a wire and a backhaul. A flow names its UE with `ue`.

    Args:
        radio: The cell itself with its UEs, as `radio` returns it.
        wire: Between the servers and the UPF: a table with `rate`, `delay` and `overhead`.
        backhaul: Between the UPF and the base station: a table with `rate`, `delay`, `overhead`, `queue` and `pacer`.
        queue: Queue discipline of each UE's bearer at the base station.
        buffer: Bytes that the RLC of a bearer holds at the base station, such as `"10MB"`.
        marking: Marking of packets that enter the RLC: a table with `kind`.
        sdap: A queue of each UE in SDAP: a table with `queue` and `sizing`.
        uplink_queue: Queue discipline of the UEs.
        uplink_buffer: Bytes that the RLC of a bearer holds at a UE.
        bearers: Data radio bearers of every UE, as `bearer` returns them; the first is the default one.
    """
    return {
        "cell": _given(
            radio=radio, wire=wire, backhaul=backhaul, queue=queue, buffer=buffer, marking=marking, sdap=sdap,
            uplink_queue=uplink_queue, uplink_buffer=uplink_buffer,
            bearers=None if bearers is None else [dict(one) for one in bearers],
        )
    }  # fmt: skip


def radio(
    ues: Sequence[Table] | None = None,
    *,
    numerology: int | None = None,
    bandwidth: str | None = None,
    frequency: str | None = None,
    duplex: str | None = None,
    pattern: str | None = None,
    access: str | None = None,
    scheduler: str | None = None,
    mcs_table: int | None = None,
    amc: str | None = None,
    cqi_delay: int | None = None,
    layers: int | None = None,
    rule: str | None = None,
    sounding: bool | None = None,
    sounding_offset: int | None = None,
    gnb_power: float | None = None,
    ue_power: float | None = None,
    harq: Table | None = None,
    rlc: Table | None = None,
    pdcp: Table | None = None,
) -> Document:
    """The radio of a cell: one base station, its carrier and its UEs.

    Args:
        ues: The UEs, each by its channel: a table with `kind` (`fixed`, `scenario` or `trace`).
        numerology: 0 to 4; subcarriers are 15 kHz x 2^numerology apart.
        bandwidth: Width of the carrier, such as `"50MHz"`.
        frequency: Carrier frequency, such as `"3500MHz"`.
        duplex: `"tdd"` or `"fdd"`.
        pattern: Slots of TDD: D downlink, U uplink, F flexible, S special.
        access: `"tdma"` or `"ofdma"`.
        scheduler: `"round_robin"`, `"proportional_fair"` or `"max_rate"`.
        mcs_table: Table of TS 38.214: 1, 2 or 3.
        amc: How the modulation and coding scheme follows the SNR: `"shannon"` or `"error_model"`.
        cqi_delay: Slots from a measurement of the channel to its use.
        layers: Layers of spatial multiplexing, 1 to 4.
        rule: How blocks are counted: `"3gpp"` or `"lena"`.
        sounding: Whether UEs sound the channel.
        sounding_offset: Slot in which the first UE sounds the channel.
        gnb_power: Transmit power of the base station, dBm.
        ue_power: Transmit power of a UE, dBm.
        harq: A table with `processes`, `retransmissions` and `slots`.
        rlc: Radio link control of every bearer: a table.
        pdcp: Packet data convergence of every bearer: a table.
    """
    return _given(
        ues=None if ues is None else [dict(one) for one in ues], numerology=numerology, bandwidth=bandwidth,
        frequency=frequency, duplex=duplex, pattern=pattern, access=access, scheduler=scheduler, mcs_table=mcs_table,
        amc=amc, cqi_delay=cqi_delay, layers=layers, rule=rule, sounding=sounding, sounding_offset=sounding_offset,
        gnb_power=gnb_power, ue_power=ue_power, harq=harq, rlc=rlc, pdcp=pdcp,
    )  # fmt: skip


def bearer(
    name: str,
    *,
    qfi: Sequence[int] | None = None,
    priority: int | None = None,
    prioritised_bit_rate: str | None = None,
    bucket_size_duration: str | None = None,
    queue: Algorithm | None = None,
    buffer: str | None = None,
    marking: Table | None = None,
    sdap: Table | None = None,
    uplink_queue: Algorithm | None = None,
    uplink_buffer: str | None = None,
    rlc: Table | None = None,
    pdcp: Table | None = None,
) -> Document:
    """A data radio bearer that every UE of a cell has. What is not given is the cell's.

    Args:
        name: Its boxes are `ue_1_NAME`, `ue_1_NAME_up` and `sdap_1_NAME`.
        qfi: Identifiers of the QoS flows that it carries, 0 to 63 each.
        priority: Priority of its logical channel; 1 is served first, 16 last.
        prioritised_bit_rate: Rate that it gets before lower priorities get anything, or `"infinite"`.
        bucket_size_duration: How long that rate may be saved up, `"5ms"` to `"1s"`.
        queue: Queue discipline at the base station.
        buffer: Bytes that its RLC holds at the base station.
        marking: As for `cell`.
        sdap: As for `cell`.
        uplink_queue: Queue discipline of the UEs.
        uplink_buffer: Bytes that its RLC holds at a UE.
        rlc: Radio link control: a table.
        pdcp: Packet data convergence: a table.
    """
    return _given(
        name=name, qfi=None if qfi is None else list(qfi), priority=priority, prioritised_bit_rate=prioritised_bit_rate,
        bucket_size_duration=bucket_size_duration, queue=queue, buffer=buffer, marking=marking, sdap=sdap,
        uplink_queue=uplink_queue, uplink_buffer=uplink_buffer, rlc=rlc, pdcp=pdcp,
    )  # fmt: skip


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
    device_packets: int | None = None,
    overhead: int | None = None,
    header: int | None = None,
) -> Document:
    """A box with a queue, the transmitter behind it, and the propagation after that.

    Args:
        name: Unique name.
        rate: Rate of the transmitter.
        delay: Propagation delay, one way.
        queue: Queue discipline.
        vary: What changes over time: tables with `kind` under `rate` and `delay`.
        device_packets: Packets that the device holds behind the queue, besides the one being sent.
        overhead: Bytes per packet that the link layer adds on the wire.
        header: Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14).
    """
    return _given(
        kind="link", name=name, rate=rate, delay=delay, queue=queue, vary=vary, device_packets=device_packets,
        overhead=overhead, header=header,
    )  # fmt: skip


def delay(name: str, delay: str, *, jitter: Table | None = None, vary: Table | None = None) -> Document:
    """A box that holds every packet for a time.

    Args:
        name: Unique name.
        delay: The time, such as `"20ms"`.
        jitter: How the time differs per packet: a table with `size`, `distribution` and `reorder`.
        vary: How the time changes: a table with `kind`.
    """
    return _given(kind="delay", name=name, delay=delay, jitter=jitter, vary=vary)


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
    return _given(
        kind="loss", name=name, probability=probability, spacing=spacing, gilbert_elliott=gilbert_elliott, vary=vary
    )


def corrupt(name: str, probability: float, *, vary: Table | None = None) -> Document:
    """A box that damages packets; their receiver discards them by the checksum.

    Args:
        name: Unique name.
        probability: Probability that a packet is damaged, below 1.
        vary: How the probability changes: a table with `kind`.
    """
    return _given(kind="corrupt", name=name, probability=probability, vary=vary)


def duplicate(name: str, probability: float, *, vary: Table | None = None) -> Document:
    """A box that lets packets through twice.

    Args:
        name: Unique name.
        probability: Probability that a packet comes twice, 0 to 1.
        vary: How the probability changes: a table with `kind`.
    """
    return _given(kind="duplicate", name=name, probability=probability, vary=vary)


def outage(name: str, first: str, length: str, *, interval: str | None = None) -> Document:
    """A box that drops every packet during an outage.

    Args:
        name: Unique name.
        first: When the first outage begins, such as `"10s"`.
        length: How long an outage lasts, such as `"500ms"`.
        interval: Time from the beginning of one outage to the beginning of the next; absent: there is one outage.
    """
    return _given(kind="outage", name=name, first=first, length=length, interval=interval)


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
        source: Name of the sending host, for queues that share between hosts; absent: a host of its own.
        destination: Name of the receiving host; absent: a host of its own.
        dscp: Differentiated services code point: a name such as `"EF"`, or 0 to 63.
        cca: Congestion control.
        traffic: `"greedy"`, `"ping"` or a table with `kind`.
        **tcp: Settings of the connection, such as `mss`, `ack_every`, `initial_window`, `ecn`, `min_rto` and `pacing`.
    """
    built = _given(
        name=name, count=count, start=start, stop=stop, start_interval=start_interval, start_jitter=start_jitter,
        rtt=rtt, direction=direction, hops=None if hops is None else list(hops), ue=ue, qfi=qfi,
        path=None if path is None else list(path), return_path=None if return_path is None else list(return_path),
        source=source, destination=destination, dscp=dscp, cca=cca, traffic=traffic,
    )  # fmt: skip
    settings = _given(**tcp)
    return built | ({"tcp": settings} if settings else {})
