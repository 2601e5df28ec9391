"""One entry of `[[expect]]`: a metric and the values that it may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bloatlab import units
from bloatlab.analysis import readings
from bloatlab.errors import ParameterError, unknown
from bloatlab.experiments.criteria import Criterion
from bloatlab.language import EXPECT, EXPECTATION
from bloatlab.sweeps.conditions import Condition, condition

Statistic = Literal["worst", "mean"]
KEYS = tuple(EXPECTATION["properties"])
STATISTICS = tuple(EXPECTATION["properties"]["statistic"]["enum"])
BOUNDS = ("at_most", "at_least", "equals")


@dataclass(frozen=True, slots=True)
class Expectation:
    """A metric and the values that it may have."""

    place: str
    """Where it is written, such as `expect[2]`."""
    name: str
    """Name of the user, or empty."""
    reading: readings.Reading
    each: bool
    """Whether each flow, link or probe is judged; otherwise their combination is, such as the sum."""
    low: float
    """Smallest allowed value in the unit of the metric, or minus infinity."""
    high: float
    """Largest allowed value in the unit of the metric, or infinity."""
    allowed: str
    """The allowed values as text, such as `at most 30ms`."""
    statistic: Statistic
    where: Condition | None
    """Which points are judged; `None`: all."""

    @property
    def metric(self) -> str:
        """The metric as the user wrote it."""
        return self.reading.text

    @property
    def title(self) -> str:
        """Name, or metric and bound."""
        return self.name or f"{self.metric} {self.allowed}"

    def excess(self, value: float) -> float:
        """How far a value is outside of the allowed ones, in the unit of the metric. At most 0: the value is allowed."""
        return max(self.low - value, value - self.high)


def read(
    tables: Any, place: str = EXPECT, criteria: Sequence[Criterion] = (), measures: Mapping[str, str] | None = None
) -> list[Expectation]:
    """Reads a list of expectations.

    Args:
        tables: The value of `expect` in a document.
        place: Its path, for the texts of errors.
        criteria: Criteria of the experiment, which an expectation may name too.
        measures: Metrics that the experiment defines, with their units.

    Raises:
        ParameterError: A key is unknown, or a value is not allowed. The text begins with the path of the value.
    """
    if not isinstance(tables, list):
        raise ParameterError(f"{place}: must be a list of tables, such as [[{place}]]")
    return [_one(table, f"{place}[{index}]", criteria, measures) for index, table in enumerate(tables)]


def _one(table: Any, place: str, criteria: Sequence[Criterion], measures: Mapping[str, str] | None) -> Expectation:
    if not isinstance(table, Mapping):
        raise ParameterError(f'{place}: must be a table, such as {{ metric = "probe.ping.p95_rtt", at_most = "30ms" }}')
    for key in table:
        if key not in KEYS:
            raise _at(f"{place}.{key}", unknown("key", key, KEYS))
    if "metric" not in table:
        raise ParameterError(f"{place}.metric: is missing")
    texts = {key: _text(table, key, place) for key in ("metric", "statistic", "where", "name") if key in table}
    try:
        reading = readings.number(texts["metric"], criteria, measures)
    except ParameterError as error:
        raise _at(f"{place}.metric", error) from error
    statistic = texts.get("statistic", "worst")
    if statistic not in STATISTICS:
        raise _at(f"{place}.statistic", unknown("statistic", statistic, STATISTICS))
    where = None
    if "where" in texts:
        try:
            where = condition(texts["where"])
        except ParameterError as error:
            raise ParameterError(f"{place}.{error}") from error
    low, high, allowed = _bounds(table, place, reading.unit)
    return Expectation(
        place,
        texts.get("name", ""),
        reading,
        reading.criterion is None and ":" not in reading.text,
        low,
        high,
        allowed,
        "mean" if statistic == "mean" else "worst",
        where,
    )


def _at(path: str, error: ParameterError) -> ParameterError:
    return ParameterError(f"{path}: {error}")


def _text(table: Mapping[str, Any], key: str, place: str) -> str:
    value = table[key]
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(f"{place}.{key}: must be a text, not {value!r}")
    return value.strip()


def _bounds(table: Mapping[str, Any], place: str, unit: str) -> tuple[float, float, str]:
    """Smallest and largest allowed value, and both as text."""
    given = {key: _value(table[key], f"{place}.{key}", unit) for key in BOUNDS if key in table}
    said = {key: _said(table[key]) for key in (*BOUNDS, "tolerance") if key in table}
    if "equals" in given:
        if len(given) > 1:
            raise ParameterError(f"{place}.equals: cannot be combined with at_most or at_least; use `tolerance`")
        middle = given["equals"]
        tolerance = _tolerance(table.get("tolerance", 0), f"{place}.tolerance", unit, middle)
        text = said["equals"] + (f" ± {said['tolerance']}" if tolerance else "")
        return middle - tolerance, middle + tolerance, f"equals {text}"
    if "tolerance" in table:
        raise ParameterError(f"{place}.tolerance: needs `equals`")
    if not given:
        raise ParameterError(f"{place}: needs a bound: at_most, at_least, both of them, or equals")
    low, high = given.get("at_least", -math.inf), given.get("at_most", math.inf)
    if low > high:
        raise ParameterError(f"{place}.at_least: {said['at_least']} is above at_most, {said['at_most']}")
    if len(given) == 2:
        return low, high, f"{said['at_least']} to {said['at_most']}"
    ((key, text),) = said.items()
    return low, high, f"{key.replace('_', ' ')} {text}"


def _said(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else f"{value:g}"


def _milliseconds(text: str) -> float:
    # Durations are whole nanoseconds, so no rounding error of the division by 10^9 remains.
    return round(units.duration(text) * 1e9) / 1e6


QUANTITIES: dict[str, tuple[str, Callable[[str], float]]] = {
    "ms": ("30ms", _milliseconds),
    "s": ("1.5s", lambda text: _milliseconds(text) / 1e3),
    "Mbit/s": ("9.5Mbit/s", lambda text: units.rate(text) / 1e6),
    "B": ("150kB", lambda text: float(units.size(text))),
}
"""For each unit of a metric that is written with a unit: an example, and the reader of a text."""


def _value(value: Any, path: str, unit: str) -> float:
    """A bound in the unit of the metric."""
    if unit in QUANTITIES:
        example, parse = QUANTITIES[unit]
        if not isinstance(value, str):
            raise ParameterError(f'{path}: `{value}` has no unit; write it such as "{example}"')
        try:
            return parse(value)
        except ParameterError as error:
            raise _at(path, error) from error
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        what = f" of {unit}" if unit else ""
        raise ParameterError(f"{path}: must be a finite number{what} without quotes, not {value!r}")
    return float(value)


def _tolerance(value: Any, path: str, unit: str, middle: float) -> float:
    """Half-width of the allowed range around `middle`."""
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            share = float(value.strip().removesuffix("%"))
        except ValueError:
            raise ParameterError(f"{path}: `{value}` is not a percentage such as `5%`") from None
        half = abs(middle) * share / 100
    else:
        half = 0.0 if value == 0 and not isinstance(value, str | bool) else _value(value, path, unit)
    if not (half >= 0 and math.isfinite(half)):
        raise ParameterError(f"{path}: must not be negative, not {value!r}")
    return half
