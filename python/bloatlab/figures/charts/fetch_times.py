"""Times of page fetches by the limit of the queue: over time, and as a distribution."""

from typing import Any

import polars as pl

from bloatlab.figures import limits, network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import INK, options, plot_width, themed

NARROW = 560
HEIGHT = 170
SHARE = 0.62
"""Share of the width for the panel over time."""


@as_figure(
    title="Times of fetches by the queue's limit",
    caption="Left: each fetch of the first run. Right: the fetches of all runs. The box reaches from the first to the "
    "third quartile, with a line at the median; the whisker reaches to the last value within 1.5 times the "
    "height of the box. The dot is the mean, with one standard deviation to both sides, but not below the "
    "fastest fetch.",
    needs=("runs", "parameters", "probe_series"),
    when=lambda tables: not limits.fetches(tables).is_empty(),
    of_runs=True,
    note=limits.left_out,
)
def fetch_times(tables: network.Tables, *, width: int) -> Any:
    """One row per router: fetches of the first run over time, and box, mean and standard deviation over all runs.

    Args:
        tables: `runs`, `parameters` and `probe_series` of all runs, `run_id` first.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    runs = limits.placed(tables)
    sizes = limits.sizes(tables, runs)
    fetches = limits.fetches(tables)
    firsts = limits.first(runs)["run_id"].to_list()
    low, high = prepare.low(fetches["value"]), prepare.high(fetches["value"])
    log = parts.wants_log(low, high)
    ticks = parts.log_ticks(low, high, most=8) if log else []
    scale = (
        options(type="log", domain=[min(low, ticks[0]), max(high, ticks[-1])], nice=False)
        if log
        else options(domain=[0, 1.05 * high], nice=False)
    )
    names = [f"{size}" for size in sizes]
    colours = list(palette.in_order(names).values())
    narrow = width < NARROW
    left = plot_width(width) if narrow else round(SHARE * width) - 70
    right = plot_width(width) if narrow else width - left - 140
    rows = []
    for router in limits.routers(runs):
        own = fetches.filter(pl.col("router") == router).with_columns(label=pl.col("limit").cast(pl.String))
        if own.is_empty():
            continue
        colour = parts.colour(names, colours, title="maxq")
        shape = vl.field(
            "label:N",
            scale=options(domain=names, range=[*palette.SHAPES[: len(names)]]),
            legend=options(title="maxq") if len(names) > 1 else None,
        )
        axis = options(title=["fetch (s)", router], values=ticks or vl.UNSET, format=",.6~g", **_all(ticks))
        over_time = parts.drawn(
            prepare.values(own.filter(pl.col("run_id").is_in(firsts)).select("time_s", "value", "label")),
            "point", size=34, filled=False, strokeWidth=1.6, opacity=1,
        ).encode(
            x=vl.field("time_s:Q", axis=options(title="complete at (s)", tickCount=8), scale=options(nice=False, zero=True)),
            y=vl.field("value:Q", scale=scale, axis=axis), color=colour, shape=shape,
        ).properties(width=left, height=HEIGHT)  # fmt: skip
        rows.append([over_time, _boxes(own, names, colours, scale, ticks, right)])
    if narrow:
        return themed(vl.vconcat(*(panel for row in rows for panel in row), spacing=14))
    return themed(vl.vconcat(*(vl.hconcat(*row, spacing=14) for row in rows), spacing=14))


def summary(fetches: pl.DataFrame) -> pl.DataFrame:
    """One row per limit: quartiles, whiskers within 1.5 interquartile ranges, mean, and mean +- standard deviation.

    Args:
        fetches: `label` (the limit), `value`.
    """
    found = fetches.group_by("label", maintain_order=True).agg(
        pl.col("value").quantile(0.25, "linear").alias("q1"),
        pl.col("value").median().alias("median"),
        pl.col("value").quantile(0.75, "linear").alias("q3"),
        pl.col("value").mean().alias("mean"),
        pl.col("value").std().fill_null(0.0).alias("std"),
        pl.col("value"),
    )
    reach = 1.5 * (pl.col("q3") - pl.col("q1"))
    wide = found.explode("value").filter(pl.col("value").is_between(pl.col("q1") - reach, pl.col("q3") + reach))
    ends = wide.group_by("label").agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
    least = fetches.group_by("label").agg(pl.col("value").min().alias("least"))
    joined = found.drop("value").join(ends, on="label", maintain_order="left")
    return (
        joined.join(least, on="label", maintain_order="left")
        # With a few slow fetches, mean - deviation may be below the fastest fetch and even below 0.
        .with_columns(
            under=pl.max_horizontal(pl.col("mean") - pl.col("std"), "least"), over=pl.col("mean") + pl.col("std")
        )
        .drop("least")
    )  # fmt: skip


def _all(ticks: list[float]) -> dict[str, Any]:
    """Options that make an axis show all given ticks."""
    return options(tickCount=20, labelOverlap=False) if ticks else {}


def _boxes(
    fetches: pl.DataFrame, names: list[str], colours: list[str], scale: Any, ticks: list[float], width: int
) -> Any:
    data = prepare.values(summary(fetches))
    x = vl.field("label:N", sort=names, axis=options(title="maxq", labelAngle=0), scale=options(paddingInner=0.3))
    colour = parts.colour(names, colours, legend=False)
    axis = options(title=None, values=ticks or vl.UNSET, format=",.6~g", **_all(ticks))

    def y(field: str) -> Any:
        return vl.field(f"{field}:Q", scale=scale, axis=axis)

    layers = [
        parts.drawn(data, "rule", strokeWidth=1.4).encode(x=x, y=y("low"), y2=vl.field("high:Q"), color=colour),
        parts.drawn(data, "bar", size=26, opacity=0.55).encode(x=x, y=y("q1"), y2=vl.field("q3:Q"), color=colour),
        parts.drawn(data, "tick", thickness=2, size=26, color=INK).encode(x=x, y=y("median")),
        parts.drawn(data, "rule", strokeWidth=1.2, color=INK, xOffset=22).encode(
            x=x, y=y("under"), y2=vl.field("over:Q")
        ),
        parts.drawn(data, "point", filled=True, size=40, opacity=1, color=INK, xOffset=22).encode(x=x, y=y("mean")),
    ]
    return vl.layer(*layers, width=width, height=HEIGHT)
