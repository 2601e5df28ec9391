"""Criteria that are single numbers, for every contender."""

from typing import Any

import polars as pl

from bloatlab.figures import contenders, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import INK, options, themed

ROW = 17
NARROW = 560
NAMES = 90
VALUES = 44
"""Width of the numbers beside the bars, pixels."""


@as_figure(
    title="The other criteria",
    caption="In the order of the ranking. The best contender has its full colour.",
    needs=("ranking",),
    when=lambda tables: bool(contenders.singles(network.table(tables, "ranking"))),
    of_runs=True,
)
def criteria(tables: network.Tables, *, width: int) -> Any:
    """One panel per criterion, one bar per contender in the order of the ranking, the best in full colour.

    Args:
        tables: `ranking`.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    ranking = network.table(tables, "ranking")
    names = contenders.order(ranking)
    across = 1 if width < NARROW else 3
    # A row of panels has the names once.
    wide = (width - NAMES - 24) // across - VALUES - 20
    panels = [
        _panel(ranking.filter(pl.col("criterion") == name), names, wide, named=index % across == 0)
        for index, name in enumerate(contenders.singles(ranking))
    ]
    rows = [panels[start : start + across] for start in range(0, len(panels), across)]
    return themed(vl.vconcat(*(vl.hconcat(*row, spacing=VALUES) for row in rows), spacing=16))


def _panel(found: pl.DataFrame, names: list[str], width: int, *, named: bool) -> Any:
    rows = found.drop_nulls("value")
    unit = f" ({found['unit'][0]})" if found["unit"][0] else ""
    best = rows["value"].max() if found["better"][0] == "higher" else rows["value"].min()
    shown = rows.select(
        "contender", "value", (pl.col("value") == best).alias("best"),
        pl.col("value").map_elements(lambda value: f"{value:.3g}", return_dtype=pl.String).alias("text"),
    )  # fmt: skip
    data = prepare.values(shown)
    axis = options(title=None, labelLimit=NAMES + 60, minExtent=NAMES) if named else None
    y = vl.field("contender:N", sort=names, scale=options(domain=names), axis=axis)
    better = f", {found['better'][0]} is better"
    x = vl.field(
        "value:Q",
        axis=options(
            title=f"{found['title'][0]}{unit}{better}", tickCount=3, grid=True, format=".3~g", labelFlush=True
        ),
        scale=options(zero=True, nice=False),
    )
    tints = contenders.colours(names)
    colour = parts.colour(names, list(tints.values()), field="contender", legend=False)
    opacity = vl.field("best:N", scale=options(domain=[True, False], range=[1, 0.45]), legend=None)
    return vl.layer(
        parts.drawn(data, "bar", height=10).encode(x=x, y=y, color=colour, opacity=opacity),
        parts.drawn(data, "text", align="left", baseline="middle", dx=4, color=INK, fontSize=11).encode(
            x=vl.field("value:Q"), y=y, text=vl.field("text:N")
        ),
        width=width,
        height=ROW * len(names),
    )
