"""Window, sRTT and throughput over time, one above the other."""

from typing import Any

import polars as pl

from bloatlab.experiments import phrases
from bloatlab.figures import network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import NEUTRAL, options, plot_width, themed

HEIGHT = 130
NAME = 18
"""Height of the name of a reference line with its distance from the line, pixels."""

DASHES = 130
"""Width of the legend that says which line is in flight and which cwnd, pixels."""
PAUSE = 4
"""Spans of time without a sample that interrupt the line of a group."""


def _panels(tables: network.Tables) -> str:
    """Says what the panels show. Datagrams have neither a window nor an sRTT."""
    path, groups, series = network.path(tables), network.groups(tables), network.table(tables, "flow_series")
    in_flight, cwnd = (prepare.has_values(series, column) for column in ("in_flight", "cwnd"))
    window = "segments in flight" if in_flight else "the congestion window"
    if in_flight and cwnd and not groups.grouped:
        window += " with the congestion window"
    found = [
        (in_flight or cwnd, window, "bandwidth-delay product" if path.bdp_segments and groups.flows == 1 else ""),
        (prepare.has_values(series, "srtt_ms"), "the smoothed RTT", "base RTT" if path.base_rtt_ms else ""),
        (
            prepare.has_values(series, "throughput_mbps"),
            "the throughput of the payload",
            "capacity" if path.capacity_mbps else "",
        ),
    ]
    shown = [(said, line) for there, said, line in found if there]
    panels = phrases.listed([said for said, _ in shown])
    lines = phrases.listed([line for _, line in shown if line])
    dashed = f" Dashed: {lines}." if lines else ""
    return f"{panels[:1].upper()}{panels[1:]}.{dashed}"


def _note(tables: network.Tables) -> str:
    grouped = network.grouping_note(tables)
    spread = "Lines are medians across flows; bands reach from the 5th to the 95th percentile." if grouped else ""
    return " ".join(filter(None, [_panels(tables), grouped, spread, network.across_note(tables, "The sum is over")]))


@as_figure(
    title="Flows over time",
    caption="Each panel shows one quantity of the flows over time.",
    needs=("flow_series",),
    when=lambda tables: network.has_samples(tables, "in_flight", "cwnd", "srtt_ms", "throughput_mbps"),
    note=_note,
)
def time_series(tables: network.Tables, *, width: int) -> Any:
    """In flight with cwnd, sRTT and throughput over time, one panel each on the same time axis.

    Up to eight flows have a line each. More flows are drawn as one group per name or congestion control, with the median
    and the band from the 5th to the 95th percentile across its flows. A further panel has the sum of the throughputs of the
    flows through the bottleneck.

    Args:
        tables: `flow_series` and `flows`; `links` gives the reference lines.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    groups = network.groups(tables)
    path = network.path(tables)
    series = groups.label(network.table(tables, "flow_series"))
    wide = plot_width(width)
    end = prepare.high(series["time_s"]) or 1.0
    both = prepare.has_values(series, "in_flight") and prepare.has_values(series, "cwnd") and not groups.grouped
    axis = _Axis(groups, end, wide, DASHES if both else 0)

    panels = []
    if prepare.has_values(series, "in_flight", "cwnd"):
        panels.append(_window(series, axis, path))
    if prepare.has_values(series, "srtt_ms"):
        base = path.base_rtt_ms
        rule = _reference(base, f"base RTT {parts.number(base, 'ms')}", wide, series, "srtt_ms") if base else []
        panels.append(axis.panel(series, "srtt_ms", "sRTT (ms)", rule))
    if prepare.has_values(series, "throughput_mbps"):
        summed = network.table(network.across(tables).tables, "flow_series")
        panels.extend(_throughput(series, summed, axis, path, network.varying_rate(tables, path.link)))
    last = len(panels) - 1
    return themed(vl.vconcat(*(panel(index == 0, index == last) for index, panel in enumerate(panels)), spacing=10))


def _reference(value: float, text: str, width: int, series: pl.DataFrame, *columns: str) -> list[Any]:
    """A reference line with its name at a corner of the line where fewest samples of these columns are."""
    top = max(value, prepare.maximum(*(series[column] for column in columns)) or 1.0)
    end = prepare.high(series["time_s"]) or 1.0
    wide = end * parts.LETTER * len(text) / width
    high = top * NAME / HEIGHT

    def crossed(corner: tuple[bool, bool]) -> int:
        right, above = corner
        low = value if above else value - high
        if low < 0:
            # Below the axis there is no room.
            return series.height * len(columns)
        time = pl.col("time_s") > end - wide if right else pl.col("time_s") < wide
        beside = series.filter(time)
        return sum(beside.filter(pl.col(column).is_between(low, low + high)).height for column in columns)

    right, above = min(((True, False), (True, True), (False, False), (False, True)), key=crossed)
    return parts.level(value, text, width, above=above, left=not right)


class _Axis:
    """Draws one quantity over the time axis that all panels share."""

    def __init__(self, groups: network.Groups, end: float, width: int, beside: int) -> None:
        self.groups, self.end, self.width = groups, end, width
        self.beside = beside
        """Width of another legend beside that of the flows, pixels."""

    def panel(
        self, series: pl.DataFrame, column: str, title: str, rules: list[Any], extra: list[Any] | None = None
    ) -> Any:
        """A function that draws the panel with or without the legend and the title of the time axis."""

        def draw(legend: bool, titled: bool) -> Any:
            layers = [*self.lines(series, column, title, legend, titled), *(extra or []), *rules]
            return vl.layer(*layers, width=self.width, height=HEIGHT)

        return draw

    def time(self, titled: bool) -> Any:
        axis = options(title="time (s)" if titled else None, labels=titled, ticks=titled, tickCount=10, format=",.6~g")
        return vl.field("time_s:Q", scale=options(domain=[0, self.end], nice=False), axis=axis)

    def colour(self, legend: bool) -> Any:
        columns = parts.legend_columns(self.groups.labels, self.width - self.beside)
        return parts.colour(self.groups.labels, self.groups.range, legend=legend, columns=columns)

    def lines(self, series: pl.DataFrame, column: str, title: str, legend: bool, titled: bool) -> list[Any]:
        x, colour = self.time(titled), self.colour(legend)
        y_axis = options(title=title)
        if not self.groups.grouped:
            light = prepare.thin(series.select("time_s", "label", column), "time_s", column, by="label")
            # A single sample makes no line, so dots show few samples.
            few = light.height <= 20 * max(1, len(self.groups.labels))
            return [
                parts.drawn(prepare.values(light), "line", point=options(size=20) if few else False).encode(
                    x=x, y=vl.field(f"{column}:Q", axis=y_axis, scale=options(zero=True)), color=colour
                )
            ]
        spread = band(series, column)
        data = prepare.values(spread)
        return [
            parts.drawn(data, "area", opacity=0.22).encode(
                x=x, y=vl.field("low:Q", axis=y_axis, scale=options(zero=True)), y2=vl.field("high:Q"), color=colour
            ),
            parts.drawn(data, "line").encode(x=x, y=vl.field("median:Q", axis=y_axis), color=colour),
        ]


def band(series: pl.DataFrame, column: str, bins: int = 200) -> pl.DataFrame:
    """Median, 5th and 95th percentile across the flows of each label, in at most `bins` spans of time.

    Where no flow of a label was active, there is a row without values, which interrupts its line.
    """
    end = prepare.high(series["time_s"]) or 1.0
    instants = series["time_s"].n_unique()
    span = end / bins if instants > bins else 0.0
    time = ((pl.col("time_s") / span).floor() + 0.5) * span if span else pl.col("time_s")
    found = (
        series.drop_nulls(column)
        .with_columns(time.clip(0, end).alias("time_s"))
        .group_by("label", "time_s", maintain_order=True)
        .agg(
            pl.col(column).median().alias("median"),
            pl.col(column).quantile(0.05, "linear").alias("low"),
            pl.col(column).quantile(0.95, "linear").alias("high"),
        )
        .sort("label", "time_s")
    )
    after = pl.col("time_s").diff(-1).over("label").neg()
    step = span or end / max(1, instants)
    pauses = found.filter(after > PAUSE * step).select("label", pl.col("time_s") + step)
    return pl.concat([found, pauses], how="diagonal").sort("label", "time_s")


def _window(series: pl.DataFrame, axis: _Axis, path: network.Path) -> Any:
    bdp = path.bdp_segments if axis.groups.flows == 1 else None
    shown = [name for name in ("in_flight", "cwnd") if prepare.has_values(series, name)]
    rules = _reference(bdp, f"BDP {parts.number(bdp)}", axis.width, series, *shown) if bdp else []
    if axis.groups.grouped or not prepare.has_values(series, "in_flight") or not prepare.has_values(series, "cwnd"):
        column = "in_flight" if prepare.has_values(series, "in_flight") else "cwnd"
        return axis.panel(series, column, f"{column.replace('_', ' ')} (segments)", rules)

    def draw(legend: bool, titled: bool) -> Any:
        narrow = [
            prepare.thin(
                series.select("time_s", "label", pl.col(column).cast(pl.Float64).alias("value")),
                "time_s",
                "value",
                by="label",
            ).with_columns(pl.lit(name).alias("window"))
            for column, name in (("in_flight", "in flight"), ("cwnd", "cwnd"))
        ]
        lines = parts.drawn(prepare.values(pl.concat(narrow)), "line").encode(
            x=axis.time(titled),
            y=vl.field("value:Q", axis=options(title="segments"), scale=options(zero=True)),
            color=axis.colour(legend),
            strokeDash=vl.field(
                "window:N",
                scale=options(domain=["in flight", "cwnd"], range=[[1, 0], [2, 3]]),
                legend=options(title=None),
            ),
            opacity=vl.field("window:N", scale=options(domain=["in flight", "cwnd"], range=[1, 0.75]), legend=None),
        )
        return vl.layer(lines, *rules, width=axis.width, height=HEIGHT)

    return draw


def _throughput(
    series: pl.DataFrame, summed: pl.DataFrame, axis: _Axis, path: network.Path, rate: pl.DataFrame
) -> list[Any]:
    capacity = path.capacity_mbps
    total = prepare.thin(
        summed.group_by("time_s", maintain_order=True)
        .agg(pl.col("throughput_mbps").sum().alias("total"))
        .sort("time_s"),
        "time_s",
        "total",
    )
    rules = (
        _reference(capacity, f"capacity {parts.number(capacity, 'Mbit/s')}", axis.width, total, "total")
        if capacity
        else []
    )
    if not rate.is_empty():
        light = prepare.thin(rate, "time_s", "rate_mbps")
        # A sample is the mean of the interval before it.
        rules = [
            parts.drawn(
                prepare.values(light), "line", interpolate="step-before", color=NEUTRAL, strokeDash=[4, 3]
            ).encode(x=vl.field("time_s:Q"), y=vl.field("rate_mbps:Q"))
        ]
    title = "throughput (Mbit/s)"
    if axis.groups.flows == 1:
        return [axis.panel(series, "throughput_mbps", title, rules)]

    def sum_line(titled: bool) -> Any:
        return parts.drawn(prepare.values(total), "line", color=NEUTRAL).encode(
            x=axis.time(titled), y=vl.field("total:Q", axis=options(title="sum (Mbit/s)"), scale=options(zero=True))
        )

    def sum_panel(legend: bool, titled: bool) -> Any:
        return vl.layer(sum_line(titled), *rules, width=axis.width, height=HEIGHT - 40)

    return [axis.panel(series, "throughput_mbps", title, []), sum_panel]
