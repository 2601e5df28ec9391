"""A script for NeST, the Network Stack Tester: nodes, links with their qdiscs, and flows.

Source: the documentation of NeST 0.4.
"""

from __future__ import annotations

import re

from bloatlab import language
from bloatlab.errors import ParameterError
from bloatlab.setups import linux
from bloatlab.setups.bed import Bed, Rest
from bloatlab.setups.text import comment, identifier
from bloatlab.setups.traffic import linux_algorithm

QDISCS = ("choke", "codel", "fq_codel", "fq_pie", "pfifo", "pie", "red")
FASTEST = "10gbit"
"""Rate of a device that only delays: NeST has no delay without a rate."""
HEAD = '''#!/usr/bin/env python3
"""{title}: the scenario for NeST. Run it as root."""

from nest.experiment import Experiment, Flow
from nest.routing.routing_helper import RoutingHelper
from nest.topology import Node, Router, connect
from nest.topology.address_helper import AddressHelper
from nest.topology.network import Network
'''


def script(bed: Bed) -> list[str]:
    """The lines of the script.

    Args:
        bed: The test bed.

    Raises:
        ParameterError: NeST or Linux does not have a queue, an impairment or a congestion control of it.
    """
    lines = [*HEAD.format(title=comment(bed.name)).splitlines(), ""]
    lines += [f'r{place} = Router("r{place}")' for place in range(bed.edges + 1)]
    for place in range(1, len(bed.hosts) + 1):
        lines += [f'{end}{place} = Node("{end}{place}")' for end in "ab"]
    for place in range(bed.edges):
        names = f"r{place}_r{place + 1}, r{place + 1}_r{place}"
        lines.append(f'{names} = connect(r{place}, r{place + 1}, network=Network("10.0.{place}.0/24"))')
    for place, hosts in enumerate(bed.hosts, 1):
        enter, leave = f"r{hosts.enter}", f"r{hosts.leave}"
        lines.append(
            f'a{place}_{enter}, {enter}_a{place} = connect(a{place}, {enter}, network=Network("10.1.{place}.0/24"))'
        )
        lines.append(
            f'{leave}_b{place}, b{place}_{leave} = connect({leave}, b{place}, network=Network("10.2.{place}.0/24"))'
        )
    lines += ["AddressHelper.assign_addresses()", 'RoutingHelper(protocol="static").populate_routing_tables()', ""]
    for first, second, link in bed.links():
        lines.append(f"# {comment(link.name)}: the delay of the whole path is at its ends")
        lines.append(f'r{first}_r{second}.set_attributes("{_rate(link)}", "0ms", {_qdisc(link)})')
    for place, hosts in enumerate(bed.hosts, 1):
        lines += _ends(f"r{hosts.leave}_b{place}", hosts.forth)
        lines += _ends(f"r{hosts.enter}_a{place}", hosts.back)
    return [*lines, "", f'experiment = Experiment("{identifier(bed.name)}")', *_flows(bed), "experiment.run()"]


def _rate(link: language.Link) -> str:
    return f"{link.rate_bps}bit"


def _qdisc(link: language.Link) -> str:
    command = linux.queue_commands(link, "eth0")[-1]
    kind, *words = command.split(" root ", 1)[1].split()
    if kind not in QDISCS:
        raise ParameterError(f"{link.name}: NeST has no `{kind}` (allowed: {', '.join(QDISCS)})")
    options: dict[str, str] = {}
    for word in words:
        # Every value of these qdiscs is a number, and a word without one is a flag.
        if re.match(r"[\d-]", word):
            options[next(reversed(options))] = word
        else:
            options[word] = ""
    written = ", ".join(f'"{name}": "{value}"' for name, value in options.items())
    return f'"{kind}"' + (f", **{{{written}}}" if options else "")


def _ends(interface: str, rest: Rest) -> list[str]:
    lines = []
    if rest.jitter or any(box.get("gilbert_elliott") for box in rest.impairments):
        raise ParameterError("NeST's script has neither jitter nor losses in bursts; use --as tc or --as mininet")
    if rest.delay_ns:
        lines.append(f'{interface}.set_attributes("{FASTEST}", "{rest.delay_ns / 1000:.10g}us")')
    methods = {"loss": "set_packet_loss", "corrupt": "set_packet_corruption", "duplicate": "set_packet_duplication"}
    for box in rest.impairments:
        if box["kind"] not in methods or box.get("vary"):
            raise ParameterError(f"{box['name']}: NeST has no `{box['kind']}`; use --as tc")
        lines.append(f'{interface}.{methods[box["kind"]]}("{100 * box["probability"]:.10g}%")')
    return lines


def _flows(bed: Bed) -> list[str]:
    lines = []
    for place, hosts in enumerate(bed.hosts, 1):
        for flow, forth in hosts.flows:
            name = comment(flow.name)
            if flow.traffic != "greedy":
                lines.append(f"# {name} is not started: this script makes long TCP flows, not {flow.traffic}.")
                continue
            ends = (f"a{place}", f"b{place}", f"b{place}_r{hosts.leave}")
            if not forth:
                ends = (f"b{place}", f"a{place}", f"a{place}_r{hosts.enter}")
            start, stop = round(flow.start_ns / 1e9), max(1, round(flow.stop_ns / 1e9))
            made = f"Flow({ends[0]}, {ends[1]}, {ends[2]}.get_address(), {start}, {stop}, 1)"
            lines.append(f'experiment.add_tcp_flow({made}, "{linux_algorithm(flow)}", tool="iperf3")  # {name}')
    return lines
