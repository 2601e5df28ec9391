"""Reads and writes quantities: a number with its unit in a string, such as `15ms`."""

from __future__ import annotations

import re

from bloatlab.errors import ParameterError

_TIME = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
_BITS = {
    prefix + unit: scale
    for prefix, scale in {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.items()
    for unit in ("bit/s", "bps", "bit")
}
_RATE = _BITS | {
    prefix + unit: 8 * scale
    for prefix, scale in {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}.items()
    for unit in ("B/s", "Bps")
}
_BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_LIMIT = {"p": 1.0, "packets": 1.0, "buffers": 1.0} | _BYTES
_SHAPE = re.compile(r"\s*([-+0-9.]+)\s*(\S*)\s*\Z")


def _parse(text: object, what: str, example: str, units: dict[str, float]) -> tuple[float, str]:
    """The value in the base unit, and the unit as written."""
    if not isinstance(text, str):
        shown = str(text).lower() if isinstance(text, bool) else str(text)
        raise ParameterError(f"`{shown}` is not a {what} with its unit such as `{example}`")
    match = _SHAPE.match(text)
    try:
        number = float(match[1]) if match else None
    except ValueError:
        number = None
    if match is None or number is None:
        raise ParameterError(f"no number: `{text}` is not a {what} such as `{example}`")
    unit = match[2]
    if unit not in units:
        why = f"unknown unit `{unit}`" if unit else "no unit"
        raise ParameterError(f"{why} (allowed: {', '.join(units)}): `{text}` is not a {what} such as `{example}`")
    if number < 0:
        raise ParameterError(f"must not be negative: `{text}` is not a {what} such as `{example}`")
    return number * units[unit], unit


def duration(text: object) -> float:
    """Seconds in `"15ms"`."""
    return _parse(text, "duration", "15ms", _TIME)[0] * 1e-9


def rate(text: object) -> float:
    """Bits per second in `"16Mbit/s"`; `16Mbps` is read too."""
    return _parse(text, "rate", "16Mbit/s", _RATE)[0]


def size(text: object) -> int:
    """Bytes in `"4MB"`."""
    return round(_parse(text, "byte count", "4MB", _BYTES)[0])


def limit(text: object) -> str:
    """Checks a queue limit such as `"80p"` and returns its canonical text. A bare integer is in packets, as in ns-3."""
    if isinstance(text, int) and not isinstance(text, bool):
        text = f"{text}p"
    elif isinstance(text, str) and text.strip().isdigit():
        text = f"{text.strip()}p"
    value, unit = _parse(text, "queue limit", "80p", _LIMIT)
    if value < 1:
        raise ParameterError(f"a queue limit must be at least 1: `{text}`")
    if unit in ("p", "packets"):
        return f"{round(value)}p"
    return f"{round(value)}buffers" if unit == "buffers" else f"{round(value)}B"


def write_rate(bits_per_second: float) -> str:
    """`16e6` as `"16Mbit/s"`."""
    value = round(bits_per_second)
    for unit, scale in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if value and value % scale == 0:
            return f"{value // scale}{unit}"
    return f"{value}bit/s"
