"""irtt's JSON (https://github.com/heistp/irtt, `json_format` 1): isochronous round trips with one-way delays.

All durations are in ns. Losses state their direction, if the server counted the requests.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import fmean, median, pstdev
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.exchange.measurement import Echo, Loss, Measurement, Plain, Probe
from bloatlab.exchange.untrusted import Node

FORMAT = 1
LOSSES: dict[str, Loss] = {"true": "lost", "true_up": "lost up", "true_down": "lost down"}
LEAST_MS = 1e-6
FACTS = {
    "local_address": ("config",),
    "remote_address": ("config",),
    "hostname": ("system_info",),
    "start_time": ("stats",),
}


def recognises(root: Node) -> bool:
    """Whether a document is one of irtt's."""
    return isinstance(root.value, dict) and {"config", "round_trips"} <= root.value.keys()


def read(root: Node) -> Measurement:
    """Reads a document."""
    version = root["version"]
    version["json_format"].whole(FORMAT, FORMAT)
    params = root["config"]["params"]
    trips = root["round_trips"].elements()
    if not trips:
        raise root["round_trips"].error("is empty")
    clock = "monotonic" if _send(trips[0]).maybe("monotonic") is not None else "wall"
    zero = _send(trips[0])[clock].number()
    echoes = [_echo(trip, clock, zero) for trip in trips]
    wall = _send(trips[0]).maybe("wall")
    facts: dict[str, Plain] = {}
    for key, (section,) in FACTS.items():
        if (
            (of := root.maybe(section)) is not None
            and (node := of.maybe(key)) is not None
            and (value := node.plain()) is not None
        ):
            facts[key] = value
    probe = Probe(
        "ping", echoes, params["interval"].number(0) / 1e6 or None, _whole(params, "length"), _whole(params, "dscp"),
        counts_losses=True,
    )  # fmt: skip
    end = max(one.sent_s + (one.rtt_ms or 0.0) / 1e3 for one in echoes)
    return Measurement("irtt", version["irtt"].text(), "ping", end, [], [probe],
                       None if wall is None else wall.number() / 1e9, facts)  # fmt: skip


def _whole(of: Node, key: str) -> int | None:
    node = of.maybe(key)
    return None if node is None else node.whole()


def _send(trip: Node) -> Node:
    return trip["timestamps"]["client"]["send"]


def _echo(trip: Node, clock: str, zero: float) -> Echo:
    sent = (_send(trip)[clock].number() - zero) / 1e9
    state = trip["lost"].text()
    if state in LOSSES:
        return Echo(sent, None, loss=LOSSES[state])
    if state != "false":
        raise trip["lost"].error(f"must be false, {', '.join(LOSSES)}, not {state!r}")
    delay = trip["delay"]
    one_way = [delay.maybe(key) for key in ("send", "receive")]
    up, down = (None if node is None else node.number() / 1e6 for node in one_way)
    return Echo(sent, delay["rtt"].number(1) / 1e6, up, down)


def write(of: Measurement) -> bytes:
    """The file for the first ping of a measurement."""
    return gzip.compress(json.dumps(document(of), allow_nan=False).encode(), mtime=0)


def first_ping(of: Measurement, form: str) -> Probe:
    """The unmarked ping named `ping`, or else the first.

    Raises:
        ParameterError: There is none.
    """
    pings = [probe for probe in of.probes if probe.echoes]
    if not pings:
        raise ParameterError(f'{form}: {of.name} has no ping (traffic = {{ kind = "ping" }})')
    return next((probe for probe in pings if probe.name == "ping"), pings[0])


def document(of: Measurement) -> dict[str, Any]:
    """The document for the first ping of a measurement."""
    probe = first_ping(of, "irtt")
    began = round((of.began or 0.0) * 1e9)
    interval = _ns(probe.interval_ms) if probe.interval_ms else 0
    rtt = [one.rtt_ms for one in probe.echoes if one.rtt_ms is not None]
    up = [one.up_ms for one in probe.echoes if one.up_ms is not None]
    down = [one.down_ms for one in probe.echoes if one.down_ms is not None]
    sent, lost = len(probe.echoes), len(probe.echoes) - len(rtt)
    ways = [sum(one.loss == way for one in probe.echoes) for way in ("lost up", "lost down")]
    return {
        "version": {"irtt": f"{of.tool} {of.version}", "protocol": 1, "json_format": FORMAT},
        "system_info": {"hostname": str(of.facts.get("hostname", of.tool))},
        "config": {
            "local_address": str(of.facts.get("local_address", "")), "remote_address": str(of.facts.get("remote_address", "")),
            "params": {
                "proto_version": 1, "duration": round(of.duration_s * 1e9), "interval": interval, "length": probe.size or 0,
                "received_stats": "both", "stamp_at": "both", "clock": "both", "dscp": probe.dscp or 0, "server_fill": "",
            },
        },
        "stats": {
            "start_time": datetime.fromtimestamp(of.began or 0.0, UTC).isoformat(),
            "rtt": _statistics(rtt), "send_delay": _statistics(up), "receive_delay": _statistics(down),
            "duration": round(of.duration_s * 1e9), "packets_sent": sent, "packets_received": len(rtt),
            "packet_loss_percent": 100 * lost / sent, "upstream_loss_percent": 100 * ways[0] / sent,
            "downstream_loss_percent": 100 * ways[1] / sent,
        },
        "round_trips": [_trip(place, one, began) for place, one in enumerate(probe.echoes)],
    }  # fmt: skip


def _ns(ms: float) -> int:
    return round(ms * 1e6)


def _statistics(values: Sequence[float]) -> dict[str, int]:
    if not values:
        return {"total": 0, "n": 0, "min": 0, "max": 0, "mean": 0, "median": 0, "stddev": 0, "variance": 0}
    spread = pstdev(values) * 1e6
    return {
        "total": _ns(math.fsum(values)), "n": len(values), "min": _ns(min(values)), "max": _ns(max(values)),
        "mean": _ns(fmean(values)), "median": _ns(median(values)), "stddev": round(spread), "variance": round(spread**2),
    }  # fmt: skip


def _trip(place: int, one: Echo, began: int) -> dict[str, Any]:
    def stamp(at_s: float) -> dict[str, int]:
        monotonic = round(at_s * 1e9)
        return {"wall": began + monotonic, "monotonic": monotonic}

    client: dict[str, Any] = {"send": stamp(one.sent_s)}
    server: dict[str, Any] = {}
    state = next((text for text, loss in LOSSES.items() if loss == one.loss), "true")
    found: dict[str, Any] = {"seqno": place, "lost": state, "timestamps": {"client": client, "server": server}}
    if one.rtt_ms is None:
        return found
    client["receive"] = stamp(one.sent_s + one.rtt_ms / 1e3)
    delay = {"rtt": _ns(one.rtt_ms)}
    if one.up_ms is not None and one.down_ms is not None:
        delay |= {"send": _ns(one.up_ms), "receive": _ns(one.down_ms)}
        at_server = one.sent_s + one.up_ms / 1e3
        server |= {"receive": stamp(at_server), "send": stamp(at_server)}
    return {**found, "lost": "false", "delay": delay}
