"""URLs without the passwords, keys and tokens that they may hold: what is stored, shown and logged."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^\s'\"<>]+")
_SHORTEST = 3
"""Shortest secret that is searched for in messages. A shorter one would be found in ordinary words."""


def without_secrets(text: str) -> str:
    """The text, with the passwords, query values and fragment values of every URL removed."""
    return _URL.sub(lambda match: _pieces(match.group())[0], text)


def scrubbed(text: str, url: str) -> str:
    """The text, such as the message of a library, without the secrets of this URL or of any other."""
    found = {form for secret in _pieces(url)[1] for form in (secret, unquote(secret)) if len(form) >= _SHORTEST}
    for secret in sorted(found, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return without_secrets(text)


def has_secrets(url: str) -> bool:
    """Whether a URL has secrets, which are not stored."""
    return without_secrets(url) != url


def _pieces(url: str) -> tuple[str, list[str]]:
    """A URL without its secrets, and the secrets."""
    scheme, _, rest = url.partition("://")
    place, mark, tail = _split(rest)
    secrets: list[str] = []
    # A key may contain a slash, so everything before the last @ is the user.
    user, at, where = place.rpartition("@")
    if at and (":" in user or scheme.lower() in ("http", "https")):
        secrets += [piece for piece in user.split(":", 1) if piece]
        place = f"{HIDDEN}@{where}"
    hidden = []
    for piece in re.split("([&;#?])", tail) if tail else []:
        name, equals, value = piece.partition("=")
        if equals or piece not in "&;#?":
            secrets += [value or name]
            piece = f"{name}={HIDDEN}" if equals else HIDDEN
        hidden.append(piece)
    return f"{scheme}://{place}{mark}{''.join(hidden)}", secrets


def _split(rest: str) -> tuple[str, str, str]:
    """Splits the part after the scheme at its query or fragment."""
    found = re.search("[?#]", rest)
    return (rest, "", "") if found is None else (rest[: found.start()], found.group(), rest[found.end() :])
