"""Findings: statements about runs on a page, computed from them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A statement with the numbers behind it."""

    title: str
    """A short title."""
    published: str
    """The published conclusion; empty if the finding is only about our runs."""
    ours: str
    """The result of our runs."""
    columns: tuple[str, ...] = ()
    """Column headings of the numbers."""
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    """What a reader must know about the numbers."""
