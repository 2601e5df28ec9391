"""What a page says of runs, computed from them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A statement with the numbers behind it."""

    title: str
    """The point of it, short."""
    published: str
    """The conclusion that it is about; empty: it is about the runs alone."""
    ours: str
    """What our runs show."""
    columns: tuple[str, ...] = ()
    """Headings of the numbers behind it."""
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    """What must be known to read the numbers."""
