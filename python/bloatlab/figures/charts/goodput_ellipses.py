"""Goodput against queueing delay of long flows: means with covariance ellipses (RFC 7928 section 2.7)."""

import math
from typing import Any

import polars as pl

from bloatlab.figures import contenders, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import FAINT, options, plot_width, themed

HEIGHT = 300
NARROW = 560
LABELS = 50
PANELS = 4
NAMES = 8
ENOUGH = 3
"""Values of an ellipse."""
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
    rows, crowd = samples(tables), len(contenders.order(network.table(tables, "ranking"))) > NAMES
    outlined = prepare.high(rows.group_by("contender", "point").len()["len"])
    said = (
        "The ellipse shows one standard deviation around it and needs three values." if outlined >= ENOUGH else "",
        contenders.points_note(len(points(tables)), PANELS),
        "Grey: in each panel, another one has less delay and more goodput. Where marks are crowded, some names are left out."
        if crowd
        else "A name without room is only in the legend.",
    )
    return " ".join(filter(None, said))


@as_figure(
    title="Goodput against queueing delay, flow by flow",
    caption="The dot is the mean over the long flows and replications. Better is up and to the right "
    "(RFC 7928 section 2.7).",
    needs=("ranking", "contenders", "metrics"),
    when=lambda tables: not samples(tables).is_empty(),
    of_runs=True,
    note=_note,
)
def goodput_ellipses(tables: network.Tables, *, width: int) -> Any:
    """One panel per point, one ellipse per contender over its long flows and replications.

    Better is up and to the right. Of more than eight contenders, only those on the Pareto front of a panel have colours.

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
    rows = rows.filter(pl.col("point").is_in(shown))
    strong = names if len(names) <= NAMES else [name for name in names if name in _undominated(rows)]
    columns = parts.legend_columns(strong, width - 70)
    panels = [_panel(rows.filter(pl.col("point") == point), names, strong, point, wide, columns) for point in shown]
    joined = [panels[start : start + across] for start in range(0, len(panels), across)]
    stacked = vl.vconcat(*(vl.hconcat(*row, spacing=LABELS + 14) for row in joined), spacing=16)
    return themed(stacked.resolve("legend", color="shared", shape="shared"))


def _means(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    return rows.group_by("contender", *by, maintain_order=True).agg(pl.col("x").mean(), pl.col("y").mean())


def _undominated(rows: pl.DataFrame) -> set[str]:
    """The contenders that no other beats in both means at some point."""
    found: set[str] = set()
    for here in _means(rows, "point").partition_by("point"):
        best = -math.inf
        for name, goodput in here.sort("x", pl.col("y"), descending=[False, True]).select("contender", "y").iter_rows():
            if goodput > best:
                found.add(name)
                best = goodput
    return found


def _panel(rows: pl.DataFrame, names: list[str], strong: list[str], point: str, width: int, columns: int) -> Any:
    # The names beside the marks are placed in this order.
    places = {name: place for place, name in enumerate([*strong, *names])}
    means = _means(rows).sort(pl.col("contender").replace_strict(places, default=None))
    log = prepare.low(means["x"]) > 0 and parts.wants_log(prepare.low(means["x"]), prepare.high(means["x"]), 5)
    outlines = []
    for name in names:
        of = rows.filter(pl.col("contender") == name)
        outlines.extend(parts.outline(parts.ellipse(of["x"], of["y"], log), name))
    schema = {"x": pl.Float64, "y": pl.Float64, "order": pl.Int64, "label": pl.String}
    curves = pl.DataFrame(outlines, schema=schema).rename({"label": "contender"})
    across = contenders.Axis.over(pl.concat([means["x"], curves["x"]]), width, log=log, reverse=True)
    down = contenders.Axis.over(pl.concat([means["y"], curves["y"]]), HEIGHT, reverse=True)
    x = vl.field(
        "x:Q",
        scale=options(type="log" if log else "linear", domain=across.domain, reverse=True, nice=False),
        axis=options(title="mean queueing delay (ms), less is to the right", grid=True, tickCount=6, format=",.6~g"),
    )
    y = vl.field(
        "y:Q",
        scale=options(domain=down.domain, nice=False, zero=False),
        axis=options(title="goodput of a flow (Mbit/s)", tickCount=6, minExtent=parts.EXTENT),
    )
    looks = contenders.looks(names).only(strong)
    # The dashes of the outlines are not those of the marks.
    legend = {"columns": columns, "symbolStrokeWidth": 0}
    is_strong = pl.col("contender").is_in(strong)
    faint_curves, faint = prepare.values(curves.filter(~is_strong)), prepare.values(means.filter(~is_strong))
    layers = []
    if len(strong) < len(names):
        layers += [
            parts.drawn(faint_curves, "line", strokeWidth=0.8, color=FAINT, opacity=0.4, clip=True).encode(
                x=x, y=y, order=vl.field("order:Q"), detail=vl.field("contender:N")
            ),
            parts.drawn(faint, "point", filled=True, size=30, color=FAINT, opacity=0.7).encode(
                x=x, y=y, tooltip=_tip()
            ),
        ]
    # One layer per pattern: dashes by `contender` would also be those of the marks in the legend.
    for dash in dict.fromkeys(map(tuple, looks.dashes)):
        same = [name for name, own in zip(strong, looks.dashes, strict=True) if tuple(own) == dash]
        outline = prepare.values(curves.filter(pl.col("contender").is_in(same)))
        layers.append(
            parts.drawn(outline, "line", strokeWidth=1.2, strokeDash=list(dash), clip=True).encode(
                x=x, y=y, color=looks.colour(**legend), order=vl.field("order:Q")
            )
        )
    layers += [
        parts.drawn(prepare.values(means.filter(is_strong)), "point", filled=True, size=60, opacity=1).encode(
            x=x, y=y, color=looks.colour(**legend), shape=looks.shape(**legend), tooltip=_tip()
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
