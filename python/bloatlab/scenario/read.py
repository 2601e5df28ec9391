"""Reads scenario files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from bloatlab.errors import ParameterError


def read(path: Path | str) -> dict[str, Any]:
    """The scenario in a TOML or JSON file.

    Raises:
        ParameterError: The file is missing or is not TOML or JSON; the text says where.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise ParameterError(f"{file}: is not UTF-8 text") from error
    try:
        document = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:
        raise ParameterError(f"{file}: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise ParameterError(f'{file}: must be a table of keys, such as `duration = "15s"`')
    return document
