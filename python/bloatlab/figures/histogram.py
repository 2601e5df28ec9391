"""Histograms with buckets of different widths: pooled, rebinned, and as tails."""

import math

import polars as pl

from bloatlab.figures import network, prepare


def of_quantity(tables: network.Tables, quantity: str, scope: str | None = None) -> pl.DataFrame:
    """Rows of `histograms` for one quantity (`rtt`, `sojourn`, `queue_packets`) and, if given, one scope."""
    table = network.table(tables, "histograms")
    if table.is_empty():
        return table
    kept = (pl.col("quantity") == quantity) & (pl.col("weight") > 0)
    if scope is not None:
        kept = kept & (pl.col("scope") == scope)
    return table.filter(kept).with_columns(pl.col("name").cast(pl.String))


def nice_width(rows: pl.DataFrame, bins: int) -> float:
    """Smallest bin width (1, 2 or 5 times a power of ten) that covers all buckets with at most `bins` bins."""
    span = prepare.high(rows["upper"]) - prepare.low(rows["lower"])
    rough = span / bins
    if rough <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= rough * (1 - 1e-9))


def rebinned(rows: pl.DataFrame, by: str, width: float) -> pl.DataFrame:
    """Rebins into equal bins for all values of `by`: `by`, `start`, `stop`, `share` (with the sum 1 for each).

    A bucket wider than a bin is spread evenly over the bins it covers.
    """
    low = math.floor(prepare.low(rows["lower"]) / width) * width
    bins = max(1, math.floor((prepare.high(rows["upper"]) - low) / width) + 1)
    edges = [low + width * index for index in range(bins)]
    grid = pl.DataFrame({"start": edges}).with_columns((pl.col("start") + width).alias("stop"))
    totals = rows.group_by(by, maintain_order=True).agg(pl.col("weight").sum().alias("total"))
    pieces = rows.join(grid, how="cross").filter(
        # A bucket of width 0 (a single value) is in one bin.
        (pl.col("lower") < pl.col("stop"))
        & ((pl.col("upper") > pl.col("start")) | (pl.col("lower") >= pl.col("start")))
    )
    overlap = pl.min_horizontal("upper", "stop") - pl.max_horizontal("lower", "start")
    whole = pl.col("upper") - pl.col("lower")
    part = pl.when(whole > 0).then(overlap / whole).otherwise(1.0)
    return (
        pieces.with_columns((pl.col("weight") * part).alias("weight"))
        .group_by(by, "start", "stop", maintain_order=True)
        .agg(pl.col("weight").sum())
        .join(totals, on=by, maintain_order="left")
        .select(by, "start", "stop", (pl.col("weight") / pl.col("total")).alias("share"))
        .filter(pl.col("share") > 0)
        .sort(by, "start")
    )


def tails(rows: pl.DataFrame, by: str, points: int = 150) -> pl.DataFrame:
    """Share of the weight above a value (the eCCDF): `by`, `value`, `above`; about `points` rows per `by`."""
    curves = []
    for part in rows.partition_by(by, maintain_order=True):
        merged = part.group_by("upper", maintain_order=True).agg(pl.col("weight").sum()).sort("upper")
        total = merged["weight"].sum()
        start = pl.DataFrame({"value": [prepare.low(part["lower"])], "above": [1.0]})
        rest = merged.select(
            pl.col("upper").cast(pl.Float64).alias("value"), (1 - pl.col("weight").cum_sum() / total).alias("above")
        )
        curve = pl.concat([start, rest]).filter(pl.col("above") > 1e-9)
        # Equal steps of the share would lose the tail, and equal steps of its logarithm the body. Both are kept.
        steps = [(pl.col("above") * points / 2).floor(), (pl.col("above").log10() * points / 12).floor()]
        curve = curve.with_columns(pl.struct(*(step.alias(str(i)) for i, step in enumerate(steps))).alias("_bin"))
        curve = curve.unique("_bin", keep="first", maintain_order=True).drop("_bin")
        curves.append(curve.with_columns(pl.lit(part[by][0]).alias(by)))
    return pl.concat(curves).select(by, "value", "above")
