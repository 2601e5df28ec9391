"""Small readers of what ping, ss, tc and iperf3 print, as a user writes them for the real programs."""

from __future__ import annotations

import re
from typing import Any

REPLY = re.compile(r"(\d+) bytes from (\S+): icmp_seq=(\d+) ttl=(\d+) time=([\d.]+) ms$")
SUMMARY = re.compile(r"(\d+) packets transmitted, (\d+) received, ([\d.]+)% packet loss, time (\d+)ms$")
SENT = re.compile(r"Sent (\d+) bytes (\d+) pkt \(dropped (\d+), overlimits (\d+) requeues (\d+)\)")
BACKLOG = re.compile(r"backlog (\d+)b (\d+)p requeues (\d+)")
STREAM = re.compile(
    r"(\S+) \[\s*(\d+|SUM)\]\s+([\d.]+)-([\d.]+)\s+sec\s+([\d.]+) ([KMGT]?)Bytes\s+([\d.]+) Mbits/sec"
    r"(?:\s+(\d+))?(?:\s+([\d.]+) ([KMGT]?)Bytes)?\s*(sender|receiver)?\s*$"
)
UNIT = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def ping(text: str) -> tuple[list[tuple[int, float]], tuple[int, int]]:
    """Number and RTT (ms) of each reply; the numbers of sent and of received pings."""
    found = [(int(hit[3]), float(hit[5])) for line in text.splitlines() if (hit := REPLY.search(line))]
    (summary,) = [hit for line in text.splitlines() if (hit := SUMMARY.search(line))]
    return found, (int(summary[1]), int(summary[2]))


def ss(text: str) -> list[tuple[str, int, int, str]]:
    """Time, file descriptor, window and sRTT of each connection of iperf3. A connection has two lines."""
    lines = re.sub(r"<->\n", "", text).splitlines()
    rows = []
    for line in lines:
        if '"iperf3"' not in line:
            continue
        fd, cwnd, rtt = (re.findall(rf"\b{key}([\d.]+)", line)[0] for key in ("fd=", "cwnd:", "rtt:"))
        rows.append((line.split()[0], int(fd), int(cwnd), rtt))
    return rows


def tc(text: str) -> list[dict[str, Any]]:
    """A row per sample: the time, and of HTB and its leaf what was sent and dropped, and the backlog."""
    rows = []
    for line in text.splitlines():
        # The authors count words: the 24th is the drops, the 30th and the 31st are the backlog.
        words = line.split()
        htb, leaf = SENT.findall(line)
        held, inner = BACKLOG.findall(line)
        kind, options = re.findall(r"qdisc (\w+) \w+: (?:root|parent \S+) (.*?) Sent", line)[1]
        rows.append(
            {
                "time": words[0],
                "words": (words[23].rstrip(","), words[29].rstrip("b"), words[30].rstrip("p")),
                "htb": tuple(map(int, htb)), "leaf": tuple(map(int, leaf)),
                "backlog": tuple(map(int, held)), "inner": tuple(map(int, inner)),
                "kind": kind, "options": options, "rest": line.rpartition(" requeues ")[2][1:].strip(),
            }
        )  # fmt: skip
    return rows


def iperf(text: str) -> list[dict[str, Any]]:
    """A row per line with numbers: time, stream, interval, bytes, Mbit/s as text, retransmissions, window, end."""
    rows = []
    for line in text.splitlines():
        if hit := STREAM.match(line):
            rows.append(
                {
                    "time": hit[1], "stream": hit[2], "start": hit[3], "end": hit[4],
                    "bytes": float(hit[5]) * UNIT[hit[6]], "rate": hit[7],
                    "again": None if hit[8] is None else int(hit[8]),
                    "cwnd": None if hit[9] is None else float(hit[9]) * UNIT[hit[10]], "of": hit[11],
                }
            )  # fmt: skip
    return rows
