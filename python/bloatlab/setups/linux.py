"""The set-up on Linux: a shaper with the queue inside for each link, and netem for what the path has besides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from bloatlab import language, units
from bloatlab.errors import ParameterError
from bloatlab.setups.bed import Bed, Hosts, Rest
from bloatlab.setups.text import comment

ETHERNET = 14
"""Bytes of a frame that the kernel counts beside the IP packet."""
WATCHDOG_NS = 200_000
"""A shaper whose burst is shorter than this loses throughput, because its timer is late by that much."""
SMALLEST_PACKET = 64
LONGEST_DEVICE_NAME = 15


def queue_commands(link: language.Link, device: str, *, all_words: bool = False) -> list[str]:
    """The commands for the queue of a link alone.

    Raises:
        ParameterError: Linux does not have the queue, or one of its parameters.
    """
    return [*buffers_note([link]), *_commands(link.name, _for_linux(link.queue), device, all_words=all_words)]


def shaped_commands(link: language.Link, device: str, *, all_words: bool = False) -> list[str]:
    """The commands for the queue of a link behind a shaper of its rate.

    Raises:
        ParameterError: Linux does not have the queue, or one of its parameters.
    """
    queue = _for_linux(link.queue)
    steps = queue.pop("rate_steps", [])
    if (shaped := shaper_rate(queue)) is not None and shaped <= link.rate_bps:
        return [*_commands(link.name, queue, device, all_words=all_words), *_steps(steps, device)]
    burst = ceil(link.rate_bps / 8 * WATCHDOG_NS / 1e9)
    tree: dict[str, Any] = {"kind": "htb", "rate": f"{link.rate_bps // 8 * 8}bit/s", "queue": queue}
    if burst > 1600:
        tree |= {"burst": f"{burst}B", "cburst": f"{burst}B"}
    root, *rest = _commands(link.name, tree, device, all_words=all_words)
    if (more := link.header + link.overhead - ETHERNET) != 0:
        root = root.replace(" handle 1: ", f" handle 1: stab overhead {more} linklayer ethernet ", 1)
    return [root, *rest, *_varying(link, device)]


def shaper_rate(queue: Mapping[str, Any]) -> float | None:
    """The rate to which a queue shapes by itself, bit/s; `None`: it does not shape."""
    found = {"cake": "bandwidth", "htb": "rate", "tbf": "rate"}.get(queue["kind"])
    given = queue.get(found) if found else None
    return None if given is None else units.rate(given)


def netem(rest: Rest, greatest_rate_bps: int) -> str:
    """The words of netem for what a path has beside its links; empty: nothing.

    Args:
        rest: Delay and impairments.
        greatest_rate_bps: The rate at which packets arrive at most: netem must hold all packets of a delay.

    Raises:
        ParameterError: netem does not have one of the impairments, or not all of them together.
    """
    words = []
    if rest.delay_ns or rest.jitter:
        words.append(f"delay {_time(rest.delay_ns)}")
        if rest.jitter:
            words.append(f"{_time(_ns(rest.jitter['size']))} distribution {rest.jitter['distribution']}")
    losses = [box["name"] for box in rest.impairments if box["kind"] == "loss"]
    if len(losses) > 1:
        raise ParameterError(f"{', '.join(losses)}: netem has one model of losses for a device; use one of them")
    words += [_impairment(box) for box in rest.impairments]
    if not words:
        return ""
    held = ceil(rest.delay_ns * greatest_rate_bps / 8e9 / SMALLEST_PACKET)
    return " ".join(["netem", f"limit {1000 + held}", *words])


def commands(bed: Bed, given: Mapping[str, str], *, all_words: bool = False) -> list[str]:
    """The commands for the whole path, with a comment in front of each device.

    Args:
        bed: The test bed.
        given: Network devices by the name of their link; the others have names such as `r0-r1`.
        all_words: Also print what tc has by default.

    Raises:
        ParameterError: Linux does not have a queue, a parameter or an impairment.
    """
    lines = buffers_note([link for _, _, link in bed.links()])
    for node, peer, what, link, words in stations(bed):
        device = (given.get(link.name) if link is not None else None) or device_name(node, peer)
        lines.append(f"# {node}, device towards {peer}: {comment(what)}")
        if link is not None:
            lines += shaped_commands(link, device, all_words=all_words)
        else:
            lines.append(f"tc qdisc replace dev {device} root {words}")
    return lines


def stations(bed: Bed) -> Iterator[tuple[str, str, str, language.Link | None, str]]:
    """Every device that needs a qdisc: its node, the node at its other end, what it does, its link, words of netem."""
    for first, second, link in bed.links():
        rate = units.write_rate(link.rate_bps)
        varies = ", which varies" if link.rate_varies else ""
        yield f"r{first}", f"r{second}", f"{link.name}, {rate}{varies}, {link.queue['kind']}", link, ""
    fastest = max(link.greatest_rate_bps or link.rate_bps for _, _, link in bed.links())
    for place, hosts in enumerate(bed.hosts, 1):
        ends = ((f"r{hosts.leave}", f"b{place}", hosts.forth), (f"r{hosts.enter}", f"a{place}", hosts.back))
        for router, host, rest in ends:
            if words := netem(rest, fastest):
                constant = "; the delay varies in the scenario, and netem keeps it" if rest.varies else ""
                yield router, host, f"the way to {host}, {_flows(hosts)}{constant}", None, words


def device_name(node: str, peer: str) -> str:
    """Name of the device of a node towards its peer, as Mininet and this set-up use it."""
    return f"{node}-{peer}"[:LONGEST_DEVICE_NAME]


def buffers_note(links: Sequence[language.Link]) -> list[str]:
    """What senders must do if queues count buffers of several segments."""
    segments = max((link.queue.get("segments_per_buffer", 1) for link in links), default=1)
    if segments == 1:
        return []
    return [
        f"# pfifo counts socket buffers, here of {segments} segments. On the device of every sender:",
        f"#   ip link set dev DEVICE gso_max_segs {segments}",
    ]


def _flows(hosts: Hosts) -> str:
    names = [flow.name for flow, _ in hosts.flows]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _commands(name: str, queue: Mapping[str, Any], device: str, *, all_words: bool) -> list[str]:
    try:
        return language.tc(json.dumps(queue), device, all_words)
    except language.ScenarioError as error:
        raise ParameterError(f"{name}: {error}") from error


def _for_linux(queue: Mapping[str, Any]) -> dict[str, Any]:
    """A queue that counts buffers as tc writes it: pfifo counts socket buffers, each with one or more segments."""
    limit = str(queue.get("limit", ""))
    if not limit.endswith("buffers"):
        return dict(queue)
    return {**queue, "limit": f"{limit.removesuffix('buffers')}p", "segments_per_buffer": 1}


def _steps(steps: Sequence[Mapping[str, Any]], device: str) -> list[str]:
    """The changes of a shaper's rate, as comments, because each has its time."""
    return [
        f"# after {step['at']}: tc class change dev {device} classid 1:1 htb rate {int(units.rate(step['rate']))}bit"
        for step in steps
    ]


def _varying(link: language.Link, device: str) -> list[str]:
    if not link.rate_varies:
        return []
    return [
        "# The rate varies. With a file of `rate in Mbit/s,seconds` lines (bloatlab trace make or convert):",
        "# while IFS=, read -r rate seconds; do "
        f'tc class change dev {device} classid 1:1 htb rate "${{rate}}mbit"; sleep "$seconds"; done < FILE',
    ]


def _impairment(box: Mapping[str, Any]) -> str:
    if bursts := box.get("gilbert_elliott"):
        p, r, h, k = (bursts[key] for key in "prhk")
        return f"loss gemodel {_percent(p)} {_percent(r)} {_percent(1 - h)} {_percent(1 - k)}"
    if box["kind"] in ("loss", "corrupt", "duplicate") and not box.get("vary"):
        return f"{box['kind']} {_percent(box['probability'])}"
    varies = " whose probability varies" if box.get("vary") else ""
    raise ParameterError(f"{box['name']}: netem has no `{box['kind']}`{varies}; choose one queue with --box")


def _percent(share: float) -> str:
    return f"{100 * share:.10g}%"


def _time(ns: int) -> str:
    return f"{ns / 1000:.10g}us" if ns % 1_000_000 else f"{ns // 1_000_000}ms"


def _ns(text: str) -> int:
    return round(units.duration(text) * 1e9)
