"""The simulator beside a kernel: how far each metric of each cell is off, and the values of single runs."""

from __future__ import annotations

from typing import Any

import polars as pl

from bloatlab.figures import network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import FAINT, INK, WIDE, options, plot_width, themed

ROW = 26
MOST = 3.0
"""Marks further out are drawn at the edge."""
COLOURS = {"agrees": "#0072B2", "chance": "#E69F00", "differs": "#D55E00", "too few seeds": "#777788"}
NARROW = 560


def parity_differences(tables: network.Tables, *, width: int = WIDE) -> Any:
    """One mark per cell and metric: the difference of the means as a multiple of the aim.

    Args:
        tables: `differences`: `metric`, `cell`, `excess` (simulator minus kernel, over the largest difference that the aim
            allows), `judgement`.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    found = network.table(tables, "differences").with_columns(pl.col("excess").clip(-MOST, MOST))
    metrics = found["metric"].unique(maintain_order=True).to_list()
    words = [word for word in COLOURS if word in set(found["judgement"])]
    scale = options(domain=[-MOST, MOST], nice=False)
    x = vl.field(
        "excess:Q", scale=scale,
        axis=options(title="difference of the means, in multiples of the aim (right: more in the simulator)",
                     values=[-3, -2, -1, 0, 1, 2, 3], format="d"),
    )  # fmt: skip
    y = vl.field("metric:N", sort=metrics, axis=options(title=None, ticks=False, labelLimit=150))
    edges = vl.Rows(values=[{"at": -1.0}, {"at": 1.0}])
    return themed(
        vl.layer(
            parts.drawn(edges, "rule", color=FAINT, strokeDash=[4, 3]).encode(x=vl.field("at:Q", scale=scale)),
            parts.drawn(prepare.values(found), "point", filled=True, size=46, opacity=0.6).encode(
                x=x, y=y, color=parts.colour(words, [COLOURS[word] for word in words], field="judgement")
            ),
            width=plot_width(width) - 70,
            height=ROW * max(1, len(metrics)),
        )
    )


def parity_runs(tables: network.Tables, *, width: int = WIDE) -> Any:
    """The values of single runs on both sides, one panel per metric and cell. Groups of marks are modes.

    Args:
        tables: `runs`: `panel` (its heading), `title` (of the axis), `side`, `value`.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    runs = network.table(tables, "runs")
    sides = runs["side"].unique(maintain_order=True).to_list()
    across = 1 if width < NARROW else 2
    colour = parts.colour(sides, list(palette.in_order(sides).values()), field="side")
    panels = []
    for (panel,), own in runs.group_by("panel", maintain_order=True):
        means = own.group_by("side", maintain_order=True).agg(pl.col("value").mean())
        x = vl.field(
            "value:Q", scale=options(zero=False), axis=options(title=own["title"][0], tickCount=5, format=".6~g")
        )
        y = vl.field("side:N", sort=sides, axis=options(title=None, ticks=False))
        panels.append(
            vl.layer(
                parts.drawn(prepare.values(own), "point", filled=True, size=50, opacity=0.55).encode(
                    x=x, y=y, color=colour
                ),
                parts.drawn(prepare.values(means), "tick", color=INK, thickness=2, size=16).encode(x=x, y=y),
                width=plot_width(width, across) - 60,
                height=2 * ROW,
                title=options(text=str(panel), fontSize=12, anchor="start", limit=plot_width(width, across)),
            )
        )
    rows = [vl.hconcat(*panels[start : start + across], spacing=24) for start in range(0, len(panels), across)]
    return themed(vl.vconcat(*rows, spacing=14))
