"""Traces: rates over time, read from files or made by the generators of a link's `vary.rate`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab import _core
from bloatlab.errors import ParameterError, unknown

if TYPE_CHECKING:
    import polars as pl

INTERVAL = "100ms"
"""Interval over which deliveries are counted to give a rate."""


@dataclass(frozen=True)
class TraceFormat:
    """A format of trace files."""

    name: str
    description: str
    """What a line means."""
    example: str
    """A line."""
    holds: str
    """`rates` or `deliveries`."""


@cache
def formats() -> Mapping[str, TraceFormat]:
    """The formats of trace files by name."""
    return {entry["name"]: TraceFormat(**entry) for entry in json.loads(_core.trace_formats())}


class Trace:
    """One pass of a trace."""

    def __init__(self, inner: _core.Trace) -> None:
        self._inner = inner

    @property
    def format(self) -> str:
        """Format of the file, or the format that suits a generated trace."""
        return self._inner.format

    def info(self, interval: str = INTERVAL, below: str | None = None) -> dict[str, Any]:
        """A description: `entries`, `seconds`, `mean`, `median`, `least` and `most` in Mbit/s, and `dips`.

        A dip has `at`, `seconds` and `least`. Means are over time.

        Args:
            interval: Interval over which deliveries are counted.
            below: A dip is a time below this rate; absent: below half of the median.

        Raises:
            ParameterError: An argument is not a duration or a rate.
        """
        found: dict[str, Any] = json.loads(_asked(self._inner.info, interval, below))
        return found

    def tables(self, interval: str = INTERVAL, below: str | None = None) -> dict[str, pl.DataFrame]:
        """Tables for figures: `trace` (`time_s`, `rate_mbps`) and `dips` (`begin_s`, `end_s`).

        A rate holds until the next row.

        Raises:
            ParameterError: As for `info`.
        """
        import polars as pl

        rates = _asked(self._inner.rates, interval)
        dips = self.info(interval, below)["dips"]
        number = {"begin_s": pl.Float64, "end_s": pl.Float64}
        return {
            "trace": pl.DataFrame(rates, schema={"time_s": pl.Float64, "rate_mbps": pl.Float64}, orient="row"),
            "dips": pl.DataFrame(
                [(dip["at"], dip["at"] + dip["seconds"]) for dip in dips], schema=number, orient="row"
            ),
        }

    def text(self, format: str | None = None, unit: str = "Mbit/s", interval: str = INTERVAL) -> str:  # noqa: A002
        """The trace as text in a format; absent: in its own format.

        Raises:
            ParameterError: There is no such format or unit, or the format cannot express the trace.
        """
        text: str = _asked(self._inner.text, _known(format) or self.format, unit, interval)
        return text


def read(
    file: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    unit: str = "Mbit/s",
    zero_keeps_rate: bool = False,
    interval_loses_digit: bool = False,
    skips_unfinished_line: bool = False,
) -> Trace:
    """Reads a trace from a file. Without `format`, the format is recognized from the file.

    The switches are those of `kind = "file"` in a scenario.

    Raises:
        ParameterError: The file cannot be read; the text names the file, the line and the reason.
    """
    how = {
        "format": _known(format),
        "unit": unit,
        "zero_keeps_rate": zero_keeps_rate,
        "interval_loses_digit": interval_loses_digit,
        "skips_unfinished_line": skips_unfinished_line,
    }
    return Trace(_asked(_core.Trace.read, str(file), json.dumps(how)))


def make(
    kind: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    seed: int = 42,
    duration: str = "120s",
    rate: str = "100Mbit/s",
) -> Trace:
    """Makes a trace with a generator, such as `make("mmwave", {"preset": "lb"})`.

    The bottleneck of a dumbbell has the same trace in a run with this seed.

    Args:
        kind: A kind of `vary.rate` in a scenario.
        parameters: Parameters of the generator.
        seed: Seed of the random streams.
        duration: Length of the trace.
        rate: The constant rate beside `vary`: for `poisson` the mean rate, for others the rate until the first change.

    Raises:
        ParameterError: A value is not allowed; the text names the parameter and what is allowed.
    """
    variation = json.dumps({"kind": kind, **(parameters or {})})
    return Trace(_asked(_core.Trace.make, variation, rate, seed, duration))


def _known(format: str | None) -> str | None:  # noqa: A002
    if format is not None and format not in formats():
        raise unknown("format", format, formats())
    return format


def _asked(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except _core.ScenarioError as error:
        raise ParameterError(str(error)) from error
