"""Set-ups of other tools for the network of a scenario: Linux's tc, OpenWrt's SQM, Mininet, NeST and ns-3."""

from __future__ import annotations

import json
from collections.abc import Mapping

from bloatlab.errors import unknown
from bloatlab.setups import bed, linux, mininet, nest, ns3, sqm

FORMS = ("tc", "sqm", "mininet", "nest", "ns3")
"""What `set_up` writes: commands, a section of a configuration, two kinds of scripts, lines of C++."""


def set_up(document: str, form: str, devices: Mapping[str, str], *, all_words: bool = False) -> list[str]:
    """The network of a scenario for another tool, line by line.

    Args:
        document: The scenario in its canonical form, as JSON.
        form: One of `FORMS`.
        devices: Network devices by the name of their link, for `tc` and `sqm`; `""` is the bottleneck.
        all_words: For `tc`: also print what tc has by default.

    Raises:
        ParameterError: The tool cannot express the scenario, or there is no such link; the text names what is allowed.
    """
    laid_out = bed.read(document)
    links = [link.name for _, _, link in laid_out.links()]
    devices = {name or laid_out.bottleneck: device for name, device in devices.items()}
    for name in devices:
        if name not in links:
            raise unknown("link", name, links)
    if form == "tc":
        return linux.commands(laid_out, devices, all_words=all_words)
    if form == "sqm":
        return sqm.section(laid_out, devices.get(laid_out.bottleneck, "wan"))
    if form == "mininet":
        return mininet.script(laid_out, json.loads(document))
    return nest.script(laid_out) if form == "nest" else ns3.lines(laid_out, json.loads(document))
