"""Reads and writes quantities, such as `15ms`. The parser of scenarios does the work, so both accept the same texts."""

from __future__ import annotations

from dataclasses import dataclass

from bloatlab import _core
from bloatlab.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit of a queue."""

    value: int
    unit: str
    """`packets`, `bytes` or `buffers`."""
    text: str
    """As a scenario has it, such as `80p`."""


def duration(text: object) -> float:
    """Seconds in `"15ms"`.

    Raises:
        ParameterError: It is not a duration; the text says why, in one line.
    """
    return _read("duration", text)[0] * 1e-9


def rate(text: object) -> float:
    """Bits per second in `"16Mbit/s"`; `16Mbps` is accepted too.

    Raises:
        ParameterError: It is not a rate.
    """
    return float(_read("rate", text)[0])


def size(text: object) -> int:
    """Bytes in `"4MB"`.

    Raises:
        ParameterError: It is not a number of bytes.
    """
    return _read("bytes", text)[0]


def frequency(text: object) -> float:
    """Hertz in `"3.5GHz"`.

    Raises:
        ParameterError: It is not a frequency.
    """
    return float(_read("frequency", text)[0])


def limit(text: object) -> str:
    """Checks a queue limit and returns its canonical text; as `queue_limit`."""
    return queue_limit(text).text


def queue_limit(text: object) -> Limit:
    """The limit of a queue in `"80p"`, `"150kB"` or `"100buffers"`. A bare integer is in packets, as in ns-3.

    Raises:
        ParameterError: It is not a limit, or it is below 1.
    """
    bare = str(text).strip()
    found = Limit(*_read("limit", f"{bare}p" if bare.isdecimal() else text))
    if found.value < 1:
        raise ParameterError(f"a queue limit must be at least 1: `{found.text}`")
    return found


def write_rate(bits_per_second: float) -> str:
    """`16e6` as `"16Mbit/s"`."""
    return _core.write_quantity("rate", round(bits_per_second))


def _read(kind: str, text: object) -> tuple[int, str, str]:
    """The value as an integer, the unit of this integer, and the canonical text."""
    try:
        # Bytes of a command line that are not UTF-8 are surrogates, which Rust's strings cannot hold.
        return _core.read_quantity(kind, str(text).encode(errors="replace").decode())
    except _core.ScenarioError as error:
        raise ParameterError(str(error)) from error
