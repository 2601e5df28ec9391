"""Names of flows and pings: ours, as the experiments `rrul`, `rrul_be`, `tcp_nup` and `tcp_ndown` have them, and Flent's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bloatlab.exchange.measurement import Direction, Flow, Probe

CLASSES = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}
"""Marks of RRUL's flows in each direction (DSCPs), in its order."""
PREFIX: dict[Direction, str] = {"download": "down", "upload": "up"}
_BEST_EFFORT = re.compile(r"BE(?:::)?(\d*)\Z")
_UNSAFE = re.compile(r"[^a-z0-9]+")


def flow_name(direction: Direction, label: str, *, numbered: bool) -> str:
    """Our name of a flow, such as `down_be` or `up_3`.

    Args:
        direction: Its direction.
        label: Flent's label of the flow.
        numbered: The flows of a direction are equal: `BE`, `BE2`, ... are the flows 1, 2, ...
    """
    if numbered and (found := _BEST_EFFORT.match(label)):
        label = found[1] or "1"
    short = _UNSAFE.sub("_", label.lower()).strip("_")
    return f"{PREFIX[direction]}_{short}" if short else PREFIX[direction]


def probe_name(label: str) -> str:
    """Our name of a ping, such as `ping` or `ping_ef`."""
    short = _UNSAFE.sub("_", label.lower()).strip("_")
    return f"ping_{short}" if short else "ping"


def dscp_of(label: str) -> int | None:
    """The mark that a label of Flent's names."""
    last = label.split()[-1] if label.split() else ""
    return 0 if _BEST_EFFORT.match(last) or not last else CLASSES.get(last)


def test_of(flows: Sequence[Flow]) -> tuple[str, list[str]]:
    """Flent's test for these TCP flows, and the name of each flow's series without `TCP `."""
    ways = {way: [flow for flow in flows if flow.direction == way] for way in ("upload", "download")}
    marks = {way: sorted(flow.dscp or 0 for flow in of) for way, of in ways.items()}
    if all(of == sorted(CLASSES.values()) for of in marks.values()):
        label = {dscp: name for name, dscp in CLASSES.items()}
        return "rrul", [f"{flow.direction} {label[flow.dscp or 0]}" for flow in flows]
    if all(of == [0] * 4 for of in marks.values()):
        return "rrul_be", [f"{flow.direction} BE{'' if place == 1 else place}" for flow, place in _placed(flows)]
    if not flows:
        return "ping", []
    if ways["upload"] and ways["download"]:
        return "rrul_be_nflows", [f"{flow.direction} BE::{place}" for flow, place in _placed(flows)]
    numbered = [f"{flow.direction}::{place}" for flow, place in _placed(flows)]
    return "tcp_nup" if ways["upload"] else "tcp_ndown", numbered


def _placed(flows: Sequence[Flow]) -> list[tuple[Flow, int]]:
    """Each flow with its number among those of its direction, from 1."""
    counts: dict[Direction, int] = {}
    found = []
    for flow in flows:
        counts[flow.direction] = counts.get(flow.direction, 0) + 1
        found.append((flow, counts[flow.direction]))
    return found


def ping_labels(probes: Sequence[Probe], test: str) -> list[str]:
    """Flent's label of each ping. The first unmarked ping is `ICMP`, the others are `UDP` and a class."""
    unmarked = [place for place, probe in enumerate(probes) if not probe.dscp]
    plain = next((place for place in unmarked if probes[place].name == "ping"), next(iter(unmarked), 0))
    label = {dscp: name for name, dscp in CLASSES.items()}
    found: list[str] = []
    equal = 0
    for place, probe in enumerate(probes):
        if place == plain:
            found.append("ICMP")
            continue
        own = label.get(probe.dscp or 0, probe.name)
        if own == "BE" and test == "rrul_be":
            equal += 1
            own = f"BE{equal}"
        found.append(f"UDP {own}" if f"UDP {own}" not in found else f"UDP {probe.name}")
    return found
