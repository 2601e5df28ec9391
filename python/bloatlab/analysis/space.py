"""What is varied: ranges with units and lists of values. A number from 0 to 1 selects a value."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab import units
from bloatlab.errors import ParameterError
from bloatlab.store.text import readable

DECADE = 10.0
_QUANTITY = re.compile(r"\s*([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([A-Za-zµ/]*)\s*\Z")
_READ = (units.rate, units.duration, units.size)
_PACKETS = ("p", "packets", "buffers")


@dataclass(frozen=True, slots=True)
class Vary:
    """One varied input: a parameter of an experiment or a dotted path into a scenario."""

    name: str
    values: tuple[Any, ...] = ()
    """The values to choose from; empty for a range."""
    low: float = 0.0
    """Lowest value, in `unit`."""
    high: float = 0.0
    unit: str = ""
    whole: bool = False
    """Whether values are integers, such as packets or bytes."""

    @classmethod
    def between(cls, name: str, low: str, high: str) -> Vary:
        """A range between two numbers with or without units.

        Raises:
            ParameterError: An end is not a number, the units are of different kinds, or the first end is not below
            the second.
        """
        ends = [_QUANTITY.match(end) for end in (low, high)]
        first, last = ends
        if first is None or last is None:
            raise ParameterError(f"`{low}..{high}` is not a range of numbers such as 5ms..200ms")
        unit = first[2] or last[2]
        bottom, top = (_in_unit(float(end[1]), end[2] or unit, unit) for end in (first, last))
        if bottom >= top:
            raise ParameterError(f"`{low}..{high}`: the first must be less than the second")
        plain = not unit and all("." not in end[1] and "e" not in end[1] for end in (first, last))
        return cls(name, (), bottom, top, unit, plain or unit in (*_PACKETS, "B"))

    @property
    def log(self) -> bool:
        """Whether the scale is logarithmic: the range spans more than a decade."""
        return not self.values and self.low > 0 and self.high / self.low > DECADE

    def at(self, share: float) -> Any:
        """The value for a number from 0 to 1, as a scenario has it."""
        share = min(max(share, 0.0), 1.0)
        if self.values:
            # A third in floating point may be slightly below a third.
            return self.values[min(int(share * len(self.values) + 1e-9), len(self.values) - 1)]
        if self.log:
            return self.write(self.low * (self.high / self.low) ** share)
        return self.write(self.low + share * (self.high - self.low))

    def write(self, value: float) -> Any:
        """Formats a number of the range with four digits and its unit."""
        rounded = float(round(value)) if self.whole else float(f"{value:.4g}")
        rounded = min(max(rounded, self.low), self.high)
        if self.unit:
            digits = f"{rounded:.9f}".rstrip("0").rstrip(".")
            return f"{digits}{self.unit}"
        return int(rounded) if self.whole else rounded

    @property
    def text(self) -> str:
        """The values or the range as text for readers."""
        if self.values:
            return ", ".join(readable(json.dumps(value, default=str)) for value in self.values)
        return f"{self.write(self.low)} to {self.write(self.high)}{', log scale' if self.log else ''}"


def _in_unit(number: float, written: str, unit: str) -> float:
    """Converts a quantity to another unit of its kind."""
    if written == unit:
        return number
    for read in _READ:
        try:
            return float(f"{number * read(f'1{written}') / read(f'1{unit}'):.12g}")
        except ParameterError:
            continue
    raise ParameterError(f"`{written}` and `{unit}` are not units of one kind")


def check_names(varied: Sequence[Vary], set_: Sequence[str]) -> None:
    """Raises `ParameterError` if a name is both set and varied."""
    for of in varied:
        if of.name in set_:
            raise ParameterError(f"{of.name}: is both set and varied")
