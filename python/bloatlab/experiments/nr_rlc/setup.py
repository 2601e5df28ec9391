"""The authors' set-up as a scenario document: one base station and one UE (or several), two flows through one RLC buffer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bloatlab import units
from bloatlab.experiments import parameters as read
from bloatlab.experiments.queues import described, is_accepted
from bloatlab.experiments.shared import call, ping

SOURCE = (
    "Demonstration and Study of Bufferbloat in 5G and solution by implementing AQM algorithm CODEL (ns-3 and 5G-LENA), its "
    "published figures and logs, and re-runs of its code"
)
MICE, ELEPHANT = "mice", "elephant"
HEADERS = 30
"""Bytes that a UDP payload has in the RLC besides itself: 8 of UDP, 20 of IP and 2 of PDCP."""
SMALLEST_PACKET, LARGEST_PACKET = "64B", "2017B"
"""Limits of the payload. ns-3's RLC does not concatenate packets of more than 2047 bytes."""
TAIL, UDP, PUBLISHED, MIXED = "tail", "udp", "published", "mixed"
UNBOUNDED = "999999999B"
"""The authors' infinite buffer."""
AUTHORS_CODEL = "rlc_codel_2022"
SOUNDING = 50
"""Slot of the period of 80 in which the UE sounds the channel; 5G-LENA draws it, and 50 fits all but one run."""
OTHER_SOUNDING = 0
"""A slot that fits the published run at 20,000 packets/s."""
LIMITS = ("limit", "memory_limit", "memlimit")
"""Names of the parameters with a queue's limit."""


def interval(packets_per_second: float) -> int:
    """Nanoseconds between two packets, an integer as in ns-3."""
    return round(1e9 / packets_per_second)


def rate(packets_per_second: float, payload: int) -> str:
    """The rate of payload with ns-3's interval.

    Args:
        packets_per_second: Packets per second.
        payload: Bytes of a packet.
    """
    return f"{round(8 * payload * 1e9 / interval(packets_per_second))}bit/s"


def elements(antenna: str) -> int:
    """Number of elements of an antenna such as `4x8`."""
    rows, columns = antenna.split("x")
    return int(rows) * int(columns)


def queue(chosen: Any, buffer: str, packet: str) -> Any:
    """The queue in the RLC; unless the user sets its limit, only the RLC's buffer bounds it."""
    if chosen == TAIL:
        return "infinite"
    is_name = isinstance(chosen, str) and ":" not in chosen and not read.is_tc(chosen)
    table = {"kind": chosen} if is_name else chosen
    if not isinstance(table, Mapping):
        return chosen
    known = described().get(str(table.get("kind")), {})
    held = math.ceil(units.size(buffer))
    # Most queues count packets or bytes, some only one of them.
    for limit in (f"{held}B", f"{max(1, held // (units.size(packet) + HEADERS))}p"):
        own = {name: f"{held}B" if known[name]["type"] == "bytes" else limit for name in LIMITS if name in known}
        if is_accepted({**own, **table}):
            return {**own, **table}
    return chosen


def neighbours(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The other base stations: alternately on both sides of the UE's, in a row along the y axis."""
    apart = params["gnb_distance"]
    return [
        {
            "position_m": [0.0, (number + 1) // 2 * (apart if number % 2 else -apart)],
            "load": params["interference_load"],
            "gain_db": params["interference_gain"],
        }
        for number in range(1, params["gnbs"])
    ]


def cell(params: Mapping[str, Any]) -> dict[str, Any]:
    """The network: a host, the UPF, the backhaul and the cell."""
    lena = params["framing"] == "lena"
    ue = {
        "kind": "scenario",
        "scenario": params["surroundings"],
        "condition": params["condition"],
        "shadowing": params["shadowing"],
        "position_m": [float(part) for part in params["position"].split(",")],
        "gnb_height_m": params["gnb_height"],
        "ue_height_m": params["ue_height"],
        "gnb_antennas": elements(params["gnb_antenna"]),
        "ue_antennas": elements(params["ue_antenna"]),
    }
    others = neighbours(params)
    return {
        # Headers of PPP, and of Ethernet, IP, UDP and GTP-U. The first packet reaches the RLC 7.00135 ms after it is
        # sent.
        "wire": {"rate": params["wire_rate"], "delay": params["wire_delay"], "overhead": 2},
        "backhaul": {"rate": params["backhaul_rate"], "delay": params["backhaul_delay"], "overhead": 38},
        "queue": queue(params["queue"], params["buffer"], params["packet"]),
        "buffer": params["buffer"],
        "radio": {
            "frequency": params["frequency"],
            "bandwidth": params["bandwidth"],
            "numerology": params["numerology"],
            "pattern": params["pattern"],
            "gnb_power": params["power"],
            "amc": params["amc"],
            **({} if params["mcs"] is None else {"mcs": params["mcs"]}),
            "scheduler": params["scheduler"],
            "access": params["access"],
            "rule": params["rule"],
            "rlc": {"mode": params["rlc"], "framing": params["framing"]},
            # ns-3's PDCP has 12 bits and no SDAP above it, and does not reorder.
            "pdcp": {"sn_bits": 12, "sdap_header": False, "out_of_order": True} if lena else {},
            "sounding_offset": params["sounding_offset"],
            "ues": [dict(ue) for _ in range(params["ues"])],
            **({"interferers": others} if others else {}),
        },
    }


def flows(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The flows of every UE. With several UEs, their names end in the number of the UE."""
    own, ues = _of_one_ue(params), params["ues"]
    if ues == 1:
        return own
    return [{**flow, "name": f"{flow['name']}_{ue}", "ue": ue} for ue in range(1, ues + 1) for flow in own]


def _of_one_ue(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The mice, the elephant and, in the mixed workload, a page, a ping and a call beside them."""
    begin = {"start": params["start"], "start_jitter": params["start_jitter"]}
    tcp = {**begin, "cca": params["cca"], "traffic": "greedy", "tcp": {"send_buffer": params["send_buffer"]}}
    packet = params["packet"]
    mice, elephant = (
        {**begin, "traffic": {"kind": "cbr", "rate": rate(of, units.size(packet)), "packet": packet}}
        for of in (params["mice_rate"], params["lambda"] or 1)
    )
    mixed = [
        {"name": "web", "traffic": {"kind": "fetch", "response": "500kB", "interval": "1s"}},
        ping(),
        call(),
    ]
    return [
        {"name": MICE, **(tcp if params["mice"] == "tcp" else mice)},
        {"name": ELEPHANT, **(elephant if params["cca"] == UDP else tcp)},
        *({**begin, **flow} for flow in mixed if params["workload"] == MIXED),
    ]
