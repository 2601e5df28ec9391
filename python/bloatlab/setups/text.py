"""Names from a scenario inside scripts and comments.

A scenario is untrusted, so nothing of it may end a comment or a quoted text.
"""

from __future__ import annotations

import re

from bloatlab.visible import one_line


def comment(text: str) -> str:
    """A text for a comment or a docstring: one line, without quotes and backslashes."""
    return re.sub(r"[\"'`\\]", "", one_line(text))


def identifier(text: str) -> str:
    """A text for a file, a variable or a section: letters, digits and underscores, beginning with a letter."""
    found = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return found if found[:1].isalpha() else f"n_{found}"
