"""Builders of a 5G cell: the cell, its radio and its bearers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bloatlab.scenario.tables import Algorithm, Document, Table, given


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
        "cell": given(
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
    mcs: int | None = None,
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
    interferers: Sequence[Table] | None = None,
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
        mcs: Index of a fixed scheme in `mcs_table`, instead of `amc`.
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
        interferers: Other base stations on the same carrier, which disturb the downlink: tables with `position_m`, and if
            they differ from their defaults `power` (dBm), `load` (0 to 1), `gain_db` and `height_m`.
    """
    return given(
        ues=None if ues is None else [dict(one) for one in ues], numerology=numerology, bandwidth=bandwidth,
        frequency=frequency, duplex=duplex, pattern=pattern, access=access, scheduler=scheduler, mcs_table=mcs_table,
        amc=amc, mcs=mcs, cqi_delay=cqi_delay, layers=layers, rule=rule, sounding=sounding, sounding_offset=sounding_offset,
        gnb_power=gnb_power, ue_power=ue_power, harq=harq, rlc=rlc, pdcp=pdcp,
        interferers=None if interferers is None else [dict(one) for one in interferers],
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
    return given(
        name=name, qfi=None if qfi is None else list(qfi), priority=priority, prioritised_bit_rate=prioritised_bit_rate,
        bucket_size_duration=bucket_size_duration, queue=queue, buffer=buffer, marking=marking, sdap=sdap,
        uplink_queue=uplink_queue, uplink_buffer=uplink_buffer, rlc=rlc, pdcp=pdcp,
    )  # fmt: skip
