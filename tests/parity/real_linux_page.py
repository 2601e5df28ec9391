"""Writes docs/real-linux.md: the text of `real_linux.md` with tables from `real_linux.csv`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import real_linux

PAGE = Path(__file__).parents[2] / "docs" / "real-linux.md"
TEXT = Path(__file__).with_name("real_linux.md")
TOLERANCE = 0.05
"""Largest distance of a ratio from 1 that needs no explanation."""


@dataclass(frozen=True)
class Column:
    """A metric of a table."""

    metric: str
    label: str
    judged: bool = False
    """Shown with its ratio, and explained where the difference is above the tolerance."""
    std: bool = False
    """Shown with its standard deviation over the runs."""


@dataclass(frozen=True)
class Table:
    """A table of the page."""

    columns: tuple[Column, ...]
    published: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What the source says, by case and metric."""
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Letters of the explanations, by case and metric."""


FLOW = (
    Column("throughput", "throughput, Mbit/s", judged=True),
    Column("srtt", "sRTT, ms", judged=True),
    Column("sojourn", "sojourn, ms"),
    Column("drops", "drops"),
)
TABLES: Mapping[str, Table] = {
    "cells": Table(FLOW),
    "deep-buffers": Table(FLOW, reasons={("bbr, 20p", "srtt"): "a"}),
    "home-router": Table(
        (
            Column("rtt_p5", "RTT, 5 %, ms"),
            Column("rtt_p50", "median, ms"),
            Column("rtt_p95", "95 %, ms"),
            Column("rtt_max", "largest, ms"),
            Column("fetch_mean", "mean fetch, s", std=True),
            Column("fetch_std", "deviation, s"),
            Column("fetch_p50", "median fetch, s"),
            Column("slow", "longer than 1 s"),
            Column("quick_mean", "mean of the others, s"),
            Column("syns", "SYNs sent again"),
            Column("rtos", "timeouts"),
        ),
        published={
            "col724, 20": {"rtt_p50": "35", "fetch_mean": "0.27", "fetch_std": "0.117"},
            "col724, 100": {"rtt_p50": "100 to 200", "fetch_mean": "0.73", "fetch_std": "0.192"},
        },
    ),
    "mmwave-aqm": Table(
        (
            Column("srtt_median", "median sRTT, ms"),
            Column("srtt_max", "largest sRTT, ms"),
            Column("saturated_apart", "claim (a)"),
            Column("dip_excess", "claim (c), ms"),
            Column("goodput_share", "claim (e)"),
        ),
        published={
            "sl, largefifo": {"srtt_median": "19.3", "srtt_max": "26"},
            "sl, smallfifo": {"srtt_median": "5.0", "srtt_max": "6.9"},
            "sl, pie": {"srtt_median": "11.2", "srtt_max": "16"},
            "sl, fq_codel": {"srtt_median": "9.4", "srtt_max": "15.5"},
            "lb, largefifo": {"srtt_median": "20.7", "srtt_max": "139"},
            "lb, smallfifo": {"srtt_median": "5.5", "srtt_max": "37.5"},
            "lb, pie": {"srtt_median": "11.2", "srtt_max": "29"},
            "lb, fq_codel": {"srtt_median": "9.4", "srtt_max": "22"},
        },
    ),
}

Row = dict[str, str]


def page() -> str:
    """The page as Markdown."""
    rows = real_linux.read()
    text = TEXT.read_text(encoding="utf-8").replace("{kernel}", rows[0]["kernel"])
    for name, table in TABLES.items():
        of_table = [row for row in rows if row["part"] == name]
        text = text.replace(f"{{{name}}}", "\n".join(_lines(table, of_table)))
    return text


def _lines(table: Table, rows: list[Row]) -> Iterator[str]:
    found = {(row["case"], row["engine"], row["metric"]): row for row in rows}
    yield "| | " + " | ".join(column.label for column in table.columns) + " |"
    yield "|---" * (len(table.columns) + 1) + "|"
    for case in dict.fromkeys(row["case"] for row in rows):
        entries = []
        for column in table.columns:
            both = [found.get((case, engine, column.metric)) for engine in real_linux.ENGINES]
            entries.append(_entry(table, case, column, both))
        yield f"| {case} | " + " | ".join(entries) + " |"


def _entry(table: Table, case: str, column: Column, both: list[Row | None]) -> str:
    if both == [None, None]:
        return ""
    values = [_value(row, column) for row in both]
    said = table.published.get(case, {}).get(column.metric)
    text = " / ".join([*values, *([said] if said else [])])
    ours, theirs = both
    if not column.judged or ours is None or theirs is None:
        return text
    ratio = float(ours["mean"]) / float(theirs["mean"])
    text += f" ({ratio:.2f})"
    return text if abs(ratio - 1) <= TOLERANCE else f"**{text}** {table.reasons[case, column.metric]}"


def _value(row: Row | None, column: Column) -> str:
    if row is None:
        return "-"
    mean, deviation = float(row["mean"]), float(row["std"])
    return f"{mean:.4g} ± {deviation:.2g}" if column.std and deviation else f"{mean:.4g}"


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
