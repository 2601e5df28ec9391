"""`bloatlab calc`: hand-computed delays and products, and what is refused."""

from __future__ import annotations

import json

import pytest

from bloatlab import calculators, cli
from bloatlab.errors import ParameterError


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.command(["calc", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_network_card_of_the_assignment(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "nic", "--txqueuelen", "1000", "--mtu", "1500", "--rate", "100Mbps")
    assert code == 0
    assert out.splitlines()[:2] == [
        "longest wait in the queue: 0.12 s",
        "txqueuelen x mtu x 8 / rate = 1,000 x 1,500 B x 8 / 100,000,000 bit/s = 0.12 s",
    ]
    # The defaults are Linux's and Ethernet's.
    found = json.loads(run(capsys, "nic", "--rate", "100Mbit/s", "--json")[1])
    assert found["delay_s"] == 0.12
    assert (found["txqueuelen_packets"], found["mtu_bytes"], found["rate_bps"]) == (1000, 1500, 1e8)
    assert found["bytes"] == 1_500_000


def test_products_and_queues(capsys: pytest.CaptureFixture[str]) -> None:
    # 10 Mbit/s x 40 ms = 400 kbit = 50 kB, of 1500 bytes 33.3.
    found = json.loads(run(capsys, "bdp", "--rate", "10Mbit/s", "--rtt", "40ms", "--json")[1])
    assert found["bytes"] == pytest.approx(50_000)
    assert found["packets"] == pytest.approx(100 / 3)
    assert run(capsys, "bdp", "--rate", "10Mbit/s", "--rtt", "40ms")[1].startswith(
        "bandwidth-delay product: 50,000 B\n"
    )
    # 20 buffers of two frames of 1514 bytes at 10 Mbit/s: 20 x 2 x 1.2112 ms.
    found = calculators.queue("20buffers", "10Mbit/s", 1514, 2)
    assert found.value == pytest.approx(0.048448)
    assert found.further == {"bytes": 60_560, "packet_s": pytest.approx(0.0012112)}
    # Packets and bytes have no segments.
    assert calculators.queue("20p", "10Mbit/s", 1514, 2).value == pytest.approx(0.024224)
    assert calculators.queue("125kB", "1Mbit/s").value == 1.0
    out = run(capsys, "queue", "--limit", "100", "--rate", "12Mbit/s")[1]
    assert out.splitlines() == [
        "longest wait in the queue: 0.1 s",
        "limit x mtu x 8 / rate = 100 x 1,500 B x 8 / 12,000,000 bit/s = 0.1 s",
        "bytes: 150,000",
        "one packet: 0.001 s",
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nic", "--txqueuelen", "0", "--rate", "1Mbps"), "txqueuelen: 0 is out of range (allowed: 1 to 1000000000)"),
        (("nic", "--mtu", "-1", "--rate", "1Mbps"), "mtu: -1 is out of range"),
        (("nic", "--txqueuelen", "many", "--rate", "1Mbps"), 'unable to convert "many" into int'),
        (("nic", "--rate", "fast"), "rate: no number: `fast` is not a rate such as `16Mbit/s`"),
        (("nic", "--rate", "0Mbps"), "rate: `0Mbps` sends nothing (allowed: above 0)"),
        (("nic",), "--rate requires an argument"),
        (("bdp", "--rate", "1Mbps", "--rtt", "40"), "rtt: no unit (allowed: ns, us"),
        (("queue", "--limit", "0p", "--rate", "1Mbps"), "limit: a queue limit must be at least 1"),
        (("queue", "--limit", "9buffers", "--segments-per-buffer", "0", "--rate", "1Mbps"), "segments_per_buffer: 0 is out"),
        (("latency", "--rate", "1Mbps"), "Unknown command"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], why: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("bloatlab: ")
    assert err.count("\n") == 1
    assert why in err


def test_numbers_are_written_plainly() -> None:
    assert [calculators.plain(value) for value in (0.0, 0.12, 1e8, 3.33333333, 0.0012112, 1234567.8)] == [
        "0", "0.12", "100,000,000", "3.33333", "0.0012112", "1,234,568",
    ]  # fmt: skip
    with pytest.raises(ParameterError, match="txqueuelen"):
        calculators.nic(10**10, 1500, "1Mbit/s")
