"""Delay and goodput of every contender at every point, as heat maps with their numbers."""

from typing import Any

import polars as pl

from bloatlab.figures import contenders, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.charts.goodput_delay import axes_of
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, themed

ROW = 20
NAMES = 106
"""Width of the contenders' names, pixels."""
HEADS = 240
NARROW = 560
FACTOR = 8.0
"""A cell this many times worse than the best has the darkest colour."""


def drawn_criteria(tables: network.Tables) -> list[str]:
    """The criteria with a panel: the tail of the first delay, the goodput, and the tail of page fetches."""
    found = axes_of(tables)
    if found is None:
        return []
    names = network.table(tables, "ranking")["criterion"].unique(maintain_order=True).to_list()
    tail = f"{found[0].rpartition('_')[0]}_p99"
    return [tail if tail in names else found[0], found[1], *(name for name in names if name == "web_p95")]


@as_figure(
    title="Delay and goodput in every set-up",
    caption="One row per contender in the order of the ranking, one column per set-up. The best value of a column is "
    "bold and has the lightest cell. The darkest cells are eight times worse, or more.",
    needs=("ranking", "at_points"),
    when=lambda tables: bool(drawn_criteria(tables)),
    of_runs=True,
)
def standings(tables: network.Tables, *, width: int) -> Any:
    """One panel per criterion, one row per contender in the order of the ranking, one column per point.

    Args:
        tables: `ranking`, `at_points`.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    rows = network.table(tables, "at_points")
    names = contenders.order(network.table(tables, "ranking"))
    rows = rows.with_columns(pl.col("point").map_elements(contenders.place, return_dtype=pl.String))
    points = rows["point"].unique(maintain_order=True).to_list()
    criteria = drawn_criteria(tables)
    stacked = width < NARROW
    room = width - NAMES - 40 if stacked else (width - NAMES - 70) / len(criteria)
    side = max(20.0, room / len(points))
    panels = [
        _panel(rows.filter(pl.col("criterion") == criterion), names, points, side, stacked or index == 0)
        for index, criterion in enumerate(criteria)
    ]
    return themed((vl.vconcat if stacked else vl.hconcat)(*panels, spacing=12))


def _panel(rows: pl.DataFrame, names: list[str], points: list[str], side: float, named: bool) -> Any:
    higher = rows["better"][0] == "higher"
    value = pl.col("value")
    best = (value.max() if higher else value.min()).over("point")
    # How many times worse than the best; infinite if the best is 0.
    apart = (best / value if higher else value / best).fill_nan(1.0).clip(1.0, FACTOR)
    found = rows.drop_nulls("value").with_columns(apart.log(FACTOR).alias("shade"), (value == best).alias("best"))
    found = found.with_columns(
        value.map_elements(_short, return_dtype=pl.String).alias("text"), (pl.col("shade") > 0.45).alias("dark")
    )
    data = prepare.values(found.select("contender", "point", "shade"))
    x = vl.field(
        "point:N", sort=points, scale=options(domain=points),
        axis=options(
            title=None, orient="top", labelAngle=-90, labelLimit=HEADS, labelPadding=6, labelAlign="left",
            ticks=False, domain=False,
        ),
    )  # fmt: skip
    axis = options(title=None, labelLimit=NAMES, minExtent=NAMES, ticks=False, domain=False) if named else None
    y = vl.field("contender:N", sort=names, scale=options(domain=names), axis=axis)
    shade = vl.field("shade:Q", scale=options(domain=[0, 1], range=["#dcebf7", "#123a63"]), legend=None)
    title = f"{rows['title'][0]} ({rows['unit'][0]})" if rows["unit"][0] else rows["title"][0]
    texts = []
    for weight, of in (("normal", ~pl.col("best")), ("bold", pl.col("best"))):
        part = prepare.values(found.filter(of).select("contender", "point", "text", "dark"))
        numbers = parts.drawn(part, "text", fontSize=10, baseline="middle", fontWeight=weight)
        texts.append(numbers.encode(x=x, y=y, text="text:N", color=parts.on_shade()))
    cells = parts.drawn(data, "rect").encode(x=x, y=y, color=shade)
    return vl.layer(cells, *texts, width=side * len(points), height=ROW * len(names), title=options(text=title))


def _short(value: float) -> str:
    """Three digits; from 10,000 on in thousands (`k`)."""
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
