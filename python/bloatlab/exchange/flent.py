"""Flent's data files (`NAME.flent.gz`): JSON, compressed with gzip, format version 4.

Source: the format that Flent 2.1 (https://flent.org) writes and reads, and the names of the series of its tests.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.exchange import classes
from bloatlab.exchange.measurement import Direction, Echo, Flow, Measurement, Plain, Probe, Sample
from bloatlab.exchange.outcome import unique
from bloatlab.exchange.untrusted import Node

VERSION = 4
TCP = re.compile(r"TCP (upload|download)(?:::|\s+|$)(.*)")
PING = re.compile(r"Ping \(ms\)(?:::|\s+|$)(.*)")
DERIVED = re.compile(r"(?:avg|sum|fairness|totals)$")
"""Ends of the names of series that Flent computes from others."""
IDLE_S = 5.0
"""Flent's idle time before and after the load. Its plots leave it out."""
LEAST_STEP_S = 0.05
USUAL_STEP_S = 0.2
MOST_POINTS = 100_000
"""Most points of a series. Longer measurements have a longer step."""
TIME = "%Y-%m-%dT%H:%M:%S.%f"
FACTS = ("TITLE", "HOST", "LOCAL_HOST", "REMOTE_HOST", "LENGTH", "STEP_SIZE", "IP_VERSION", "NOTE", "T0")
RAW = {"srtt_ms": "tcp_rtt", "cwnd": "tcp_cwnd", "delivery_mbps": "tcp_delivery_rate", "pacing_mbps": "tcp_pacing_rate"}
"""Keys of a raw value that describe the connection."""
ASSUMED_MSS = 1448
"""Flent counts the window in segments and does not say how long these are: Ethernet's 1500 bytes, with timestamps."""
ICMP = "ICMP"

Series = dict[str, list[float | None]]


def recognises(root: Node) -> bool:
    """Whether a document is one of Flent's."""
    return isinstance(root.value, dict) and {"version", "metadata", "x_values", "results"} <= root.value.keys()


def read(root: Node) -> Measurement:
    """Reads a document."""
    version = root["version"].whole(1, VERSION)
    about = root["metadata"]
    test = about["NAME"].text()
    grid = [at.number() for at in root["x_values"].elements()]
    results = dict(root["results"].members())
    raw_node = root.maybe("raw_values")
    raw = dict(raw_node.members()) if raw_node is not None and version == VERSION else {}
    began = _began(about, raw)
    flows, probes, left_out = [], [], []
    for name in dict.fromkeys([*results, *raw]):
        if DERIVED.search(name):
            continue
        series = _Series(name, grid, results.get(name), raw.get(name), began)
        if found := TCP.match(name):
            flows.append(_flow(found[1], found[2], test, series, about))
        elif found := PING.match(name):
            probes.append(_probe(found[1], series))
        else:
            left_out.append(name)
    if not flows and not probes:
        raise root["results"].error("holds neither a TCP flow nor a ping")
    for flow, name in zip(flows, unique([flow.name for flow in flows]), strict=True):
        flow.name = name
    for probe, name in zip(probes, unique([probe.name for probe in probes]), strict=True):
        probe.name = name
    ends = [*grid, *(one.samples[-1].end_s for one in flows if one.samples), *(_end(one) for one in probes)]
    facts: dict[str, Plain] = {"test": test}
    for key in FACTS:
        if (node := about.maybe(key)) is not None and (value := node.plain()) is not None:
            facts[key.lower()] = value
    if left_out:
        facts["series_left_out"] = ", ".join(left_out)[:500]
    made_by = about.maybe("FLENT_VERSION") or about.maybe("BLOATLAB_VERSION")
    known = str(made_by.plain()) if made_by is not None else "of unknown version"
    return Measurement("flent", known, test, max(ends, default=0.0), flows, probes, began, facts)


def _end(probe: Probe) -> float:
    return max((one.sent_s + (one.rtt_ms or 0.0) / 1e3 for one in probe.echoes), default=0.0)


def _began(about: Node, raw: Mapping[str, Node]) -> float:
    """The time of x = 0, seconds since 1970. A time without a zone is local to a machine that is not known."""
    for key in ("T0", "TIME"):
        if (node := about.maybe(key)) is None:
            continue
        text = node.text()
        if text.endswith("Z"):
            try:
                return datetime.strptime(text, f"{TIME}Z").replace(tzinfo=UTC).timestamp()
            except ValueError as error:
                raise node.error(f"must be a time such as 2026-01-31T12:00:00.000000Z, not {text!r}") from error
    times = [node["t"].number() for values in raw.values() for node in values.elements()[:1]]
    return min(times, default=0.0)


class _Series:
    """One series: its raw values, or if there are none, its values on the common grid."""

    def __init__(self, name: str, grid: Sequence[float], result: Node | None, raw: Node | None, began: float) -> None:
        self.name = name
        self.raw: list[dict[str, float]] = []
        """Values by key; `t` in seconds since the beginning."""
        for entry in raw.elements() if raw is not None else ():
            numbers = {key: entry.maybe(key) for key in ("t", "val", "dur", *RAW.values())}
            found = {key: node.number() for key, node in numbers.items() if node is not None}
            if "t" not in found:
                raise entry.error("has no `t`")
            self.raw.append({**found, "t": found["t"] - began})
        if any("val" in entry for entry in self.raw) or result is None:
            self.raw.sort(key=lambda entry: entry["t"])
            return
        values = result.elements()
        if len(values) != len(grid):
            raise result.error(f"must have {len(grid)} values, as x_values has, not {len(values)}")
        pairs = zip(grid, values, strict=True)
        self.raw += [{"t": at, "val": node.number()} for at, node in pairs if node.value is not None]
        self.raw.sort(key=lambda entry: entry["t"])


def _flow(way: str, label: str, test: str, series: _Series, about: Node) -> Flow:
    # `val` and what `ss` printed may be of different times.
    carried = [entry for entry in series.raw if "val" in entry]
    samples = _samples(carried) + _samples([entry for entry in series.raw if "val" not in entry])
    samples.sort(key=lambda one: one.end_s)
    direction: Direction = "upload" if way == "upload" else "download"
    has_window = any(one.cwnd_bytes is not None for one in samples)
    return Flow(
        classes.flow_name(direction, label, numbered=test.startswith("rrul_be")),
        direction,
        samples,
        cca=_algorithm(about, series.name),
        dscp=classes.dscp_of(label),
        mss=ASSUMED_MSS if has_window else None,
    )


def _samples(entries: Sequence[Mapping[str, float]]) -> list[Sample]:
    """Samples of raw values, each from the one before it or as long as it says."""
    times = [entry["t"] for entry in entries]
    usual = median([b - a for a, b in pairwise(times)]) if len(times) > 1 else USUAL_STEP_S
    found: list[Sample] = []
    for entry in entries:
        start = entry["t"] - entry.get("dur", usual)
        if found:
            start = min(max(start, found[-1].end_s), entry["t"])
        values = {name: entry[key] for name, key in RAW.items() if key in entry}
        cwnd = values.pop("cwnd", None)
        window = None if cwnd is None else cwnd * ASSUMED_MSS
        found.append(Sample(start, entry["t"], mbps=entry.get("val"), cwnd_bytes=window, **values))
    return found


def _algorithm(about: Node, series: str) -> str | None:
    meta = about.maybe("SERIES_META")
    own = meta.maybe(series) if meta is not None else None
    found = own.maybe("CONGESTION_CONTROL") if own is not None else None
    return found.text() if found is not None else None


def _probe(label: str, series: _Series) -> Probe:
    echoes = [
        Echo(entry["t"] - entry["val"] / 1e3, entry["val"]) for entry in series.raw if entry.get("val", 0.0) > 0.0
    ]
    sent = [one.sent_s for one in echoes]
    gaps = [b - a for a, b in pairwise(sent) if b > a]
    name = classes.probe_name(label.removeprefix("UDP").strip() if label != ICMP else "")
    return Probe(name, sorted(echoes, key=lambda one: one.sent_s), median(gaps) * 1e3 if gaps else None,
                 dscp=classes.dscp_of(label))  # fmt: skip


def write(of: Measurement) -> bytes:
    """The file for a measurement.

    Raises:
        ParameterError: It has neither a TCP flow nor a ping with a reply.
    """
    text = json.dumps(document(of), sort_keys=True, allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def document(of: Measurement) -> dict[str, Any]:
    """The document for a measurement, with `IDLE_S` before and after the load."""
    flows = [flow for flow in of.flows if flow.transport == "tcp" and any(one.mbps is not None for one in flow.samples)]
    probes = [probe for probe in of.probes if any(one.rtt_ms is not None for one in probe.echoes)]
    if not flows and not probes:
        raise ParameterError(f"flent: {of.name} has neither a TCP flow with samples nor a ping with a reply")
    test, names = classes.test_of(flows)
    pings = classes.ping_labels(probes, test)
    first = min((flow.span[0] for flow in flows), default=0.0)
    last = max((flow.span[1] for flow in flows), default=of.duration_s)
    lead = max(0.0, IDLE_S - first) if flows else 0.0
    total = lead + max(of.duration_s, last + IDLE_S if flows else 0.0)
    t0 = (of.began or 0.0) - lead
    step = max(_step(flows), round(total / MOST_POINTS, 3))
    grid = [round(index * step, 6) for index in range(math.floor(total / step + 1e-9) + 1)]
    results = {f"TCP {name}": _stepwise(flow, grid, lead) for name, flow in zip(names, flows, strict=True)}
    results |= {
        f"Ping (ms) {name}": _between(probe, grid, lead, step) for name, probe in zip(pings, probes, strict=True)
    }
    raw = {f"TCP {name}": _raw_flow(flow, t0 + lead) for name, flow in zip(names, flows, strict=True)}
    raw |= {f"Ping (ms) {name}": _raw_probe(probe, t0 + lead) for name, probe in zip(pings, probes, strict=True)}
    results |= _derived(results)
    ups, downs = ([flow for flow in flows if flow.direction == way] for way in ("upload", "download"))
    host = of.facts.get("host", of.tool)
    written = datetime.fromtimestamp(t0, UTC).strftime(f"{TIME}Z")
    return {
        "version": VERSION,
        "x_values": grid,
        "results": results,
        "raw_values": raw,
        "metadata": {
            "NAME": test, "TITLE": str(of.facts.get("title", of.name)), "HOST": host, "HOSTS": [host],
            "LOCAL_HOST": of.facts.get("local_host", of.tool), "LENGTH": round(last - first, 6), "TOTAL_LENGTH": round(total, 6),
            "STEP_SIZE": step, "T0": written, "TIME": written, "IP_VERSION": of.facts.get("ip_version", 4),
            "NOTE": of.facts.get("note", ""), "BLOATLAB_VERSION": f"{of.tool} {of.version}",
            "DATA_FILENAME": f"{test}.flent.gz",
            "TEST_PARAMETERS": {"upload_streams": str(len(ups)), "download_streams": str(len(downs))},
            "SERIES_META": {
                f"TCP {name}": {"UNITS": "Mbits/s", **({"CONGESTION_CONTROL": flow.cca} if flow.cca else {})}
                for name, flow in zip(names, flows, strict=True)
            } | {f"Ping (ms) {name}": {"UNITS": "ms"} for name in pings},
        },
    }  # fmt: skip


def _step(flows: Sequence[Flow]) -> float:
    lengths = [one.end_s - one.start_s for flow in flows for one in flow.samples if one.mbps is not None]
    return max(LEAST_STEP_S, round(median(lengths), 6)) if lengths else USUAL_STEP_S


def _stepwise(flow: Flow, grid: Sequence[float], lead: float) -> list[float | None]:
    """The rate at each time: that of the interval which ends then or goes on."""
    carried = [one for one in flow.samples if one.mbps is not None]
    ends = [one.end_s for one in carried]
    found: list[float | None] = []
    for at in grid:
        place = bisect_left(ends, at - lead - 1e-9)
        inside = place < len(carried) and carried[place].start_s < at - lead + 1e-9 and at - lead > carried[0].start_s
        found.append(carried[place].mbps if inside else None)
    return found


def _between(probe: Probe, grid: Sequence[float], lead: float, step: float) -> list[float | None]:
    """The RTT at each time, interpolated between the replies before and after it if these are not far apart."""
    replies = [(one.sent_s + one.rtt_ms / 1e3, one.rtt_ms) for one in probe.echoes if one.rtt_ms is not None]
    replies.sort()
    times = [at for at, _ in replies]
    far = max(5 * step, 2 * (probe.interval_ms or 0.0) / 1e3)
    found: list[float | None] = []
    for place in grid:
        at = place - lead
        after = bisect_left(times, at)
        if not 0 < after < len(times) or times[after] - times[after - 1] > far:
            found.append(None)
            continue
        (earlier, low), (later, high) = replies[after - 1], replies[after]
        found.append(low + (high - low) * (at - earlier) / (later - earlier) if later > earlier else high)
    return found


def _raw_flow(flow: Flow, zero: float) -> list[dict[str, float]]:
    found = []
    for one in flow.samples:
        cwnd = None if one.cwnd_bytes is None else one.cwnd_bytes / (flow.mss or ASSUMED_MSS)
        numbers = {
            "val": one.mbps, "dur": one.end_s - one.start_s, "tcp_rtt": one.srtt_ms, "tcp_cwnd": cwnd,
            "tcp_delivery_rate": one.delivery_mbps, "tcp_pacing_rate": one.pacing_mbps,
        }  # fmt: skip
        found.append({"t": zero + one.end_s, **{key: value for key, value in numbers.items() if value is not None}})
    return found


def _raw_probe(probe: Probe, zero: float) -> list[dict[str, float]]:
    return [
        {"t": zero + one.sent_s + one.rtt_ms / 1e3, "val": one.rtt_ms, "seq": place}
        for place, one in enumerate(probe.echoes)
        if one.rtt_ms is not None
    ]


def _derived(series: Mapping[str, Sequence[float | None]]) -> Series:
    """The means and sums that Flent's plots show."""
    found: Series = {}
    for way in ("upload", "download"):
        own = [values for name, values in series.items() if name.startswith(f"TCP {way}")]
        if own:
            found[f"TCP {way} sum"] = _combined(own, mean=False)
            found[f"TCP {way} avg"] = _combined(own, mean=True)
    flows = [values for name, values in series.items() if name.startswith("TCP ")]
    pings = [values for name, values in series.items() if name.startswith("Ping ")]
    if flows:
        found["TCP totals"] = _combined(flows, mean=False)
    if pings:
        found["Ping (ms) avg"] = _combined(pings, mean=True)
    return found


def _combined(series: Sequence[Sequence[float | None]], *, mean: bool) -> list[float | None]:
    rows = [[value for value in row if value is not None] for row in zip(*series, strict=True)]
    return [math.fsum(row) / (len(row) if mean else 1) if row else None for row in rows]
