"""Checks that a document has only values that a scenario or a plan can have.

Documents come from files, from dictionaries of the user, and from values that were set.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bloatlab.errors import ParameterError

DEEPEST = 64
"""Deepest nesting of tables and lists; the same as in the engine."""
TOO_DEEP = f"is nested too deep; at most {DEEPEST} tables and lists may be inside each other"
_LONGEST_PATH = 400

Path = tuple[str | int, ...]


class Flaw:
    """Placeholder for a value that a reader could not represent; `check` reports it with its path."""

    def __init__(self, why: str) -> None:
        self.why = why


GIVEN_TWICE: Final = Flaw("is given twice")
WIDE_NUMBER: Final = Flaw("is a number beyond 64 bits")


def check(document: Any) -> None:
    """Refuses values that JSON cannot represent, and documents that are nested too deep.

    Values of types that JSON does not have, such as a user's class, are ignored.

    Raises:
        ParameterError: A value is refused; the text names its path and the reason.
    """
    waiting: list[tuple[Path, Any]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        if why := _wrong(value) or (TOO_DEEP if len(path) >= DEEPEST and _inner(value) is not None else None):
            raise ParameterError(f"{shown(path)}: {why}")
        inner = list(_inner(value) or ())
        for key, _ in inner:
            if isinstance(key, str) and (why := _wrong(key)):
                raise ParameterError(f"{shown(path)}: a key {why}")
        # Backwards, so that the first flaw of the document is reported.
        waiting.extend(((*path, key), item) for key, item in reversed(inner))


def _inner(value: Any) -> Sequence[tuple[Any, Any]] | None:
    """Keys and values of a table or a list; `None` for other values."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    return None


def _wrong(value: Any) -> str | None:
    """Why a single value is refused; `None` if it is not."""
    if isinstance(value, Flaw):
        return value.why
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be a finite number, not {value}"
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return WIDE_NUMBER.why
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        return "holds half of a surrogate pair, which is no character"
    return None


def shown(path: Path) -> str:
    """The path as text for messages, such as `flows[0].tcp.mss`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    text = text.encode("utf-8", "backslashreplace").decode()
    text = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text[:_LONGEST_PATH])
    return text or "document"


_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""'
    r"|'''.*?'''"
    r'|(?P<key>"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|[\w.-]+)\s*[:=]'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|(?P<mark>[][{},])",
    re.DOTALL,
)


def deepest(text: str) -> str:
    """The path at which JSON or TOML text is nested too deep, for a reader that failed before it knew the path."""
    # For each open table the current key, for each open list the current index.
    path: list[str | int] = [""]
    for token in _TOKEN.finditer(text):
        mark, last = token["mark"], path[-1]
        if token["key"] is not None and isinstance(last, str):
            path[-1] = token["key"].strip("\"'")
        elif mark == "," and isinstance(last, int):
            path[-1] = last + 1
        elif mark in ("]", "}") and len(path) > 1:
            path.pop()
        elif mark in ("[", "{"):
            if len(path) > DEEPEST:
                break
            path.append(0 if mark == "[" else "")
    return shown(tuple(step for step in path if step != ""))
