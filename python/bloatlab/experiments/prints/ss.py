"""What `ss -eipn` prints of a connection that is established."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Connection:
    """One connection at one instant."""

    fd: int
    """File descriptor of its socket in the sending program."""
    cca: str
    mss: int
    """Bytes."""
    cwnd: int
    """Segments."""
    srtt_ms: float
    ssthresh: int | None
    """Segments; `None` before the first reduction of the window."""
    in_flight: int
    """Segments that were sent and are not acknowledged."""
    delivery_mbps: float | None


def lines(one: Connection, *, local: str, remote: str, program: str) -> tuple[str, str]:
    """The line of the addresses and the line of the details.

    Args:
        one: The connection.
        local: Address and port of the sender.
        remote: Address and port of the receiver.
        program: Name of the sending program.
    """
    owner = f'users:(("{program}",pid=1,fd={one.fd}))'
    details = [one.cca, f"rtt:{one.srtt_ms:g}", f"mss:{one.mss}", f"cwnd:{one.cwnd}"]
    if one.ssthresh is not None:
        details.append(f"ssthresh:{one.ssthresh}")
    if one.delivery_mbps:
        details.append(f"delivery_rate {one.delivery_mbps * 1e6:.0f}bps")
    first = f"tcp ESTAB 0      {one.in_flight * one.mss:<6} {local} {remote} {owner} <->"
    return first, f"\t {' '.join(details)}"
