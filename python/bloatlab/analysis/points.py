"""Points of a store: runs that differ only in their seed are replications of one point."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bloatlab.store.identity import canonical

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.store import Store


def points(store: Store) -> pl.DataFrame:
    """One row per finished run, in the order in which the runs ended.

    `run_id`, `point` (from 0), `experiment`, `engine`, `engine_version`, `seed`, `repetition` (of the seed), `stored`
    (the store's own number of the scenario). Runs of the same scenario with the same engine are one point, even if
    their parameters have other names.
    """
    import polars as pl

    runs = store.runs().filter(pl.col("status") == "done").rename({"point": "stored"})
    key = ["experiment", "engine", "engine_version", "stored"]
    known = runs.select(key).unique(maintain_order=True).with_row_index("point")
    placed = runs.join(known, on=key, how="left", maintain_order="left")
    return placed.select("run_id", "point", "experiment", "engine", "engine_version", "seed", "repetition", "stored")


def parameters_of(store: Store, found: pl.DataFrame) -> dict[int, dict[str, str]]:
    """Parameters of each point; values are JSON.

    Args:
        store: The store.
        found: Its `points`, or some of them.
    """
    stored = dict(store.points().select("point", "parameters").iter_rows())
    first = found.unique("point", keep="first", maintain_order=True).select("point", "stored")
    return {
        point: {name: canonical(value) for name, value in json.loads(stored[of]).items()}
        for point, of in first.iter_rows()
    }


def varying(parameters: Mapping[int, Mapping[str, str]]) -> list[str]:
    """Parameters in which points differ, by name."""
    names = sorted({name for of in parameters.values() for name in of})
    return [name for name in names if len({of.get(name) for of in parameters.values()}) > 1]
