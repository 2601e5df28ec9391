"""Queue arithmetic: the sojourn time of a full queue, and the bandwidth-delay product of a path."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bloatlab import units
from bloatlab.errors import ParameterError

MTU = 1500
"""Bytes of a full IP packet on Ethernet."""
LARGEST = 10**9

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Calculation:
    """Result of a calculation, with its formula and its inputs."""

    name: str
    """What `value` is, such as `bandwidth-delay product`."""
    value: float
    unit: str
    formula: str
    """The formula with its numbers."""
    inputs: dict[str, float]
    """Inputs by name; a name ends in its unit."""
    further: dict[str, float]
    """Further results by name; a name ends in its unit."""

    @property
    def text(self) -> str:
        """`0.12 s`."""
        return f"{plain(self.value)} {self.unit}"


def plain(value: float) -> str:
    """A number without an exponent, with up to six significant digits and separators; digits before the point are all kept."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 5 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def nic(txqueuelen: int, mtu: int, rate: str) -> Calculation:
    """Longest sojourn time in a full queue of a network card: packets x bytes x 8 / rate.

    Args:
        txqueuelen: Packets that the queue holds, 1 or more.
        mtu: Bytes of each, 1 or more.
        rate: Rate of the card, `"100Mbit/s"`.

    Raises:
        ParameterError: A number is out of its range, or the rate cannot be read or is 0.
    """
    _in_range("txqueuelen", txqueuelen)
    _in_range("mtu", mtu)
    bits = _rate(rate)
    delay = drain_time(txqueuelen * mtu, bits)
    return Calculation(
        "longest wait in the queue",
        delay,
        "s",
        f"txqueuelen x mtu x 8 / rate = {plain(txqueuelen)} x {plain(mtu)} B x 8 / {plain(bits)} bit/s",
        {"txqueuelen_packets": txqueuelen, "mtu_bytes": mtu, "rate_bps": bits},
        {"bytes": txqueuelen * mtu},
    )


def bdp(rate: str, rtt: str, mtu: int = MTU) -> Calculation:
    """Bandwidth-delay product: the bytes in flight that fill a path without a queue.

    Args:
        rate: Rate of the bottleneck.
        rtt: Round-trip time without queues, `"40ms"`.
        mtu: Bytes of a packet.

    Raises:
        ParameterError: As for `nic`.
    """
    _in_range("mtu", mtu)
    bits, seconds = _rate(rate), _named("rtt", units.duration, rtt)
    size = bits * seconds / 8
    return Calculation(
        "bandwidth-delay product",
        size,
        "B",
        f"rate x rtt / 8 = {plain(bits)} bit/s x {plain(seconds)} s / 8",
        {"rate_bps": bits, "rtt_s": seconds, "mtu_bytes": mtu},
        {"packets": size / mtu},
    )


def queue(limit: str, rate: str, mtu: int = MTU, segments_per_buffer: int = 1) -> Calculation:
    """Longest sojourn time in a full queue with a limit in packets, bytes or buffers.

    Args:
        limit: `"100p"`, `"150kB"` or `"100buffers"`.
        rate: Rate at which the queue drains.
        mtu: Bytes of a packet on the link.
        segments_per_buffer: Packets per buffer; used only if the limit is in buffers.

    Raises:
        ParameterError: As for `nic`, or the limit cannot be read.
    """
    _in_range("mtu", mtu)
    _in_range("segments_per_buffer", segments_per_buffer)
    bits = _rate(rate)
    held = _named("limit", units.queue_limit, limit)
    inputs: dict[str, float] = {"rate_bps": bits, f"limit_{held.unit}": held.value}
    if held.unit == "bytes":
        size = held.value
        told = f"limit x 8 / rate = {plain(size)} B"
    else:
        in_buffers = held.unit == "buffers"
        each = segments_per_buffer if in_buffers else 1
        size = held.value * each * mtu
        factor = (" x segments", f" x {plain(each)}") if in_buffers else ("", "")
        told = f"limit{factor[0]} x mtu x 8 / rate = {plain(held.value)}{factor[1]} x {plain(mtu)} B"
        inputs["mtu_bytes"] = mtu
        if in_buffers:
            inputs["segments_per_buffer"] = each
    return Calculation(
        "longest wait in the queue",
        drain_time(size, bits),
        "s",
        f"{told} x 8 / {plain(bits)} bit/s",
        inputs,
        {"bytes": size, "packet_s": drain_time(mtu, bits)},
    )


def drain_time(size: float, bits_per_second: float) -> float:
    """Seconds to send `size` bytes."""
    return 8 * size / bits_per_second


def _in_range(name: str, value: int) -> None:
    if not 1 <= value <= LARGEST:
        raise ParameterError(f"{name}: {value} is out of range (allowed: 1 to {LARGEST})")


def _rate(text: str) -> float:
    bits = _named("rate", units.rate, text)
    if not bits:
        raise ParameterError(f"rate: `{text}` sends nothing (allowed: above 0)")
    return bits


def _named(name: str, read: Callable[[str], _Value], text: str) -> _Value:
    try:
        return read(text)
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from error
