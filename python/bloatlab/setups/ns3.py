"""The attributes of ns-3 for the network and the connections of a scenario, as lines of C++.

The names of attributes are those of ns-3.44, and its text form of values is used for each of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bloatlab import language, units
from bloatlab.errors import ParameterError
from bloatlab.setups.bed import Bed
from bloatlab.setups.text import comment, identifier
from bloatlab.setups.traffic import elsewhere

CODEL = {"limit": "MaxSize", "target": "Target", "interval": "Interval", "ecn": "UseEcn", "ce_threshold": "CeThreshold"}
PIE = {
    "limit": "MaxSize",
    "target": "QueueDelayReference",
    "tupdate": "Tupdate",
    "alpha": "A",
    "beta": "B",
    "ecn": "UseEcn",
    "dq_rate_estimator": "UseDequeueRateEstimator",
}
QUEUES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "fifo": ("FifoQueueDisc", {"limit": "MaxSize"}),
    "codel": ("CoDelQueueDisc", CODEL),
    "fq_codel": ("FqCoDelQueueDisc", {**CODEL, "flows": "Flows", "drop_batch": "DropBatchSize"}),
    "cobalt": (
        "CobaltQueueDisc",
        {
            **CODEL,
            "increment": "Increment",
            "decrement": "Decrement",
            "pdrop": "Pdrop",
            "blue_threshold": "BlueThreshold",
        },
    ),
    "pie": ("PieQueueDisc", {**PIE, "max_burst": "MaxBurstAllowance", "mark_ecnth": "MarkEcnThreshold"}),
    "fq_pie": ("FqPieQueueDisc", {**PIE, "ecn_prob": "MarkEcnThreshold", "flows": "Flows"}),
}
"""ns-3's queue disc and its attributes, by queue and parameter."""


def lines(bed: Bed, document: Mapping[str, Any]) -> list[str]:
    """The lines of C++: a helper with device, channel and queue disc for each link, then defaults of TCP.

    Args:
        bed: The test bed.
        document: The scenario in its canonical form.

    Raises:
        ParameterError: ns-3 does not have a queue, one of its parameters or a congestion control.
    """
    found = [f"// {comment(bed.name)}: the network and the connections for ns-3.44"]
    for first, second, link in bed.links():
        found += ["", f"// {comment(link.name)}: from router {first} to router {second}", *_link(link)]
    for place, hosts in enumerate(bed.hosts, 1):
        names = ", ".join(comment(flow.name) for flow, _ in hosts.flows)
        found += ["", f"// Hosts of {names}: at routers {hosts.enter} and {hosts.leave}"]
        for side, rest in (("Far", hosts.forth), ("Near", hosts.back)):
            if rest.jitter or rest.impairments:
                found.append(f"// {side}: ns-3 has no jitter, loss or duplication at a channel; add an ErrorModel.")
            found.append(f"PointToPointHelper hosts{place}{side};")
            found.append(_set(f"hosts{place}{side}.SetChannelAttribute", "Delay", f"{rest.delay_ns}ns"))
    return [*found, "", *_connections(bed, document)]


def _link(link: language.Link) -> list[str]:
    kind = str(link.queue["kind"])
    if kind not in QUEUES:
        raise ParameterError(f"{link.name}: ns-3 has no counterpart of `{kind}` here (allowed: {', '.join(QUEUES)})")
    disc, attributes = QUEUES[kind]
    name = identifier(link.name)
    lines = [
        f"PointToPointHelper {name};",
        _set(f"{name}.SetDeviceAttribute", "DataRate", f"{link.rate_bps}bps"),
        # Propagation is at the hosts, as in the other set-ups; a device always holds one packet.
        f'{name}.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("{max(1, link.device_packets)}p"));',
        f"TrafficControlHelper {name}Queue;",
    ]
    if (segments := link.queue.get("segments_per_buffer", 1)) > 1:
        lines.append(f"// ns-3 has no offload: the limit holds the packets of all buffers, {segments} in each.")
    values = {
        attributes[field]: _value(link, field, value)
        for field, value in _changed(link, attributes).items()
        if value is not None
    }
    written = "".join(f', "{attribute}", StringValue("{value}")' for attribute, value in values.items())
    return [*lines, f'{name}Queue.SetRootQueueDisc("ns3::{disc}"{written});']


def _changed(link: language.Link, attributes: Mapping[str, str]) -> dict[str, Any]:
    """The parameters that ns-3 has. The others must have their defaults."""
    defaults = json.loads(language.queue(json.dumps(link.queue["kind"])))
    for field, value in link.queue.items():
        if field in (*attributes, "kind", "segments_per_buffer") or value == defaults.get(field):
            continue
        raise ParameterError(f"{link.name}.{field}: ns-3's {link.queue['kind']} has no such attribute ({value})")
    return {field: link.queue[field] for field in attributes if field in link.queue}


def _value(link: language.Link, field: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if field == "limit" and link.limit is not None and link.limit.buffers is not None:
        return f"{link.limit.buffers * link.queue['segments_per_buffer']}p"
    return str(value)


def _connections(bed: Bed, document: Mapping[str, Any]) -> list[str]:
    """Defaults of TCP. ns-3 has one default for all sockets, so flows that differ are set one by one."""
    tables = [table for table in document["flows"] for _ in range(table["count"])]
    found: dict[tuple[str, ...], list[str]] = {}
    for flow, table in zip(bed.flows, tables, strict=True):
        if table["traffic"]["kind"] in ("ping", "cbr") and table["traffic"].get("transport", "udp") == "udp":
            continue
        found.setdefault(tuple(_tcp(flow, table["tcp"])), []).append(comment(flow.name))
    lines = []
    for settings, names in found.items():
        lines += [f"// TCP of {', '.join(names)}", *settings]
    if len(found) > 1:
        lines.insert(
            0, "// Set these before the sockets of the named flows are created: a default holds for all later ones."
        )
    return lines


def _tcp(flow: language.Flow, tcp: Mapping[str, Any]) -> list[str]:
    kind = str(flow.cca["kind"])
    name = elsewhere(kind).get("ns3")
    if name is None:
        raise ParameterError(f"flow `{flow.name}`: ns-3 has no `{kind}`; choose another cca")
    values = {
        "TcpL4Protocol::SocketType": name,
        "TcpSocket::SegmentSize": tcp["mss"],
        "TcpSocket::InitialCwnd": tcp["initial_window"],
        "TcpSocket::DelAckCount": tcp["ack_every"],
        "TcpSocket::DelAckTimeout": tcp["delayed_ack"],
        "TcpSocket::SndBufSize": units.size(tcp["send_buffer"]),
        "TcpSocket::RcvBufSize": units.size(tcp["receive_buffer"]),
        "TcpSocketBase::MinRto": tcp["min_rto"],
        "TcpSocketBase::UseEcn": "On" if tcp["ecn"] else "Off",
    }
    return [f'Config::SetDefault("ns3::{attribute}", StringValue("{value}"));' for attribute, value in values.items()]


def _set(call: str, attribute: str, value: str) -> str:
    return f'{call}("{attribute}", StringValue("{value}"));'
