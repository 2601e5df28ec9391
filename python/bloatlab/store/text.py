"""Stored values in the form in which a user writes them."""

from __future__ import annotations

import json
from typing import Any


def readable(text: str) -> str:
    """A stored value (JSON) in the form in which a user writes it: strings without quotes."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, dict) and "kind" in value:
        rest = ", ".join(f"{key}={item}" for key, item in value.items() if key != "kind")
        return f"{value['kind']} ({rest})" if rest else str(value["kind"])
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else text
