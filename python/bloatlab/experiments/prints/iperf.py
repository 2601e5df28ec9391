"""What the client of `iperf3 -f m` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

PORT = 5201
SEPARATOR = "- - - - - - - - - - - - - - - - - - - - - - - - -"
COLUMNS = "[ ID] Interval           Transfer     Bitrate         Retr"
UNITS = ("Byte", "KByte", "MByte", "GByte", "TByte")


@dataclass(frozen=True)
class Interval:
    """One stream in one interval."""

    fd: int
    """Number of the stream: the file descriptor of its socket."""
    start: float
    """Seconds since the start of the streams."""
    end: float
    size: float
    """Bytes of payload."""
    mbps: float
    """Payload in Mbit/s."""
    retransmissions: int
    cwnd: float
    """Bytes."""


def lines(
    intervals: Sequence[Sequence[Interval]], *, local: str, host: str, ports: Mapping[int, int]
) -> Iterator[tuple[float, str]]:
    """Every line, with the time at which it is printed (s).

    Args:
        intervals: The streams in each interval, sorted by time.
        local: Address of the client.
        host: Address of the server.
        ports: Port of the client by stream.
    """
    yield 0.0, f"Connecting to host {host}, port {PORT}"
    for fd, port in ports.items():
        yield 0.0, f"[{fd:3d}] local {local} port {port} connected to {host} port {PORT}"
    end = 0.0
    several = len(ports) > 1
    for number, streams in enumerate(intervals):
        end = streams[0].end
        if several and number:
            yield end, SEPARATOR
        if not number:
            yield end, f"{COLUMNS}  Cwnd"
        for one in streams:
            yield end, f"{_stream(one)}   {adaptive(one.cwnd)}s       "
        if several:
            yield end, f"{_stream(total(streams), 'SUM')}             "
    yield end, SEPARATOR
    yield end, COLUMNS
    of: dict[int, list[Interval]] = {fd: [] for fd in ports}
    for streams in intervals:
        for one in streams:
            of[one.fd].append(one)
    whole = [_whole(stream) for stream in of.values() if stream]
    sums = [("", one) for one in whole] + ([("SUM", total(whole))] if several and whole else [])
    for name, one in sums:
        yield end, f"{_stream(one, name)}             sender"
        yield end, f"{_moved(one, name)}                  receiver"
    yield end, ""
    yield end, "iperf Done."


def total(streams: Sequence[Interval]) -> Interval:
    """All streams of an interval as one."""
    return Interval(
        0,
        min(one.start for one in streams),
        max(one.end for one in streams),
        sum(one.size for one in streams),
        sum(one.mbps for one in streams),
        sum(one.retransmissions for one in streams),
        0.0,
    )


def _whole(stream: Sequence[Interval]) -> Interval:
    """All intervals of a stream as one."""
    start, end = 0.0, stream[-1].end
    size = sum(one.size for one in stream)
    again = sum(one.retransmissions for one in stream)
    return Interval(stream[0].fd, start, end, size, 8e-6 * size / end if end else 0.0, again, stream[-1].cwnd)


def _moved(one: Interval, name: str) -> str:
    said = f"{one.start:6.2f}-{one.end:<6.2f} sec  {adaptive(one.size)}s  {number(one.mbps)} Mbits/sec"
    return f"[{name or format(one.fd, '3d')}] {said}"


def _stream(one: Interval, name: str = "") -> str:
    return f"{_moved(one, name)}  {one.retransmissions:3d}"


def number(value: float) -> str:
    """A value in four places, with as many digits as fit."""
    digits = next((digits for digits, below in ((2, 9.995), (1, 99.95)) if value < below), 0)
    return f"{value:4.{digits}f}"


def adaptive(size: float) -> str:
    """Bytes in the largest unit of which there is at least one, such as `3.23 MByte`."""
    place = 0
    while size >= 1024 and place + 1 < len(UNITS):
        size, place = size / 1024, place + 1
    return f"{number(size)} {UNITS[place]}"
