"""Runs of aqm-survey as one table: a row a run, its point as numbers and names, and the survey's metrics."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from bloatlab.experiments.aqm_survey.measures import MEASURES
from bloatlab.experiments.aqm_survey.setup import CCPS, EQUAL, FIX, PUBLISHED, QUEUES, mbps
from bloatlab.figures import network
from bloatlab.store.text import readable

BASE: Mapping[str, Any] = {"cap": 4.0, "buf": 400, "wld": 5, "delays": FIX, "mode": PUBLISHED}
"""The point at which what does not vary along an axis is held."""
_POINT = ("queue", "ccp", *BASE)


def runs(tables: network.Tables) -> pl.DataFrame:
    """Every finished run of the survey.

    Args:
        tables: `runs`, `parameters` and `metrics` of a store.

    Returns:
        `run_id`, `seed`, `queue` and `ccp` as the source calls them, `cap` (Mbit/s), `buf` (packets), `wld` (flows), `delays`,
        `mode`, `rest` (other parameters) and the survey's metrics; no rows where the runs are of another experiment. Queues that
        were given in a table are left out (`left_out`) where there are others.
    """
    parameters = network.table(tables, "parameters")
    done = network.table(tables, "runs")
    if "status" in done.columns:
        done = done.filter(pl.col("status") == "done")
    metrics = network.table(tables, "metrics").filter(pl.col("scope") == "experiment")
    if metrics.is_empty() or not set(_POINT) <= set(parameters["name"].unique()):
        return pl.DataFrame()
    own = done.select("run_id", "seed").join(_points(parameters), on="run_id", maintain_order="left")
    bare = own.filter(~_in_a_table())
    own = own if bare.is_empty() else bare
    measured = metrics.pivot("metric", index="run_id", values="value", aggregate_function="first")
    missing = [pl.lit(None, pl.Float64).alias(name) for name in MEASURES if name not in measured.columns]
    return own.join(measured.with_columns(missing), on="run_id", maintain_order="left")


def left_out(tables: network.Tables) -> int:
    """How many queues that were given in a table, with parameters of their own, are left out."""
    parameters = network.table(tables, "parameters")
    if parameters.is_empty():
        return 0
    queues = parameters.filter(pl.col("name") == "queue")["value"].unique()
    tabled = int(queues.str.starts_with("{").sum())
    return tabled if tabled < len(queues) else 0


def _in_a_table() -> pl.Expr:
    # As `readable` writes it.
    return pl.col("queue").str.ends_with(")")


def _points(parameters: pl.DataFrame) -> pl.DataFrame:
    # Each of the few values is read once, not once a run.
    plain = {text: readable(text) for text in parameters["value"].unique().drop_nulls().to_list()}
    read = parameters.with_columns(pl.col("value").replace_strict(plain, return_dtype=pl.String, default=None))
    wide = read.pivot("name", index="run_id", values="value", aggregate_function="first")
    others = [name for name in wide.columns if name not in ("run_id", *_POINT)]
    rest = pl.concat_str([pl.col(name).fill_null("") for name in sorted(others)] or [pl.lit("")], separator=", ")
    rates = {text: mbps(text) for text in wide["cap"].unique().to_list()}
    return wide.select(
        "run_id",
        pl.col("queue").replace(dict(QUEUES)),
        pl.col("ccp").replace(dict(CCPS)),
        pl.col("cap").replace_strict(rates, return_dtype=pl.Float64),
        pl.col("buf").cast(pl.Int64),
        pl.col("wld").cast(pl.Int64),
        "delays",
        "mode",
        rest.alias("rest"),
    )


def held(frame: pl.DataFrame, *free: str) -> pl.DataFrame:
    """The runs at the base point but for what is free; where no run is there, at the value that most have."""
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

    Along `buf` the queues that hold a buffer of their own in ns-2 come a second time where they have been run with equal limits.
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


def ordered(names: pl.Series, known: Mapping[str, str]) -> list[str]:
    """Names in the source's order, others after them by name."""
    order = list(known.values())
    return sorted(names.unique().to_list(), key=lambda name: (order.index(name) if name in order else len(order), name))
