"""Values on the command line: `key=value`, `key=v1,v2`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable
from typing import Any

from bloatlab.errors import ParameterError

_CLOSING = {"}": "{", "]": "[", ")": "("}


def value(text: str) -> Any:
    """Reads JSON or a TOML value (`2`, `0.5`, `true`, `{kind="codel"}`). Any other text is a string (`80p`)."""
    text = text.strip()
    try:
        return json.loads(text, parse_constant=str)
    except ValueError:
        pass
    if text[:1] in ("{", "[", '"', "'"):
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError as error:
            raise ParameterError(f"`{text}`: is neither JSON nor a TOML value ({error})") from error
    return text


def assignments(items: Iterable[str], option: str) -> dict[str, str]:
    """Reads `["qlen=80p"]` as `{"qlen": "80p"}`."""
    found: dict[str, str] = {}
    for item in items:
        name, equals, text = item.partition("=")
        name = name.strip()
        if not equals or not name or not text.strip():
            raise ParameterError(f"{option} {item}: must be key=value")
        if name in found:
            raise ParameterError(f"{option} {name}: is given twice")
        found[name] = text
    return found


def named(name: str, parse: Callable[[str], Any], text: str) -> Any:
    """Reads a text with `parse`. An error gets the name in front."""
    try:
        return parse(text)
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from error


def axis(text: str) -> list[Any]:
    """Splits `v1,v2,...`. Commas in brackets and quotes do not separate values."""
    parts, depth, quote, start = [], 0, "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "{[(":
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    if any(not part.strip() for part in parts):
        raise ParameterError(f"`{text}`: has an empty value between commas")
    return [value(part) for part in parts]
