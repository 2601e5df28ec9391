"""What a page says of a ranking, computed from its runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """A statement with the numbers behind it."""

    title: str
    """The point of it, short."""
    text: str
    columns: tuple[str, ...] = ()
    """Headings of the numbers."""
    rows: tuple[tuple[str, ...], ...] = ()
