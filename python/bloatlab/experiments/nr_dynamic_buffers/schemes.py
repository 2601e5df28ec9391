"""Schemes that keep the buffer of a radio bearer short: settings of the cell and of the transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

UNMANAGED = "infinite"
"""A queue without a limit except the RLC's buffer."""


@dataclass(frozen=True)
class Scheme:
    """A contender."""

    name: str
    what: str
    rlc: Any = UNMANAGED
    """Queue in front of the RLC's transmitter."""
    buffer: str = "buffer"
    """Name of the parameter with the RLC's buffer size in bytes."""
    sdap: Mapping[str, Any] | None = None
    """Queue in SDAP, and what decides when packets enter the RLC."""
    upf: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the backhaul: the UPF's queue and pacer."""
    is_shaped: bool = False
    """Whether the UPF sends at the expected rate of the channel."""
    marks: bool = False
    """Whether packets are marked as they enter the RLC."""
    cca: str | None = None
    """Congestion control that the scheme needs; `None`: that of the experiment."""
    ecn: bool = False


def _sized(kind: str, queue: Any = "fq_codel") -> dict[str, Any]:
    return {"queue": queue, "sizing": {"kind": kind}}


SCHEMES: Mapping[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("tail", "a deep buffer in the RLC that drops what does not fit"),
        Scheme("tail_small", "a shallow buffer in the RLC that drops what does not fit", buffer="small_buffer"),
        Scheme("codel", "CoDel in the RLC", rlc="codel"),
        Scheme("fq_codel", "FQ-CoDel in the RLC", rlc="fq_codel"),
        Scheme("pie", "PIE in the RLC", rlc="pie"),
        Scheme("dualpi2_prague", "DualPI2 in the RLC, transfers by Prague", rlc="dualpi2", cca="prague"),
        Scheme("drql", "DRQL, with FQ-CoDel in SDAP", sdap=_sized("drql")),
        Scheme("dynrlc", "DynRLC, with FQ-CoDel in SDAP", sdap=_sized("dynrlc")),
        Scheme("bdp", "5G-BDP, with FQ-CoDel in SDAP", sdap=_sized("bdp")),
        Scheme("bdp_tail", "5G-BDP, with a deep plain queue in SDAP", sdap=_sized("bdp", "fifo")),
        Scheme(
            "upf_aqm", "FQ-CoDel in the UPF, which sends a little below the radio's best rate",
            upf={"queue": "fq_codel"}, is_shaped=True,
        ),
        Scheme(
            "upf_pacer", "FQ-CoDel in the UPF behind the UPF-SDAP pacer, 5G-BDP in SDAP",
            sdap=_sized("bdp", UNMANAGED), upf={"queue": "fq_codel", "pacer": {}},
        ),
        Scheme("l4span", "L4Span's marks, transfers by Prague", marks=True, cca="prague"),
        Scheme("l4span_ecn", "L4Span's marks, transfers with classic ECN", marks=True, ecn=True),
    )
}  # fmt: skip


def apply(scheme: Scheme, cell: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """The cell with the settings of the scheme."""
    backhaul = {**cell["backhaul"], **scheme.upf}
    if scheme.is_shaped:
        backhaul["rate"] = params["upf_rate"]
    found = {**cell, "backhaul": backhaul, "queue": scheme.rlc, "buffer": params[scheme.buffer]}
    if scheme.sdap is not None:
        queue = scheme.sdap["queue"]
        deep = {"kind": "fifo", "limit": params["buffer"]} if queue == "fifo" else queue
        found["sdap"] = {**scheme.sdap, "queue": deep}
    if scheme.marks:
        found["marking"] = {}
    return found


def transfers(scheme: Scheme, params: Mapping[str, Any]) -> dict[str, Any]:
    """Congestion control and connection settings of TCP for the scheme."""
    return {"cca": scheme.cca or params["cca"], "tcp": {"ecn": True} if scheme.ecn else {}}
