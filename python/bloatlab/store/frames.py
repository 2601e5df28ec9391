"""The metrics of a store with the parameters of their runs beside them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bloatlab.store.metrics import SINGLE
from bloatlab.store.text import readable

if TYPE_CHECKING:
    import polars as pl

HEAD = ("run_id", "experiment", "engine", "seed")
TAIL = ("scope", "entity", "metric", "value", "unit")


def with_parameters(runs: pl.DataFrame, parameters: pl.DataFrame, metrics: pl.DataFrame, *, wide: bool) -> pl.DataFrame:
    """The frame of `Store.to_polars`, from the frames of `Store.runs`, `Store.parameters` and `Store.metrics`."""
    import polars as pl

    done = runs.filter(pl.col("status") == "done").select(HEAD)
    found = done.join(_by_run(parameters), on="run_id", how="left", maintain_order="left")
    if not wide:
        return found.join(metrics, on="run_id", how="inner", maintain_order="left_right")
    # Metrics of the whole network have no entity.
    single = pl.col("scope").is_in(list(SINGLE))
    named = pl.when(single).then(pl.col("metric")).otherwise(pl.concat_str("entity", pl.lit("."), "metric"))
    columns = metrics.select("run_id", named.cast(pl.String).alias("name"), "value")
    if columns.is_empty():
        return found
    table = columns.pivot("name", index="run_id", values="value", aggregate_function="first")
    return found.join(table, on="run_id", how="left", maintain_order="left")


def _by_run(parameters: pl.DataFrame) -> pl.DataFrame:
    """`run_id` and a column for each parameter: numbers where all its values are numbers, otherwise text."""
    import polars as pl

    rows = parameters.filter(~pl.col("name").is_in(["engine", "seed"]))
    of_runs: dict[str, dict[str, str]] = {run_id: {} for run_id in rows["run_id"].unique(maintain_order=True)}
    for run_id, name, value in rows.iter_rows():
        of_runs[run_id][f"{name}_" if name in HEAD + TAIL else name] = value
    names = dict.fromkeys(name for values in of_runs.values() for name in values)
    columns = {name: _typed([values.get(name) for values in of_runs.values()]) for name in names}
    return pl.DataFrame({"run_id": pl.Series(list(of_runs), dtype=pl.String), **columns})


def _typed(texts: list[str | None]) -> Any:
    import polars as pl

    values = [None if text is None else json.loads(text) for text in texts]
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return pl.Series(values, dtype=pl.Boolean)
    if known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return pl.Series(values, strict=False)
    return pl.Series([None if text is None or text == "null" else readable(text) for text in texts], dtype=pl.String)
