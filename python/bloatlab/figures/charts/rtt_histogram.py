"""The distribution of every RTT sample."""

from typing import Any

import polars as pl

from bloatlab.figures import histogram, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 180
BINS = 60


@as_figure(
    title="Distribution of RTT samples",
    caption="Every RTT sample that the senders took, before smoothing.",
    needs=("histograms",),
    when=lambda tables: not labelled(tables).is_empty(),
    note=network.grouping_note,
)
def rtt_histogram(tables: network.Tables, *, width: int) -> Any:
    """The share of RTT samples per bin, over all samples that the senders took.

    Above eight flows the samples of all flows of a congestion control are pooled.

    Args:
        tables: `histograms` with the quantity `rtt`; `flows` names the flows and gives the base RTT.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    groups, path = network.groups(tables), network.path(tables)
    rows = labelled(tables)
    labels = [label for label in groups.labels if label in rows["label"].to_list()]
    step = histogram.nice_width(rows, BINS)
    bins = histogram.rebinned(rows, "label", step)
    wide = plot_width(width)
    colour = parts.colour(
        labels, [groups.colours[label] for label in labels], columns=parts.legend_columns(labels, wide)
    )
    axis = options(title="RTT (ms)", grid=True, tickCount=8)
    x = vl.field("start:Q", axis=axis, scale=options(zero=False, nice=True))
    y_axis = options(title=f"share of samples per {parts.number(step, 'ms')}", format=".2~%")
    if len(labels) == 1:
        drawn = parts.drawn(prepare.values(bins), "bar", binSpacing=0, color=groups.colours[labels[0]]).encode(
            x={**x, "bin": "binned"},
            x2=vl.field("stop:Q"),
            y=vl.field("share:Q", axis=y_axis, scale=options(zero=True)),
        )
    else:
        drawn = parts.drawn(
            prepare.values(_with_zeros(bins, step)),
            "area",
            interpolate="step-after",
            opacity=0.15,
            line=options(opacity=1, strokeWidth=1.5),
        ).encode(x=x, y=vl.field("share:Q", stack=None, axis=y_axis, scale=options(zero=True)), color=colour)
    layers = [drawn]
    if path.base_rtt_ms:
        layers.extend(parts.mark_at(path.base_rtt_ms, f"base RTT {parts.number(path.base_rtt_ms, 'ms')}"))
    return themed(vl.layer(*layers, width=wide, height=HEIGHT))


def labelled(tables: network.Tables) -> pl.DataFrame:
    """Buckets of the RTT with the label of their flow."""
    rows = histogram.of_quantity(tables, "rtt", "flow")
    return rows if rows.is_empty() else network.groups(tables).label(rows.rename({"name": "flow"}))


def _with_zeros(bins: pl.DataFrame, step: float) -> pl.DataFrame:
    """Adds empty bins, where the step line goes down to zero, and the end of the last bin."""
    lines = []
    for part in bins.with_columns((pl.col("start") / step).round().cast(pl.Int64).alias("index")).partition_by("label"):
        first, last = int(prepare.low(part["index"])), int(prepare.high(part["index"]))
        grid = pl.DataFrame({"index": range(first, last + 2)})
        whole = grid.join(part.select("index", "share"), on="index", how="left", maintain_order="left")
        lines.append(
            whole.select(
                pl.lit(part["label"][0]).alias("label"),
                (pl.col("index") * step).alias("start"),
                pl.col("share").fill_null(0.0),
            )
        )
    return pl.concat(lines)
