"""Wireshark's `tshark` reads the captures of all kinds of traffic: nothing is malformed, and every checksum is right."""

import shutil
import struct
import subprocess
import tomllib
from pathlib import Path

import pytest

import bloatlab as bl

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (apt install tshark)")

LINK = """
duration = "2s"

[dumbbell]
rate = "10Mbit/s"
reverse_rate = "10Mbit/s"
rtt = "40ms"
"""
MIXED = f"""{LINK}
queue = {{ kind = "fifo", limit = "30p" }}
loss = 0.01
impair = {{ corrupt = 0.002, duplicate = 0.002 }}

[[flows]]
cca = "cubic"
count = 2

[[flows]]
cca = "bbr"
direction = "reverse"
dscp = "CS5"

[[flows]]
name = "ping"
traffic = {{ kind = "ping", interval = "50ms" }}

[[flows]]
name = "voice"
traffic = {{ kind = "cbr", rate = "64kbit/s", packet = "160B" }}
dscp = "EF"

[[flows]]
name = "messages"
traffic = {{ kind = "cbr", rate = "200kbit/s", transport = "tcp" }}

[[flows]]
name = "bursts"
traffic = {{ kind = "on_off", rate = "1Mbit/s", on = "200ms", off = "200ms" }}

[[flows]]
name = "file"
traffic = {{ kind = "finite", bytes = "100kB" }}
"""
PAGES = f"""{LINK}
queue = {{ kind = "fq_codel" }}

[[flows]]
name = "web"
traffic = {{ kind = "fetch", response = "60kB", interval = "200ms" }}

[[flows]]
name = "kept"
traffic = {{ kind = "fetch", response = "60kB", interval = "200ms", connection = "persistent" }}
"""


def ecn(value: str, cca: str = "cubic") -> str:
    return f"""{LINK}
queue = {{ kind = "fq_codel", ecn = true }}

[[flows]]
cca = "{cca}"
tcp = {{ ecn = {value} }}
"""


OFFLOAD = f"""{LINK}
queue = {{ kind = "codel" }}

[[flows]]
cca = "bbr"
tcp = {{ segmentation_offload = true, receive_offload = true }}
"""
SCENARIOS = {
    "mixed": MIXED,
    "pages": PAGES,
    "ecn": ecn("true"),
    "dctcp": ecn('"dctcp"', "dctcp"),
    "accecn": ecn('"accecn"'),
    "offload": OFFLOAD,
}
FAULTS = (
    "_ws.malformed || _ws.expert.severity == error || ip.checksum.status == Bad || tcp.checksum.status == Bad "
    "|| udp.checksum.status == Bad || icmp.checksum.status == Bad"
)


def tshark(path: Path, display: str) -> list[str]:
    """The packets that a display filter matches; checksums are checked."""
    checks = [word for of in ("ip", "tcp", "udp") for word in ("-o", f"{of}.check_checksum:TRUE")]
    done = subprocess.run(
        ["tshark", "-n", "-r", str(path), *checks, "-Y", display],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.splitlines()


def with_payload(path: Path) -> Path:
    """A copy of a capture in which the payload, which ours leave out, is there: zeros.

    Only then tshark can check the checksums of TCP and UDP.
    """
    data = path.read_bytes()
    whole = path.with_suffix(".whole.pcap")
    # The snapshot length of the file's header limits what tshark reads of a packet.
    parts, place = [data[:16], struct.pack(">I", 262_144), data[20:24]], 24
    while place < len(data):
        seconds, fraction, kept, length = struct.unpack_from(">4I", data, place)
        packet = data[place + 16 : place + 16 + kept]
        assert kept <= length
        parts.append(struct.pack(">4I", seconds, fraction, length, length) + packet + bytes(length - kept))
        place += 16 + kept
    whole.write_bytes(b"".join(parts))
    return whole


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Of each scenario the capture at the senders and that at each link."""
    directory = tmp_path_factory.mktemp("captures")
    found: dict[str, list[Path]] = {}
    for name, text in SCENARIOS.items():
        result = bl.run({"name": name, **tomllib.loads(text)}, packets=True)
        for link in (None, *result.link_metrics):
            path = directory / f"{name}-{link or 'senders'}.pcap"
            result.write_pcap(path, link)
            found.setdefault(name, []).append(path)
    cell = bl.run("nr-rlc", mice="tcp", cca="cubic", stop="600ms", packets=True)
    found["cell"] = [directory / "cell.pcap"]
    cell.write_pcap(found["cell"][0])
    return found


@pytest.mark.parametrize("name", [*SCENARIOS, "cell"])
def test_tshark_finds_no_fault(captures: dict[str, list[Path]], name: str) -> None:
    for path in captures[name]:
        whole = with_payload(path)
        assert tshark(whole, FAULTS) == [], path.name
        assert tshark(path, "_ws.malformed || _ws.expert.severity == error || ip.checksum.status == Bad") == []
        # All checksums were checked, and there were some.
        assert tshark(whole, "tcp.checksum.status == Good || udp.checksum.status == Good"), path.name
        assert tshark(whole, "tcp.checksum.status == Unverified || udp.checksum.status == Unverified") == []


@pytest.mark.parametrize(
    ("name", "display"),
    [
        ("mixed", "tcp.options.sack.count > 0"),
        ("mixed", "tcp.options.timestamp.tsval"),
        ("mixed", "icmp.type == 8"),
        ("mixed", "tcp.analysis.retransmission"),
        ("ecn", "tcp.flags.syn == 1 && tcp.flags.ece == 1 && tcp.flags.cwr == 1"),
        ("dctcp", "ip.dsfield.ecn == 1 || ip.dsfield.ecn == 2"),
        ("pages", "tcp.flags.push == 1 && tcp.len == 200"),
        ("mixed", "ip.dsfield.dscp == 46 && udp"),
        ("mixed", "ip.dsfield.dscp == 40 && tcp.len > 0"),
        ("mixed", "ip.dsfield.dscp == 40 && tcp.len == 0 && tcp.flags.syn == 0"),
        ("mixed", "ip.dsfield.dscp == 0 && icmp"),
    ],
)
def test_tshark_sees_what_the_scenario_has(captures: dict[str, list[Path]], name: str, display: str) -> None:
    assert tshark(captures[name][0], display)


def test_tshark_sees_no_class_that_the_scenario_lacks(captures: dict[str, list[Path]]) -> None:
    for path in captures["mixed"]:
        assert tshark(path, "ip.dsfield.dscp != 0 && ip.dsfield.dscp != 40 && ip.dsfield.dscp != 46") == [], path.name
    assert tshark(captures["ecn"][0], "ip.dsfield.dscp != 0") == []


def test_tshark_would_find_a_wrong_checksum(captures: dict[str, list[Path]], tmp_path: Path) -> None:
    """The filter itself is checked: with one bit of the first packet's payload or header altered it must match."""
    data = bytearray(with_payload(captures["ecn"][0]).read_bytes())
    data[24 + 16 + 12] ^= 1
    altered = tmp_path / "altered.pcap"
    altered.write_bytes(data)
    assert tshark(altered, FAULTS)
