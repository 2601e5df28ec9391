"""What ping, ss, tc and iperf3 print: beside lines of the real programs (iputils 20221126, iproute2 6.1, iperf3 3.12)."""

from __future__ import annotations

import json

import pytest

import raw_files
from bloatlab import language
from bloatlab.experiments.prints import EPOCH, iperf, ping, ss, stamp, tc
from conftest import REAL

real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def test_times_are_unix_times() -> None:
    assert stamp(0) == f"{EPOCH}.000000"
    assert stamp(0.1) == f"{EPOCH}.100000"
    assert stamp(59.9999996) == f"{EPOCH + 60}.000000"
    assert stamp(0.114358443, 9) == f"{EPOCH}.114358443"


# ping.


def printed(replies: list[tuple[float, float]], **given: float) -> list[str]:
    what = {"interval_s": 0.1, "duration_s": 0.5, "size": 84, "ttl": 64, **given}
    return [line for _, line in ping.lines(replies, host="10.0.0.2", **what)]  # type: ignore[arg-type]


def test_ping_by_hand() -> None:
    # The third ping is lost; the fifth is late.
    lines = printed([(0.00149, 1.49), (0.1135, 13.5), (0.4003, 100.3), (0.4621, 9.16)])
    assert lines == [
        "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.",
        "64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=1.49 ms",
        "64 bytes from 10.0.0.2: icmp_seq=2 ttl=64 time=13.5 ms",
        "64 bytes from 10.0.0.2: icmp_seq=4 ttl=64 time=100 ms",
        "64 bytes from 10.0.0.2: icmp_seq=5 ttl=64 time=9.16 ms",
        "",
        "--- 10.0.0.2 ping statistics ---",
        "5 packets transmitted, 4 received, 20% packet loss, time 400ms",
        "rtt min/avg/max/mdev = 1.490/31.113/100.300/40.176 ms",
    ]
    assert raw_files.ping("\n".join(lines)) == ([(1, 1.49), (2, 13.5), (4, 100.0), (5, 9.16)], (5, 4))


def test_ping_without_an_answer() -> None:
    assert printed([])[1:] == [
        "", "--- 10.0.0.2 ping statistics ---", "5 packets transmitted, 0 received, 100% packet loss, time 400ms",
    ]  # fmt: skip


def test_ping_has_three_significant_digits() -> None:
    said = [line.rpartition("time=")[2] for line in printed([(0.1, 0.2914), (0.2, 9.994), (0.3, 9.996), (0.4, 99.96)])]
    assert said[1:5] == ["0.291 ms", "9.99 ms", "10.0 ms", "100 ms"]


def test_numbers_of_pings_that_were_late() -> None:
    assert ping.sequence([0.0, 0.1, 0.3], 0.1) == [1, 2, 4]
    assert ping.sequence([0.09999999, 0.20000001], 0.1) == [2, 3]
    # The machine slept: three pings left together.
    assert ping.sequence([0.0, 0.35, 0.351, 0.352, 0.4], 0.1) == [1, 2, 3, 4, 5]
    assert ping.sequence([0.094, 0.104, 0.21], 0.1) == [1, 2, 3]
    # Replies that overtake each other keep their numbers.
    assert ping.sequence([0.1, 0.0], 0.1) == [2, 1]


def test_the_start_of_pings_is_read_off_the_least_late_one() -> None:
    assert ping.first([0.028, 0.127, 0.3275], 0.1) == pytest.approx(0.027)
    lines = printed([(0.032, 4.0), (0.132, 5.0), (0.337, 10.0)], start_s=None)
    assert [line.split("icmp_seq=")[1][0] for line in lines if "icmp_seq" in line] == ["1", "2", "4"]


# ss.

LINES = (
    '1795517415.045822 tcp ESTAB 0      0      10.0.1.1:37666 10.0.3.1:5201 users:(("iperf3",pid=4078,fd=5)) '
    "ino:48179 sk:2 cgroup:/ <->\n"
    "1795517415.045831 \t ts sack bbr wscale:10,10 rto:204 rtt:0.012/0.007 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 "
    "cwnd:11 bytes_sent:37 delivery_rate 2316800000bps delivered:2 minrtt:0.005 snd_wnd:65536\n"
)


def test_ss_by_hand() -> None:
    assert raw_files.ss(LINES) == [("1795517415.045822", 5, 11, "0.012")]
    one = ss.Connection(7, "cubic", 1448, 354, 13.02701, 250, 353, 276.004834)
    first, second = ss.lines(one, local="10.0.1.1:40007", remote="10.0.3.1:5201", program="iperf3")
    assert first == 'tcp ESTAB 0      511144 10.0.1.1:40007 10.0.3.1:5201 users:(("iperf3",pid=1,fd=7)) <->'
    assert second == "\t cubic rtt:13.027 mss:1448 cwnd:354 ssthresh:250 delivery_rate 276004834bps"
    assert raw_files.ss(f"1.5 {first}\n1.5 {second}\n") == [("1.5", 7, 354, "13.027")]


def test_ss_leaves_out_what_is_not_known() -> None:
    one = ss.Connection(5, "reno", 1448, 10, 4.0, None, 0, None)
    assert ss.lines(one, local="a:1", remote="b:2", program="iperf3")[1] == "\t reno rtt:4 mss:1448 cwnd:10"


# tc.

SHOWN = (
    "1795517415.163301 qdisc htb 1: root refcnt 3 r2q 10 default 0x3 direct_packets_stat 0 ver 3.17 direct_qlen 1000 "
    "Sent 939143 bytes 660 pkt (dropped 98, overlimits 40 requeues 0)  backlog 80242b 2p requeues 0"
    "qdisc bfifo 3: parent 1:3 limit 100000b "
    "Sent 939143 bytes 660 pkt (dropped 98, overlimits 0 requeues 0)  backlog 80242b 2p requeues 0"
)


def test_tc_by_hand() -> None:
    (there,) = raw_files.tc(SHOWN)
    counted = tc.Counters(939143, 660, 98, 0, 80242, 2)
    (ours,) = raw_files.tc(f"1795517415.163301 {''.join(tc.lines('qdisc bfifo 3: parent 1:3 limit 100000b', counted))}")
    assert {**ours, "htb": there["htb"]} == there
    assert ours["words"] == ("98", "80242", "2")
    # What a queue discipline does not count is 0 in tc.
    assert ours["htb"] == (939143, 660, 98, 0, 0)


@real
@pytest.mark.parametrize(
    ("queue", "shown"),
    [
        ({"kind": "fifo", "limit": "7500000B"}, "bfifo 3: parent 1:3 limit 7500000b"),
        ({"kind": "fifo", "limit": "50p"}, "pfifo 3: parent 1:3 limit 50p"),
        (
            {"kind": "fq_codel", "limit": "5000p", "target": "10ms"},
            "fq_codel 3: parent 1:3 limit 5000p flows 1024 quantum 1514 target 10ms interval 100ms memory_limit 32Mb ecn "
            "drop_batch 64",
        ),
        (
            {"kind": "pie", "limit": "5000p", "target": "10ms"},
            "pie 3: parent 1:3 limit 5000p target 10ms tupdate 15ms alpha 2 beta 20",
        ),
        ({"kind": "drr"}, "drr 3: parent 1:3"),
    ],
)
def test_queues_as_tc_shows_them(queue: dict[str, str], shown: str) -> None:
    leaf = tc.described(json.loads(language.queue(json.dumps(queue))))
    assert leaf == f"qdisc {shown}"
    marks = [line for line in tc.lines(leaf, tc.Counters(0, 0, 0, 7, 0, 0)) if "ecn_mark" in line]
    assert marks == (["  ecn_mark 7"] if queue["kind"] in ("fq_codel", "pie") else [])


# iperf3.

REPORTED = """\
1795517415.407977 [  5]   0.00-0.10   sec   369 KBytes  30.2 Mbits/sec    0   62.2 KBytes       
1795517415.408001 [ 12]   0.00-0.10   sec  1.53 MBytes   128 Mbits/sec    0    257 KBytes       
1795517415.408060 [SUM]   0.00-0.10   sec  1.89 MBytes   158 Mbits/sec    0             
1795517415.408068 - - - - - - - - - - - - - - - - - - - - - - - - -
1795517417.038621 [  5]   0.00-2.00   sec   878 KBytes  3.60 Mbits/sec    0             sender
1795517417.038629 [  5]   0.00-2.04   sec   139 KBytes  0.56 Mbits/sec                  receiver
"""  # noqa: W291 - iperf3 prints blanks at the end.


def test_the_reader_of_iperf3_reads_iperf3() -> None:
    rows = raw_files.iperf(REPORTED)
    assert [(row["stream"], row["rate"], row["again"], row["of"]) for row in rows] == [
        ("5", "30.2", 0, None), ("12", "128", 0, None), ("SUM", "158", 0, None), ("5", "3.60", 0, "sender"),
        ("5", "0.56", None, "receiver"),
    ]  # fmt: skip
    assert rows[1]["cwnd"] == 257 * 1024


def test_iperf3_by_hand() -> None:
    def one(fd: int, start: float, size: float, again: int, cwnd: float) -> iperf.Interval:
        return iperf.Interval(fd, start, start + 0.1, size, 8e-5 * size, again, cwnd)

    intervals = [
        [one(5, 0.0, 377_500, 0, 63_700), one(12, 0.0, 1_600_000, 1, 263_000)],
        [one(5, 0.1, 0, 12, 63_700), one(12, 0.1, 456_000, 0, 84_000)],
    ]
    lines = [line for _, line in iperf.lines(intervals, local="10.0.1.1", host="10.0.3.1", ports={5: 40005, 12: 40012})]
    assert lines == [
        "Connecting to host 10.0.3.1, port 5201",
        "[  5] local 10.0.1.1 port 40005 connected to 10.0.3.1 port 5201",
        "[ 12] local 10.0.1.1 port 40012 connected to 10.0.3.1 port 5201",
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
        "[  5]   0.00-0.10   sec   369 KBytes  30.2 Mbits/sec    0   62.2 KBytes       ",
        "[ 12]   0.00-0.10   sec  1.53 MBytes   128 Mbits/sec    1    257 KBytes       ",
        "[SUM]   0.00-0.10   sec  1.89 MBytes   158 Mbits/sec    1             ",
        "- - - - - - - - - - - - - - - - - - - - - - - - -",
        "[  5]   0.10-0.20   sec  0.00 Bytes  0.00 Mbits/sec   12   62.2 KBytes       ",
        "[ 12]   0.10-0.20   sec   445 KBytes  36.5 Mbits/sec    0   82.0 KBytes       ",
        "[SUM]   0.10-0.20   sec   445 KBytes  36.5 Mbits/sec   12             ",
        "- - - - - - - - - - - - - - - - - - - - - - - - -",
        "[ ID] Interval           Transfer     Bitrate         Retr",
        "[  5]   0.00-0.20   sec   369 KBytes  15.1 Mbits/sec   12             sender",
        "[  5]   0.00-0.20   sec   369 KBytes  15.1 Mbits/sec                  receiver",
        "[ 12]   0.00-0.20   sec  1.96 MBytes  82.2 Mbits/sec    1             sender",
        "[ 12]   0.00-0.20   sec  1.96 MBytes  82.2 Mbits/sec                  receiver",
        "[SUM]   0.00-0.20   sec  2.32 MBytes  97.3 Mbits/sec   13             sender",
        "[SUM]   0.00-0.20   sec  2.32 MBytes  97.3 Mbits/sec                  receiver",
        "",
        "iperf Done.",
    ]


def test_one_stream_has_no_sum() -> None:
    intervals = [[iperf.Interval(5, 0.1 * index, 0.1 * index + 0.1, 1e6, 80, 0, 1e5)] for index in range(2)]
    lines = [line for _, line in iperf.lines(intervals, local="a", host="b", ports={5: 1})]
    assert not any(line.startswith("[SUM]") for line in lines)
    assert lines.count(iperf.SEPARATOR) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.00"), (9.994, "9.99"), (9.996, "10.0"), (99.94, "99.9"), (99.96, " 100"), (2811.4, "2811")],
)
def test_numbers_of_iperf3_have_four_places(value: float, text: str) -> None:
    assert iperf.number(value) == text
