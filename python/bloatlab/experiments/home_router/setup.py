"""The home router: h1, a server on a fast link; s0, the router; h2, the home computer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab import units
from bloatlab.experiments import parameters as read
from bloatlab.experiments import shared
from bloatlab.experiments.queues import described, with_limit

SOURCE = "COL724 at IIT Delhi, assignment 1 (BufferBloat on Mininet), after CS244 at Stanford"
BULK, PAGE, PING = "bulk", "web", "ping"
BOTTLENECK = "bottleneck"
PLAIN = "fifo"
"""The queue of the assignment."""
DOWN = ("server_out", BOTTLENECK)
"""Links from h1 to h2."""
UP = ("home_out", "server_in")
"""Links from h2 to h1."""
HEADER = 14
"""Bytes of Ethernet's header, which count in the queue and on the wire."""
MTU = 1500
QUICK_ACKS = 16
"""Segments that Linux acknowledges at once at the start."""
TICK = "1ms"
"""Time between the ticks of the kernel's timers."""
SACK_COMPRESSION = "1ms"
"""How long Linux (since 4.18) collects what arrives beyond a hole before it sends an ACK."""
SEND_BUFFER = "4MiB"
"""The largest size of a send buffer that Linux tunes (`tcp_wmem`)."""
LONG = 1000
"""Packets in a queue that is never full."""
DEVICE = "100Gbit/s"
"""Rate of a virtual Ethernet device, which takes next to no time for a packet; the shapers are slower."""
MININET_BURST = "15000B"
"""Mininet's `burst 15k` for HTB. `cburst` keeps its default of one packet, so no more leaves at once."""
ECHO = "84B"
"""Size of the IP packet of a `ping`: 56 bytes of data and two headers."""
STARTS = 0.1
"""Range of the random starts in seconds, except for the page; runs by hand differ by as much."""


@dataclass(frozen=True)
class Preset:
    """A reading of the assignment."""

    direction: str
    segments_per_buffer: int


PRESETS: Mapping[str, Preset] = {"template": Preset("same", 1), "col724": Preset("reverse", 2)}


def router(direction: str, segments_per_buffer: int) -> str:
    """Name of the preset, or a description of the direction and the buffers."""
    own = Preset(direction, segments_per_buffer)
    plural = "s" if segments_per_buffer > 1 else ""
    other = f"{direction} direction, {segments_per_buffer} segment{plural} a buffer"
    return next((name for name, preset in PRESETS.items() if preset == own), other)


def frame_ms(rate: str) -> float:
    """Time to send a full frame on the bottleneck, ms."""
    return 8e3 * (MTU + HEADER) / units.rate(rate)


def base_ms(delay: str) -> float:
    """RTT over two links without queues, ms."""
    return 4e3 * units.duration(delay)


def queue(params: Mapping[str, Any], *, in_linux: bool = False) -> Any:
    """The router's queue with its limit: `maxq` buffers.

    If its kind has no buffers, these are as many packets as they hold. In Linux, a packet is a buffer.
    """
    given, maxq, segments = params["queue"], params["maxq"], params["segments_per_buffer"]
    if given == "red":
        return linux_red(maxq * segments, params["rate"])
    own = {"kind": given} if isinstance(given, str) and ":" not in given and not read.is_tc(given) else given
    counts = isinstance(own, Mapping) and "segments_per_buffer" in described().get(own.get("kind", ""), {})
    # Buffers of one packet each are packets.
    if counts and segments > 1:
        return {"limit": f"{maxq}buffers", "segments_per_buffer": segments, **own}
    return with_limit(given, f"{maxq if in_linux else maxq * segments}p")


def linux_red(limit: int, rate: str) -> str:
    """Linux's RED with a limit in packets, as tc writes it. Linux counts bytes and has no default for its thresholds.

    Thresholds and probability are those of Floyd, "RED: Discussions of setting parameters" (1997): 5 and 15 packets, and
    0.1. The burst is (2 min + max) / 3, as tc-red(8) recommends.
    """
    frame = MTU + HEADER
    low, high = 5, 15
    words = {
        "limit": limit * frame,
        "min": low * frame,
        "max": high * frame,
        "avpkt": frame,
        "burst": -(-(2 * low + high) // 3),
        "probability": 0.1,
        "bandwidth": f"{units.rate(rate):.0f}bit",
    }
    return " ".join(["red", *(f"{word} {value}" for word, value in words.items())])


def links(params: Mapping[str, Any], *, shaped: bool = True, in_linux: bool = False) -> list[dict[str, Any]]:
    """The four directions of the two links; the first of each path is the host's own.

    Mininet gives both ends of a link the same limit, so hosts have it too, and lets queues delay packets (netem). Without
    it, the delay is on the server's link, whose queue is then long, and the home computer's queue only queues.

    Args:
        params: The parameters of the experiment.
        shaped: Whether the rates are those of shapers on fast devices (HTB), as in Mininet. A packet then waits in the
            queue while a line would transmit it. On Linux, the engine adds the shapers itself.
        in_linux: Whether the queues are Linux's, which count buffers as packets.
    """
    is_mininet = params["topology"] == "mininet"
    plain = queue({**params, "queue": PLAIN})
    long = {"kind": PLAIN, "limit": f"{LONG}p"}

    def link(name: str, rate: str, held: Any, delay: str, host: str = "none") -> dict[str, Any]:
        own: dict[str, Any] = {} if host == "none" else {"host": host}
        if shaped and _is_of_registry(held):
            if is_mininet and held is plain:
                held, delay = {**plain, "kind": "netem", "delay": delay}, "0s"
            burst = {"burst": MININET_BURST} if is_mininet else {}
            held = {"kind": "htb", "rate": rate, **burst, "queue": held}
            rate = DEVICE
            own |= {"device_packets": shared.DEVICE_PACKETS}
        return {"kind": "link", "name": name, "rate": rate, "delay": delay, "header": HEADER, "queue": held, **own}

    delay = params["delay"] if is_mininet else _twice(params["delay"])
    near = params["delay"] if is_mininet else "0s"
    far = plain if is_mininet else long
    router = plain if params["queue"] == PLAIN else queue(params, in_linux=in_linux)
    return [
        link(DOWN[0], params["server_rate"], far, delay, _own(delay)),
        link(DOWN[1], params["rate"], router, near),
        link(UP[0], params["rate"], plain, near, _own(near)),
        link(UP[1], params["server_rate"], far, delay),
    ]


def _own(delay: str) -> str:
    """The kind of a host's own link. Linux takes what a netem delays off the account of its socket."""
    return "netem" if units.duration(delay) > 0 else "device"


def _is_of_registry(queue: Any) -> bool:
    """Whether a queue may be inside a shaper: not a user's class."""
    return read.is_tc(queue) or (isinstance(queue, Mapping) and queue.get("kind") != "python")


def _twice(delay: str) -> str:
    return f"{2e6 * units.duration(delay):.0f}us"


def _drawn(params: Mapping[str, Any], most: float) -> str:
    """Range of a random start: `most` seconds, but at most a tenth of the run."""
    return f"{1e6 * min(most, units.duration(params['time']) / 10):.0f}us"


def flows(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The long-lived flow, the page and the ping."""
    down, up = {"path": [*DOWN], "return_path": [*UP]}, {"path": [*UP], "return_path": [*DOWN]}
    tcp: dict[str, Any] = {
        "quick_acks": QUICK_ACKS,
        "ack_tick": TICK,
        "sack_compression": SACK_COMPRESSION,
        "receive_window": "autotuned",
        "autotuned_send_buffer": True,
        "send_buffer": SEND_BUFFER,
        **{name: params[name] for name in ("initial_window", "cached_ssthresh")},
    }
    if (segments := params["segments_per_buffer"]) > 1:
        tcp |= {"segmentation_offload": True, "gso_max_segs": segments, "receive_offload": True}
    else:
        # Linux's TCP makes buffers even if the host cuts them before its device.
        tcp |= {"gso_max_segs": 1}
    page = {
        "kind": "fetch",
        "response": params["page"],
        "interval": params["fetch_interval"],
        "interval_from": {"after": "end", "every": "start"}[params["fetch_schedule"]],
        "interval_spread": params["fetch_spread"],
    }
    return [
        {
            "name": BULK,
            "cca": shared.as_in_linux(params["cca"]),
            "tcp": {**tcp, "receive_window": "growing", "receive_buffer": _reserved(params["receive_buffer"])},
            "start_jitter": _drawn(params, STARTS),
            **down,
        },
        {
            "name": PAGE,
            "cca": shared.as_in_linux(params["cca"]),
            "tcp": tcp,
            "traffic": page,
            "start_jitter": _drawn(params, units.duration(params["fetch_interval"])),
            **(down if params["direction"] == "same" else up),
        },
        {
            "name": PING,
            "traffic": {"kind": "ping", "interval": params["ping_interval"], "size": ECHO},
            "start_jitter": _drawn(params, STARTS),
            **down,
        },
    ]


def _reserved(buffer: str) -> str:
    """The memory of a receive buffer that a program asks for: Linux reserves twice as much, and does not tune it (socket(7))."""
    return f"{2 * units.size(buffer)}B"
