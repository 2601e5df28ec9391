"""Effect sizes with their intervals, one below the other: a forest plot."""

from typing import Any

import polars as pl

from bloatlab.figures import network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import FAINT, INK, WIDE, options, themed

ROW = 20
MOST = 40
"""Largest number of rows; larger effects come first."""
NARROW = 560
BEYOND = "#D55E00"
WITHIN = "#0072B2"
STRAIGHT = 3.0
"""Up to this effect the axis is almost linear; beyond it, it is logarithmic."""


def forest(tables: network.Tables, *, width: int = WIDE) -> Any:
    """Hedges' g of each metric with its confidence interval; right of 0, B is larger. The axis is symlog.

    Args:
        tables: `differences`: `name`, `effect`, `low`, `high`, `differs`, the largest effect first.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    found = network.table(tables, "differences").drop_nulls("effect").head(MOST)
    names = found["name"].to_list()
    shown = found.with_columns(
        pl.when(pl.col("differs")).then(pl.lit("beyond noise")).otherwise(pl.lit("within noise")).alias("verdict")
    )
    room = 150 if width < NARROW else 330
    data = prepare.values(shown)
    most = prepare.maximum(*(found[name].abs() for name in ("effect", "low", "high"))) or 1.0
    scale = options(type="symlog", constant=STRAIGHT, domain=[-most, most], nice=False)
    x = vl.field(
        "effect:Q", scale=scale,
        axis=options(title="effect size (Hedges' g), right: more in B", values=ticks(most), grid=True, format=",.6~g"),
    )  # fmt: skip
    y = vl.field("name:N", sort=names, axis=options(title=None, labelLimit=room, minExtent=room, ticks=False))
    colour = parts.colour(["beyond noise", "within noise"], [BEYOND, WITHIN], field="verdict")
    zero = vl.Rows(values=[{"at": 0}])
    return themed(
        vl.layer(
            parts.drawn(zero, "rule", color=FAINT, strokeWidth=1).encode(x=vl.field("at:Q", scale=scale)),
            parts.drawn(data, "rule", strokeWidth=2, opacity=0.6).encode(
                x=vl.field("low:Q", scale=scale), x2=vl.field("high:Q"), y=y, color=colour
            ),
            parts.drawn(data, "point", filled=True, size=55, opacity=1, stroke=INK, strokeWidth=0).encode(
                x=x, y=y, color=colour
            ),
            width=max(120, width - room - 40),
            height=ROW * max(1, len(names)),
        )
    )


def ticks(most: float) -> list[float]:
    """Ticks on both sides of 0 that do not overlap."""
    right = [value for value in (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e5, 1e6) if value <= most] or [most]
    return [-value for value in reversed(right)] + [0.0, *right]
