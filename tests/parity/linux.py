"""The dumbbell of the Linux reference as a scenario.

Linux 7.2 in virtual time: the bottleneck is an htb class with the queue as its leaf. netem delays the reverse path.
MSS 1448, no offload, 1514 B per packet. `ss_` columns are measured from `ss_from_s` to `measured_s`. Each cell of the
reference has two seeds, and runs here with the same two.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from bloatlab.experiments.shared import DEVICE_PACKETS, as_in_linux
from bloatlab.parity.scenario import LINK_MBIT, PING, TCP
from frame import Row, read, runs


def qdisc(row: Row) -> str:
    """The name of the queue in tc."""
    return row["qdisc"].split()[0]


def flows(row: Row) -> int:
    """Number of TCP flows."""
    return len(row["flow_starts_s"].split())


def uses(row: Row, *queues: str) -> bool:
    """Whether the queue is one of these."""
    return qdisc(row) in queues


@cache
def cells(path: Path) -> tuple[list[Row], ...]:
    """The rows of each cell whose algorithms bloatlab has. Rows of a cell differ only in their seed."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in read(path):
        if runs(scenario(row)):
            key = tuple(row[k] for k in ("group", "rate_mbit", "base_rtt_ms", "cc", "qdisc", "ecn", "measured_s"))
            found.setdefault((*key, str(flows(row))), []).append(row)
    return tuple(found.values())


def _queue(words: str) -> str | dict[str, Any]:
    """The queue as tc writes it, except `drr`, which needs filters in tc."""
    if words.startswith("drr"):
        # Each flow has a class, which is a pfifo of 100 packets.
        return {"kind": "drr", "classifier": "exact", "quantum": "1514B", "flow_limit": "100p", "limit": "100000p"}
    return words


def scenario(row: Row) -> dict[str, Any]:
    """The row as a scenario."""
    kinds, rtts, starts = row["cc"].split(), row["base_rtt_ms"].split(), row["flow_starts_s"].split()
    hosts = {"source": "A", "destination": "B"}
    bulk: list[dict[str, Any]] = [
        {
            "cca": as_in_linux(kinds[i % len(kinds)]),
            "start": f"{start}s",
            "rtt": f"{rtts[i % len(rtts)]}ms",
            "tcp": {**TCP, "ecn": row["ecn"] == "1"},
            **hosts,
        }
        for i, start in enumerate(starts)
    ]
    ping = {"traffic": PING["traffic"], **hosts}
    return {
        "name": "linux",
        "duration": f"{row['measured_s']}s",
        "warmup": f"{row['ss_from_s']}s",
        "dumbbell": {
            # The link is much faster than htb, which sends two packets at once when its bucket is full.
            "rate": f"{LINK_MBIT}Mbit/s",
            "rtt": f"{rtts[0]}ms",
            "queue": {
                "kind": "htb",
                "rate": f"{row['rate_mbit']}Mbit/s",
                "burst": "1600B",
                "cburst": "1600B",
                "queue": _queue(row["qdisc"]),
            },
            "header": 14,
            "device_packets": DEVICE_PACKETS,
        },
        "flows": [*bulk, ping],
    }
