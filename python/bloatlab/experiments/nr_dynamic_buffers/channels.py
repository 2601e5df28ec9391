"""Four channels of a 5G cell after TR 38.901, from a constant one to one with blockage."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# A UE puts its 23 dBm into the few resource blocks of ACKs, and the cell's SNR is over the whole carrier: 10 dB for a
# tenth.
MID_BAND = {"frequency": "3.5GHz", "bandwidth": "20MHz", "numerology": 1, "ue_power": 33}
PEDESTRIAN, VEHICLE = 0.833, 16.667
"""Speeds in m/s: 3 km/h (TR 38.901 table 7.2-1) and 60 km/h."""


@dataclass(frozen=True)
class Channel:
    """A carrier, and the path of a user through its cell."""

    name: str
    what: str
    carrier: Mapping[str, Any]
    ue: Mapping[str, Any]
    upf_rate: str
    """Backhaul rate of an operator who shapes in the UPF: a twentieth below the best rate of the carrier."""


def _moving(speed: float, heading: float, length: float) -> dict[str, Any]:
    return {"kind": "line", "speed_mps": speed, "heading_deg": heading, "length_m": length}


CHANNELS: Mapping[str, Channel] = {
    channel.name: channel
    for channel in (
        Channel(
            "static", "3.5 GHz, a user at rest 300 m from a macro cell, nothing fades",
            {**MID_BAND, "gnb_power": 43},
            {"scenario": "uma", "condition": "nlos", "gnb_height_m": 25, "position_m": [300, 0]},
            "58Mbit/s",
        ),
        Channel(
            "pedestrian", "3.5 GHz, 3 km/h 260 m from a small cell that is out of sight, shadowing and Rayleigh fading",
            {**MID_BAND, "gnb_power": 33},
            {
                "scenario": "umi", "condition": "nlos", "position_m": [260, 0], "shadowing": True,
                "mobility": _moving(PEDESTRIAN, 90, 50), "fading": {"k_db": None, "speed_mps": PEDESTRIAN},
            },
            "58Mbit/s",
        ),
        Channel(
            "vehicular", "3.5 GHz, 60 km/h towards a macro cell 800 m away, in sight of it at times, shadowing and Rician fading",
            {**MID_BAND, "gnb_power": 43},
            {
                "scenario": "uma", "condition": "probabilistic", "gnb_height_m": 25, "position_m": [800, 0], "shadowing": True,
                "mobility": _moving(VEHICLE, 180, 700), "fading": {"k_db": 7, "speed_mps": VEHICLE},
            },
            "58Mbit/s",
        ),
        Channel(
            "mmwave_blockage", "28 GHz, 3 km/h 260 m from a small cell in sight, shadowing, and people who step into the beam",
            {"frequency": "28GHz", "bandwidth": "100MHz", "numerology": 3, "gnb_power": 23},
            {
                "scenario": "umi", "condition": "los", "position_m": [260, 0], "shadowing": True, "gnb_antennas": 64,
                "mobility": _moving(PEDESTRIAN, 90, 50), "fading": {"k_db": 9, "speed_mps": PEDESTRIAN},
                # Two side by side, one about every 2 s.
                "blockage": {"kind": "b", "gap": "2s", "width_m": 0.6},
            },
            "305Mbit/s",
        ),
    )
}  # fmt: skip


def radio(channel: Channel, rlc: str, ues: int) -> dict[str, Any]:
    """The radio of the cell: `users` users on this path, each with independent fading and blockers.

    At most 64QAM: with 256QAM HARQ rarely recovers from a fade, because a repetition keeps the modulation.
    """
    ue = {"kind": "scenario", "gnb_antennas": 32, "ue_antennas": 4, **channel.ue}
    return {
        "pattern": "DDDSU", "mcs_table": 1, "amc": "error_model", **channel.carrier,
        "rlc": {"mode": rlc}, "ues": [copy.deepcopy(ue) for _ in range(ues)],
    }  # fmt: skip
