"""How long the packets of each flow waited: over time, and as a distribution."""

from typing import Any

import polars as pl

from bloatlab.figures import histogram, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 190
NARROW = 560
POINTS = 150
FLOOR = 0.01
"""Smallest value of the logarithmic axis, ms."""
FEW = 40
"""Largest number of samples of a line with points."""


def shown(tables: network.Tables) -> bool:
    """Whether the packets of at least two flows waited, and there are few enough flows for one line each."""
    series = network.table(tables, "flow_series")
    if not prepare.has_values(series, "sojourn_ms"):
        return False
    return series.drop_nulls("sojourn_ms")["flow"].n_unique() > 1 and not network.groups(tables).grouped


@as_figure(
    title="Sojourn time by flow",
    caption="How long the packets of each flow waited in queues. Over time: the mean of the packets that left in each "
    "interval. As a distribution: the share of all packets that waited at most that long.",
    needs=("flow_series", "flows"),
    when=lambda tables: shown(tables),
)
def flow_sojourn(tables: network.Tables, *, width: int) -> Any:
    """Mean time in queues of the packets that left them in each interval, and the distribution over all packets.

    Args:
        tables: `flow_series`, `flows` and `histograms`.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    groups = network.groups(tables)
    series = groups.label(network.table(tables, "flow_series")).drop_nulls("sojourn_ms")
    stacked = width < NARROW
    wide = plot_width(width, 1 if stacked else 2)
    columns = parts.legend_columns(groups.labels, width - 70)
    colour = parts.colour(groups.labels, groups.range, columns=columns)
    lines = []
    for part in series.select("time_s", "label", "sojourn_ms").partition_by("label", maintain_order=True):
        light = prepare.thin(part, "time_s", "sojourn_ms")
        lines.append(
            parts.drawn(
                prepare.values(light), "line", point=options(size=25, filled=True) if light.height <= FEW else False
            ).encode(
                x=vl.field(
                    "time_s:Q", axis=options(title="time (s)", tickCount=6), scale=options(zero=True, nice=False)
                ),
                y=vl.field("sojourn_ms:Q", axis=options(title="mean sojourn (ms)"), scale=options(zero=True)),
                color=colour,
            )
        )
    panels = [vl.layer(*lines, width=wide, height=HEIGHT)]
    waits = histogram.of_quantity(tables, "sojourn", "flow")
    if not waits.is_empty():
        share = _shares(groups.label(waits.rename({"name": "flow"})))
        panels.append(
            parts.drawn(prepare.values(share), "line", interpolate="step-after")
            .encode(
                x=_waits(share["value"]),
                y=vl.field(
                    "share:Q",
                    scale=options(domain=[0, 1]),
                    axis=options(title="share of packets that waited at most", format=".0%"),
                ),
                color=parts.colour(groups.labels, groups.range, legend=False),
            )
            .properties(width=wide, height=HEIGHT)
        )
    joined = vl.vconcat(*panels, spacing=14) if stacked else vl.hconcat(*panels, spacing=14)
    return themed(joined)


def _waits(values: pl.Series) -> Any:
    """The axis of the sojourn time, logarithmic if it spans more than a decade."""
    low, high = prepare.low(values), prepare.high(values)
    if not parts.wants_log(low, high):
        return vl.field("value:Q", axis=options(title="sojourn (ms)", grid=True, tickCount=6), scale=options(zero=True))
    ticks = parts.log_ticks(low, high)
    scale = options(type="log", domain=[min(low, ticks[0]), max(high, ticks[-1])], nice=False)
    return vl.field(
        "value:Q",
        axis=options(title="sojourn (ms)", grid=True, format=",.6~g", values=ticks, labelOverlap="greedy"),
        scale=scale,
    )


def _shares(waits: pl.DataFrame) -> pl.DataFrame:
    """Corners of the share of packets that waited at most `value`, for each `label`; about `POINTS` per label."""
    curves = []
    for part in waits.partition_by("label", maintain_order=True):
        merged = part.group_by("upper").agg(pl.col("weight").sum()).sort("upper")
        curve = merged.select(
            value=pl.col("upper").cast(pl.Float64).clip(FLOOR),
            share=pl.col("weight").cum_sum() / pl.col("weight").sum(),
        )
        start = pl.DataFrame({"value": [max(FLOOR, prepare.low(part["lower"]))], "share": [0.0]})
        ends = pl.concat([start, prepare.sample(curve, POINTS), curve.tail(1)]).unique(maintain_order=True)
        curves.append(ends.with_columns(label=pl.lit(part["label"][0])))
    return pl.concat(curves)
