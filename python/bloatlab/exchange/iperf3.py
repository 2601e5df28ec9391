"""iperf3's JSON (`iperf3 -J`, https://software.es.net/iperf/): the intervals of each stream, and the sums at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bloatlab.exchange.measurement import Direction, Flow, Measurement, Plain, Sample
from bloatlab.exchange.untrusted import Node

MOST_STREAMS = 1024
MOST_MSS = 65535
"""The option of TCP has 16 bits (RFC 9293 section 3.2)."""


def recognises(root: Node) -> bool:
    """Whether a document is one of iperf3's."""
    return isinstance(root.value, dict) and {"start", "intervals", "end"} <= root.value.keys()


def read(root: Node) -> Measurement:
    """Reads a document of the client.

    Raises:
        ParameterError: It is not sound, or iperf3 failed.
    """
    if (failed := root.maybe("error")) is not None:
        raise failed.error(f"iperf3 failed ({failed.text()[:200]})")
    start = root["start"]
    test = start["test_start"]
    transport: Literal["tcp", "udp"] = "udp" if test["protocol"].text() == "UDP" else "tcp"
    is_reverse = _flag(test, "reverse")
    is_both = _flag(test, "bidirectional") or _flag(test, "bidir")
    algorithm = root["end"].maybe("sender_tcp_congestion")
    mss_node = start.maybe("tcp_mss") or start.maybe("tcp_mss_default")
    tos = test.maybe("tos")
    flows: dict[int, Flow] = {}
    for interval in root["intervals"].elements():
        for stream in interval["streams"].elements():
            socket = stream["socket"].whole()
            if socket not in flows:
                if len(flows) >= MOST_STREAMS:
                    raise stream.error(f"is the stream {MOST_STREAMS + 1} of at most {MOST_STREAMS}")
                # In a test of both directions, the client receives the streams that it does not send.
                sends = stream["sender"].flag() if is_both and stream.maybe("sender") is not None else not is_reverse
                direction: Direction = "upload" if sends else "download"
                flows[socket] = Flow(
                    "", direction, [], transport, None if algorithm is None else algorithm.text(),
                    None if tos is None else tos.whole(0, 255) >> 2, None if mss_node is None else mss_node.whole(1, MOST_MSS),
                )  # fmt: skip
            if not _flag(stream, "omitted"):
                flows[socket].samples.append(_sample(stream, flows[socket]))
    _number(flows)
    ends = _ends(root["end"], transport)
    for socket, flow in flows.items():
        flow.mean_mbps, flow.loss_rate, flow.jitter_ms = ends.get(socket, (None, None, None))
    facts: dict[str, Plain] = {"protocol": transport}
    target = start.maybe("connecting_to")
    if target is not None and (host := target.maybe("host")) is not None:
        facts["host"] = host.text()
    for key in ("num_streams", "duration", "target_bitrate"):
        if (node := test.maybe(key)) is not None:
            facts[key] = node.number()
    if (title := root.maybe("title")) is not None:
        facts["title"] = title.text()
    stamp = start.maybe("timestamp")
    began = stamp["timesecs"].number() if stamp is not None else None
    end = max((one.end_s for flow in flows.values() for one in flow.samples), default=0.0)
    version = start["version"].text().removeprefix("iperf ")
    name = {(False, False): "upload", (True, False): "download"}.get((is_reverse, is_both), "both")
    return Measurement("iperf3", version, f"{transport}-{name}", end, list(flows.values()), [], began, facts)


def _flag(of: Node, key: str) -> bool:
    node = of.maybe(key)
    if node is None:
        return False
    return node.flag() if isinstance(node.value, bool) else node.whole() != 0


def _sample(stream: Node, flow: Flow) -> Sample:
    optional = {key: stream.maybe(key) for key in ("rtt", "snd_cwnd", "retransmits")}
    numbers = {key: node.number(0) for key, node in optional.items() if node is not None}
    before = flow.samples[-1].retransmissions if flow.samples else 0.0
    again = (before or 0.0) + numbers["retransmits"] if "retransmits" in numbers else None
    start, end = stream["start"].number(0), stream["end"].number(0)
    return Sample(
        start, max(start, end), stream["bits_per_second"].number(0) / 1e6,
        srtt_ms=numbers["rtt"] / 1e3 if numbers.get("rtt") else None, cwnd_bytes=numbers.get("snd_cwnd"),
        retransmissions=again,
    )  # fmt: skip


def _number(flows: Mapping[int, Flow]) -> None:
    for way, prefix in (("download", "down"), ("upload", "up")):
        own = [flow for flow in flows.values() if flow.direction == way]
        for place, flow in enumerate(own, 1):
            flow.name = f"{prefix}_{place}" if len(own) > 1 else prefix


End = tuple[float | None, float | None, float | None]
"""Mean rate at the receiver in Mbit/s, loss rate, jitter in ms."""


def _ends(end: Node, transport: str) -> dict[int, End]:
    found: dict[int, End] = {}
    streams = end.maybe("streams")
    for stream in streams.elements() if streams is not None else ():
        if transport == "tcp":
            # Not what was received is counted where the other end sends no report.
            if (receiver := stream.maybe("receiver")) is not None:
                found[receiver["socket"].whole()] = (receiver["bits_per_second"].number(0) / 1e6, None, None)
            continue
        if (udp := stream.maybe("udp")) is None:
            continue
        sent, lost = udp["packets"].number(0), udp["lost_packets"].number(0)
        rate = udp["bits_per_second"].number(0) / 1e6
        share = min(lost / sent, 1.0) if sent else None
        found[udp["socket"].whole()] = (rate, share, udp["jitter_ms"].number(0))
    return found
