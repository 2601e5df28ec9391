"""Reads files of other tools. Every value is checked before it is used; errors name the file and the key."""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.visible import one_line

MOST_BYTES = 128 << 20
"""Largest size of a file, and of its contents when they are decompressed."""
MOST_TEXT = 1000
"""Most characters of a text that is kept, such as the name of a host."""
GZIP = b"\x1f\x8b"


def read(path: Path) -> bytes:
    """The contents of a file, decompressed if it is compressed with gzip.

    Raises:
        ParameterError: It cannot be read, is too large, or is not sound.
    """
    try:
        if not path.is_file():
            raise ParameterError(f"{path}: is not a file" if path.exists() else f"{path}: there is no such file")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if data.startswith(GZIP):
            with gzip.open(io.BytesIO(data)) as unpacked:
                data = unpacked.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or one_line(str(error))
        raise ParameterError(f"{path}: cannot be read ({why})") from error
    if len(data) > MOST_BYTES:
        raise ParameterError(f"{path}: holds more than {MOST_BYTES >> 20} MiB, the most that is read")
    return data


def document(data: bytes, file: str) -> Node:
    """The root of a JSON document.

    Raises:
        ParameterError: It is not JSON, is nested too deep, or holds NaN or infinity.
    """
    try:
        value = json.loads(data.decode(), parse_constant=_refuse)
    except RecursionError as error:
        raise ParameterError(f"{file}: is nested too deep") from error
    except ValueError as error:
        raise ParameterError(f"{file}: is not JSON ({one_line(str(error))[:200]})") from error
    return Node(value, file)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


@dataclass(frozen=True, slots=True)
class Node:
    """A value of an untrusted document, with its place. Its methods raise `ParameterError`."""

    value: Any
    file: str
    path: str = ""

    def error(self, what: str) -> ParameterError:
        """The error that this value causes."""
        return ParameterError(f"{self.file}: {one_line(self.path)[:200]}{': ' * bool(self.path)}{what}")

    def __getitem__(self, key: str) -> Node:
        """The member of that name."""
        found = self.maybe(key)
        if found is None:
            raise self._at(key).error("is missing")
        return found

    def maybe(self, key: str) -> Node | None:
        """The member of that name. `None` if it is absent or null."""
        if not isinstance(self.value, dict):
            raise self.error("must be an object")
        return None if self.value.get(key) is None else Node(self.value[key], self.file, self._at(key).path)

    def members(self) -> Iterator[tuple[str, Node]]:
        """All members that are not null."""
        if not isinstance(self.value, dict):
            raise self.error("must be an object")
        return ((key, found) for key in self.value if (found := self.maybe(key)) is not None)

    def elements(self) -> list[Node]:
        """The elements of a list, null ones included."""
        if not isinstance(self.value, list):
            raise self.error("must be a list")
        return [Node(value, self.file, f"{self.path}[{place}]") for place, value in enumerate(self.value)]

    def number(self, low: float = -math.inf, high: float = math.inf) -> float:
        """A finite number within bounds."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"must be a number, not {_shown(value)}")
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
        if not math.isfinite(found):
            raise self.error("must be a finite number")
        if not low <= found <= high:
            bounds = f"from {low:g} to {high:g}" if math.isfinite(high) else f"at least {low:g}"
            raise self.error(f"must be {bounds}, not {found:g}")
        return found

    def whole(self, low: int = 0, high: int = 2**53) -> int:
        """A whole number within bounds."""
        found = self.number(low, high)
        if not found.is_integer():
            raise self.error(f"must be a whole number, not {found:g}")
        return int(found)

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.error(f"must be true or false, not {_shown(self.value)}")
        return self.value

    def text(self) -> str:
        """A text. Lone surrogates, which no file can hold, are replaced."""
        if not isinstance(self.value, str):
            raise self.error(f"must be a text, not {_shown(self.value)}")
        if len(self.value) > MOST_TEXT:
            raise self.error(f"must be at most {MOST_TEXT} characters long")
        return self.value.encode(errors="replace").decode()

    def text_of_file(self) -> str:
        """The text of a file that `text` has read."""
        return str(self.value)

    def plain(self) -> str | float | bool | None:
        """A text, a number or a flag as it is. `None` for anything else, or if it is not sound."""
        try:
            if isinstance(self.value, bool):
                return self.value
            if isinstance(self.value, str):
                return self.text()
            return self.number() if isinstance(self.value, int | float) else None
        except ParameterError:
            return None

    def _at(self, key: str) -> Node:
        return Node(None, self.file, f"{self.path}.{key}" if self.path else key)


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return one_line(json.dumps(value))[:60]


def text(data: bytes, file: str) -> Node:
    """The contents of a text file.

    Raises:
        ParameterError: It is not UTF-8.
    """
    try:
        return Node(data.decode(), file)
    except UnicodeDecodeError as error:
        raise ParameterError(f"{file}: is not UTF-8") from error
