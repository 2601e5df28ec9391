"""Summaries over replications: one row per point and metric of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bloatlab.analysis.points import parameters_of, points, varying
from bloatlab.statistics.intervals import CONFIDENCE, bootstrap_intervals, check_confidence, t_quantile
from bloatlab.store.text import readable

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.store import Store

METRIC = ("scope", "entity", "metric", "unit")
NUMBERS = ("n", "mean", "sd", "low", "high")
TAKEN = ("point", "experiment", "engine", "engine_version", *METRIC, *NUMBERS, "bootstrap_low", "bootstrap_high")


def summary(
    store: Store,
    scope: str | None = None,
    metric: str | None = None,
    *,
    confidence: float = CONFIDENCE,
    bootstrap: bool = False,
    seed: int = 42,
) -> pl.DataFrame:
    """One row per point and metric: the mean over the replications and its confidence interval.

    Args:
        store: A results directory, opened.
        scope: `flow`, `link`, `network` or `probe`; absent: all.
        metric: Name of a metric; absent: all.
        confidence: Confidence level of the intervals.
        bootstrap: Add the bootstrap interval, which takes longer.
        seed: Seed of the bootstrap.

    Returns:
        `point`, `experiment`, `engine`, `engine_version`, the parameters in which points differ (as text), `scope`, `entity`,
        `metric`, `unit`, `n` (replications that have the metric), `mean`, `sd`, `low` and `high` (Student's t
        interval); `bootstrap_low` and `bootstrap_high` where asked for. With one replication `sd` and the intervals
        are null.

    Raises:
        ParameterError: The confidence is not between 0 and 1.
    """
    import polars as pl

    check_confidence(confidence)
    found = points(store)
    rows = store.metrics(scope, metric).join(found.select("run_id", "point"), on="run_id", how="inner")
    rows = rows.filter(pl.col("value").is_finite())
    table = over(rows, ["point", *METRIC], confidence=confidence, bootstrap=bootstrap, seed=seed)
    heads = found.unique("point", keep="first", maintain_order=True).select(
        "point", "experiment", "engine", "engine_version"
    )
    labels = _labels(store, found)
    return heads.join(labels, on="point", how="left").join(table, on="point", how="inner").sort("point", *METRIC)


def over(
    rows: pl.DataFrame, by: list[str], *, confidence: float = CONFIDENCE, bootstrap: bool = False, seed: int = 42
) -> pl.DataFrame:
    """The columns `n` to `high` of `summary` over the column `value`, for each group of `by`."""
    import polars as pl

    value = pl.col("value")
    table = rows.group_by(by).agg(
        value.len().alias("n"),
        value.mean().clip(value.min(), value.max()).alias("mean"),
        # Equal values have the standard deviation 0; a sum of rounded squares may differ from it.
        pl.when(value.len() > 1).then(pl.when(value.min() == value.max()).then(0.0).otherwise(value.std())).alias("sd"),
        *([value.sort().alias("values")] if bootstrap else []),
    )
    quantiles = {n: t_quantile(n - 1, confidence) if n > 1 else None for n in table["n"].unique().to_list()}
    factor = pl.col("n").replace_strict(list(quantiles), list(quantiles.values()), return_dtype=pl.Float64)
    half = factor * pl.col("sd") / pl.col("n").sqrt()
    table = table.with_columns((pl.col("mean") - half).alias("low"), (pl.col("mean") + half).alias("high"))
    return _bootstrapped(table, confidence, seed) if bootstrap else table


def _bootstrapped(table: pl.DataFrame, confidence: float, seed: int) -> pl.DataFrame:
    """Adds the bootstrap intervals, for all groups of equal size at once."""
    import polars as pl

    parts = []
    for part in table.partition_by("n", maintain_order=True):
        low, high = bootstrap_intervals(part["values"].to_list(), confidence, seed=seed)
        ends = (pl.Series("bootstrap_low", low, pl.Float64), pl.Series("bootstrap_high", high, pl.Float64))
        parts.append(part.with_columns(*ends))
    columns = {"bootstrap_low": pl.Float64, "bootstrap_high": pl.Float64}
    joined = (
        pl.concat(parts) if parts else table.with_columns(pl.lit(None, kind).alias(of) for of, kind in columns.items())
    )
    return joined.drop("values")


def _labels(store: Store, found: pl.DataFrame) -> pl.DataFrame:
    """`point` and the parameters in which points differ, as text for readers."""
    import polars as pl

    parameters = parameters_of(store, found)
    columns: dict[str, list[str | None]] = {}
    for name in varying(parameters):
        values = [of.get(name) for of in parameters.values()]
        # A parameter with the name of another column gets an underscore.
        called = f"{name}_" if name in TAKEN else name
        columns[called] = [None if value is None else readable(value) for value in values]
    kinds = {"point": pl.UInt32, **dict.fromkeys(columns, pl.String)}
    return pl.DataFrame({"point": list(parameters), **columns}, schema=kinds)
