"""Every input of the set-up: what the source lets its readers edit, and what we add."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bloatlab import units
from bloatlab.errors import ParameterError
from bloatlab.experiments import parameters as read
from bloatlab.experiments import shared
from bloatlab.experiments.nr_rlc.setup import (
    AUTHORS_CODEL,
    LARGEST_PACKET,
    MIXED,
    PUBLISHED,
    SMALLEST_PACKET,
    SOUNDING,
    TAIL,
    UDP,
    UNBOUNDED,
)
from bloatlab.experiments.parameters import Parameter

USUAL = 20_000
HIGHEST = 1_000_000
UNITS: Mapping[Callable[[object], float], str] = {
    units.rate: "bit/s",
    units.duration: "s",
    units.size: "bytes",
    units.frequency: "Hz",
}
FARTHEST = 100_000
"""Largest coordinate of the UE, m."""
MOST_ELEMENTS = 1024
"""Largest number of elements of an antenna."""
HIGHEST_MCS = 28
"""Highest index of MCS table 1 (TS 38.214 table 5.1.3.1-1)."""
MOST_UES, MOST_GNBS = 256, 64


def _queue(value: Any) -> Any:
    """Reads tail drop or a queue of the registry."""
    return TAIL if value in (TAIL, "vanilla") else read.algorithm("queues")(value)


def _cca(value: Any) -> Any:
    """Reads UDP or a congestion control of the registry."""
    return UDP if value == UDP else read.algorithm("congestion_controls")(value)


def _position(value: Any) -> str:
    """Reads x and y in metres, as a list or as a text such as `0,10`."""
    parts = re.split(r"[\s,]+", value.strip()) if isinstance(value, str) else value
    try:
        x, y = (float(part) for part in parts)
    except (TypeError, ValueError):
        raise ParameterError(f"`{value}` is not two numbers of metres such as 0,10") from None
    if not max(abs(x), abs(y)) <= FARTHEST:
        raise ParameterError(f"`{value}` is more than {FARTHEST} m from the base station")
    return f"{x:g},{y:g}"


def _mcs(value: Any) -> int | None:
    """Reads an index of MCS table 1, or `none`."""
    return None if value is None or str(value).lower() == "none" else read.whole(0, HIGHEST_MCS)(value)


def _antenna(value: Any) -> str:
    """Reads rows and columns of an antenna such as `4x8`."""
    found = re.fullmatch(r"\s*(\d{1,4})\s*[xX]\s*(\d{1,4})\s*", str(value))
    if not found or not 1 <= int(found[1]) * int(found[2]) <= MOST_ELEMENTS:
        raise ParameterError(f"`{value}` is not rows x columns such as 4x8, with 1 to {MOST_ELEMENTS} elements")
    return f"{int(found[1])}x{int(found[2])}"


def _quantity(
    name: str,
    default: str,
    help_: str,
    parse: Callable[[object], float],
    limits: tuple[str, str],
    published: str,
) -> Parameter:
    return Parameter(
        name, default, UNITS[parse],
        allowed=f"{limits[0]} to {limits[1]}", help=help_, read=read.between(parse, *limits), published=published,
    )  # fmt: skip


def _number(name: str, default: float, unit: str, help_: str, low: float, high: float) -> Parameter:
    return Parameter(
        name, default, unit,
        allowed=f"{low:g} to {high:g}", help=help_, read=read.number(low, high), published=f"{default:g}",
    )  # fmt: skip


def _added(name: str, default: float, unit: str, help_: str, low: float, high: float) -> Parameter:
    """A number that the source has no value for."""
    return Parameter(name, default, unit, allowed=f"{low:g} to {high:g}", help=help_, read=read.number(low, high))


def _choice(name: str, default: str, help_: str, *others: str) -> Parameter:
    names = (default, *others)
    return Parameter(
        name, default, "", allowed=", ".join(names), help=help_, read=read.choice(*names), published=default
    )


TRAFFIC = (
    Parameter(
        "lambda", None, "packets/s",
        allowed=f"1 to {HIGHEST}",
        help=f"packets per second that the elephant sends over UDP (when not given {USUAL}); no effect over TCP",
        read=read.number(1, HIGHEST), published="15000 to 40000",
    ),
    Parameter(
        "mice_rate", 1.0, "packets/s",
        allowed=f"1 to {HIGHEST}",
        help="packets per second that the mice send over UDP", read=read.number(1, HIGHEST), published="1",
    ),
    _quantity(
        "packet", "1500B", "payload of every UDP packet", units.size, (SMALLEST_PACKET, LARGEST_PACKET), "1500B",
    ),
)  # fmt: skip
BUFFER = (
    Parameter(
        "queue", TAIL, "",
        allowed=f"{TAIL}, a queue of `bloatlab algorithms`, a table with its `kind`, or module:Class",
        help=f"queue discipline in the RLC, bounded by `buffer`; `{TAIL}` (or `vanilla`): none, `{AUTHORS_CODEL}`: the "
        "authors' CoDel, whose `threshold` and `interval` a table sets",
        read=_queue, published=f"{TAIL}, {AUTHORS_CODEL}",
    ),
    Parameter(
        "buffer", UNBOUNDED, "bytes",
        allowed="bytes such as 10000000B or 10MB", help="size of the RLC's buffer; packets that do not fit are dropped",
        read=read.size, published="999999999B, 10 to 100 MB",
    ),
    _choice("rlc", "um", "mode of the RLC: unacknowledged or acknowledged", "am"),
)  # fmt: skip
ADDED_TRAFFIC = (
    Parameter(
        "cca", UDP, "",
        allowed=f"{UDP}, a congestion control of `bloatlab algorithms`, a table with its `kind`, or module:Class",
        help=f"`{UDP}`: the elephant sends `lambda` packets per second; otherwise it is a greedy TCP flow with this "
        "congestion control. If not given, `cubic` in the mixed workload",
        read=_cca, published=UDP,
    ),
    _choice(
        "mice", "udp",
        "`tcp`: the mice are also a greedy TCP flow with the congestion control `cca`, which must not be udp", "tcp",
    ),
    _choice(
        "workload", PUBLISHED,
        f"`{MIXED}`: besides the mice and a TCP elephant, a page of 500 kB that is fetched repeatedly, a ping and a call",
        MIXED,
    ),
    Parameter(
        "send_buffer", "64MB", "bytes", allowed="bytes such as 4MB",
        help="size of the send buffer of the greedy TCP flows, which bounds their data in flight. By default it is large "
        "enough that it does not bound the queue in the RLC",
        read=read.size,
    ),
)  # fmt: skip
WIRES = (
    _quantity(
        "wire_rate", "10Gbit/s", "rate between the host and the PGW (UPF)", units.rate, ("1Mbit/s", "1Tbit/s"), "10Gbit/s",
    ),
    _quantity("wire_delay", "5ms", "delay between the host and the PGW, one way", units.duration, ("0s", "10s"), "5ms"),
    _quantity(
        "backhaul_rate", "100Gbit/s", "rate between the PGW and the base station (S1-U)", units.rate,
        ("1Mbit/s", "1Tbit/s"), "5G-LENA's default, 100Gbit/s",
    ),
    _quantity("backhaul_delay", "2ms", "delay of S1-U, one way", units.duration, ("0s", "10s"), "2ms"),
)  # fmt: skip
CARRIER = (
    _quantity("frequency", "6GHz", "carrier frequency", units.frequency, ("500MHz", "100GHz"), "6GHz"),
    _quantity("bandwidth", "50MHz", "bandwidth of the cell", units.frequency, ("1MHz", "2GHz"), "50MHz"),
    Parameter(
        "numerology", 1, "", allowed="0 to 4",
        help="a slot lasts 1 ms / 2^numerology, and subcarriers are 15 kHz x 2^numerology apart",
        read=read.whole(0, 4), published="1",
    ),
    Parameter(
        "pattern", "F", "", allowed="1 to 40 of the letters D, U, F, S",
        help="repeating slots of TDD: downlink, uplink, flexible, special",
        read=lambda value: _pattern(str(value)), published="F",
    ),
    _number("power", 43.0, "dBm", "transmission power of the base station", -30, 80),
    _choice(
        "amc", "shannon",
        "how the modulation and coding scheme is chosen: from Shannon's bound, or from the error model (at most 10 % of "
        "blocks fail)", "error_model",
    ),
    Parameter(
        "mcs", None, "", allowed=f"0 to {HIGHEST_MCS}, or none",
        help="fixed modulation and coding scheme in both directions: its index in MCS table 1; blocks still fail depending on "
        "the SNR. `none`: `amc` chooses the scheme",
        read=_mcs, published="none",
    ),
    _choice("scheduler", "round_robin", "which UE is served first", "proportional_fair", "max_rate"),
    _choice("access", "tdma", "whether UEs share a slot by symbols or by groups of resource blocks", "ofdma"),
)  # fmt: skip
PLACE = (
    Parameter(
        "position", "0,10", "m", allowed="x,y such as 0,10",
        help="position of the UE, from the base station; in a sweep [0,10],[0,6000]",
        read=_position, published="0,10",
    ),
    _number("gnb_height", 10.0, "m", "height of the base station's antenna", 1, 150),
    _number("ue_height", 1.5, "m", "height of the UE's antenna", 0.5, 150),
    Parameter(
        "gnb_antenna", "4x8", "", allowed="rows x columns such as 4x8",
        help="antenna of the base station, whose elements all point at the UE", read=_antenna, published="4x8",
    ),
    Parameter(
        "ue_antenna", "2x4", "", allowed="rows x columns such as 2x4",
        help="antenna of the UE, whose elements all point at the base station", read=_antenna, published="2x4",
    ),
    _choice(
        "surroundings", "rma", "surroundings of the base station (TR 38.901): rural, urban macro, urban micro, or indoor",
        "uma", "umi", "inh",
    ),
    _choice("condition", "los", "whether there is a line of sight", "nlos", "probabilistic"),
    Parameter(
        "shadowing", False, "", allowed="true, false", help="whether obstacles vary the signal along the way",
        read=read.boolean, published="false",
    ),
)  # fmt: skip
STATIONS = (
    Parameter(
        "ues", 1, "", allowed=f"1 to {MOST_UES}",
        help="number of UEs of the base station, all at `position`. Each has its own RLC buffer and its own mice and "
        "elephant, and so on (`mice_1`, `mice_2`, ...), so the cell's load is `ues` times `lambda`",
        read=read.whole(1, MOST_UES), published="1",
    ),
    Parameter(
        "gnbs", 1, "", allowed=f"1 to {MOST_GNBS}",
        help="number of base stations on the carrier. The others have the same power and height, and their downlink disturbs "
        "that of the UEs; their own UEs are not simulated",
        read=read.whole(1, MOST_GNBS), published="1",
    ),
    _added(
        "gnb_distance", 60.0, "m", "distance between neighbouring base stations, which stand in a row: the first is the UE's, "
        "and the others follow at (0, d), (0, -d), (0, 2d), ... from it; no effect with one base station", 1, 10_000,
    ),
    _added(
        "interference_load", 1.0, "", "share of the time and band in which each of the other base stations sends", 0, 1,
    ),
    _added(
        "interference_gain", 0.0, "dB", "gain of both antennas on the path from another base station to a UE; 0 is the mean "
        "over all directions, because their beams do not point at each other", -60, 60,
    ),
)  # fmt: skip
MODEL = (
    Parameter(
        "framing", "lena", "", allowed="lena, nr",
        help="framing of packets in transport blocks: as in ns-3's RLC and PDCP, or after TS 38.322 and 38.323",
        read=read.choice("lena", "nr"), published="lena",
    ),
    Parameter(
        "rule", "lena", "", allowed="lena, 3gpp",
        help="rule for the size of transport blocks: 5G-LENA's or TS 38.214's",
        read=read.choice("lena", "3gpp"), published="lena",
    ),
    Parameter(
        "sounding_offset", SOUNDING, "slots", allowed="0 to 79",
        help="slot of the period of 80 in which the UE sounds the channel, which takes a symbol; 5G-LENA draws it",
        read=read.whole(0, 79), published="not stated; 50 fits all runs but one, which 0 fits",
    ),
)  # fmt: skip
TIMES = (
    Parameter(
        "start", "400ms", "s", allowed=shared.A_DURATION, help="when the flows start", read=read.duration, published="0.4s",
    ),
    Parameter(
        "start_jitter", "0s", "s", allowed=shared.A_DURATION,
        help="each start is delayed by a random time below this; without it, results depend on the phase of two "
             "constant intervals",
        read=read.duration, published="0s",
    ),
    shared.stop("10s"),
)  # fmt: skip
PARAMETERS = (*TRAFFIC, *BUFFER, *ADDED_TRAFFIC, *WIRES, *CARRIER, *PLACE, *STATIONS, *MODEL, *TIMES)


def _pattern(text: str) -> str:
    if not re.fullmatch(r"[DUFS]{1,40}", text.upper()):
        raise ParameterError(f"`{text}` is not a pattern of D, U, F and S")
    return text.upper()
