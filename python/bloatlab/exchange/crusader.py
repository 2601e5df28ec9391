"""Crusader's JSON (https://github.com/Zoxc/crusader): the result of a test as its `export` writes it.

Durations are tables of `secs` and `nanos`. The bytes of a stream are counted from its beginning. A ping without `latency` was
lost on the way to the server, one without `latency.total` on the way back.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.exchange.irtt import first_ping
from bloatlab.exchange.measurement import Direction, Echo, Flow, Measurement, Plain, Probe, Sample
from bloatlab.exchange.untrusted import Node

VERSION = 2
MOST_STREAMS = 1024
INTERVAL_MS = 60.0
"""Crusader's usual interval between two samples of a stream."""


def recognises(root: Node) -> bool:
    """Whether a document is one of Crusader's."""
    return isinstance(root.value, dict) and {"config", "stream_groups", "pings"} <= root.value.keys()


def read(root: Node) -> Measurement:
    """Reads a document."""
    root["version"].whole(0, VERSION)
    config = root["config"]
    begin = _seconds(root["start"])
    flows: list[Flow] = []
    for group in root["stream_groups"].elements():
        direction: Direction = "download" if group["download"].flag() else "upload"
        prefix = f"{'down' if direction == 'download' else 'up'}{'_both' if group['both'].flag() else ''}"
        for place, stream in enumerate(group["streams"].elements(), 1):
            if len(flows) >= MOST_STREAMS:
                raise stream.error(f"is the stream {MOST_STREAMS + 1} of at most {MOST_STREAMS}")
            flows.append(Flow(f"{prefix}_{place}", direction, _samples(stream["data"], begin)))
    if len({flow.name for flow in flows}) < len(flows):
        raise root["stream_groups"].error("has two groups of the same direction")
    echoes = [_echo(ping, begin) for ping in root["pings"].elements()]
    interval = _seconds(config["ping_interval"]) * 1e3
    probes = [Probe("ping", sorted(echoes, key=lambda one: one.sent_s), interval or None, counts_losses=True)]
    made_by = root["generated_by"].text()
    facts: dict[str, Plain] = {"ipv6": root["ipv6"].flag(), "load_duration": _seconds(config["load_duration"])}
    for key in ("server_overload", "load_termination_timeout"):
        if (node := root.maybe(key)) is not None:
            facts[key] = node.flag()
    return Measurement("crusader", made_by.removeprefix("Crusader ") or "of unknown version", "test",
                       _seconds(root["duration"]), flows, probes if echoes else [], None, facts)  # fmt: skip


def _seconds(node: Node) -> float:
    return node["secs"].whole() + node["nanos"].whole(0, 999_999_999) / 1e9


def _samples(data: Node, begin: float) -> list[Sample]:
    points = [(_seconds(point["time"]) - begin, point["bytes"].whole()) for point in data.elements()]
    found = []
    for (start, before), (end, after) in pairwise(points):
        if end < start or after < before:
            raise data.error("must not decrease")
        if end > start:
            found.append(Sample(start, end, (after - before) * 8 / (end - start) / 1e6))
    return found


def _echo(ping: Node, begin: float) -> Echo:
    ping["index"].whole()
    sent = _seconds(ping["sent"]) - begin
    latency = ping.maybe("latency")
    if latency is None:
        return Echo(sent, None, loss="lost up")
    total = latency.maybe("total")
    if total is None:
        return Echo(sent, None, loss="lost down")
    rtt = _seconds(total) * 1e3
    if rtt <= 0:
        raise total.error("must be above 0")
    up = _seconds(latency["up"]) * 1e3
    return Echo(sent, rtt, up, rtt - up) if 0 < up <= rtt else Echo(sent, rtt)


def write(of: Measurement) -> bytes:
    """The file for a measurement: its TCP flows, and its first ping.

    Raises:
        ParameterError: It has neither.
    """
    return json.dumps(document(of), allow_nan=False).encode()


def document(of: Measurement) -> dict[str, Any]:
    """The document for a measurement."""
    flows = [flow for flow in of.flows if flow.transport == "tcp" and any(one.mbps is not None for one in flow.samples)]
    probe = first_ping(of, "crusader") if any(probe.echoes for probe in of.probes) else Probe("ping", [])
    if not flows and not probe.echoes:
        raise ParameterError(f"crusader: {of.name} has neither a TCP flow nor a ping")
    groups: dict[tuple[Direction, bool], list[Flow]] = {}
    spans = {way: [flow.span for flow in flows if flow.direction == way] for way in ("download", "upload")}
    for flow in flows:
        other = spans["upload" if flow.direction == "download" else "download"]
        both = any(start < flow.span[1] and flow.span[0] < end for start, end in other)
        groups.setdefault((flow.direction, both), []).append(flow)
    lengths = [one.end_s - one.start_s for flow in flows for one in flow.samples]
    return {
        "version": VERSION,
        "generated_by": f"{of.tool} {of.version}",
        "config": {
            "stagger": _duration(0.0),
            "load_duration": _duration(
                max((end - start for of_way in spans.values() for start, end in of_way), default=0.0)
            ),
            "grace_duration": _duration(min((start for of_way in spans.values() for start, _ in of_way), default=0.0)),
            "ping_interval": _duration((probe.interval_ms or 0.0) / 1e3),
            "bandwidth_interval": _duration(min(lengths, default=INTERVAL_MS / 1e3)),
        },
        "ipv6": False,
        "load_termination_timeout": False,
        "server_overload": False,
        "server_latency": _duration(0.0),
        "start": _duration(0.0),
        "duration": _duration(of.duration_s),
        "stream_groups": [
            {"download": way == "download", "both": both, "streams": [_stream(flow) for flow in members]}
            for (way, both), members in groups.items()
        ],
        "pings": [_ping(place, one) for place, one in enumerate(probe.echoes)],
        "peer_pings": None,
        "test_data": [],
    }


def _duration(seconds: float) -> dict[str, int]:
    nanos = round(seconds * 1e9)
    return {"secs": nanos // 10**9, "nanos": nanos % 10**9}


def _stream(flow: Flow) -> dict[str, Any]:
    total = 0.0
    points: list[tuple[float, float]] = []
    for one in flow.samples:
        if one.mbps is None:
            continue
        if not points or points[-1][0] < one.start_s:
            points.append((one.start_s, total))
        total += one.mbps * 1e6 / 8 * (one.end_s - one.start_s)
        points.append((one.end_s, total))
    return {"data": [{"time": _duration(at), "bytes": round(octets)} for at, octets in points]}


def _ping(place: int, one: Echo) -> dict[str, Any]:
    latency: dict[str, Any] | None = None
    if one.rtt_ms is not None:
        latency = {"total": _duration(one.rtt_ms / 1e3), "up": _duration((one.up_ms or 0.0) / 1e3)}
    elif one.loss == "lost down":
        latency = {"total": None, "up": _duration(0.0)}
    return {"index": place, "sent": _duration(one.sent_s), "latency": latency}
