"""Numbers as text."""

import math

NONE = "–"


def number(value: float | None, digits: int = 4) -> str:
    """A number with `digits` significant digits and no exponent for everyday sizes; a dash for none."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e12 or size < 1e-5:
        return f"{value:.{digits - 1}e}"
    # Remainders from counting in ns are not shown.
    if abs(value - round(value)) < 1e-9 * size or size >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    return f"{value:,.{decimals}f}"


def percent(share: float | None) -> str:
    """A share such as 0.962 as `96.2 %`."""
    return NONE if share is None else f"{number(100 * share, 3)} %"


def with_unit(value: float | None, unit: str, digits: int = 3) -> str:
    """A number with its unit."""
    return f"{number(value, digits)} {unit}".rstrip()


def plural(count: int, noun: str) -> str:
    """A count with its noun, such as `3 flows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
