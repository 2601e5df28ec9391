"""Runs of one router that differ in the limit of its queue, and their samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bloatlab.experiments.home_router.setup import BOTTLENECK, BULK, PAGE, router
from bloatlab.figures import network, sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = "maxq"
ROUTER = ("direction", "segments_per_buffer")
COMPARED = ("preset", "queue", "cca")
PLAIN = "fifo"
ROUTERS, SIZES = 2, 3
"""Largest numbers of routers and of limits that are drawn side by side."""
_COLUMNS = ("run_id", "seed", "limit", "router", "rate", "delay", "segments")
_EMPTY = pl.DataFrame(
    schema={name: pl.Int64 if name in ("seed", "limit", "segments") else pl.String for name in _COLUMNS}
)


def placed(tables: network.Tables) -> pl.DataFrame:
    """The runs with a FIFO and the most frequent congestion control, for at most `ROUTERS` routers.

    Without runs with a FIFO, the most frequent queue is taken. Of runs with different values of other parameters, the
    most frequent values are taken.

    Returns:
        One row per run: `run_id`, `seed`, `limit` (`maxq`), `router`, `rate`, `delay`, `segments` (per buffer),
        sorted by router, limit and seed.
    """
    if network.table(tables, "parameters").is_empty():
        return _EMPTY
    frame = sweep.values(tables)
    if not {LIMIT, *ROUTER, "queue", "cca", "rate", "delay"} <= set(frame.columns):
        return _EMPTY
    rest = sorted(set(frame.columns) - {"run_id", "seed", LIMIT, *ROUTER, *COMPARED})
    frame = frame.with_columns(rest=pl.concat_str([pl.col(name).fill_null("") for name in rest], separator="\n"))
    frame = frame.filter(pl.col("rest") == _most(frame["rest"]))
    frame = frame.filter(pl.col("queue") == (PLAIN if PLAIN in frame["queue"] else _most(frame["queue"])))
    frame = frame.filter(pl.col("cca") == _most(frame["cca"]))
    names = [router(way, int(segments)) for way, segments in frame.select(*ROUTER).iter_rows()]
    kept = list(dict.fromkeys(names))[:ROUTERS]
    frame = frame.with_columns(
        pl.Series("router", names),
        limit=pl.col(LIMIT).cast(pl.Int64), segments=pl.col("segments_per_buffer").cast(pl.Int64),
    ).filter(pl.col("router").is_in(kept))  # fmt: skip
    order = pl.col("router").replace_strict(kept, range(len(kept)), return_dtype=pl.Int64)
    return frame.sort(order, "limit", "seed", "run_id").select(_COLUMNS)


def _most(column: pl.Series) -> str:
    """The most frequent value; of equally frequent values the first."""
    counts = column.value_counts(sort=False)
    most = counts.filter(pl.col("count") == counts["count"].max())[column.name].to_list()
    return next(str(value) for value in column.to_list() if value in most)


def routers(runs: pl.DataFrame) -> list[str]:
    """Names of the routers in the order of the runs."""
    return [str(name) for name in runs["router"].unique(maintain_order=True)]


def sizes(tables: network.Tables, runs: pl.DataFrame, most: int = SIZES) -> list[int]:
    """At most `most` limits in the order of the user; the limits of the experiment's own axis are preferred."""
    there = sorted({int(limit) for limit in runs["limit"].to_list()})
    own = network.table(tables, "own_axes")
    named = own.filter(pl.col("parameter") == LIMIT)["value"].to_list() if not own.is_empty() else []
    ranked = sorted(there, key=lambda limit: (str(limit) not in named, -limit))
    kept = pl.Series([str(limit) for limit in sorted(ranked[:most])], dtype=pl.String)
    return [int(limit) for limit in sweep.in_order(kept, sweep.listed(tables).get(LIMIT, []))]


def first(runs: pl.DataFrame) -> pl.DataFrame:
    """The run with the first seed for each router and limit."""
    return runs.unique(["router", "limit"], keep="first", maintain_order=True)


def window(tables: network.Tables, runs: pl.DataFrame) -> pl.DataFrame:
    """`run_id`, `time_s`, `value`: the long flow's congestion window, segments."""
    return _series(tables, runs, "flow_series", "flow", BULK, "cwnd")


def queue(tables: network.Tables, runs: pl.DataFrame) -> pl.DataFrame:
    """`run_id`, `time_s`, `value`: the packets in the router's queue."""
    return _series(tables, runs, "link_series", "link", BOTTLENECK, "queue_packets")


def fetches(tables: network.Tables) -> pl.DataFrame:
    """Fetches of the runs and limits that are drawn, s: `run_id`, `time_s`, `value`, `router`, `limit`, `seed`."""
    runs = placed(tables)
    found = joined(probe(tables, runs, PAGE), runs, sizes(tables, runs))
    return found.drop_nulls("value").with_columns(pl.col("value") / 1e3)


def probe(tables: network.Tables, runs: pl.DataFrame, name: str) -> pl.DataFrame:
    """`run_id`, `time_s`, `value`: the round-trip times of a probe, ms."""
    return _series(tables, runs, "probe_series", "probe", name, "rtt_ms")


def _series(
    tables: network.Tables, runs: pl.DataFrame, table: str, column: str, entity: str, value: str
) -> pl.DataFrame:
    found = network.table(tables, table).join(runs.select("run_id"), on="run_id", how="semi")
    own = found.filter(pl.col(column).cast(pl.String) == entity)
    # Sorted, because joins do not keep the order of rows.
    return own.select("run_id", "time_s", pl.col(value).cast(pl.Float64).alias("value")).sort("run_id", "time_s")


def joined(series: pl.DataFrame, runs: pl.DataFrame, values: Sequence[int]) -> pl.DataFrame:
    """Samples with the `router`, `limit` and `seed` of their runs, for these limits."""
    places = runs.filter(pl.col("limit").is_in(list(values))).select("run_id", "router", "limit", "seed")
    return series.join(places, on="run_id", how="inner", maintain_order="left")


def left_out(tables: network.Tables) -> str:
    """Says how many limits are not drawn; empty if all are."""
    found = placed(tables)["limit"].n_unique()
    return f"{SIZES} of {found} limits are drawn." if found > SIZES else ""
