"""Traces: rates over time, read from files in three formats or drawn by the generators of a link's `vary.rate`.

The formats are `rate_interval` (`2310,0.31`), `time_rate` (`12.0 315.0`) and `mahimahi` (milliseconds of deliveries
of 1500 bytes).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab import _core
from bloatlab.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

INTERVAL = "100ms"
"""Over which deliveries are counted where rates are asked for."""


class Trace:
    """One pass of a trace."""

    def __init__(self, inner: _core.Trace) -> None:
        self._inner = inner

    @property
    def format(self) -> str:
        """The format that it came in, or that suits it."""
        return self._inner.format

    def info(self, interval: str = INTERVAL, below: str | None = None) -> dict[str, Any]:
        """What there is to know: `entries`, `seconds`, and in Mbit/s `mean`, `median`, `least`, `most`, and `dips`.

        A dip has `at`, `seconds` and `least`; means are over time.

        Args:
            interval: Over which deliveries are counted.
            below: A dip is below this rate; without it, below half of the median.

        Raises:
            ParameterError: An argument is no duration or rate.
        """
        found: dict[str, Any] = json.loads(_asked(self._inner.info, interval, below))
        return found

    def tables(self, interval: str = INTERVAL, below: str | None = None) -> dict[str, pl.DataFrame]:
        """`trace` (`time_s`, `rate_mbps`: each rate holds until the next row) and `dips` (`begin_s`, `end_s`), for figures.

        Raises:
            ParameterError: As of `info`.
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
        """The text of a file; in its own format unless another is asked for.

        Raises:
            ParameterError: No such format or unit, or the format cannot hold the trace.
        """
        text: str = _asked(self._inner.text, format or self.format, unit, interval)
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
    """Reads a file; its format is seen from it unless given. The switches are those of `kind = "file"` in a scenario.

    Raises:
        ParameterError: The file, the line and the reason.
    """
    how = {
        "format": format,
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
    """What a generator draws, such as `make("mmwave", {"preset": "lb"})`, as a dumbbell's bottleneck has it with this seed.

    Args:
        kind: A kind of `vary.rate` in a scenario.
        parameters: Its parameters.
        seed: Seed of the random streams.
        duration: Length.
        rate: The constant rate beside `vary`: of `poisson` the mean, of others what holds until the first change.

    Raises:
        ParameterError: The parameter, and what is allowed.
    """
    variation = json.dumps({"kind": kind, **(parameters or {})})
    return Trace(_asked(_core.Trace.make, variation, rate, seed, duration))


def _asked(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except _core.ScenarioError as error:
        raise ParameterError(str(error)) from error
