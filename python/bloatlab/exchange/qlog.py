"""qlog 0.3 as JSON: draft-ietf-quic-qlog-main-schema-02, with events of draft-ietf-quic-qlog-quic-events-01.

One trace per TCP flow, with `recovery:metrics_updated` at every sample whose metrics changed. Viewers such as qvis read this
version. Bytes are bytes, RTTs are in ms, the pacing rate is in bit/s.
"""

from __future__ import annotations

import json
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.exchange.measurement import Flow, Measurement, Sample

VERSION = "0.3"


def write(of: Measurement) -> bytes:
    """The file for a measurement.

    Raises:
        ParameterError: No flow has a congestion window or an RTT.
    """
    return json.dumps(document(of), allow_nan=False).encode()


def document(of: Measurement) -> dict[str, Any]:
    """The document for a measurement."""
    traces = [trace for flow in of.flows if flow.transport == "tcp" and (trace := _trace(flow, of))["events"]]
    if not traces:
        raise ParameterError(f"qlog: no flow of {of.name} has samples of a congestion window or an RTT")
    return {
        "qlog_version": VERSION,
        "qlog_format": "JSON",
        "title": of.name,
        "description": f"{of.tool} {of.version}: {of.facts.get('note', '')}".rstrip(": "),
        "traces": traces,
    }


def _trace(flow: Flow, of: Measurement) -> dict[str, Any]:
    events = []
    last: dict[str, float] = {}
    for one in flow.samples:
        metrics = _metrics(one)
        changed = {name: value for name, value in metrics.items() if last.get(name) != value}
        last |= metrics
        if changed:
            events.append({"time": round(one.end_s * 1e3, 6), "name": "recovery:metrics_updated", "data": changed})
    return {
        "title": flow.name,
        "description": f"{flow.cca or 'TCP'}, {flow.direction}",
        # What sends the data measures: of a download, this is the server.
        "vantage_point": {"name": flow.name, "type": "server" if flow.direction == "download" else "client"},
        "common_fields": {
            "group_id": flow.name,
            "protocol_type": ["TCP"],
            "time_format": "relative",
            "reference_time": round((of.began or 0.0) * 1e3, 3),
        },
        "events": events,
    }


def _metrics(one: Sample) -> dict[str, float]:
    whole = {
        "congestion_window": one.cwnd_bytes,
        "bytes_in_flight": one.in_flight_bytes,
        "ssthresh": one.ssthresh_bytes,
        "pacing_rate": None if one.pacing_mbps is None else one.pacing_mbps * 1e6,
    }
    found: dict[str, float] = {name: round(value) for name, value in whole.items() if value is not None}
    if one.srtt_ms is not None:
        found["smoothed_rtt"] = one.srtt_ms
    return found
