"""Parameters and flows that experiments share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bloatlab.experiments import parameters as read
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.queues import bdp_packets, with_ecn, with_limit

A_DURATION = "a duration such as 30s"
LINUX_CUBIC: Mapping[str, Any] = {"kind": "cubic", "variant": "linux", "slow_start": "hystart"}
DEVICE_PACKETS = 1000
"""Packets that a link takes from a shaper (HTB) while it sends another one. A virtual Ethernet device takes every packet at once.
Without this, a packet that HTB lets go together with another one waits in the queue while the link sends the first, and a
packet that arrives at the same instant finds one more in the queue than in Linux. `sfb` depends on that."""
AS_IN_LINUX = "the name `cubic` means Linux's variant with HyStart"


def as_in_linux(cca: Any) -> Any:
    """The congestion control that this name means on a Linux host."""
    return LINUX_CUBIC if cca == "cubic" else cca


def queue() -> Parameter:
    """The queue under test."""
    return Parameter(
        "queue", "codel", "",
        allowed="a queue of `bloatlab algorithms`, a table with its `kind`, or module:Class",
        help="queue discipline of the bottleneck; unless set or swept, all queues except wrappers are swept",
        read=read.algorithm("queues"),
    )  # fmt: skip


def ecn(default: str = "auto") -> Parameter:
    """Whether queues may mark instead of drop."""
    return Parameter(
        "ecn", default, "",
        allowed="auto, on, off",
        help="auto: flows do not negotiate ECN, as hosts by default, and queues have their defaults; "
        "on: flows negotiate ECN, and queues with an ecn parameter mark; off: flows do not negotiate ECN and queues do not mark",
        read=read.choice("auto", "on", "off"),
    )  # fmt: skip


def rate(default: str, published: str | None = None) -> Parameter:
    """The bottleneck's rate."""
    return Parameter(
        "rate", default, "bit/s",
        allowed="a rate such as 20Mbit/s", help="rate of the bottleneck", read=read.rate, published=published,
    )  # fmt: skip


def rtt(default: str, published: str | None = None) -> Parameter:
    """Propagation."""
    return Parameter(
        "rtt", default, "s",
        allowed="a duration such as 40ms", help="two-way propagation", read=read.duration, published=published,
    )  # fmt: skip


def qlen(times: str, published: str | None = None) -> Parameter:
    """The queue's limit; `derive_limit` fills in its default."""
    return Parameter(
        "qlen", None, "packets",
        allowed="80p, 80 (packets), 120kB",
        help=f"limit of the bottleneck's queue, if its kind has one; by default {times}",
        read=read.limit,
        published=published,
    )  # fmt: skip


def stop(default: str) -> Parameter:
    """The run's length."""
    return Parameter("stop", default, "s", allowed=A_DURATION, help="when the run ends", read=read.duration)


def warmup(default: str) -> Parameter:
    """The warm-up, which metrics leave out."""
    return Parameter("warmup", default, "s", allowed=A_DURATION, help="metrics count from here on", read=read.duration)


def count(name: str, default: int, unit: str, help_: str, *, low: int = 0, high: int = 10000) -> Parameter:
    """A whole number."""
    return Parameter(name, default, unit, allowed=f"{low} to {high}", help=help_, read=read.whole(low, high))


def cca(
    default: str,
    help_: str = "congestion control of the long flows",
    published: str | None = None,
    *,
    name: str = "cca",
) -> Parameter:
    """A congestion control."""
    return Parameter(
        name, default, "",
        allowed="a congestion control of `bloatlab algorithms`, a table with its `kind`, or module:Class",
        help=help_, read=read.algorithm("congestion_controls"), published=published,
    )  # fmt: skip


def derive_limit(values: dict[str, Any], times: float, smallest: int) -> dict[str, Any]:
    """Fills in the limit, if it is not given: `times` bandwidth-delay products."""
    if values["qlen"] is None:
        values["qlen"] = f"{max(smallest, bdp_packets(values['rate'], values['rtt'], times))}p"
    return values


def dumbbell(params: Mapping[str, Any]) -> dict[str, Any]:
    """The bottleneck with the queue under test, its limit and its ECN."""
    queue = with_ecn(with_limit(params["queue"], params["qlen"]), params["ecn"])
    return {"rate": params["rate"], "rtt": params["rtt"], "queue": queue}


def tcp(params: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    """Connection settings of a flow: ECN from the parameter, and the given settings."""
    return {"ecn": params["ecn"] == "on", **settings}


def call(name: str = "voip", direction: str = "forward") -> dict[str, Any]:
    """One direction of a call: G.711, 160 bytes of voice each 20 ms, expedited (RFC 3551, RFC 4594)."""
    return {
        "name": name,
        "direction": direction,
        "dscp": "EF",
        "traffic": {"kind": "cbr", "rate": "64kbit/s", "packet": "160B"},
    }


PING_MS = 100
"""Time between two echo requests of `ping`."""


def ping() -> dict[str, Any]:
    """An echo each 100 ms."""
    return {"name": "ping", "traffic": {"kind": "ping", "interval": f"{PING_MS}ms"}}
