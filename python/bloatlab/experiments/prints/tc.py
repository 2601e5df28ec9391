"""What `tc -p -s -d qdisc show dev DEV` prints of a class of HTB with a queue discipline as its leaf."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab import language

HTB = "qdisc htb 1: root refcnt 2 r2q 10 default 0x3 direct_packets_stat 0 ver 3.17 direct_qlen 1000"
"""HTB of a router whose traffic goes through class 1:3."""
LEAF = "3: parent 1:3"
MARKING = ("codel", "fq_codel", "pie", "fq_pie")
"""Queue disciplines with a counter `ecn_mark`."""
UNSEEN = ("noecn", "nobytemode", "no_dq_rate_estimator")
"""Words of a command that `show` does not repeat."""


@dataclass(frozen=True)
class Counters:
    """Counters of a queue since the start of the run, and its backlog."""

    sent_bytes: int
    sent_packets: int
    drops: int
    marks: int
    backlog_bytes: int
    backlog_packets: int


def lines(leaf: str, counted: Counters) -> tuple[str, ...]:
    """The lines of HTB, then those of its leaf.

    `overlimits` and `requeues` are 0, which tc prints for a queue discipline that does not count them.

    Args:
        leaf: The first line of the leaf, from `described`.
        counted: What both have counted.
    """
    sent = (
        f" Sent {counted.sent_bytes} bytes {counted.sent_packets} pkt "
        f"(dropped {counted.drops}, overlimits 0 requeues 0) "
    )
    backlog = f" backlog {counted.backlog_bytes}b {counted.backlog_packets}p requeues 0"
    marks = (f"  ecn_mark {counted.marks}",) if leaf.split()[1] in MARKING else ()
    return (HTB, sent, backlog, leaf, sent, backlog, *marks)


def described(queue: Mapping[str, Any]) -> str:
    """The first line of a leaf: its kind and, if Linux has this queue, its options.

    Args:
        queue: The queue of a canonical scenario.
    """
    try:
        command = language.tc(json.dumps(queue), "dev", True)[0]
    except language.ScenarioError:
        return f"qdisc {queue.get('kind', 'queue')} {LEAF}"
    kind, *words = command.partition(" root ")[2].split()
    if kind == "handle":
        _, kind, *words = words
    shown = [word for word in words if word not in UNSEEN]
    for place, word in enumerate(shown[:-1]):
        if word == "limit":
            shown[place + 1] += "b" if kind == "bfifo" else "p"
        elif word == "memory_limit":
            shown[place + 1] = shown[place + 1].replace("mb", "Mb")
    return " ".join(["qdisc", kind, LEAF, *shown])
