"""Goodput against queueing delay of long flows: means with covariance ellipses (RFC 7928 section 2.7)."""

from typing import Any

import polars as pl

from bloatlab.figures import contenders, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 300
NARROW = 560
LABELS = 50
PANELS = 4
NAMES = 8
FLOWS = "bulk"
"""Prefix of the names of long flows (`bulk`, `bulk_1`, `bulk_cubic`)."""


def samples(tables: network.Tables) -> pl.DataFrame:
    """One row per long flow and run: `contender`, `point`, `x` (mean queueing delay, ms), `y` (goodput, Mbit/s)."""
    metrics = network.table(tables, "metrics")
    own = metrics.filter((pl.col("scope") == "flow") & pl.col("entity").str.contains(rf"^{FLOWS}(_|$)"))

    def of(name: str, column: str) -> pl.DataFrame:
        return own.filter(pl.col("metric") == name).select("run_id", "entity", pl.col("value").alias(column))

    both = of("mean_sojourn_l4", "x").join(of("mean_throughput_l7", "y"), on=["run_id", "entity"], how="inner")
    placed = network.table(tables, "contenders").join(both, on="run_id", how="inner", maintain_order="left")
    return placed.select("contender", "point", "x", "y").drop_nulls()


def points(tables: network.Tables) -> list[str]:
    """Points of the axes that are not compared, if they have long flows; each has a panel."""
    return samples(tables)["point"].unique(maintain_order=True).to_list()


def _note(tables: network.Tables) -> str:
    return contenders.points_note(len(points(tables)), PANELS)


@as_figure(
    title="Goodput against queueing delay, flow by flow",
    caption="The dot is the mean over the long flows and replications. The ellipse shows one standard deviation "
    "around it and needs three values. Better is up and to the right (RFC 7928 section 2.7). "
    "A name without room is only in the legend.",
    needs=("ranking", "contenders", "metrics"),
    when=lambda tables: not samples(tables).is_empty(),
    of_runs=True,
    note=_note,
)
def goodput_ellipses(tables: network.Tables, *, width: int) -> Any:
    """One panel per point, one ellipse per contender over its long flows and replications.

    Better is up and to the right.


    Args:
        tables: `contenders`, `ranking` and `metrics`.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    rows = samples(tables)
    names = contenders.order(network.table(tables, "ranking"))
    shown = points(tables)[:PANELS]
    # Two panels side by side have room for this number of names.
    across = 1 if width < NARROW or len(shown) == 1 or len(names) > NAMES else 2
    wide = plot_width(width, across) - LABELS
    columns = parts.legend_columns(names, width - 70)
    panels = [_panel(rows.filter(pl.col("point") == point), names, point, wide, columns) for point in shown]
    joined = [panels[start : start + across] for start in range(0, len(panels), across)]
    stacked = vl.vconcat(*(vl.hconcat(*row, spacing=LABELS + 14) for row in joined), spacing=16)
    return themed(stacked.resolve("legend", color="shared", shape="shared"))


def _panel(rows: pl.DataFrame, names: list[str], point: str, width: int, columns: int) -> Any:
    means = rows.group_by("contender", maintain_order=True).agg(pl.col("x").mean(), pl.col("y").mean())
    log = prepare.low(means["x"]) > 0 and parts.wants_log(prepare.low(means["x"]), prepare.high(means["x"]), 5)
    outlines = []
    for name in names:
        of = rows.filter(pl.col("contender") == name)
        outlines.extend(parts.outline(parts.ellipse(of["x"], of["y"], log), name))
    curves = pl.DataFrame(outlines, schema={"x": pl.Float64, "y": pl.Float64, "order": pl.Int64, "label": pl.String})
    across = contenders.Axis.over(pl.concat([means["x"], curves["x"]]), width, log=log, reverse=True)
    down = contenders.Axis.over(pl.concat([means["y"], curves["y"]]), HEIGHT, reverse=True)
    x = vl.field(
        "x:Q",
        scale=options(type="log" if log else "linear", domain=across.domain, reverse=True, nice=False),
        axis=options(title="mean queueing delay (ms), less is to the right", grid=True, tickCount=6, format=".6~g"),
    )
    y = vl.field(
        "y:Q",
        scale=options(domain=down.domain, nice=False, zero=False),
        axis=options(title="goodput of a flow (Mbit/s)", tickCount=6, minExtent=parts.EXTENT),
    )
    looks = contenders.looks(names)
    # The dashes of the outlines are not those of the marks.
    legend = {"columns": columns, "symbolStrokeWidth": 0}
    colour = looks.colour(**legend)
    layers = []
    if outlines:
        layers.append(
            parts.drawn(
                prepare.values(curves.rename({"label": "contender"})), "line", strokeWidth=1.2, clip=True
            ).encode(x=x, y=y, stroke=looks.stroke(), order=vl.field("order:Q"), strokeDash=looks.dash())
        )
    layers += [
        parts.drawn(prepare.values(means), "point", filled=True, size=60, opacity=1).encode(
            x=x, y=y, color=colour, shape=looks.shape(**legend), tooltip=_tip()
        ),
        *contenders.named(means, across, down, x, y, every=False),
    ]
    title = options(text=contenders.place(point)) if point else vl.UNSET
    return vl.layer(*layers, width=width, height=HEIGHT, title=title)


def _tip() -> list[dict[str, Any]]:
    return [
        vl.field("contender:N"),
        vl.field("x:Q", title="mean queueing delay (ms)"),
        vl.field("y:Q", title="goodput of a flow (Mbit/s)"),
    ]
