"""The lab as one file, which opens without a server."""

from __future__ import annotations

from pathlib import Path

NAME = "lab.html"
FILE = Path(__file__).with_name("single") / NAME
"""What `make lab` builds."""
MARK = b'<meta name="generator" content="bloatlab lab" />'
"""Mark of the file, near its beginning."""


def single_file() -> str | None:
    """The text of the file. None if this installation does not carry the lab."""
    return FILE.read_text(encoding="utf-8") if FILE.is_file() else None
