"""Goodput against delay at each point of an experiment with a ranking."""

from typing import Any

import polars as pl

from bloatlab.figures import contenders, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.charts.goodput_delay import axes_of, pareto, stairs
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import INK, options, plot_width, themed

HEIGHT = 210
NARROW = 560
PANELS = 12
LABELS = 30
"""Pixels to the right of a panel that a name may use."""


def drawn_points(tables: network.Tables) -> list[str]:
    """Points with both a delay and a goodput; each has a panel."""
    found = axes_of(tables)
    if found is None:
        return []
    rows = network.table(tables, "at_points").filter(pl.col("criterion").is_in(found)).drop_nulls("value")
    both = rows.group_by("point", maintain_order=True).agg(pl.col("criterion").n_unique().alias("axes"))
    return both.filter(pl.col("axes") == 2)["point"].to_list()


def _note(tables: network.Tables) -> str:
    return contenders.points_note(len(drawn_points(tables)), PANELS)


@as_figure(
    title="Goodput against delay in each set-up",
    caption="One panel per set-up and one mark per contender. Bars reach from the median to the 99th percentile of the "
    "delay. Contenders with a name, joined by the dashed line, are the Pareto front: no other contender is "
    "better on both axes in that set-up.",
    needs=("ranking", "at_points"),
    when=lambda tables: bool(drawn_points(tables)),
    of_runs=True,
    note=_note,
)
def fronts(tables: network.Tables, *, width: int) -> Any:
    """One panel per point, one mark per contender.

    Bars reach from the median to the 99th percentile of the delay, if the criteria include them. Contenders with a name,
    joined by the dashed line, are the Pareto front. Better is up and to the right.

    Args:
        tables: `ranking`, `at_points`.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    found = axes_of(tables)
    if found is None:
        raise ValueError("the ranking has no delay or no goodput")
    rows = network.table(tables, "at_points")
    names = contenders.order(network.table(tables, "ranking"))
    shown = drawn_points(tables)[:PANELS]
    across = 1 if width < NARROW or len(shown) == 1 else 2
    wide = plot_width(width, across) - LABELS
    legend = parts.legend_columns(names, width - 70)
    panels = [_panel(rows.filter(pl.col("point") == point), found, names, point, wide, legend) for point in shown]
    joined = [panels[start : start + across] for start in range(0, len(panels), across)]
    chart = vl.vconcat(*(vl.hconcat(*row, spacing=LABELS + 14) for row in joined), spacing=14)
    return themed(chart.resolve("legend", color="shared", shape="shared"))


def _wide(rows: pl.DataFrame, axes: tuple[str, str]) -> pl.DataFrame:
    """One row per contender: `x`, `y`, and the ends `low` and `high` of the bar, null without percentiles."""
    stem = axes[0].rpartition("_")[0]
    columns = {axes[0]: "x", axes[1]: "y", f"{stem}_p50": "low", f"{stem}_p99": "high"}
    found = rows.filter(pl.col("criterion").is_in(list(columns)))
    wide = found.pivot("criterion", index="contender", values="value", aggregate_function="first").rename(
        columns, strict=False
    )
    missing = [pl.lit(None, dtype=pl.Float64).alias(name) for name in columns.values() if name not in wide.columns]
    wide = wide.with_columns(missing).drop_nulls(["x", "y"])
    return wide.with_columns(pl.Series("front", pareto(wide), dtype=pl.Boolean))


def _panel(rows: pl.DataFrame, axes: tuple[str, str], names: list[str], point: str, width: int, columns: int) -> Any:
    both = _wide(rows, axes)
    units = dict(rows.select("criterion", pl.struct("title", "unit")).unique(maintain_order=True).iter_rows())
    ends = pl.concat([both["x"], both["low"].drop_nulls(), both["high"].drop_nulls()])
    low, high = prepare.low(ends), prepare.high(ends)
    log = parts.wants_log(low, high, 5)
    across = contenders.Axis.over(ends, width, log=log, reverse=True)
    down = contenders.Axis.over(both["y"], HEIGHT, reverse=True)
    scale = options(type="log" if log else "linear", domain=across.domain, reverse=True, nice=False)
    x = vl.field(
        "x:Q", scale=scale,
        axis=options(title=f"{units[axes[0]]['title']} (ms), less is to the right", grid=True, tickCount=6, format=",.6~g"),
    )  # fmt: skip
    rate = units[axes[1]]
    title = f"{rate['title']} ({rate['unit']})" if rate["unit"] else rate["title"]
    y = vl.field(
        "y:Q",
        scale=options(domain=down.domain, nice=False, zero=False),
        axis=options(title=title, tickCount=5, minExtent=parts.EXTENT),
    )
    looks = contenders.looks(names)
    colour, shape = looks.colour(columns=columns), looks.shape(columns=columns)
    front = both.filter("front").sort("x")
    tip = [
        vl.field("contender:N"),
        vl.field("x:Q", title=x["axis"]["title"]),
        vl.field("low:Q", title="from (ms)"),
        vl.field("high:Q", title="to (ms)"),
        vl.field("y:Q", title=title),
    ]
    bars = both.drop_nulls(["low", "high"])
    layers = []
    if not bars.is_empty():
        layers.append(
            parts.drawn(prepare.values(bars), "rule", strokeWidth=1.2, opacity=0.45).encode(
                x=vl.field("low:Q", scale=scale), x2=vl.field("high:Q"), y=y, color=colour
            )
        )
    layers += [
        parts.drawn(
            prepare.values(front), "line", interpolate="step-after", strokeDash=[5, 4], strokeWidth=1, color=INK
        ).encode(x=x, y=y, order=vl.field("x:Q")),
        parts.drawn(prepare.values(both), "point", filled=True, size=55, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tip
        ),
        *contenders.named(
            front,
            across,
            down,
            x,
            y,
            [*stairs(front), *bars.select("low", "y", "high", pl.col("y").alias("to")).rows()],
        ),
    ]
    heading = options(text=contenders.place(point)) if point else vl.UNSET
    return vl.layer(*layers, width=width, height=HEIGHT, title=heading)
