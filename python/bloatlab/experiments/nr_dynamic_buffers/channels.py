"""Four channels of a 5G cell, from none that changes to one that is blocked, with the parts of TR 38.901."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MID_BAND = {"frequency": "3.5GHz", "bandwidth": "20MHz", "numerology": 1}
PEDESTRIAN = 3 / 3.6
"""m/s; TR 38.901 table 7.2-1: 3 km/h."""
VEHICLE = 60 / 3.6


@dataclass(frozen=True)
class Channel:
    """A carrier and a user's way through its cell."""

    name: str
    what: str
    carrier: Mapping[str, Any]
    ue: Mapping[str, Any]
    upf_rate: str
    """What an operator who shapes in the UPF would take the cell for: a little less than it carries on a good day."""


def _moving(speed: float, heading: float, length: float) -> dict[str, Any]:
    return {"kind": "line", "speed_mps": round(speed, 3), "heading_deg": heading, "length_m": length}


CHANNELS: Mapping[str, Channel] = {
    channel.name: channel
    for channel in (
        Channel(
            "static", "3.5 GHz, a user at rest 300 m from a macro cell, without fading",
            {**MID_BAND, "gnb_power": 43},
            {"scenario": "uma", "condition": "nlos", "gnb_height_m": 25, "position_m": [300, 0]},
            "70Mbit/s",
        ),
        Channel(
            "pedestrian", "3.5 GHz, 3 km/h through a street 200 m from a small cell, without line of sight: shadowing and Rayleigh fading",
            {**MID_BAND, "gnb_power": 33},
            {
                "scenario": "umi", "condition": "nlos", "position_m": [200, 0], "shadowing": True,
                "mobility": _moving(PEDESTRIAN, 90, 50), "fading": {"k_db": None, "speed_mps": round(PEDESTRIAN, 3)},
            },
            "60Mbit/s",
        ),
        Channel(
            "vehicular", "3.5 GHz, 60 km/h from 650 m towards a macro cell, in sight of it here and there: shadowing and Rician fading",
            {**MID_BAND, "gnb_power": 43},
            {
                "scenario": "uma", "condition": "probabilistic", "gnb_height_m": 25, "position_m": [650, 0], "shadowing": True,
                "mobility": _moving(VEHICLE, 180, 600), "fading": {"k_db": 3, "speed_mps": round(VEHICLE, 3)},
            },
            "60Mbit/s",
        ),
        Channel(
            "mmwave_blockage", "28 GHz, 100 m from a small cell in its sight, with people who step into the beam",
            {"frequency": "28GHz", "bandwidth": "100MHz", "numerology": 3, "gnb_power": 30},
            {
                "scenario": "umi", "condition": "los", "position_m": [100, 0], "shadowing": True,
                "gnb_antennas": 64,
                "mobility": _moving(PEDESTRIAN, 90, 30), "fading": {"k_db": 9, "speed_mps": round(PEDESTRIAN, 3)},
                "blockage": {"kind": "b", "gap": "3s"},
            },
            "300Mbit/s",
        ),
    )
}  # fmt: skip


def radio(channel: Channel, rlc: str, ues: int) -> dict[str, Any]:
    """The cell's radio: so many users that each go this way, with fading and blockers of their own."""
    ue = {"kind": "scenario", "gnb_antennas": 32, "ue_antennas": 4, **channel.ue}
    return {
        "pattern": "DDDSU", "mcs_table": 2, "amc": "error_model", **channel.carrier,
        "rlc": {"mode": rlc}, "ues": [copy.deepcopy(ue) for _ in range(ues)],
    }  # fmt: skip
