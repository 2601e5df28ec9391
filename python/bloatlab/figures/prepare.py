"""Reduces the data of charts: fewer rows, fewer digits."""

from typing import Any

import polars as pl

from bloatlab.figures.vega_lite import Rows

# Two rows (lowest and highest) for each of 300 columns: a line of 900 pixels shows no more.
POINTS = 600


def rounded(frame: pl.DataFrame, digits: int = 4) -> pl.DataFrame:
    """Rounds floats to `digits` significant digits, `time_s` to milliseconds; infinities and NaN become null."""
    floats = [pl.col(name) for name, kind in frame.schema.items() if kind.is_float()]
    return frame.with_columns(
        pl.when(column.is_finite()).then(
            column.round(3) if column.meta.output_name() == "time_s" else column.round_sig_figs(digits)
        )
        for column in floats
    )


def values(frame: pl.DataFrame, digits: int = 4) -> Rows:
    """The rows of a table for a chart, rounded as by `rounded`."""
    return Rows(columns=rounded(frame, digits).to_dict(as_series=False))


def thin(frame: pl.DataFrame, x: str, y: str, by: str | None = None, points: int = POINTS) -> pl.DataFrame:
    """Keeps the rows with the lowest and the highest `y` in each of `points / 2` equal spans of `x`.

    So peaks are kept. A span in which every `y` is null keeps one row, so gaps are kept too.

    Args:
        frame: The series.
        x: Column to bin, numeric.
        y: Column whose extremes are kept.
        by: Column that separates the lines, each thinned alone.
        points: Largest number of rows per line.
    """
    parts = frame.partition_by(by, maintain_order=True) if by else [frame]
    return pl.concat([_thin_line(part, x, y, points) for part in parts]) if parts else frame


def _thin_line(line: pl.DataFrame, x: str, y: str, points: int) -> pl.DataFrame:
    line = line.sort(x)
    if line.height <= points:
        return line
    bins = max(1, points // 2)
    first, last = low(line[x]), high(line[x])
    span = (last - first) or 1.0
    placed = line.with_row_index("_row").with_columns(
        ((pl.col(x) - first) / span * bins).floor().clip(0, bins - 1).alias("_bin")
    )
    extremes = placed.group_by("_bin").agg(
        pl.col("_row").sort_by(y, nulls_last=True).first().alias("low"),
        pl.col("_row").sort_by(y, nulls_last=False).last().alias("high"),
    )
    rows = pl.concat([extremes["low"], extremes["high"]]).unique().sort()
    return line[rows]


def sample(frame: pl.DataFrame, rows: int) -> pl.DataFrame:
    """Keeps about `rows` rows at equal distances, so that the same table gives the same chart."""
    step = -(-frame.height // max(1, rows))
    return frame.gather_every(step) if step > 1 else frame


def has_values(frame: pl.DataFrame | None, *columns: str) -> bool:
    """Whether the table has a value in at least one of these columns."""
    if frame is None or frame.is_empty():
        return False
    return any(name in frame.columns and frame[name].null_count() < frame.height for name in columns)


def low(values: pl.Series) -> float:
    """The smallest value; 0 if there is none."""
    return _number(values.min())


def high(values: pl.Series) -> float:
    """The largest value; 0 if there is none."""
    return _number(values.max())


def mean(values: pl.Series) -> float:
    """The arithmetic mean; 0 if there is no value."""
    return _number(values.mean())


def _number(value: object) -> float:
    # The type of an aggregate in polars includes every type of a column.
    return float(value) if isinstance(value, int | float) else 0.0


def maximum(*candidates: Any) -> float | None:
    """The largest number of numbers and series; `None` if there is none."""
    found: list[float] = []
    for candidate in candidates:
        top = candidate.max() if isinstance(candidate, pl.Series) else candidate
        if top is not None:
            found.append(_number(top))
    return max(found, default=None)
