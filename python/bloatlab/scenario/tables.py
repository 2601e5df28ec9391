"""The tables that builders take and return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bloatlab.plugins import Configured

Document = dict[str, Any]
Table = Mapping[str, Any]
"""A table of the document, with the keys that the schema gives it."""
Algorithm = str | type | Configured | Table
"""A queue or congestion control: its name, a table with `kind` and parameters, or a user's class."""


def given(**values: Any) -> Document:
    """The keys that have a value."""
    return {name: value for name, value in values.items() if value is not None}
