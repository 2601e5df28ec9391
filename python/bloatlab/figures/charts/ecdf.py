"""Empirical distribution functions of throughput and sRTT."""

from typing import Any

import polars as pl

from bloatlab.figures import network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 190
POINTS = 150
NARROW = 560
FEW = 0.05
"""Share of samples below which a curve leaves room for a name at the top of its panel."""


@as_figure(
    title="Distribution of throughput and sRTT over samples",
    caption="The share of samples at or below a value.",
    needs=("flow_series",),
    when=lambda tables: network.has_samples(tables, "srtt_ms", "throughput_mbps"),
    note=network.grouping_note,
)
def ecdf(tables: network.Tables, *, width: int) -> Any:
    """The share of samples at or below a throughput, and at or below an sRTT, per flow.

    Above eight flows the samples of all flows of a congestion control are pooled.

    Args:
        tables: `flow_series` and `flows`; `links` gives the reference lines.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    groups, path = network.groups(tables), network.path(tables)
    series = groups.label(network.table(tables, "flow_series"))
    stacked = width < NARROW
    wide = plot_width(width, 1 if stacked else 2)
    across = network.across(tables)
    share = path.capacity_mbps / across.groups.flows if path.capacity_mbps else None
    shared = "capacity" if across.groups.flows == 1 else "fair share"
    if across.others:
        shared += f" at {path.link}"
    wanted = (
        ("throughput_mbps", "throughput (Mbit/s)", share, shared, "Mbit/s"),
        ("srtt_ms", "sRTT (ms)", path.base_rtt_ms, "base RTT", "ms"),
    )
    panels: list[Any] = []
    for column, title, reference, name, unit in wanted:
        if not prepare.has_values(series, column):
            continue
        curve = steps(series, column)
        low, high = prepare.low(curve[column]), prepare.maximum(curve[column], reference)
        right = column == "throughput_mbps"
        log = not right and parts.wants_log(reference or low, high, 20)
        x = vl.field(
            f"{column}:Q",
            scale=options(type="log" if log else "linear", zero=not log, nice=True),
            axis=options(title=title, grid=True, tickCount=5),
        )
        line = parts.drawn(prepare.values(curve), "line", interpolate="step-after").encode(
            x=x,
            y=vl.field("share:Q", scale=options(domain=[0, 1]), axis=options(title="share of samples", format=".0%")),
            color=parts.colour(
                groups.labels,
                groups.range,
                legend=not panels,
                columns=parts.legend_columns(groups.labels, width - 70),
            ),
        )
        layers = [line]
        if reference is not None:
            label = f"{name} {parts.number(reference, unit)}"
            layers.extend(parts.mark_at(reference, label, left=right, name_at=_beside(curve, column, reference, right)))
        panels.append(vl.layer(*layers, width=wide, height=HEIGHT))
    joined = vl.vconcat(*panels, spacing=14) if stacked else vl.hconcat(*panels, spacing=14)
    return themed(joined)


def _beside(curve: pl.DataFrame, column: str, reference: float, right: bool) -> float | None:
    """Where the curves rise, if a name between there and the reference line would lie on them; else `None`."""
    rises = prepare.low(curve.filter(pl.col("share") > FEW)[column])
    return rises if right and reference / 2 < rises < reference else None


def steps(series: pl.DataFrame, column: str, points: int = POINTS) -> pl.DataFrame:
    """Corners of the eCDF of each label: `label`, the column, `share`; about `points` per label."""
    curves = []
    for part in series.drop_nulls(column).partition_by("label", maintain_order=True):
        ranked = part.sort(column).select("label", column, ((pl.int_range(1, pl.len() + 1)) / pl.len()).alias("share"))
        # For equal values only the last and highest share is a corner.
        corners = ranked.unique(column, keep="last", maintain_order=True)
        thinned = prepare.sample(corners, points)
        ends = pl.concat([corners.head(1).with_columns(pl.lit(0.0).alias("share")), thinned, corners.tail(1)])
        curves.append(ends.unique(maintain_order=True).sort(column, "share"))
    return pl.concat(curves) if curves else series.select("label", column).with_columns(share=pl.lit(0.0)).clear()
