"""The tables of what took part in a run: its flows, links and probes, and its queues as commands for Linux."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from bloatlab import language
from bloatlab.report import text
from bloatlab.report.metric_tables import Cell, unit_of
from bloatlab.report.model import PlainTable

_UNITS = {
    "start_s": "start (s)",
    "stop_s": "stop (s)",
    "base_rtt_ms": "base RTT (ms)",
    "mss": "MSS (bytes)",
    "cca": "congestion control",
    "rate_mbps": "rate (Mbit/s)",
    "delay_ms": "delay (ms)",
    "interval_ms": "interval (ms)",
    "size": "size (bytes)",
    "limit_packets": "limit (packets)",
}
MOST_ENTITIES = 25


def entities(tables: dict[str, pl.DataFrame]) -> list[PlainTable]:
    """The tables of flows, links and probes."""
    found = []
    for name in ("flows", "links", "probes"):
        frame = tables.get(name)
        if frame is None or frame.is_empty():
            continue
        frame = frame.select(column for column in frame.columns if frame[column].null_count() < frame.height)
        shown = frame.head(MOST_ENTITIES)
        columns = [_UNITS.get(column, column.replace("_", " ")) for column in frame.columns]
        entries = [
            _entries(shown[column].to_list(), unit_of(title))
            for column, title in zip(frame.columns, columns, strict=True)
        ]
        rows = [[Cell(entry) for entry in row] for row in zip(*entries, strict=True)]
        left = frame.height - shown.height
        note = f"and {left} more {name}." if left else ""
        found.append(PlainTable(columns, rows, name.capitalize(), note=note))
    return found


def _entries(values: Sequence[Any], unit: str) -> list[str]:
    """The cells of a column."""
    if all(isinstance(value, int | float | None) and not isinstance(value, bool) for value in values):
        return text.numbers(values, unit)
    return [_entry(value) for value in values]


def _entry(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value or text.NONE)


def on_linux(scenario: Mapping[str, Any]) -> list[PlainTable]:
    """The tc commands for the queues of a run, or the reason why Linux cannot have them."""
    rows = []
    planned = language.stored_plan(scenario)
    queues = list(planned.queues.values()) if planned else []
    for link in queues[:MOST_ENTITIES]:
        try:
            commands = "; ".join(language.tc(json.dumps(link.queue), "eth0"))
        except language.ScenarioError as error:
            commands = str(error)
        rows.append([Cell(link.name), Cell(commands)])
    return [PlainTable(["link", "command"], rows, "The queues on Linux")] if rows else []
