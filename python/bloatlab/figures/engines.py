"""Runs of several engines that belong together, and their time series."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from bloatlab.engines import DEFAULT
from bloatlab.experiments import CATALOGUE
from bloatlab.figures import network
from bloatlab.store import Keep, canonical

if TYPE_CHECKING:
    from bloatlab.store import Store

ENGINE_SERIES = "engine_series"
SERIES_COLUMNS = {
    "engine": pl.String,
    "run_id": pl.String,
    "quantity": pl.String,
    "entity": pl.String,
    "time_s": pl.Float64,
    "value": pl.Float64,
}
ENGINE_RUNS = 5
"""Largest number of runs of an engine that are drawn."""
_QUANTITIES = {"throughput": "throughput_mbps", "cwnd": "cwnd", "srtt": "srtt_ms"}


def by_set_up(store: Store, runs: pl.DataFrame) -> pl.DataFrame:
    """The runs with one `point` for all engines that ran a set-up, even if the scenario depends on the engine.

    Runs of different engines belong to one set-up if their parameters are equal, and each of these engines has only one
    scenario with them. Parameters whose defaults depend on the engine (`on_linux`) are left out if each engine has one value.

    Args:
        store: The results.
        runs: Rows of its `runs`.
    """
    parameters = store.points().select("point", "parameters")
    placed = runs.join(parameters, on="point", how="left", maintain_order="left")
    own = {name: known.on_linux for name in placed["experiment"].unique() if (known := CATALOGUE.get(name))}
    set_ups = _set_ups(placed.select("experiment", "engine", "parameters").unique(maintain_order=True), own)
    placed = placed.join(set_ups, on=["experiment", "engine", "parameters"], how="left", maintain_order="left")
    same = ["experiment", "set_up"]
    one_each = pl.struct("engine", "point").n_unique().over(same) == pl.col("engine").n_unique().over(same)
    point = pl.when(one_each).then(pl.col("point").min().over(same)).otherwise("point")
    return placed.with_columns(point.alias("point")).select(runs.columns)


def _set_ups(of: pl.DataFrame, own: Mapping[str, Collection[str]]) -> pl.DataFrame:
    """Adds `set_up`: the parameters without those that only tell the engines apart.

    Args:
        of: `experiment`, `engine`, `parameters`.
        own: The parameters of each experiment whose defaults depend on the engine.
    """
    rows = [(name, engine, json.loads(text)) for name, engine, text in of.iter_rows()]
    values: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for name, engine, given in rows:
        for parameter in own.get(name, ()):
            values[name, parameter, engine].add(canonical(given.get(parameter)))
    several = {(name, parameter) for (name, parameter, _), found in values.items() if len(found) > 1}
    left = {name: {one for one in of_it if (name, one) not in several} for name, of_it in own.items()}
    kept = [
        canonical({one: value for one, value in given.items() if one not in left.get(name, ())})
        for name, _, given in rows
    ]
    return of.with_columns(pl.Series("set_up", kept, pl.String))


def points_of_engines(runs: pl.DataFrame) -> list[int]:
    """The points of a store that several engines ran, and whose series are kept, in the order of their first runs.

    Args:
        runs: Rows of `runs` of a store.
    """
    there = _with_series(runs)
    several = there.filter(pl.col("engine").n_unique().over("point") > 1)
    return several["point"].unique(maintain_order=True).to_list()


def of_engines(store: Store, runs: pl.DataFrame, point: int | None = None) -> dict[str, pl.DataFrame]:
    """Time series of a point that several engines ran, as the table `engine_series`; no table if there is no such point.

    `engine`, `run_id`, `quantity` (`queue_delay`, `throughput`, `cwnd`, `srtt`, `rtt`), `entity` (the link with the longest
    queue, a flow, or for `rtt` a probe), `time_s`, `value`. The simulator comes first. At most `ENGINE_RUNS` runs of each
    engine are taken.

    Args:
        store: The results.
        runs: Rows of its `runs`.
        point: The point; absent: the first that several engines ran.
    """
    points = points_of_engines(runs) if point is None else [point]
    if not points:
        return {}
    there = _with_series(runs).filter(point=points[0])
    engines = sorted(there["engine"].unique(maintain_order=True).to_list(), key=lambda name: name != DEFAULT)
    order = there.sort(pl.col("engine").replace_strict(engines, range(len(engines))), maintain_order=True)
    taken = order.group_by("engine", maintain_order=True).head(ENGINE_RUNS).select("engine", "run_id")
    return {ENGINE_SERIES: _series(store, taken)}


def of_stores(sides: Sequence[tuple[str, Store, Sequence[str]]]) -> dict[str, pl.DataFrame]:
    """As `of_engines`, for runs that belong together in one store or in several: a name in the place of each engine.

    Args:
        sides: The name, the store, and the runs whose series are kept. At most `ENGINE_RUNS` of them are taken.
    """
    taken = [
        (store, pl.DataFrame({"engine": [name] * len(runs[:ENGINE_RUNS]), "run_id": list(runs[:ENGINE_RUNS])}))
        for name, store, runs in sides
        if runs
    ]
    return {ENGINE_SERIES: pl.concat([_series(store, of) for store, of in taken])} if taken else {}


def _series(store: Store, taken: pl.DataFrame) -> pl.DataFrame:
    """The series of these runs.

    Args:
        store: Their store.
        taken: `engine`, `run_id`.
    """
    ids = taken["run_id"].to_list()
    flows, links, probes = (store.table(name, ids) for name in ("flow_series", "link_series", "probe_series"))
    parts = []
    # Runs without a probe, and measurements without a queue, have no such table.
    if not links.is_empty():
        (link,) = network.queueing_links({"link_series": links}, 1) or [""]
        parts.append(
            _quantity(links.filter(pl.col("link").cast(pl.String) == link), "queue_delay", "link", "sojourn_ms")
        )
    if not flows.is_empty():
        parts += [_quantity(flows, quantity, "flow", column) for quantity, column in _QUANTITIES.items()]
    if not probes.is_empty():
        parts.append(_quantity(probes, "rtt", "probe", "rtt_ms"))
    if not parts:
        return pl.DataFrame(schema=SERIES_COLUMNS)
    return taken.join(pl.concat(parts), on="run_id", how="inner", maintain_order="left_right")


def _with_series(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.filter((pl.col("status") == "done") & (pl.col("kept") >= Keep.TABLES))


def _quantity(series: pl.DataFrame, quantity: str, entity: str, column: str) -> pl.DataFrame:
    return series.select(
        "run_id",
        pl.lit(quantity).alias("quantity"),
        pl.col(entity).cast(pl.String).alias("entity"),
        "time_s",
        pl.col(column).cast(pl.Float64).alias("value"),
    ).drop_nulls("value")
