"""networkQuality's JSON (macOS, `networkQuality -c`): capacity, responsiveness and the times of its probes.

Throughput is in bit/s and times are in ms. `il_*` are times on the idle link, `lud_*` times under load, on connections of their
own (`foreign`) or on those that carry the load (`self`).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from bloatlab.errors import ParameterError
from bloatlab.exchange.measurement import Direction, Echo, Flow, Measurement, Plain, Probe, Sample
from bloatlab.exchange.outcome import rtts
from bloatlab.exchange.untrusted import Node

THROUGHPUT: dict[str, tuple[Direction, str]] = {
    "dl_throughput": ("download", "down"),
    "ul_throughput": ("upload", "up"),
}
TIMES = ("il_", "lud_")
FACTS = (
    "responsiveness", "dl_responsiveness", "ul_responsiveness", "base_rtt", "dl_flows", "ul_flows", "interface_name",
    "test_endpoint", "os_version", "draft_version", "start_date", "end_date",
)  # fmt: skip
DATE = "%Y-%m-%d %H:%M:%S.%f"


def recognises(root: Node) -> bool:
    """Whether a document is one of networkQuality's."""
    return isinstance(root.value, dict) and bool({"dl_throughput", "ul_throughput"} & root.value.keys())


def read(root: Node) -> Measurement:
    """Reads a document. The file does not tell when a probe was sent: each array of times is spread over the test."""
    if (code := root.maybe("error_code")) is not None and code.number() != 0:
        raise code.error(f"networkQuality failed ({code.number():g})")
    times = {key: node for key in ("start_date", "end_date") if (node := root.maybe(key)) is not None}
    dates = {key: _date(node) for key, node in times.items()}
    lasted = dates["end_date"] - dates["start_date"] if len(dates) == 2 else 0.0
    lasted = lasted if lasted > 0 else 1.0
    flows = []
    for key, (direction, name) in THROUGHPUT.items():
        if (node := root.maybe(key)) is not None:
            rate = node.number(0) / 1e6
            flows.append(Flow(name, direction, [Sample(0.0, lasted, rate)], mean_mbps=rate))
    probes = []
    for key, node in root.members():
        if key.startswith(TIMES) and (values := [one.number(0) for one in node.elements()]):
            step = lasted / len(values)
            echoes = [Echo(place * step, rtt) for place, rtt in enumerate(values) if rtt > 0]
            probes.append(Probe(key, echoes))
    facts: dict[str, Plain] = {}
    for key in FACTS:
        if (found := root.maybe(key)) is not None and (value := found.plain()) is not None:
            facts[key] = value
    version = str(facts.get("os_version", "of unknown version"))
    return Measurement(
        "networkQuality", version, "responsiveness", lasted, flows, probes, dates.get("start_date"), facts
    )


def _date(node: Node) -> float:
    """The date in seconds. Its zone is not stated: taken as UTC."""
    try:
        return datetime.strptime(node.text(), DATE).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError) as error:
        raise node.error("must be a date such as 2026-01-31 12:00:00.000") from error


def write(of: Measurement) -> bytes:
    """The summary of a measurement: capacity, numbers of flows, idle latency and, if it is known, the responsiveness.

    Raises:
        ParameterError: It has neither a TCP flow nor a reply of a ping.
    """
    found: dict[str, object] = {}
    for key, (direction, _) in THROUGHPUT.items():
        rates = [flow.mean_mbps for flow in of.flows if flow.direction == direction and flow.mean_mbps is not None]
        if rates:
            found[key] = round(sum(rates) * 1e6)
            found[key.replace("throughput", "flows")] = len(rates)
    idle = [rtt for probe in of.probes if not probe.name.startswith("lud_") for rtt in rtts(probe)]
    if "base_rtt" in of.facts:
        found["base_rtt"] = of.facts["base_rtt"]
    elif idle:
        found["base_rtt"] = min(idle)
    if not found:
        raise ParameterError(f"network-quality: {of.name} has neither a TCP flow nor a ping")
    for probe in of.probes:
        if probe.name.startswith(TIMES):
            found[probe.name] = rtts(probe)
    found |= {key: value for key in FACTS if key not in found and (value := of.facts.get(key)) is not None}
    began = of.began or 0.0
    for key, at in {"start_date": began, "end_date": began + of.duration_s}.items():
        found.setdefault(key, datetime.fromtimestamp(at, UTC).strftime(DATE)[:-3])
    found.setdefault("os_version", f"{of.tool} {of.version}")
    return json.dumps(found, allow_nan=False, indent=1).encode()
