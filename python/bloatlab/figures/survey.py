"""The runs of aqm-survey as one table: one row per run with its point and the metrics of the survey."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from bloatlab.experiments.aqm_survey.measures import MEASURES
from bloatlab.experiments.aqm_survey.setup import CCPS, EQUAL, FIX, PUBLISHED, QUEUES, RENO, mbps
from bloatlab.figures import network

BASE: Mapping[str, Any] = {"cap": 4.0, "buf": 400, "wld": 5, "delays": FIX, "mode": PUBLISHED}
"""The base point: the values of all parameters that do not vary along an axis."""
_POINT = ("queue", "ccp", *BASE)


def runs(tables: network.Tables) -> pl.DataFrame:
    """Every finished run of the survey.

    Args:
        tables: `measured`, as `figures.of_runs` returns it.

    Returns:
        `run_id`, `seed`, `queue` and `ccp` with the names of the source, `cap` (Mbit/s), `buf` (packets), `wld`
        (flows), `delays`, `mode`, `rest` (other parameters) and the metrics of the survey; no rows if the runs are of
        another experiment. Queues that were given as a table are left out (`left_out`) if there are others.
    """
    measured = network.table(tables, "measured")
    if measured.is_empty() or not {*_POINT, *MEASURES} <= set(measured.columns):
        return pl.DataFrame()
    bare = measured.filter(~_in_a_table())
    own = measured if bare.is_empty() else bare
    others = [name for name in own.columns if name not in ("run_id", "seed", *_POINT, *MEASURES)]
    rest = pl.concat_str([pl.col(name).fill_null("") for name in sorted(others)] or [pl.lit("")], separator=", ")
    rates = {text: mbps(text) for text in own["cap"].unique().to_list()}
    return own.select(
        "run_id", "seed", pl.col("queue").replace(dict(QUEUES)), pl.col("ccp").replace(dict(CCPS)),
        pl.col("cap").replace_strict(rates, return_dtype=pl.Float64), pl.col("buf", "wld").cast(pl.Int64), "delays", "mode",
        rest.alias("rest"), *MEASURES,
    )  # fmt: skip


def left_out(tables: network.Tables) -> int:
    """Number of queues that are left out because they were given as a table."""
    measured = network.table(tables, "measured")
    tabled = measured.filter(_in_a_table())
    return tabled["queue"].n_unique() if 0 < tabled.height < measured.height else 0


def _in_a_table() -> pl.Expr:
    # The form that `readable` writes.
    return pl.col("queue").str.ends_with(")")


def held(frame: pl.DataFrame, *free: str) -> pl.DataFrame:
    """The runs at the base point except in `free`; if there is no such run, at the most frequent value."""
    for name in (*BASE, "rest"):
        if name in free or frame.is_empty():
            continue
        base = BASE.get(name)
        if base is None or not (frame[name] == base).any():
            base = frame[name].value_counts(sort=True, name="n").sort("n", name, descending=[True, False])[name][0]
        frame = frame.filter(pl.col(name) == base)
    return frame


def over(tables: network.Tables, axis: str) -> pl.DataFrame:
    """The runs along an axis through the base point: as `runs`, with `x` and `series`.

    Along `buf`, queues that have another buffer in ns-2 appear a second time if they were also run with equal limits.
    """
    frame = runs(tables)
    if frame.is_empty():
        return frame
    free = (axis, "mode") if axis == "buf" else (axis,)
    frame = held(frame, *free).with_columns(pl.col(axis).cast(pl.Float64).alias("x"), pl.col("queue").alias("series"))
    if axis == "buf" and frame["mode"].n_unique() > 1:
        is_equal = (pl.col("mode") == EQUAL) & pl.col("queue").is_in(["DRR", "SFQ"])
        frame = frame.filter((pl.col("mode") == PUBLISHED) | is_equal).with_columns(
            pl.when(is_equal).then(pl.format("{}, equal limits", "queue")).otherwise("queue").alias("series")
        )
    return frame if frame["x"].n_unique() > 1 else frame.clear()


def by_buffer(tables: network.Tables) -> pl.DataFrame:
    """The runs under DropTail over CAP and BUF together, of each congestion control with such a grid."""
    frame = runs(tables)
    if frame.is_empty():
        return frame
    own = frame.filter(pl.col("queue") == QUEUES["fifo"])
    grids = [held(own.filter(pl.col("ccp") == ccp), "cap", "buf") for ccp in ordered(own["ccp"], CCPS)]
    # More points than the two axes through the base point have.
    found = [
        one for one in grids if one.select("cap", "buf").n_unique() > one["cap"].n_unique() + one["buf"].n_unique() - 1
    ]
    return pl.concat(found).with_columns(pl.col("ccp").replace(RENO, "all Reno")) if found else frame.clear()


def ordered(names: pl.Series, known: Mapping[str, str]) -> list[str]:
    """Names in the order of the source, then other names in alphabetical order."""
    order = list(known.values())
    return sorted(names.unique().to_list(), key=lambda name: (order.index(name) if name in order else len(order), name))
