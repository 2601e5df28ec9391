"""A section of OpenWrt's SQM, `/etc/config/sqm`: shaper and queue of a router between home and provider.

Source: OpenWrt's documentation of sqm-scripts, "SQM configuration".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab import language
from bloatlab.errors import ParameterError
from bloatlab.setups import linux
from bloatlab.setups.bed import Bed
from bloatlab.setups.text import comment, identifier

SCRIPTS = {"cake": "piece_of_cake.qos", "fq_codel": "simplest.qos", "codel": "simplest.qos", "pie": "simplest.qos"}
"""SQM's script by queue. `simplest.qos` puts one instance of the queue behind HTB; CAKE shapes by itself."""


def section(bed: Bed, device: str) -> list[str]:
    """The lines of the section. Data from the provider crosses the bottleneck; the way back is the upload.

    Args:
        bed: The test bed.
        device: The router's device towards the provider.

    Raises:
        ParameterError: SQM does not offer the queue.
    """
    down = next(link for _, _, link in bed.links() if link.name == bed.bottleneck)
    up = min((link for link in bed.backward), key=lambda link: link.rate_bps, default=None)
    kind = str(down.queue["kind"])
    if kind not in SCRIPTS:
        raise ParameterError(f"{down.name}: SQM does not offer `{kind}` (allowed: {', '.join(SCRIPTS)})")
    other = None if up is None or up.queue["kind"] == kind else str(up.queue["kind"])
    up = up if other is None else None
    rates = [0 if link is None else _shaped(link) // 1000 for link in (down, up)]
    options = {
        "enabled": "1",
        "interface": device,
        "download": str(rates[0]),
        "upload": str(rates[1]),
        "qdisc": kind,
        "script": SCRIPTS[kind],
    }
    words = [_words(link, kind) if link is not None else "" for link in (down, up)]
    if any(words):
        options |= {"qdisc_advanced": "1", "qdisc_really_really_advanced": "1"}
        options |= {name: text for name, text in zip(("iqdisc_opts", "eqdisc_opts"), words, strict=True) if text}
    if kind != "cake" and (more := down.header + down.overhead):
        options |= {"linklayer": "ethernet", "overhead": str(more)}
    why = f", because it has the queue {other} and SQM has one for both" if other else ""
    return [
        f"# {comment(bed.name)}, for /etc/config/sqm. Set the rates slightly below what the line delivers.",
        *([f"# The upload is not shaped{why}."] if up is None else []),
        f"config queue '{identifier(bed.name)}'",
        *(f"\toption {name} '{value}'" for name, value in options.items()),
    ]


def _shaped(link: language.Link) -> int:
    own = linux.shaper_rate(link.queue)
    return int(min(own, link.rate_bps) if own is not None else link.rate_bps)


def _words(link: language.Link, kind: str) -> str:
    """The options of the queue as tc writes them, without the bandwidth, which SQM sets."""
    queue = {name: value for name, value in link.queue.items() if name != "bandwidth"}
    command = _command(link.name, queue)
    return " ".join(command.split(f" root {kind}", 1)[1].split())


def _command(name: str, queue: Mapping[str, Any]) -> str:
    try:
        lines: Sequence[str] = language.tc(json.dumps(queue), "eth0", False)
    except language.ScenarioError as error:
        raise ParameterError(f"{name}: {error}") from error
    return lines[0]
