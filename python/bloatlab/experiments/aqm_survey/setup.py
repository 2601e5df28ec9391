"""The set-up of the source: the queues with ns-2's parameters, two classes of flows, and the delays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bloatlab import units
from bloatlab.errors import ParameterError
from bloatlab.experiments.queues import MTU, with_limit
from bloatlab.plugins import Configured

SOURCE = (
    'slides "BUFFERDeBLOAT, a survey of different ways to counter bufferbloat" (ns-2.33); close to Gong, Rossi et al., '
    '"Fighting the bufferbloat", Computer Networks 60 (2014)'
)
QUEUES: Mapping[str, str] = {
    "fifo": "DropTail", "red": "RED", "choke": "CHOKe", "drr": "DRR", "sfq": "SFQ", "codel": "CoDel",
}  # fmt: skip
"""Kinds of the source's queues, with their names in the source."""
CCPS: Mapping[str, str] = {"ledbat": "LEDBAT", "lp": "TCP-LP", "nice": "TCP-NICE"}
"""The source's low-priority congestion controls."""
RENO = "reno"
CCP_START = "5s"
"""When low-priority flows start by default."""
PUBLISHED, EQUAL = "as-published", "equal-limits"
FIX, FAIR = "fix", "fair"
FLOWS = 10
TCP, CCP = "tcp", "ccp"
"""Names of the flows of the two classes."""
LEDBAT: Mapping[str, Any] = {
    "kind": "ledbat", "target": "25ms", "startup": False, "min_window": 1, "current_filter": 1,
}  # fmt: skip
"""As in ns-2, before RFC 6817: no slow start, windows down to one segment, no filter for delays."""
OWN_CCPS: Mapping[str, Mapping[str, Any]] = {
    "ledbat": LEDBAT,
    "lp": {"kind": "lp", "variant": "ns2"},
    RENO: {"kind": RENO, "whole_segments": False},
}
"""Congestion controls for names without parameters."""
CHOKE: Mapping[str, Any] = {"min": "6p", "max": "18p", "burst": 25, "probability": 0.1, "avpkt": f"{MTU}B"}
"""Parameters of CHOKe. The slides do not state them; these come nearest to its nine values on slide 15."""
SFQ: Mapping[str, Any] = {
    "kind": "sfq", "divisor": 16, "service": "packets", "overflow": "share", "classifier": "exact",
}  # fmt: skip
"""SFQ as in ns-2, without a limit."""
BOTTLENECK_MS = 20
ACCESS_MS: Mapping[str, tuple[int, ...]] = {FIX: (6, 6, 6, 6, 6), FAIR: (2, 4, 6, 8, 10)}
"""Propagation delay of the access links of the five pairs; 6 ms give an RTT of 52 ms with the bottleneck."""
LONGEST_NAME = 64
"""Largest number of characters of a scenario's name."""
CONNECTION: Mapping[str, Any] = {
    # With 52 bytes of headers, packets have 1500 bytes.
    "mss": MTU - 52,
    "ack_every": 1,
    "initial_window": 2,
    "min_rto": "200ms",
    "loss_detection": "dupack",
    "tail_loss_probe": False,
    "frto": False,
    "undo": False,
    "send_buffer": "64MB",
    "receive_buffer": "64MB",
}
"""TCP/Linux of ns-2: no delayed ACKs, no RACK, TLP or F-RTO, and no limit of the window."""


def queue(params: Mapping[str, Any]) -> Any:
    """The queue of the bottleneck. A queue that is not the source's, or has parameters, gets the limit `buf`."""
    kind, packets = params["queue"], params["buf"]
    limit = f"{packets}p"
    if not isinstance(kind, str) or kind not in QUEUES:
        return kind if isinstance(kind, type | Configured) else with_limit(kind, limit)
    published = params["mode"] == PUBLISHED
    match kind:
        case "fifo":
            # ns-2's queue refuses the packet that would fill it.
            return {"kind": kind, "limit": f"{max(1, packets - 1)}p" if published else limit}
        case "red":
            # In bytes with a mean packet size of 500; thresholds after Floyd, Gummadi and Shenker 2001: 2.5 and 7.5
            # kB up to 8 Mbit/s.
            return {"kind": kind, "limit": limit, "avpkt": "500B"}
        case "choke":
            return {"kind": kind, "limit": limit, **CHOKE, "bandwidth": params["cap"]}
        case "drr":
            # ns-2 hashes the number of the source's node. Of ten consecutive nodes at most two share a bucket (15 and
            # 16, 31 and 32).
            own = {"buckets": FLOWS - 1, "quantum": "250B", "classifier": "exact"}
            return {"kind": kind, "limit": "25000B" if published else limit, **own}
        case "sfq":
            return {**SFQ, "limit": "40p" if published else limit}
    return {"kind": kind, "limit": limit}


def flows(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`wld` Reno flows, and low-priority flows for the rest; flow i belongs to pair i modulo 5."""
    ccp = params["ccp"]
    if params["wld"] < FLOWS and units.duration(params["ccp_start"]) >= units.duration(params["time"]):
        raise ParameterError(
            f"ccp_start: {params['ccp_start']} is not before the end of the run (time: {params['time']})"
        )
    low = OWN_CCPS.get(ccp, ccp) if isinstance(ccp, str) else ccp
    if ccp == {"kind": RENO}:
        # As its name, so that all flows are alike.
        low = OWN_CCPS[RENO]
    common = {"start_jitter": params["start_jitter"], "tcp": CONNECTION}
    tcp = {"cca": OWN_CCPS[RENO], **common}
    lower = {"cca": low, "start": params["ccp_start"], **common}
    classes = ((TCP, tcp, range(params["wld"])), (CCP, lower, range(params["wld"], FLOWS)))
    if params["delays"] == FIX:
        return [{"name": name, "count": len(own), **flow} for name, flow, own in classes if own]
    pairs = ACCESS_MS[params["delays"]]
    return [
        {"name": f"{name}_{index + 1}", "rtt": _rtt(pairs[index % len(pairs)]), **flow}
        for name, flow, own in classes
        for index in own
    ]


def scenario(params: Mapping[str, Any]) -> dict[str, Any]:
    """The dumbbell."""
    point = [params[key] for key in ("cap", "buf", "wld", "delays", "mode", "queue", "ccp")]
    return {
        # Points with the same network (SFQ with any BUF, all flows Reno) remain separate runs.
        "name": " ".join(map(_word, point))[:LONGEST_NAME].strip(),
        "duration": params["time"],
        "sample_interval": "1s",
        "dumbbell": {"rate": params["cap"], "rtt": _rtt(ACCESS_MS[FIX][0]), "queue": queue(params)},
        "flows": flows(params),
    }


def _rtt(access_ms: int) -> str:
    return f"{2 * (BOTTLENECK_MS + access_ms)}ms"


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value["kind"]
    if isinstance(value, Configured):
        value = value.plugin
    return value.__qualname__ if isinstance(value, type) else str(value)


def kind(value: Any) -> Any:
    """The registry's name of a queue from the source's or the registry's name."""
    names = {called.lower(): own for own, called in QUEUES.items()}
    return names.get(value.lower(), value) if isinstance(value, str) else value


def low_priority(value: Any) -> Any:
    """The registry's name of a congestion control from the source's or the registry's name."""
    names = {called.lower(): own for own, called in CCPS.items()}
    return names.get(value.lower(), value) if isinstance(value, str) else value


def is_reno(ccp: Any) -> bool:
    """Whether the flows of the low-priority class are Reno too, so that all flows are alike."""
    return (ccp.get("kind") if isinstance(ccp, Mapping) else ccp) == RENO


def mbps(cap: str) -> float:
    """A capacity in Mbit/s."""
    return units.rate(cap) / 1e6
