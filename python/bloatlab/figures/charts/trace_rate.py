"""The rate of a trace over time, with its dips."""

from typing import Any

import polars as pl

from bloatlab.figures import network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import FAINT, WIDE, options, plot_width, themed

HEIGHT = 220


def trace_rate(tables: network.Tables, *, width: int = WIDE) -> Any:
    """The rate as a step line, its mean as a dashed line, and the dips as grey bands.

    Args:
        tables: `trace` with `time_s` and `rate_mbps` (each rate holds until the next row); `dips` with `begin_s` and
            `end_s`.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    trace, dips = network.table(tables, "trace"), network.table(tables, "dips")
    end = prepare.high(trace["time_s"])
    line = _thinned(trace)
    top = 1.08 * (prepare.maximum(trace["rate_mbps"]) or 1.0)
    x = vl.field("time_s:Q", scale=options(domain=[0, end], nice=False), axis=options(title="time (s)"))
    y = vl.field("rate_mbps:Q", scale=options(domain=[0, top], nice=False), axis=options(title="rate (Mbit/s)"))
    layers = []
    if not dips.is_empty():
        bands = parts.drawn(prepare.values(dips, 6), "rect", color=FAINT, opacity=0.25)
        layers.append(bands.encode(x=vl.field("begin_s:Q"), x2=vl.field("end_s:Q")))
    colour = palette.PALETTE[0]
    layers.append(
        parts.drawn(prepare.values(line, 6), "line", interpolate="step-after", strokeWidth=1.2, color=colour).encode(
            x=x, y=y
        )
    )
    spans = trace["time_s"].diff().slice(1)
    mean = float((spans * trace["rate_mbps"].head(len(spans))).sum()) / end if end > 0 else 0.0
    layers += parts.level(mean, f"mean {parts.number(mean, 'Mbit/s')}", plot_width(width))
    return themed(vl.layer(*layers, width=plot_width(width), height=HEIGHT))


def _thinned(trace: pl.DataFrame, points: int = 4000) -> pl.DataFrame:
    """At most `rows` rows: the first, smallest and largest rate of each time span, so that dips are kept."""
    if trace.height <= points:
        return trace
    stretch = pl.int_range(pl.len()) * (points // 3) // pl.len()
    kept = trace.with_row_index("row").with_columns(stretch.alias("stretch")).group_by("stretch", maintain_order=True)
    rate = pl.col("rate_mbps")
    rows = kept.agg(
        pl.col("row").first().alias("first"),
        pl.col("row").get(rate.arg_min()).alias("least"),
        pl.col("row").get(rate.arg_max()).alias("most"),
    )
    numbers = pl.concat([rows["first"], rows["least"], rows["most"], pl.Series([trace.height - 1], dtype=pl.UInt32)])
    return trace[numbers.unique().sort()]
