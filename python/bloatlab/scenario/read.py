"""Reads documents (scenarios and plans) from TOML or JSON, with limits of size and depth."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.scenario.sound import GIVEN_TWICE, TOO_DEEP, WIDE_NUMBER, check, deepest

MOST_BYTES = 16_000_000
"""Bytes of a file."""
_LONGEST_INTEGER = 20
"""Characters of the longest 64-bit integer. Python takes minutes to read a number of millions of digits."""


def read(path: Path | str) -> dict[str, Any]:
    """The document in a TOML or JSON file.

    Raises:
        ParameterError: The file is missing, too large, or is not TOML or JSON; the text names file and key.
    """
    file = Path(path)
    text = read_text(file)
    try:
        document = _parse(file, text)
        check(document)
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from error
    if not isinstance(document, dict):
        raise ParameterError(f'{file}: must be a table of keys, such as `duration = "15s"`')
    return document


def read_text(file: Path, most: int = MOST_BYTES) -> str:
    """The text of a regular file of at most `most` bytes.

    Raises:
        ParameterError: It cannot be read, is not a regular file, or is too large.
    """
    if "\0" in str(file):
        raise ParameterError(f"{str(file)!r}: is not the name of a file")
    # Before opening it: a FIFO would wait for a writer, and a device may never end.
    if file.exists() and not file.is_file() and not file.is_dir():
        raise ParameterError(f"{file}: is not a regular file; devices and pipes are not read")
    try:
        with file.open("rb") as opened:
            data = opened.read(most + 1)
    except OSError as error:
        raise ParameterError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    if len(data) > most:
        raise ParameterError(f"{file}: is larger than the limit of {most // 1_000_000} MB")
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise ParameterError(f"{file}: begins with a byte order mark; save it as UTF-8 without one")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ParameterError(f"{file}: is not UTF-8 text (line {line})") from error


def _parse(file: Path, text: str) -> Any:
    try:
        if file.suffix == ".json":
            return json.loads(text, object_pairs_hook=_table, parse_int=_integer)
        return tomllib.loads(text)
    except RecursionError as error:
        raise ParameterError(f"{deepest(text)}: {TOO_DEEP}") from error
    except ValueError as error:
        form = "JSON" if file.suffix == ".json" else "TOML"
        # Both readers refuse only integers of too many digits.
        why = "holds a number beyond 64 bits" if "integer string conversion" in str(error) else str(error)
        raise ParameterError(f"is not {form}: {' '.join(why.split())}") from error


def _table(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A table; a key that is given twice is reported later, when its path is known."""
    table: dict[str, Any] = {}
    for key, value in pairs:
        table[key] = GIVEN_TWICE if key in table else value
    return table


def _integer(text: str) -> Any:
    return int(text) if len(text) <= _LONGEST_INTEGER else WIDE_NUMBER
