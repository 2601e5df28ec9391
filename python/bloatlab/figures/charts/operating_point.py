"""Throughput against sRTT: how near the run comes to the optimum."""

import math
from typing import Any

import polars as pl

from bloatlab.figures import network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import HALF, INK, OPTIMUM, STAR, options, plot_width, themed

SAMPLES = 800
HEIGHT = 290


def _note(tables: network.Tables) -> str:
    across = network.across(tables)
    dots = (
        "Each dot is the mean of one flow. The star is the optimum: the fair share of the bandwidth at the base RTT. The "
        "diamond is the joint mean: the mean of the flows."
        if across.groups.grouped
        else "Dots are samples. The star is the optimum: the full bandwidth at the base RTT. The diamond is the joint mean: "
        "the sum of the throughputs at the mean sRTT."
    )
    return f"{dots} {network.across_note(tables, 'The figure has')}".strip()


@as_figure(
    title="Throughput against sRTT",
    caption="Better is up and to the right. Ellipses show one standard deviation.",
    needs=("flow_series",),
    when=lambda tables: network.has_pairs(tables, "srtt_ms", "throughput_mbps"),
    width=HALF,
    note=_note,
)
def operating_point(tables: network.Tables, *, width: int) -> Any:
    """Samples of throughput against sRTT, their covariance ellipses and means, the joint point and the optimum.

    Only flows whose data crosses the bottleneck are drawn.

    The delay axis runs from right to left, so that better is up and to the right. The joint point is the sum of the
    flows' throughputs at the mean of their sRTTs. With more than eight flows, a dot is the mean of a flow, the joint
    point is the mean of the flows, and the optimum is the fair share.

    Args:
        tables: `flow_series` and `flows`; `links` gives the optimum (bandwidth, base RTT).
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    across = network.across(tables)
    groups, path = across.groups, across.path
    series = groups.label(network.table(across.tables, "flow_series")).select(
        "flow", "label", pl.col("srtt_ms").alias("x"), pl.col("throughput_mbps").alias("y")
    )
    series = series.drop_nulls(["x", "y"])
    means = series.group_by("flow", "label", maintain_order=True).agg(pl.col("x").mean(), pl.col("y").mean())
    # A flow that was not active at an instant adds nothing to the sum.
    sums = (
        network.table(across.tables, "flow_series")
        .group_by("time_s", maintain_order=True)
        .agg(pl.col("throughput_mbps").sum())
    )
    joint = {"x": means["x"].mean(), "y": sums["throughput_mbps"].mean()}
    base, capacity = path.base_rtt_ms, path.capacity_mbps
    if groups.grouped:
        # On the scale of the sum the dots of many flows would lie on the axis. So all values are per flow.
        joint["y"] = means["y"].mean()
        capacity = capacity / groups.flows if capacity else None
    low = min(base or math.inf, prepare.low(series["x"]))
    high = prepare.maximum(base, series["x"]) or 1.0
    log = parts.wants_log(low, high)

    dots = (
        means.drop("flow")
        if groups.grouped
        else pl.concat(
            prepare.sample(part, SAMPLES // len(groups.labels)) for part in series.drop("flow").partition_by("label")
        )
    )
    # A margin must not reach below zero.
    room = {"domain": [0, 1.05 * high]} if not log and low < 0.2 * (high - low) else {"zero": False, "padding": 12}
    x = vl.field(
        "x:Q",
        scale=options(type="log" if log else "linear", reverse=True, nice=True, **room),
        axis=options(title="sRTT (ms), less is to the right", tickCount=6, grid=True),
    )
    top = prepare.maximum(capacity, joint["y"], dots["y"]) or 1.0
    y = vl.field(
        "y:Q",
        scale=options(domain=[0, top * 1.08], nice=False),
        axis=options(title=f"throughput{' of a flow' if groups.grouped else ''} (Mbit/s)"),
    )
    wide = plot_width(width)
    columns = parts.legend_columns(groups.labels, wide)
    colour = parts.colour(groups.labels, groups.range, columns=columns)
    layers = [
        parts.drawn(prepare.values(dots, 3), "circle", size=16 if groups.grouped else 9, opacity=0.3).encode(
            x=x, y=y, color=colour
        )
    ]

    outlines = []
    for label in groups.labels:
        of = (means if groups.grouped else series).filter(pl.col("label") == label)
        outlines.extend(parts.outline(parts.ellipse(of["x"], of["y"], log), label))
    if outlines:
        layers.append(
            parts.drawn(vl.Rows(values=outlines), "line", strokeWidth=1.2, clip=True).encode(
                x=x, y=y, color=colour, order=vl.field("order:Q")
            )
        )

    points = (
        []
        if groups.flows == 1 or groups.grouped
        else [
            {"x": row["x"], "y": row["y"], "label": row["label"], "point": "mean of a flow"}
            for row in means.iter_rows(named=True)
        ]
    )
    kinds = {"mean of a flow": "square", "joint mean": "diamond", "optimum": STAR}
    marks = [{**joint, "point": "joint mean"}]
    if base is not None and capacity is not None:
        marks.append({"x": base, "y": capacity, "point": "optimum"})
    shown = [row["point"] for row in [*points[:1], *marks]]
    if points:
        layers.append(_points(points, kinds, shown, x, y, colour))
    layers.append(_points(marks, kinds, shown, x, y))
    return themed(vl.layer(*layers, width=wide, height=HEIGHT))


def _points(
    rows: list[dict[str, Any]], kinds: dict[str, str], shown: list[str], x: Any, y: Any, colour: Any = None
) -> Any:
    """Marks by the kind of point. Those without a colour of a flow are dark, and the star of the optimum is yellow."""
    legend = options(title=None, orient="bottom", symbolStrokeWidth=1, symbolSize=110)
    shape = vl.field("point:N", scale=options(domain=shown, range=[kinds[kind] for kind in shown]), legend=legend)
    fills = [OPTIMUM if kind == "optimum" else INK for kind in shown]
    fill = vl.field("point:N", scale=options(domain=shown, range=fills), legend=legend)
    stroke = vl.field("point:N", scale=options(domain=shown, range=[INK for _ in shown]), legend=legend)
    values = prepare.values(pl.DataFrame(rows))
    points = parts.drawn(values, "point", filled=True, size=130, opacity=1, strokeWidth=1)
    own = {"fill": fill} if colour is None else {"color": colour}
    return points.encode(x=x, y=y, shape=shape, stroke=stroke, **own)
