"""Distributions of the sojourn time and of the queue length."""

from typing import Any

import polars as pl

from bloatlab.figures import histogram, network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 190
NARROW = 560
BINS = 40


@as_figure(
    title="Distribution of sojourn time and queue length",
    caption="Left or above: the share of all packets that waited longer than a given time, with a logarithmic axis "
    "for the tail. Right or below: the distribution of the queue length.",
    needs=("histograms",),
    when=lambda tables: not histogram.of_quantity(tables, "sojourn", "link").is_empty(),
)
def queue_distribution(tables: network.Tables, *, width: int) -> Any:
    """The tail of the sojourn time over every packet, and the distribution of the queue length.

    Args:
        tables: `histograms` with the quantity `sojourn`; the queue length comes from the quantity `queue_packets`, or
            from the samples in `link_series`.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    sojourn = histogram.of_quantity(tables, "sojourn", "link")
    names = [name for name in network.queueing_links(tables) if name in sojourn["name"].to_list()]
    names = names or sojourn["name"].unique(maintain_order=True).to_list()[:4]
    colours = palette.links(names)
    stacked = width < NARROW
    wide = plot_width(width, 1 if stacked else 2)
    colour = parts.colour(names, list(colours.values()), field="name", columns=parts.legend_columns(names, width - 70))
    tail = histogram.tails(sojourn.filter(pl.col("name").is_in(names)), "name")
    decades = [1.0]
    while decades[-1] > max(prepare.low(tail["above"]), 1e-6):
        decades.append(round(decades[-1] / 10, 9))
    line = (
        parts.drawn(prepare.values(tail), "line", interpolate="step-after", clip=True)
        .encode(
            x=vl.field("value:Q", axis=options(title="sojourn (ms)", grid=True, tickCount=6), scale=options(zero=True)),
            y=vl.field(
                "above:Q",
                scale=options(type="log", domain=[decades[-1], 1]),
                axis=options(title="share of packets that waited longer", format=".3~%", values=decades),
            ),
            color=colour if len(names) > 1 else vl.value(colours[names[0]]),
        )
        .properties(width=wide, height=HEIGHT)
    )
    panels = [line]
    lengths = _lengths(tables, names)
    if not lengths.is_empty():
        # A bin narrower than one packet would leave gaps between the bars.
        bins = histogram.rebinned(lengths, "name", max(1.0, histogram.nice_width(lengths, BINS)))
        panels.append(
            parts.drawn(prepare.values(bins), "bar", opacity=0.85 if len(names) == 1 else 0.5, binSpacing=0)
            .encode(
                x=vl.field(
                    "start:Q",
                    bin="binned",
                    axis=options(title="queue (packets)", tickCount=6),
                    scale=options(zero=True),
                ),
                x2=vl.field("stop:Q"),
                y=vl.field(
                    "share:Q",
                    stack=None,
                    axis=options(title="share of time", format=".2~%"),
                    scale=options(zero=True),
                ),
                color=parts.colour(names, list(colours.values()), field="name", legend=False)
                if len(names) > 1
                else vl.value(colours[names[0]]),
            )
            .properties(width=wide, height=HEIGHT)
        )
    joined = vl.vconcat(*panels, spacing=14) if stacked else vl.hconcat(*panels, spacing=14)
    return themed(joined)


def _lengths(tables: network.Tables, names: list[str]) -> pl.DataFrame:
    """Buckets of the queue length: exact if the engine recorded them, else from the samples."""
    exact = histogram.of_quantity(tables, "queue_packets", "link")
    if not exact.is_empty():
        return exact.filter(pl.col("name").is_in(names)).select("name", "lower", "upper", "weight")
    samples = network.table(tables, "link_series")
    if not prepare.has_values(samples, "queue_packets"):
        return pl.DataFrame()
    return (
        samples.filter(pl.col("link").is_in(names))
        .drop_nulls("queue_packets")
        .group_by(
            pl.col("link").cast(pl.String).alias("name"),
            pl.col("queue_packets").cast(pl.Float64).alias("lower"),
            maintain_order=True,
        )
        .agg(pl.len().cast(pl.Float64).alias("weight"))
        .select("name", "lower", (pl.col("lower") + 1).alias("upper"), "weight")
        .sort("name", "lower")
    )
