"""The complete contents of a store, for comparisons."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bloatlab.store import Store

TABLES = ("flows", "flow_series", "link_series", "metrics")


def values(store: Store) -> dict[str, pl.DataFrame]:
    """The complete contents of a store."""
    found = {"runs": store.runs(), "points": store.points(), "parameters": store.parameters(), "claims": store.claims()}
    return {**found, "invocations": store.invocations(), **{name: store.table(name).sort(pl.all()) for name in TABLES}}


def same(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> bool:
    """Whether two stores have the same contents."""
    return all(one[name].equals(other[name]) for name in one)


def is_part_of(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> bool:
    """Whether every row of one is a row of the other."""
    return all(frame.is_empty() or set(frame.rows()) <= set(other[name].rows()) for name, frame in one.items())


def tree(directory: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a directory, with its contents and its modification time."""
    return {
        str(path.relative_to(directory)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
