"""A Python script for Mininet: routers in a row, hosts at their ends, the tc commands of Linux, and the traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bloatlab.setups import linux
from bloatlab.setups.bed import Bed
from bloatlab.setups.text import comment, identifier
from bloatlab.setups.traffic import Program, programs

HEAD = '''#!/usr/bin/env python3
"""{title}: the scenario as a Mininet network. Run it as root."""

import tempfile
import time
from pathlib import Path

from mininet.net import Mininet
from mininet.node import Node


class Router(Node):
    """A host that forwards packets between its devices."""

    def config(self, **parameters):
        super().config(**parameters)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")


net = Mininet(topo=None, build=False)
'''
RUN = """
time.sleep(1)  # The servers open their ports.
started = time.monotonic()
for start, node, name, command in sorted(clients, key=lambda client: client[0]):
    time.sleep(max(0.0, started + start - time.monotonic()))
    node.cmd(f"({{command}}) > {{results}}/{{name}}.txt 2>&1 &")
time.sleep(max(0.0, started + {duration:g} - time.monotonic()) + 1)
print(f"results in {{results}}")
net.stop()
"""


def script(bed: Bed, document: Mapping[str, Any]) -> list[str]:
    """The lines of the script.

    Args:
        bed: The test bed.
        document: The scenario in its canonical form.

    Raises:
        ParameterError: Linux does not have a queue, a parameter or a congestion control of it.
    """
    made = programs(document, bed.flows)
    lines = HEAD.format(title=comment(bed.name)).splitlines()
    lines += [f'r{place} = net.addHost("r{place}", cls=Router, ip=None)' for place in range(bed.edges + 1)]
    for place in range(1, len(bed.hosts) + 1):
        lines += [f'{end}{place} = net.addHost("{end}{place}", ip=None)' for end in "ab"]
    lines += ["", "def connect(one, other, network):", '    """Links two nodes; their addresses end in .1 and .2."""']
    lines += [
        '    devices = f"{one.name}-{other.name}", f"{other.name}-{one.name}"',
        "    net.addLink(one, other, intfName1=devices[0], intfName2=devices[1])",
        '    one.setIP(f"{network}.1", 24, intf=devices[0])',
        '    other.setIP(f"{network}.2", 24, intf=devices[1])',
        "",
    ]
    lines += [f'connect(r{place}, r{place + 1}, "10.0.{place}")' for place in range(bed.edges)]
    for place, hosts in enumerate(bed.hosts, 1):
        lines.append(f'connect(a{place}, r{hosts.enter}, "10.1.{place}")')
        lines.append(f'connect(r{hosts.leave}, b{place}, "10.2.{place}")')
    lines += ["net.build()", "", *_routes(bed), "", *_qdiscs(bed), "", *_traffic(bed, made)]
    return lines + RUN.format(duration=bed.duration_ns / 1e9).splitlines()


def _routes(bed: Bed) -> list[str]:
    lines = []
    for place, hosts in enumerate(bed.hosts, 1):
        lines.append(f'a{place}.cmd("ip route add default via 10.1.{place}.2")')
        lines.append(f'b{place}.cmd("ip route add default via 10.2.{place}.1")')
        for router in range(bed.edges + 1):
            for network, home in ((f"10.1.{place}", hosts.enter), (f"10.2.{place}", hosts.leave)):
                if router < home:
                    lines.append(f'r{router}.cmd("ip route add {network}.0/24 via 10.0.{router}.2")')
                elif router > home:
                    lines.append(f'r{router}.cmd("ip route add {network}.0/24 via 10.0.{router - 1}.1")')
    return lines


def _qdiscs(bed: Bed) -> list[str]:
    lines = []
    for node, peer, what, link, words in linux.stations(bed):
        device = linux.device_name(node, peer)
        lines.append(f"# {comment(what)}")
        for command in linux.shaped_commands(link, device) if link else [f"tc qdisc replace dev {device} root {words}"]:
            lines.append(command if command.startswith("#") else f'{node}.cmd("{command}")')
    segments = max(link.queue.get("segments_per_buffer", 1) for _, _, link in bed.links())
    if segments > 1:
        lines.append(f"# The queues count socket buffers, here of {segments} segments.")
        lines += [
            f'{host}.cmd("ip link set dev {host}-{router} gso_max_segs {segments}")'
            for place, hosts in enumerate(bed.hosts, 1)
            for host, router in ((f"a{place}", f"r{hosts.enter}"), (f"b{place}", f"r{hosts.leave}"))
        ]
    return lines


def _traffic(bed: Bed, made: Mapping[str, Program | None]) -> list[str]:
    lines = ['results = Path(tempfile.mkdtemp(prefix="mininet-"))', "clients = []"]
    for place, hosts in enumerate(bed.hosts, 1):
        for flow, forth in hosts.flows:
            program = made[flow.name]
            if program is None:
                lines.append(
                    f"# {comment(flow.name)} is not started: no common program makes traffic of kind {flow.traffic}."
                )
                continue
            lines += _start(flow.name, program, place, program.sends == forth)
    return lines


def _start(name: str, program: Program, place: int, client_first: bool) -> list[str]:
    client, server = (f"a{place}", f"b{place}") if client_first else (f"b{place}", f"a{place}")
    address = f"10.2.{place}.2" if client_first else f"10.1.{place}.1"
    lines = []
    if program.page_bytes:
        port = program.server.split()[-1]
        lines.append(f'(results / "page-{port}").write_bytes(bytes({program.page_bytes}))')
    if program.server:
        lines.append(f'{server}.cmd(f"cd {{results}}; {program.server} > /dev/null 2>&1 &")')
    command = program.client.format(address=address)
    lines.append(f"clients.append(({program.start_s:g}, {client}, {identifier(name)!r}, {command!r}))")
    return lines
