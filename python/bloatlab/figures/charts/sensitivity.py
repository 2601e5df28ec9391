"""Sensitivity of metrics to the varied inputs: Sobol's indices or Morris' effects as bars."""

from typing import Any

import polars as pl

from bloatlab.figures import network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import FAINT, INK, WIDE, options, plot_width, themed

BAR = 15
NARROW = 560
NAMES = 110
COLOURS = ("#56B4E9", "#0072B2")


def sensitivity(tables: network.Tables, *, width: int = WIDE) -> Any:
    """One panel per metric, two bars per input, with their confidence intervals if they have one.

    Args:
        tables: `sensitivity`: `metric`, `input`, `index`, `value`, `low`, `high`.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    rows = network.table(tables, "sensitivity")
    metrics = rows["metric"].unique(maintain_order=True).to_list()
    across = 1 if width < NARROW or len(metrics) == 1 else 2
    wide = plot_width(width - across * (NAMES - 30), across)
    panels = [_panel(rows.filter(pl.col("metric") == metric), metric, wide) for metric in metrics]
    joined = [panels[start : start + across] for start in range(0, len(panels), across)]
    return themed(vl.vconcat(*(vl.hconcat(*row, spacing=16) for row in joined), spacing=16))


def _panel(rows: pl.DataFrame, metric: str, width: int) -> Any:
    inputs = rows["input"].unique(maintain_order=True).to_list()
    kinds = rows["index"].unique(maintain_order=True).to_list()
    data = prepare.values(rows)
    y = vl.field("input:N", sort=inputs, axis=options(title=None, labelLimit=NAMES, minExtent=NAMES, ticks=False))
    offset: Any = vl.field("index:N", sort=kinds)
    title = " and ".join(kinds)
    x = vl.field("value:Q", axis=options(title=title, tickCount=6, grid=True), scale=options(zero=True))
    ends = options(title=title)
    colour = parts.colour(kinds, list(COLOURS), field="index")
    zero = vl.Rows(values=[{"at": 0}])
    return vl.layer(
        parts.drawn(data, "bar", height=BAR - 4).encode(x=x, y=y, yOffset=offset, color=colour),
        parts.drawn(data, "rule", color=INK, strokeWidth=1.3).encode(
            x=vl.field("low:Q", axis=ends), x2=vl.field("high:Q"), y=y, yOffset=offset
        ),
        parts.drawn(zero, "rule", color=FAINT).encode(x=vl.field("at:Q")),
        width=width,
        height=2 * BAR * len(inputs) + 10,
        title=options(text=metric),
    )
