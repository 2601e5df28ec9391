"""`calc`: delays of full queues and bandwidth-delay products. `bloatlab.calculators` computes them."""

from __future__ import annotations

import json as text
from typing import TYPE_CHECKING

from cyclopts import App

from bloatlab.cli.options import Flag

if TYPE_CHECKING:
    from bloatlab.calculators import Calculation

MTU = 1500

calc = App(name="calc", help="Calculators: delays of full queues, bandwidth-delay products.")


@calc.command
def nic(*, txqueuelen: int = 1000, mtu: int = MTU, rate: str, json: Flag = False) -> None:
    """Computes the longest wait in the transmit queue of a network card.

    Args:
        txqueuelen: Limit of the queue in packets; `ip link` shows it as qlen.
        mtu: Size of a packet in bytes.
        rate: Rate of the card, such as 100Mbps.
        json: Print one JSON object and nothing else.
    """
    from bloatlab import calculators

    _show(calculators.nic(txqueuelen, mtu, rate), as_json=json)


@calc.command
def bdp(*, rate: str, rtt: str, mtu: int = MTU, json: Flag = False) -> None:
    """Computes the bandwidth-delay product of a path.

    Args:
        rate: Rate of the bottleneck, such as 10Mbit/s.
        rtt: Base RTT, such as 40ms.
        mtu: Size of a packet in bytes.
        json: Print one JSON object and nothing else.
    """
    from bloatlab import calculators

    _show(calculators.bdp(rate, rtt, mtu), as_json=json)


@calc.command
def queue(*, limit: str, rate: str, mtu: int = MTU, segments_per_buffer: int = 1, json: Flag = False) -> None:
    """Computes the longest wait in a full queue.

    Args:
        limit: Limit of the queue, such as 100p, 150kB or 100buffers.
        rate: Rate of the link.
        mtu: Size of a packet on the link in bytes, 1514 with an Ethernet header.
        segments_per_buffer: Packets per buffer, for a limit in buffers.
        json: Print one JSON object and nothing else.
    """
    from bloatlab import calculators

    _show(calculators.queue(limit, rate, mtu, segments_per_buffer), as_json=json)


def _show(found: Calculation, *, as_json: bool) -> None:
    if as_json:
        key = "bytes" if found.unit == "B" else "delay_s"
        print(text.dumps({key: found.value, **found.further, **found.inputs, "formula": found.formula}))
        return
    from bloatlab.calculators import plain

    print(f"{found.name}: {found.text}")
    print(f"{found.formula} = {found.text}")
    for name, value in found.further.items():
        what, _, unit = name.rpartition("_")
        print(f"one {what}: {plain(value)} {unit}" if what else f"{name}: {plain(value)}")
