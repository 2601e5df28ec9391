"""Runs as replications of points: what differs in the seed alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.store import Store


def points(store: Store) -> pl.DataFrame:
    """The finished runs: `run_id`, `point` (from 0, in the order of the runs), `experiment`, `engine_version`, `seed`.

    Runs of the same scenario under the same engine are one point, whatever the parameters that made it are called.
    """
    import polars as pl

    key = ["experiment", "engine_version", "scenario"]
    runs = store.runs().filter(pl.col("status") == "done")
    known = runs.select(key).unique(maintain_order=True).with_row_index("point")
    placed = runs.join(known, on=key, how="left", maintain_order="left")
    return placed.select("run_id", "point", "experiment", "engine_version", "seed")


def parameters_of(store: Store, found: pl.DataFrame) -> dict[int, dict[str, str]]:
    """Parameters of each point as stored (JSON), those of its first run.

    Args:
        store: The store.
        found: Its `points`, or some of them.
    """
    first = found.unique("point", keep="first", maintain_order=True).select("run_id", "point")
    rows = store.parameters().join(first, on="run_id", how="inner").sort("point", "name")
    made: dict[int, dict[str, str]] = {point: {} for point in first["point"].to_list()}
    for point, name, value in rows.select("point", "name", "value").iter_rows():
        made[point][name] = value
    return made


def varying(parameters: Mapping[int, Mapping[str, str]]) -> list[str]:
    """Parameters in which points differ, by name."""
    names = sorted({name for of in parameters.values() for name in of})
    return [name for name in names if len({of.get(name) for of in parameters.values()}) > 1]
