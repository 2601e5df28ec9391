"""Compares runs: throughput, utilization, delay and retransmissions over the swept parameters."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import polars as pl

from bloatlab.experiments import phrases
from bloatlab.figures import network, palette, parts, prepare, sweep
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import FAINT, options, plot_width, themed

HEIGHT = 170
NARROW = 560
PANELS = ("throughput_mbps", "srtt_ms", "delay_ms", "ping_p95_ms", "retransmissions", "utilization")
OF_BLOCKS = ("throughput_mbps", "delay_ms", "ping_p95_ms")
"""The metrics that are shown if the figure has a column for each combination of further parameters."""
MOST_BLOCKS = 6
"""Most combinations of further parameters that have panels."""
MOST_COLOURS = len(palette.ALL)
CROWD = 12
"""Largest number of lines that all have colours."""
ENDS = 4
"""If there are more lines, this many with the highest and this many with the lowest throughput have colours."""
DELAYS = ("srtt_ms", "delay_ms", "ping_p95_ms")


@dataclass(frozen=True)
class Layout:
    """Where the parameters of a sweep are in the figure.

    Attributes:
        x: The parameter of the x axis; `None` if only the one of the colour varies.
        coloured_by: The parameter of the colour; `None` if there is a single colour.
        series: Its values.
        blocks: Parameters whose combinations have panels each.
        held: Parameters that are held at their first value.
    """

    x: sweep.Axis | None
    coloured_by: str | None
    series: list[str]
    blocks: list[sweep.Axis]
    held: list[sweep.Axis]

    @property
    def legend(self) -> str | None:
        """What the colours mean."""
        return None if self.coloured_by is None else phrases.heading(self.coloured_by)


def layout(swept: sweep.Sweep) -> Layout:
    """Gives each parameter the x axis, the colour or panels, and holds those for which there is no room."""
    x = swept.axes[0] if swept.axes else None
    rest = swept.axes[1:]
    coloured_by, series = swept.coloured_by, swept.series
    if coloured_by is None and rest and len(rest[0].values) <= MOST_COLOURS:
        coloured_by, series = rest[0].name, rest[0].values
        rest = rest[1:]
    blocks: list[sweep.Axis] = []
    held: list[sweep.Axis] = []
    for axis in rest:
        room = math.prod(len(one.values) for one in [*blocks, axis]) <= MOST_BLOCKS
        (blocks if room else held).append(axis)
    return Layout(x, coloured_by, series, blocks, held)


def _note(tables: network.Tables) -> str:
    found = layout(sweep.read(tables))
    words = phrases.short([axis.name for axis in found.held])
    fixed = [
        f"{phrases.said(words[axis.name], axis.values[0])} ({len(axis.values) - 1} more in the table)"
        for axis in found.held
    ]
    said = [f"Shown for {', '.join(fixed)}."] if fixed else []
    if found.x is not None and len(found.series) > CROWD:
        said.append(
            f"The {ENDS} with the highest and the {ENDS} with the lowest mean of the first panel have colours; "
            f"the other {len(found.series) - 2 * ENDS} are grey."
        )
    return " ".join(said)


@as_figure(
    title="Comparison over the sweep",
    caption="Each point is the mean of the runs with the same values. The bar reaches from the lowest to the highest "
    "of them. Throughput and queueing delay are those of the bottleneck. Delays that differ much have a logarithmic axis.",
    needs=("runs", "metrics"),
    when=lambda tables: sweep.read(tables).frame.height > 1,
    of_runs=True,
    note=_note,
)
def comparison(tables: network.Tables, *, width: int) -> Any:
    """Metrics of many runs over the swept parameters, one colour per congestion control (or queue discipline).

    The x axis is the numeric parameter with the most values. Points are means over the runs with the same values;
    bars reach from the lowest to the highest of them. Without an algorithm that varies, the second parameter has the
    colours. Up to six combinations of further parameters have panels each, with the same axes.

    Args:
        tables: `runs`, `parameters` and `metrics` of a store.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    swept = sweep.read(tables)
    places = layout(swept)
    frame = swept.frame
    for axis in places.held:
        frame = frame.filter(pl.col(axis.name) == axis.values[0])
    frame = frame.with_columns(100 * pl.col("utilization"))
    if places.coloured_by is not None:
        frame = frame.with_columns(pl.col(places.coloured_by).fill_null("default").alias("series"))
    shown = [name for name in (OF_BLOCKS if places.blocks else PANELS) if prepare.has_values(frame, name)]
    # Utilisation adds nothing to throughput unless the rate varies.
    if {"throughput_mbps", "utilization"} <= set(shown):
        shown.remove("utilization" if frame["throughput_mbps"].null_count() < frame.height else "throughput_mbps")
    blocks = list(_blocks(frame, places.blocks))
    most = 3 if places.blocks else 2
    across = min(most if width >= NARROW else 2 if places.blocks else 1, max(2, len(blocks)))
    strong = _strong(frame, places, shown[0]) if shown else places.series
    drawn = _Panels(swept, places, strong, width, plot_width(width, across))
    panels = [drawn.draw(part, frame, name, title) for name in shown for title, part in blocks]
    groups = [panels[start : start + len(blocks)] for start in range(0, len(panels), len(blocks))]
    in_rows = groups if len(blocks) > 1 else [panels]
    rows = [group[start : start + across] for group in in_rows for start in range(0, len(group), across)]
    joined = vl.vconcat(*(vl.hconcat(*row, spacing=14) for row in rows), spacing=14)
    return themed(joined.resolve("legend", color="shared", shape="shared"))


def _strong(frame: pl.DataFrame, places: Layout, metric: str) -> list[str]:
    """The values of the colour that have one: all, or of a crowd those with the highest and the lowest mean of a metric."""
    if places.x is None or len(places.series) <= CROWD:
        return places.series
    means = frame.drop_nulls(metric).group_by("series", maintain_order=True).agg(pl.col(metric).mean())
    ranked = means.sort(metric, descending=True, maintain_order=True)["series"].to_list()
    return [*ranked[:ENDS], *ranked[-ENDS:]]


def _blocks(frame: pl.DataFrame, axes: list[sweep.Axis]) -> Iterator[tuple[str, pl.DataFrame]]:
    """The runs of each combination of these parameters, with its title; all runs if there is none."""
    for combination in product(*(axis.values for axis in axes)):
        part = frame.filter(
            pl.lit(True), *(pl.col(axis.name) == at for axis, at in zip(axes, combination, strict=True))
        )
        title = ", ".join(
            phrases.said(axis.name.rpartition(".")[2], at) for axis, at in zip(axes, combination, strict=True)
        )
        if part.height:
            yield title, part


def _means(frame: pl.DataFrame, metric: str, *place: str) -> pl.DataFrame:
    """`mean`, `low`, `high` and `runs` of a metric for each colour and place."""
    cells = frame.drop_nulls(metric).group_by("series", *place, maintain_order=True)
    value = pl.col(metric)
    return cells.agg(
        value.mean().alias("mean"), value.min().alias("low"), value.max().alias("high"), pl.len().alias("runs")
    )


@dataclass(frozen=True)
class _Panels:
    """Draws the panels of a figure, each with a metric of the runs of a block."""

    swept: sweep.Sweep
    places: Layout
    strong: list[str]
    """The values of the colour that have one; the others are grey."""
    whole: int
    """Width of the figure, pixels."""
    wide: int
    """Width of the plot of a panel, pixels."""

    def draw(self, frame: pl.DataFrame, every: pl.DataFrame, metric: str, heading: str) -> vl.View:
        """One panel.

        Args:
            frame: Its runs.
            every: The runs of all panels of the metric, which have the same axis.
            metric: The metric.
            heading: What is written above the panel; empty: nothing.
        """
        axis, names = self.places.x, self.strong
        colours = palette.assign(names)
        cells = _means(frame, metric, *[axis.name] if axis else [])
        numeric = axis is not None and len(axis.numbers) > 1
        if axis is not None:
            order = axis.numbers if numeric else axis.values
            cells = cells.with_columns(pl.col(axis.name).replace_strict(axis.values, order, default=None).alias("x"))
        else:
            cells = cells.with_columns(pl.col("series").alias("x"))
        x = _x(axis, numeric, names, self.places.legend)
        title = sweep.METRICS[metric]
        scale, ticks = self._scale(every, metric)
        y_axis = options(title=parts.in_lines(title, HEIGHT), values=ticks, format=",.6~g")
        y = vl.field("mean:Q", axis=y_axis, scale=scale)
        legend = axis is not None and len(names) > 1
        columns = parts.legend_columns(names, self.whole - 70)
        by = self.places.legend
        colour = parts.colour(names, list(colours.values()), field="series", title=by, legend=legend, columns=columns)
        shapes = [palette.SHAPES[index % len(palette.SHAPES)] for index in range(len(names))]
        shape = vl.field(
            "series:N",
            scale=options(domain=names, range=shapes),
            legend=options(title=by, columns=columns) if legend else None,
        )
        cells = cells.select("series", "x", "mean", "low", "high", "runs")
        is_strong = pl.col("series").is_in(names)
        data, faint = prepare.values(cells.filter(is_strong)), prepare.values(cells.filter(~is_strong))
        ends = [vl.field("low:Q", title="lowest"), vl.field("high:Q", title="highest")]
        tip = [
            vl.field("series:N", title=by or "runs"),
            *([vl.field("x:Q" if numeric else "x:N", title=axis.title)] if axis else []),
            vl.field("mean:Q", title=title),
            *(ends if self.swept.replications > 1 else []),
            vl.field("runs:Q"),
        ]
        layers = []
        if len(names) < len(self.places.series):
            kind = "line" if numeric else "point"
            layers.append(
                parts.drawn(faint, kind, color=FAINT, opacity=0.45, strokeWidth=1).encode(
                    x=x, y=y, detail=vl.field("series:N"), tooltip=tip
                )
            )
        if self.swept.replications > 1:
            layers.append(
                parts.drawn(data, "rule", opacity=0.5, strokeWidth=2).encode(
                    x=x, y=vl.field("low:Q", axis=y_axis, scale=scale), y2=vl.field("high:Q"), color=colour
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
        above = options(text=parts.in_lines(heading, self.wide), fontSize=12) if heading else vl.UNSET
        return vl.layer(*layers, width=self.wide, height=HEIGHT, title=above)

    def _scale(self, every: pl.DataFrame, metric: str) -> tuple[dict[str, Any], Any]:
        """The vertical scale of a metric and its ticks. Logarithmic if a large delay would press the others onto the axis."""
        low, high = prepare.low(every[metric]), prepare.high(every[metric])
        if metric in DELAYS and low is not None and high is not None and parts.wants_log(low, high):
            ticks = parts.log_ticks(low, high)
            return options(type="log", domain=[min(low, ticks[0]), max(high, ticks[-1])]), ticks
        return options(zero=True, domainMax=high if self.places.blocks else vl.UNSET), vl.UNSET


def _x(axis: sweep.Axis | None, numeric: bool, names: list[str], title: str | None) -> Any:
    if axis is None:
        return vl.field("x:N", sort=names, axis=options(title=title, labelAngle=-30 if len(names) > 4 else 0))
    if not numeric:
        return vl.field("x:N", sort=axis.values, axis=options(title=axis.title, labelAngle=-30, labelLimit=110))
    numbers = sorted(axis.numbers)
    log = parts.wants_log(numbers[0], numbers[-1], 7)
    scale = options(type="log" if log else "linear", zero=False, nice=False, padding=10)
    ticks = numbers if len(numbers) <= 9 else vl.UNSET
    return vl.field("x:Q", scale=scale, axis=options(title=axis.title, values=ticks, format=",.6~g"))
