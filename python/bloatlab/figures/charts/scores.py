"""Rank of every contender in every experiment of a suite, or at every point of an experiment."""

import math
from typing import Any

import polars as pl

from bloatlab.figures import contenders, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, themed

ROW = 22
NAMES = 90
"""Least room for the names of the contenders, pixels."""
MOST = 150
"""Width of the contenders' names, pixels."""
HEADS = 240
"""Largest height of the vertical names of the columns, pixels."""
CELL = 28
"""Width of a cell that has room for a half, pixels."""


@as_figure(
    title="Rank by experiment",
    caption="One row per contender in the order of the ranking, one column per experiment. The number is the rank by "
    "the score in that experiment; 1 is the best, and equal scores share the mean of their ranks. Darker is worse.",
    needs=("overall",),
    of_runs=True,
)
def scores(tables: network.Tables, *, width: int) -> Any:
    """A heat map: one row per contender, one column per experiment of a suite.

    Args:
        tables: `overall`.
        width: Width of the whole figure, pixels; narrow cells have whole numbers.

    Returns:
        The chart.
    """
    return _places(network.table(tables, "overall"), width)


@as_figure(
    title="Rank by set-up",
    caption="One row per contender in the order of the ranking, one column per set-up. The number is the rank by the "
    "score in that set-up; 1 is the best, and equal scores share the mean of their ranks. Darker is worse.",
    needs=("places",),
    of_runs=True,
)
def places(tables: network.Tables, *, width: int) -> Any:
    """A heat map: one row per contender, one column per point of the experiment's other axes.

    Args:
        tables: `places`.
        width: Width of the whole figure, pixels; narrow cells have whole numbers.

    Returns:
        The chart.
    """
    points = network.table(tables, "places")
    return _places(points.with_columns(pl.col("title").map_elements(contenders.place, return_dtype=pl.String)), width)


def _number(rank: float, *, whole: bool) -> str:
    """A rank as the text of a cell. A whole number is rounded up from a half, as every reader does."""
    return f"{math.floor(rank + 0.5)}" if whole else f"{rank:.3g}"


def _places(ranking: pl.DataFrame, width: int) -> Any:
    names = contenders.order(ranking)
    experiments = ranking["title"].unique(maintain_order=True).to_list()
    room = min(MOST, max(NAMES, round(parts.LETTER * max(map(len, names))) + 6))
    wide = width - room - 30
    # Heads that fit beside each other need not be turned.
    flat = len(experiments) * (parts.LETTER * max(map(len, experiments)) + 10) < wide
    narrow = wide / len(experiments) < CELL
    shown = ranking.drop_nulls("rank").select(
        "contender", "title", "rank",
        pl.col("rank").map_elements(lambda rank: _number(rank, whole=narrow), return_dtype=pl.String).alias("text"),
        # Dark cells have light text.
        (pl.col("rank") > 0.45 * len(names)).alias("dark"),
    )  # fmt: skip
    data = prepare.values(shown)
    x = vl.field(
        "title:N", sort=experiments, scale=options(domain=experiments),
        axis=options(
            title=None, orient="top", labelAngle=0 if flat else -90, labelLimit=HEADS, labelPadding=6,
            labelAlign="center" if flat else "left",
            ticks=False, domain=False,
        ),
    )  # fmt: skip
    y = vl.field(
        "contender:N", sort=names, scale=options(domain=names),
        axis=options(title=None, labelLimit=room, minExtent=room, ticks=False, domain=False),
    )  # fmt: skip
    shade = vl.field("rank:Q", scale=options(domain=[1, max(2, len(names))], range=["#dcebf7", "#123a63"]), legend=None)
    cells = parts.drawn(data, "rect").encode(x=x, y=y, color=shade)
    numbers = parts.drawn(data, "text", fontSize=11, baseline="middle").encode(
        x=x, y=y, text="text:N", color=parts.on_shade()
    )
    return themed(vl.layer(cells, numbers, width=wide, height=ROW * len(names)))
