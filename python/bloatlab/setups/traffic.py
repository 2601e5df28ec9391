"""Programs that make the traffic of flows between two hosts: iperf3, ping, and a web server with curl."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab import language, units
from bloatlab.errors import ParameterError

FIRST_PORT = 5201
"""iperf3's default port; each flow has its own."""
UDP_AND_IP = 28
"""Bytes of the headers that a datagram's size in a scenario includes."""


@dataclass(frozen=True)
class Program:
    """The programs of one flow."""

    server: str
    """Command of the server; empty: there is none."""
    client: str
    """Command of the client, with `{address}` for the other host."""
    sends: bool
    """Whether the client is on the host that sends the data."""
    start_s: float
    """When the client starts."""
    page_bytes: int = 0
    """Size of the file `page-PORT` that the server offers; 0: none."""


def programs(document: Mapping[str, Any], flows: Sequence[language.Flow]) -> dict[str, Program | None]:
    """The programs by the name of their flow; `None`: no common program makes this traffic.

    Args:
        document: The scenario in its canonical form.
        flows: Its flows, in its order.

    Raises:
        ParameterError: Linux does not have the congestion control of a flow.
    """
    tables = [table for table in document["flows"] for _ in range(table["count"])]
    return {
        flow.name: _program(flow, table["traffic"], FIRST_PORT + number)
        for number, (flow, table) in enumerate(zip(flows, tables, strict=True))
    }


def _program(flow: language.Flow, traffic: Mapping[str, Any], port: int) -> Program | None:
    start, length = flow.start_ns / 1e9, max(1, round((flow.stop_ns - flow.start_ns) / 1e9))
    tos = flow.dscp << 2
    if traffic["kind"] == "ping":
        mark = f" -Q {tos}" if tos else ""
        size = units.size(traffic["size"]) - UDP_AND_IP
        interval = units.duration(traffic["interval"])
        return Program("", f"ping -D{mark} -s {size} -i {interval:g} -w {length} {{address}}", True, start)
    mark = f" -S {tos}" if tos else ""
    client = f"iperf3 -c {{address}} -p {port}{mark} -t {length}"
    if traffic["kind"] == "greedy":
        return Program(f"iperf3 -s -1 -p {port}", f"{client} -C {linux_algorithm(flow)}", True, start)
    if traffic["kind"] == "cbr" and traffic["transport"] == "udp":
        payload = units.size(traffic["packet"]) - UDP_AND_IP
        rate = int(units.rate(traffic["rate"]) * payload / (payload + UDP_AND_IP))
        return Program(f"iperf3 -s -1 -p {port}", f"{client} -u -b {rate} -l {payload}", True, start)
    if traffic["kind"] == "fetch":
        pause = units.duration(traffic["interval"])
        fetch = f"curl -s -o /dev/null -w '%{{{{time_total}}}}\\n' http://{{address}}:{port}/page-{port}"
        loop = f'timeout {length} sh -c "while :; do {fetch}; sleep {pause:g}; done"'
        return Program(f"python3 -m http.server {port}", loop, False, start, units.size(traffic["response"]))
    return None


def linux_algorithm(flow: language.Flow) -> str:
    """Name of a flow's congestion control in Linux.

    Raises:
        ParameterError: Linux does not have it.
    """
    kind = str(flow.cca["kind"])
    name = elsewhere(kind).get("linux")
    if name is None:
        raise ParameterError(f"flow `{flow.name}`: Linux has no `{kind}`; choose another cca")
    return str(name["name"])


def elsewhere(kind: str) -> Mapping[str, Any]:
    """The names of a congestion control in other tools, by tool."""
    known = json.loads(language.algorithms())["congestion_controls"]
    found: Mapping[str, Any] = next((one for one in known if one["kind"] == kind), {})
    return found.get("elsewhere") or {}
