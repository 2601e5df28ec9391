"""Delay against throughput, one mark per run."""

from typing import Any

import polars as pl

from bloatlab.figures import contenders, network, palette, parts, prepare, sweep
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 320
MARKS = 1500
MOST_BARS = 60
NARROW = 560
"""Width of a figure from which every mark has its values beside it; below, only marks with room next to them."""
NAMED = 16
"""Largest number of points of a sweep whose values are written beside the marks."""


@as_figure(
    title="Delay against throughput",
    caption="One mark per run; better is up and to the right. Bars reach to the 95th percentile of the delay. "
    "Ellipses show one standard deviation over runs that differ only in their seed.",
    needs=("runs", "metrics"),
    when=lambda tables: sweep.read(tables).frame.drop_nulls(["delay_ms", "throughput_mbps"]).height > 0,
    of_runs=True,
)
def delay_throughput(tables: network.Tables, *, width: int) -> Any:
    """Mean queueing delay against throughput, one mark per run; the bar reaches to the 95th percentile of the delay.

    Better is up and to the right. Runs that differ only in their seed share a covariance ellipse of one standard
    deviation if there are at least three, and have no bars. The form is that of Winstein and Balakrishnan, SIGCOMM
    2013, figure 4.

    Args:
        tables: `runs`, `parameters` and `metrics` of a store.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    swept = sweep.read(tables)
    frame = swept.frame.drop_nulls(["delay_ms", "throughput_mbps"])
    colours = palette.assign(swept.series)
    names = list(colours)
    wide = plot_width(width)
    columns = parts.legend_columns(names, wide)
    colour = parts.colour(names, list(colours.values()), field="series", title=swept.legend, columns=columns)
    shapes = [palette.SHAPES[index % len(palette.SHAPES)] for index in range(len(names))]
    shape = vl.field(
        "series:N",
        scale=options(domain=names, range=shapes),
        legend=options(title=swept.legend, columns=columns) if len(names) > 1 else None,
    )
    positive = frame.filter(pl.col("delay_ms") > 0)
    log = positive.height == frame.height and parts.wants_log(
        prepare.low(frame["delay_ms"]),
        prepare.maximum(frame["delay_ms"], frame["delay_p95_ms"]),
    )
    across = contenders.Axis.over(
        pl.concat([frame["delay_ms"], frame["delay_p95_ms"].drop_nulls()]), wide, log=log, reverse=True
    )
    scale = options(type="log" if log else "linear", domain=across.domain, reverse=True, nice=False)
    axis = options(
        title="queueing delay at the bottleneck (ms), less is to the right", grid=True, tickCount=7, format=",.6~g"
    )
    x = vl.field("delay_ms:Q", scale=scale, axis=axis)
    rates = frame["throughput_mbps"]
    low, high = prepare.low(rates), prepare.high(rates) or 1.0
    # Points need no zero on the axis, but the axis spans at least a fifth of the values.
    bottom = 0.98 * min(low, 0.8 * high) if low > 0.5 * high else 0.0
    down = contenders.Axis(bottom, 1.03 * high, HEIGHT, reverse=True)
    y = vl.field(
        "throughput_mbps:Q",
        axis=options(title="throughput through the bottleneck (Mbit/s)", tickCount=6),
        scale=options(domain=down.domain, zero=False, nice=False),
    )
    crowded = swept.replications >= 3
    told, tip = sweep.tip(swept)
    shown = prepare.sample(frame.select("series", "delay_ms", "delay_p95_ms", "throughput_mbps", *told), MARKS)
    tip += [
        vl.field("delay_ms:Q", title=sweep.METRICS["delay_ms"]),
        vl.field("throughput_mbps:Q", title="throughput (Mbit/s)"),
    ]
    layers = []
    bars = frame.drop_nulls("delay_p95_ms") if not crowded and frame.height <= MOST_BARS else frame.clear()
    if bars.height:
        layers.append(
            parts.drawn(prepare.values(shown.drop_nulls("delay_p95_ms")), "rule", strokeWidth=1.5, opacity=0.5).encode(
                x=x, x2=vl.field("delay_p95_ms:Q"), y=y, color=colour
            )
        )
    outlines = _outlines(frame, swept, log) if crowded else []
    if outlines:
        layers.append(
            parts.drawn(vl.Rows(values=outlines), "line", strokeWidth=1.2).encode(
                x=vl.field("x:Q", scale=scale, axis=axis),
                y=vl.field("y:Q", scale=y["scale"]),
                color=colour,
                order=vl.field("order:Q"),
                detail=vl.field("label:N"),
            )
        )
    size, opacity = (50, 1.0) if frame.height <= 100 else (22, 0.6)
    layers.append(
        parts.drawn(prepare.values(shown), "point", filled=True, size=size, opacity=opacity).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tip
        )
    )
    places = _named(frame, swept)
    if 0 < places.height <= NAMED:
        # The values of the sweep beside the marks, for paper and for screens without a pointer.
        layers += contenders.named(
            places,
            across,
            down,
            vl.field("x:Q", scale=scale, axis=axis),
            vl.field("y:Q", scale=y["scale"]),
            bars.select("delay_ms", "throughput_mbps", "delay_p95_ms", pl.col("throughput_mbps").alias("to")).rows(),
            every=width >= NARROW,
        )
    return themed(vl.layer(*layers, width=wide, height=HEIGHT))


def _named(frame: pl.DataFrame, swept: sweep.Sweep) -> pl.DataFrame:
    """`x`, `y` and `contender`: the values of the axes of each point of the sweep. The colour has its own legend."""
    names = [axis.name for axis in swept.axes]
    if not names:
        return pl.DataFrame(schema={"x": pl.Float64, "y": pl.Float64, "contender": pl.String})
    cells = frame.group_by("series", *names, maintain_order=True)
    means = cells.agg(pl.col("delay_ms").mean().alias("x"), pl.col("throughput_mbps").mean().alias("y"))
    return means.select(
        "x",
        "y",
        pl.concat_str([sweep.in_words(name) for name in names], separator=", ").alias("contender"),
    )


def _outlines(frame: pl.DataFrame, swept: sweep.Sweep, log: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    keys = ["series", *(axis.name for axis in swept.axes)]
    for index, part in enumerate(frame.partition_by(keys, maintain_order=True)):
        curve = parts.ellipse(part["delay_ms"], part["throughput_mbps"], log)
        found.extend({**row, "series": part["series"][0]} for row in parts.outline(curve, str(index)))
    return found
