"""Compares runs: throughput, utilization, delay and retransmissions over the swept parameters."""

from typing import Any

import polars as pl

from bloatlab.figures import network, palette, parts, prepare, sweep
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 170
NARROW = 560
PANELS = ("throughput_mbps", "srtt_ms", "delay_ms", "ping_p95_ms", "retransmissions", "utilization")


def _note(tables: network.Tables) -> str:
    fixed = [f"{name} = {value} ({left} more in the table)" for name, value, left in held(tables)]
    return f"Shown for {', '.join(fixed)}." if fixed else ""


@as_figure(
    title="Comparison over the sweep",
    caption="Each point is the mean of the runs with the same values. The bar reaches from the lowest to the highest "
    "of them.",
    needs=("runs", "metrics"),
    when=lambda tables: sweep.read(tables).frame.height > 1,
    of_runs=True,
    note=_note,
)
def comparison(tables: network.Tables, *, width: int) -> Any:
    """Metrics of many runs over the swept parameter, one colour per congestion control (or queue discipline).

    The x axis is the numeric parameter with the most values. Points are means over the runs with the same values;
    bars reach from the lowest to the highest of them. Further parameters have their first value.

    Args:
        tables: `runs`, `parameters` and `metrics` of a store.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    swept = sweep.read(tables)
    frame = swept.frame
    for axis in swept.axes[1:]:
        frame = frame.filter(pl.col(axis.name) == axis.values[0])
    frame = frame.with_columns(100 * pl.col("utilization"))
    shown = [name for name in PANELS if prepare.has_values(frame, name)]
    # Utilisation adds nothing to throughput unless the rate varies.
    if {"throughput_mbps", "utilization"} <= set(shown):
        shown.remove("utilization" if frame["throughput_mbps"].null_count() < frame.height else "throughput_mbps")
    colours = palette.assign(swept.series)
    names = list(colours)
    across = 1 if width < NARROW else 2
    wide = plot_width(width, across)
    panels = [_panel(frame, swept, name, colours, wide, parts.legend_columns(names, width - 70)) for name in shown]
    rows = [panels[start : start + across] for start in range(0, len(panels), across)]
    joined = vl.vconcat(*(vl.hconcat(*row, spacing=14) for row in rows), spacing=14)
    return themed(joined.resolve("legend", color="shared", shape="shared"))


def held(tables: network.Tables) -> list[tuple[str, str, int]]:
    """Parameters that `comparison` holds at their first value: name, value, number of other values."""
    return [(axis.name, axis.values[0], len(axis.values) - 1) for axis in sweep.read(tables).axes[1:]]


def _panel(
    frame: pl.DataFrame, swept: sweep.Sweep, metric: str, colours: dict[str, str], width: int, columns: int
) -> Any:
    axis = swept.axes[0] if swept.axes else None
    place = axis.name if axis else "series"
    cells = (
        frame.drop_nulls(metric)
        .group_by("series", place if axis else pl.lit("").alias("_"), maintain_order=True)
        .agg(
            pl.col(metric).mean().alias("mean"),
            pl.col(metric).min().alias("low"),
            pl.col(metric).max().alias("high"),
            pl.len().alias("runs"),
        )
    )
    numeric = axis is not None and len(axis.numbers) > 1
    if axis is not None:
        order = axis.numbers if numeric else axis.values
        cells = cells.with_columns(pl.col(place).replace_strict(axis.values, order, default=None).alias("x"))
    else:
        cells = cells.with_columns(pl.col("series").alias("x"))
    names = list(colours)
    x = _x(axis, numeric, names, swept.coloured_by)
    title = sweep.METRICS[metric]
    y = vl.field("mean:Q", axis=options(title=title), scale=options(zero=True))
    legend = axis is not None and len(names) > 1
    colour = parts.colour(
        names, list(colours.values()), field="series", title=swept.coloured_by, legend=legend, columns=columns
    )
    shapes = [palette.SHAPES[index % len(palette.SHAPES)] for index in range(len(names))]
    shape = vl.field(
        "series:N",
        scale=options(domain=names, range=shapes),
        legend=options(title=swept.coloured_by, columns=columns) if legend else None,
    )
    data = prepare.values(cells.select("series", "x", "mean", "low", "high", "runs"))
    tip = [
        vl.field("series:N", title=swept.coloured_by or "runs"),
        *([vl.field("x:Q" if numeric else "x:N", title=axis.title)] if axis else []),
        vl.field("mean:Q", title=title),
        *([vl.field("low:Q", title="lowest"), vl.field("high:Q", title="highest")] if swept.replications > 1 else []),
        vl.field("runs:Q"),
    ]
    layers = []
    if swept.replications > 1:
        layers.append(
            parts.drawn(data, "rule", opacity=0.5, strokeWidth=2).encode(
                x=x, y=vl.field("low:Q", axis=options(title=title)), y2=vl.field("high:Q"), color=colour
            )
        )
    if numeric:
        dash = vl.field("series:N", scale=options(domain=names, range=palette.dashes(len(names))), legend=None)
        layers.append(parts.drawn(data, "line", strokeWidth=1.5).encode(x=x, y=y, color=colour, strokeDash=dash))
    layers.append(
        parts.drawn(data, "point", filled=True, size=50, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tip
        )
    )
    return vl.layer(*layers, width=width, height=HEIGHT)


def _x(axis: sweep.Axis | None, numeric: bool, names: list[str], coloured_by: str | None) -> Any:
    if axis is None:
        return vl.field("x:N", sort=names, axis=options(title=coloured_by, labelAngle=-30 if len(names) > 4 else 0))
    if not numeric:
        return vl.field("x:N", sort=axis.values, axis=options(title=axis.title, labelAngle=-30, labelLimit=110))
    numbers = sorted(axis.numbers)
    log = parts.wants_log(numbers[0], numbers[-1], 7)
    scale = options(type="log" if log else "linear", zero=False, nice=False, padding=10)
    ticks = numbers if len(numbers) <= 9 else vl.UNSET
    return vl.field("x:Q", scale=scale, axis=options(title=axis.title, values=ticks, format=".6~g"))
