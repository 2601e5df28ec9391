"""Goodput against delay of every contender, with the Pareto front."""

import itertools
from typing import Any

import polars as pl

from bloatlab.experiments import criteria
from bloatlab.figures import contenders, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import INK, options, plot_width, themed

HEIGHT = 340
LABELS = 60
"""Pixels to the right of the plot that a name may use."""


def axes_of(tables: network.Tables) -> tuple[str, str] | None:
    """The two criteria of the figure, which are those of the Pareto front of the ranking."""
    return criteria.plane_of(
        network.table(tables, "ranking").select("criterion", "group").unique(maintain_order=True).rows()
    )


def pareto(frame: pl.DataFrame) -> list[bool]:
    """Whether each row with `x` (less is better) and `y` (more is better) is Pareto-optimal."""
    rows = frame.select("x", "y").rows()
    return [
        not any(x2 <= x and y2 >= y and (x2, y2) != (x, y) for x2, y2 in rows)
        for x, y in rows
    ]  # fmt: skip


def stairs(front: pl.DataFrame) -> list[contenders.Box]:
    """The lines between marks of the front, which have rising `x`: each goes across and then up, as values."""
    rows = front.select("x", "y").rows()
    return [
        line
        for (x, y), (x2, y2) in itertools.pairwise(rows)
        for line in ((x, y, x2, y), (x2, y, x2, y2))
    ]  # fmt: skip


def _note(tables: network.Tables) -> str:
    found = axes_of(tables)
    titles = [str(contenders.of(tables, name)["title"][0]) for name in found or ()]
    plain = ["queueing delay p95", "goodput"]
    return f"The axes are {' and '.join(titles)}." if titles and titles != plain else ""


@as_figure(
    title="Goodput against delay",
    caption="Better is up and to the right. Filled marks, joined by the dashed line, are the Pareto front: no other "
    "contender is better on both axes. Where marks are crowded, only the legend has their names.",
    needs=("ranking",),
    when=lambda tables: axes_of(tables) is not None,
    of_runs=True,
    note=_note,
)
def goodput_delay(tables: network.Tables, *, width: int) -> Any:
    """One mark per contender; filled marks and the line are the Pareto front. Better is up and to the right.

    Args:
        tables: `ranking`.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    found = axes_of(tables)
    if found is None:
        raise ValueError("the ranking has no delay or no goodput")
    delay, goodput = (contenders.of(tables, name) for name in found)
    both = delay.select("contender", pl.col("value").alias("x")).join(
        goodput.select("contender", pl.col("value").alias("y")), on="contender", how="inner", maintain_order="left"
    )
    both = both.drop_nulls()
    both = both.with_columns(pl.Series("front", pareto(both)))
    names = contenders.order(network.table(tables, "ranking"))
    wide = plot_width(width) - LABELS
    low, high = prepare.low(both["x"]), prepare.high(both["x"])
    across = contenders.Axis.over(both["x"], wide, log=parts.wants_log(low, high, 5), reverse=True)
    down = contenders.Axis.over(both["y"], HEIGHT, reverse=True)
    scale = options(type="log" if across.log else "linear", domain=across.domain, reverse=True, nice=False)
    title = f"{delay['title'][0]} (ms), less is to the right"
    x = vl.field("x:Q", scale=scale, axis=options(title=title, grid=True, tickCount=7, format=",.6~g"))
    unit = goodput["unit"][0]
    y = vl.field(
        "y:Q",
        scale=options(domain=down.domain, nice=False, zero=False),
        axis=options(title=f"{goodput['title'][0]} ({unit})" if unit else goodput["title"][0], tickCount=6),
    )
    looks = contenders.looks(names)
    columns = parts.legend_columns(names, width - 70)
    look = {"color": looks.colour(columns=columns), "shape": looks.shape(columns=columns)}
    tip = [
        vl.field("contender:N"),
        vl.field("x:Q", title=x["axis"]["title"]),
        vl.field("y:Q", title=y["axis"]["title"]),
    ]
    best = both.filter("front").sort("x")
    front = prepare.values(best)
    kept = prepare.values(both.filter("front"))
    beaten = prepare.values(both.filter(~pl.col("front")))
    return themed(
        vl.layer(
            parts.drawn(front, "line", interpolate="step-after", strokeDash=[5, 4], strokeWidth=1, color=INK).encode(
                x=x, y=y, order=vl.field("x:Q")
            ),
            parts.drawn(kept, "point", filled=True, size=90, opacity=1).encode(x=x, y=y, tooltip=tip, **look),
            parts.drawn(beaten, "point", filled=False, size=70, strokeWidth=2).encode(x=x, y=y, tooltip=tip, **look),
            # Names of the front get the best places.
            *contenders.named(
                both.sort("front", descending=True, maintain_order=True),
                across,
                down,
                x,
                y,
                stairs(best),
                every=False,
            ),
            width=wide,
            height=HEIGHT,
        )
    )
