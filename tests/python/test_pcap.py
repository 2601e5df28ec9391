"""Captures, read without Wireshark: the bits of their IP headers are those of the scenario."""

from __future__ import annotations

import struct
import tomllib
from pathlib import Path

import pytest

import bloatlab as bl

SCENARIO = """
name = "classes"
duration = "1s"

[dumbbell]
rate = "10Mbit/s"
reverse_rate = "10Mbit/s"
rtt = "20ms"
queue = "fifo"

[[flows]]
name = "bulk"
dscp = "CS1"
tcp = { ecn = true }

[[flows]]
name = "up"
direction = "reverse"
dscp = "AF41"

[[flows]]
name = "voice"
dscp = "EF"
traffic = { kind = "cbr", rate = "64kbit/s", packet = "160B" }

[[flows]]
name = "ping"
dscp = "CS5"
traffic = { kind = "ping", interval = "50ms" }

[[flows]]
name = "plain"
"""
BULK, UP, VOICE, PING, PLAIN = 8, 34, 46, 40, 0
DATA, ANSWERS = 1, 2
"""Second byte of the addresses of hosts that send data, and of hosts that answer."""


def headers(path: Path) -> list[bytes]:
    """The IP header of every packet of a capture."""
    data, place, found = path.read_bytes(), 24, []
    while place < len(data):
        (kept,) = struct.unpack_from(">I", data, place + 8)
        found.append(data[place + 16 : place + 36])
        place += 16 + kept
    return found


@pytest.fixture(scope="module")
def result() -> bl.Result:
    return bl.run(tomllib.loads(SCENARIO), packets=True)


@pytest.mark.parametrize("link", [None, "bottleneck", "reverse"])
def test_a_capture_has_the_code_point_of_each_flow(result: bl.Result, tmp_path: Path, link: str | None) -> None:
    path = tmp_path / "run.pcap"
    result.write_pcap(path, link)
    seen = {(header[13], header[15], header[1] >> 2) for header in headers(path)}
    # The last byte of an address is the number of the flow.
    flows = list(enumerate((BULK, UP, VOICE, PING, PLAIN)))
    data = {(DATA, index, code) for index, code in flows}
    answers = {(ANSWERS, index, code) for index, code in flows if code != VOICE}
    forward, reverse = data | answers, set()
    if link is not None:
        upward = {row for row in forward if row[1] == 1}
        forward, reverse = (data - upward) | (answers & upward), (answers - upward) | (data & upward)
    assert seen == (reverse if link == "reverse" else forward)


def test_ecn_keeps_its_bits_beside_the_code_point(result: bl.Result, tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    result.write_pcap(path)
    of_bulk = {header[1] for header in headers(path) if header[13] == DATA and header[15] == 0}
    assert of_bulk == {BULK << 2, BULK << 2 | 2}


def test_the_table_of_packets_has_the_code_points(result: bl.Result) -> None:
    packets = result.packets.to_polars()
    seen = set(packets.select("flow", "dscp").unique().iter_rows())
    assert seen == {("bulk", BULK), ("up", UP), ("voice", VOICE), ("ping", PING), ("plain", PLAIN)}
