"""RTT over time of runs that differ only in their seed, and their mean with its confidence interval."""

import math
from typing import Any

import polars as pl

from bloatlab.experiments.home_router.setup import PING
from bloatlab.figures import limits, network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, themed
from bloatlab.statistics.intervals import t_interval

NARROW = 560
HEIGHT = 140
SPAN = 1.0
"""Seconds of pings of a run that make one point."""
SIZES = 2
ACROSS, DOWN = 16, 16
LEFT = 66


def read(tables: network.Tables) -> pl.DataFrame:
    """One row per run and `SPAN` seconds: `router`, `limit`, `seed`, `time_s` (middle), `value` (mean RTT, ms).

    Only for routers and limits with at least two runs.
    """
    runs = limits.placed(tables)
    several = runs.filter(pl.col("run_id").len().over("router", "limit") > 1)
    sizes = limits.sizes(tables, several, SIZES)
    pings = limits.joined(limits.probe(tables, several, PING), several, sizes).drop_nulls("value")
    middle = ((pl.col("time_s") / SPAN).floor() + 0.5) * SPAN
    return (
        pings.with_columns(middle.alias("time_s"))
        .group_by("router", "limit", "seed", "time_s", maintain_order=True)
        .agg(pl.col("value").mean())
        .sort("router", "limit", "seed", "time_s")
    )


def intervals(points: pl.DataFrame) -> pl.DataFrame:
    """One row per span with pings of at least two runs: `time_s`, `mean`, `low`, `high` (95 %, Student's t)."""
    rows = []
    for (time,), part in points.sort("time_s").partition_by("time_s", as_dict=True, maintain_order=True).items():
        values = part["value"].to_list()
        interval = t_interval(values)
        if interval is not None:
            rows.append((time, math.fsum(values) / len(values), max(0.0, interval.low), interval.high))
    return pl.DataFrame(rows, schema=dict.fromkeys(("time_s", "mean", "low", "high"), pl.Float64), orient="row")


@as_figure(
    title="RTT of replications over time",
    caption="Thin lines are runs that differ only in their seed; each is the mean of the pings of one second. The "
    "thick line is the mean of the runs, the band its 95 % confidence interval (Student's t).",
    needs=("runs", "parameters", "probe_series"),
    when=lambda tables: not read(tables).is_empty(),
    of_runs=True,
)
def replications(tables: network.Tables, *, width: int) -> Any:
    """One column per limit, one row per router: runs, their mean, and its 95 % confidence interval.

    Args:
        tables: `runs`, `parameters` and `probe_series` of all runs, `run_id` first.
        width: Width of the whole figure, pixels; below 560 the limits are stacked.

    Returns:
        The chart.
    """
    points = read(tables)
    sizes = sorted(int(limit) for limit in points["limit"].unique().to_list())
    names = [name for name in limits.routers(limits.placed(tables)) if name in points["router"]]
    across = len(sizes) if width >= NARROW else 1
    wide = max(90, (width - LEFT - ACROSS * (across - 1) - 10) // across)
    # One time scale for all panels. Each limit has an RTT scale, or the curves of a small queue would lie on the axis.
    end = prepare.high(points["time_s"]) + SPAN / 2
    colours = palette.in_order(names)
    cells = []
    for name in names:
        for size in sizes:
            own = points.filter((pl.col("router") == name) & (pl.col("limit") == size))
            cells.append(_panel(own, f"{name}, maxq {size}", colours[name], end, wide))
    aligned = options(spacing=options(row=DOWN, column=ACROSS), bounds="full", align="each")
    return themed(vl.concat(*cells, columns=across, **aligned))


def _panel(own: pl.DataFrame, title: str, colour: str, end: float, width: int) -> Any:
    band = prepare.values(intervals(own))
    count = own["seed"].n_unique()
    x = vl.field("time_s:Q", scale=options(domain=[0, end], nice=False), axis=options(title="time (s)", tickCount=6))
    axis = options(title="RTT (ms)", minExtent=38)
    layers = [
        parts.drawn(band, "area", color=colour, opacity=0.25).encode(
            x=x, y=vl.field("low:Q", axis=axis, scale=options(zero=True)), y2=vl.field("high:Q")
        ),
        parts.drawn(prepare.values(own.select("time_s", "seed", "value")), "line", color=colour, strokeWidth=0.8, opacity=0.6)
        .encode(x=x, y=vl.field("value:Q", axis=axis), detail="seed:N"),
        parts.drawn(band, "line", color=colour, strokeWidth=2.4).encode(x=x, y=vl.field("mean:Q", axis=axis)),
    ]  # fmt: skip
    return vl.layer(*layers, width=width, height=HEIGHT, title=f"{title}: {count} runs")
