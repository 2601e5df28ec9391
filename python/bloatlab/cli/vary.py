"""Reads `--vary`: `rate=1Mbit/s..100Mbit/s`, `queue=fifo,codel`."""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.analysis.space import Vary
from bloatlab.cli.values import assignments, axis
from bloatlab.errors import ParameterError


def varied(items: Sequence[str]) -> list[Vary]:
    """Reads the range or list of each option.

    Raises:
        ParameterError: One is neither; the text names it.
    """
    return [_one(name, text) for name, text in assignments(items, "--vary").items()]


def _one(name: str, text: str) -> Vary:
    try:
        low, dots, high = text.partition("..")
        if dots:
            return Vary.between(name, low.strip(), high.strip())
        values = axis(text)
        if len(values) < 2:
            raise ParameterError(f"`{text}` is neither a range such as 1Mbit/s..100Mbit/s nor values with commas")
        return Vary(name, tuple(values))
    except ParameterError as error:
        raise ParameterError(f"--vary {name}: {error}") from error
