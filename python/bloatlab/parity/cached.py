"""Results of a kernel in a file: one row per run, with its parameters, its seed and the compared metrics.

Such a file stands in for the kernel where none was built, and keeps what took hours.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.parity.aims import AIMS
from bloatlab.parity.scenario import Parity
from bloatlab.store import canonical

Values = Mapping[str, float]
"""The compared metrics of one run."""
REFERENCES = "references"
"""Names the results that are part of this package: Linux 7.2 in virtual time."""
PARAMETERS = tuple(parameter.name for parameter in Parity.parameters)
OPTIONAL = frozenset({"loss", "duplicate", "jitter"})
"""Parameters whose columns a file may lack. They then have their default values."""
COLUMNS = ("engine", *PARAMETERS, "seed", *(aim.name for aim in AIMS))
MOST_BYTES = 100_000_000


class Cached:
    """Results of a kernel by cell."""

    def __init__(self, rows: Iterable[Mapping[str, str]], origin: str) -> None:
        """Reads rows with the columns of `COLUMNS`; a metric that a run does not have is empty.

        Args:
            rows: The rows.
            origin: Their file, for messages.

        Raises:
            ParameterError: A column is missing, a value is not allowed or no number, or there is no row.
        """
        self.origin = origin
        self.points: list[dict[str, Any]] = []
        self._runs: dict[str, list[Values]] = {}
        versions: dict[str, None] = {}
        parity = Parity()
        for number, row in enumerate(rows, 2):
            try:
                given = (name for name in PARAMETERS if name in row or name not in OPTIONAL)
                point = parity.resolve({name: _value(row[name]) for name in given})
                found = {aim.name: _number(row[aim.name]) for aim in AIMS if row[aim.name]}
                versions[row["engine"]] = None
            except KeyError as missing:
                raise ParameterError(f"{origin}: has no column {missing} (columns: {', '.join(COLUMNS)})") from missing
            except (ValueError, RecursionError) as error:
                raise ParameterError(f"{origin}: line {number}: {error}") from error
            key = canonical(point)
            if key not in self._runs:
                self.points.append(point)
            self._runs.setdefault(key, []).append(found)
        if not self.points:
            raise ParameterError(f"{origin}: has no result")
        self.version = ", ".join(versions)

    @classmethod
    def read(cls, name: str) -> Cached:
        """Reads a file, or the results of this package if the name is `references`.

        Raises:
            ParameterError: The file cannot be read, or is not such a file.
        """
        return cls(rows_of(name), name)

    def of(self, parameters: Mapping[str, Any]) -> Sequence[Values]:
        """The runs of a cell.

        Raises:
            ParameterError: There is none.
        """
        found = self._runs.get(canonical(dict(parameters)))
        if found is None:
            cell = ", ".join(f"{name} {parameters[name]}" for name in PARAMETERS)
            raise ParameterError(f"{self.origin}: has no result of {cell}")
        return found

    def matching(self, given: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
        """The cells with one of the given values of each parameter. The name of a queue alone stands for all of its settings."""
        wanted = {name: {str(value) for value in values} for name, values in given.items()}
        return [
            point
            for point in self.points
            if all({str(point[name]), *_first_word(point[name])} & values for name, values in wanted.items())
        ]


def rows_of(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file.

    Raises:
        ParameterError: It cannot be read as CSV.
    """
    try:
        if name == REFERENCES:
            text = files("bloatlab.parity").joinpath("linux.csv").read_text(encoding="utf-8")
        else:
            path = Path(name)
            if not path.is_file():
                raise ParameterError(f"{name}: is no file")
            if path.stat().st_size > MOST_BYTES:
                raise ParameterError(f"{name}: is larger than {MOST_BYTES // 1_000_000} MB")
            text = path.read_text(encoding="utf-8")
        rows = list(csv.DictReader(io.StringIO(text), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ParameterError(f"{name}: cannot be read as CSV ({error})") from error
    for number, row in enumerate(rows, 2):
        # The reader gives None for a column or a value that is missing.
        if None in row or None in row.values():
            raise ParameterError(f"{name}: line {number}: has more or fewer values than there are columns")
    return rows


def cells_of(name: str) -> list[dict[str, Any]]:
    """The cells of a CSV file with a column for each parameter that is not the default.

    Raises:
        ParameterError: It cannot be read, or has another column.
    """
    rows = rows_of(name)
    if not rows:
        raise ParameterError(f"{name}: has no cell")
    parity = Parity()
    try:
        points = [parity.resolve({of: _value(text) for of, text in row.items() if text}) for row in rows]
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{name}: {error}") from error
    return list({canonical(point): point for point in points}.values())


def _value(text: str) -> Any:
    """A parameter. An algorithm with parameters is a table in JSON."""
    return json.loads(text) if text.startswith("{") else text


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ParameterError(f"`{text}` is not finite")
    return value


def _first_word(value: Any) -> list[str]:
    """The name of an algorithm that is written as tc does."""
    return value.split()[:1] if isinstance(value, str) else []


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows with the columns of `COLUMNS` as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: json.dumps(of) if isinstance(of, Mapping) else of for name, of in row.items()})
    return out.getvalue()
