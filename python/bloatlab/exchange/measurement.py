"""A measurement, as all formats read and write it: flows with samples, and probes with echoes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["download", "upload"]
Loss = Literal["", "lost", "lost up", "lost down"]
Plain = str | float | bool
"""A fact about a measurement, as its file states it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A flow over one interval. What the tool does not tell is `None`."""

    start_s: float
    end_s: float
    """Seconds since the beginning of the measurement."""
    mbps: float | None = None
    """Bytes that the application got, in Mbit/s."""
    srtt_ms: float | None = None
    """Smoothed RTT at the end of the interval."""
    cwnd_bytes: float | None = None
    ssthresh_bytes: float | None = None
    in_flight_bytes: float | None = None
    delivery_mbps: float | None = None
    pacing_mbps: float | None = None
    retransmissions: float | None = None
    """Segments sent again so far."""


@dataclass(frozen=True, slots=True)
class Echo:
    """A request of a probe, and its reply."""

    sent_s: float
    rtt_ms: float | None
    """`None`: there was no reply."""
    up_ms: float | None = None
    """One-way delay of the request, if the clocks of both ends agree."""
    down_ms: float | None = None
    """One-way delay of the reply."""
    loss: Loss = ""
    """`lost`: it is not known in which direction."""


@dataclass(slots=True)
class Flow:
    """A flow of data."""

    name: str
    direction: Direction
    samples: list[Sample]
    transport: Literal["tcp", "udp"] = "tcp"
    cca: str | None = None
    dscp: int | None = None
    """Differentiated services code point."""
    mss: int | None = None
    """Bytes of payload in a full segment."""
    base_rtt_ms: float | None = None
    mean_mbps: float | None = None
    """Mean that the tool itself states. It replaces the mean of the samples."""
    loss_rate: float | None = None
    """Of datagrams."""
    jitter_ms: float | None = None
    """Of datagrams, as in RFC 3550 section 6.4.1."""

    @property
    def span(self) -> tuple[float, float]:
        """Beginning and end of the data, seconds."""
        carried = [one for one in self.samples if one.mbps is not None]
        return (carried[0].start_s, carried[-1].end_s) if carried else (0.0, 0.0)


@dataclass(slots=True)
class Probe:
    """Requests that are sent again and again to measure the RTT."""

    name: str
    echoes: list[Echo]
    """In the order of their requests."""
    interval_ms: float | None = None
    size: int | None = None
    """Bytes of a request."""
    dscp: int | None = None
    counts_losses: bool = False
    """Whether requests without a reply are among the echoes. Otherwise losses are not known."""


@dataclass(slots=True)
class Measurement:
    """What a tool measured. All times are seconds since its beginning."""

    tool: str
    """Name of the tool, which is the engine of the run."""
    version: str
    """Its version, as the file states it."""
    name: str
    """What was measured, such as the name of the test."""
    duration_s: float
    flows: list[Flow] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    began: float | None = None
    """When it began, seconds since 1970."""
    facts: Mapping[str, Plain] = field(default_factory=dict)
    """What the file states about the measurement, such as the names of the hosts."""
