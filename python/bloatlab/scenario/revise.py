"""Adds a flow to a scenario document, and cuts a document to a shorter run.

Both keep the timeline in order, which names flows by their index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bloatlab import units

_FLOW = re.compile(r"flows(?:\[(\d+)\]|\.(\d+))")
NS = 1_000_000_000


def flow_names(flows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The names of the flows that each table of `flows` makes."""
    names: list[list[str]] = []
    before = 0
    for flow in flows:
        count, name = flow.get("count", 1), flow.get("name")
        copies = range(1, count + 1)
        if name is None:
            names.append([f"flow_{before + copy}" for copy in copies])
        else:
            names.append([name] if count == 1 else [f"{name}_{copy}" for copy in copies])
        before += count
    return names


def with_flow(document: Mapping[str, Any], flow: Mapping[str, Any]) -> dict[str, Any]:
    """The document with one more flow, the last one. Later flows, which the timeline adds, get the next index."""
    flows = list(document.get("flows", []))
    last = len(flows)
    changed = {**document, "flows": [*flows, dict(flow)]}
    if timeline := document.get("timeline"):
        changed["timeline"] = [_moved(entry, lambda index: index + (index >= last)) for entry in timeline]
    return changed


def cut(document: Mapping[str, Any], end_ns: int) -> dict[str, Any]:
    """The document of a run that ended after `end_ns` nanoseconds. Flows and changes after the end are left out.

    The flows that remain keep their names.

    Args:
        document: A scenario in canonical form.
        end_ns: The new duration, shorter than the old one and above 0.
    """
    if end_ns >= _ns(document["duration"]):
        return dict(document)
    changed = {**document, "duration": f"{end_ns}ns"}
    if _ns(document["warmup"]) >= end_ns:
        changed["warmup"] = "0ns"
    flows, index_of = _cut_flows(document["flows"], end_ns)
    changed["flows"] = flows
    if "timeline" in document:
        changed["timeline"] = _cut_timeline(document, index_of, end_ns)
    return changed


def _cut_flows(flows: list[dict[str, Any]], end_ns: int) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """The flows that start before the end, and their new indices by their old ones."""
    kept: list[dict[str, Any]] = []
    index_of: dict[int, int] = {}
    for index, (flow, names) in enumerate(zip(flows, flow_names(flows), strict=True)):
        room = end_ns - 1 - _ns(flow["start"])
        if room < 0:
            continue
        interval = _ns(flow["start_interval"])
        count = min(flow["count"], room // interval + 1) if interval else flow["count"]
        room -= (count - 1) * interval
        index_of[index] = len(kept)
        kept.append({**flow, "count": count})
        if _ns(flow["start_jitter"]) > room:
            kept[-1]["start_jitter"] = f"{room}ns"
        # Default names are numbers among all flows, which change.
        if count == 1 or flow.get("name") is None:
            kept[-1]["name"] = names[0]
    if sum(flow["count"] for flow in kept) == sum(flow["count"] for flow in flows):
        kept = [{**flow, "start_jitter": new["start_jitter"]} for flow, new in zip(flows, kept, strict=True)]
    return kept, index_of


def _cut_timeline(document: Mapping[str, Any], index_of: dict[int, int], end_ns: int) -> list[Mapping[str, Any]]:
    """The changes before the end that do not concern flows which were left out."""
    after = len(document["flows"])
    number = sum(flow["count"] for flow in document["flows"])
    known = dict(index_of)
    kept = []
    for entry in document["timeline"]:
        if _ns(entry["at"]) >= end_ns:
            break
        index, value = _index(entry["key"]), entry["value"]
        if index == after:
            after, number = after + 1, number + value.get("count", 1)
            if _ns(value.get("start", entry["at"])) >= end_ns:
                continue
            known[index] = len(known)
            entry = {**entry, "value": {"name": f"flow_{number}", **value}}
        if index is None or index in known:
            kept.append(_moved(entry, known.__getitem__))
    return kept


def _moved(entry: Mapping[str, Any], index_of: Callable[[int], int]) -> Mapping[str, Any]:
    """An entry of the timeline with the new index of the flow that it names."""
    key = entry.get("key") if isinstance(entry, Mapping) else None
    if not isinstance(key, str) or (index := _index(key)) is None:
        return entry
    return {**entry, "key": _FLOW.sub(f"flows[{index_of(index)}]", key, count=1)}


def _index(key: str) -> int | None:
    """The index of the flow that a key of the timeline names."""
    found = _FLOW.match(key)
    return int(found[1] or found[2]) if found else None


def _ns(text: str) -> int:
    return round(units.duration(text) * NS)
