"""sRTT over time of many runs: one row per queue, one column per link scenario, the link's rate above."""

import math
from typing import Any

import polars as pl

from bloatlab.experiments import phrases
from bloatlab.figures import network, palette, parts, prepare, sweep
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import NEUTRAL, options, themed

ROWS, COLUMNS = "queue", "scenario"
"""The parameters of the rows and columns."""
MOST = 10
"""Largest number of rows."""
NARROW = 560
HEIGHT, RATE_HEIGHT = 84, 44
ACROSS, DOWN, APART = 16, 16, 24
"""Pixels between panels, and between stacked scenarios."""
LEFT = 78
"""Width of the titles and labels of the leftmost axes, pixels."""
SPANS = 150
"""Number of time spans per panel; each shows its lowest and its highest value."""
FLOOR = 0.1
"""Smallest value of the logarithmic axis, ms."""
TICKS = tuple(step * decade for decade in (0.1, 1.0, 10.0, 100.0, 1000.0) for step in (1, 3))
"""ms"""
_EMPTY = pl.DataFrame(schema=dict.fromkeys(("run_id", "row", "column"), pl.String))


def placed(tables: network.Tables) -> pl.DataFrame:
    """One row per panel: `run_id`, `row` and `column`, in the order of the experiment's axes.

    A panel draws one run: the first by seed and by the other varied parameters.
    """
    if network.table(tables, "parameters").is_empty():
        return _EMPTY
    swept = sweep.read(tables)
    if not {ROWS, COLUMNS} <= set(swept.frame.columns):
        return _EMPTY
    others = [axis.name for axis in swept.axes if axis.name not in (ROWS, COLUMNS)]
    found = swept.frame.sort("seed", *others, "run_id").select("run_id", row=ROWS, column=COLUMNS)
    panels = found.unique(["row", "column"], keep="first", maintain_order=True)
    lists = sweep.listed(tables)
    places = []
    for parameter, name in ((COLUMNS, "column"), (ROWS, "row")):
        values = sweep.in_order(found[name].sort(), lists.get(parameter, []))
        places.append(pl.col(name).replace_strict(values, range(len(values)), return_dtype=pl.Int64))
    return panels.sort(places).select("run_id", "row", "column")


def left_out(tables: network.Tables) -> str:
    """Says which runs are not drawn; empty if all are."""
    shown = placed(tables)
    queues, runs = shown["row"].n_unique(), sweep.read(tables).frame.height
    said = [f"The first {MOST} of {queues} queues are drawn."] if queues > MOST else []
    said += [f"A panel shows the first of its runs ({runs} runs in all)."] if runs > shown.height else []
    return " ".join(said)


@as_figure(
    title="sRTT over time by queue and link scenario",
    caption="One row per queue and one column per link scenario, with the rate of the link above. The line is the "
    "median over the flows; the band reaches from the lowest to the highest. All panels have the same "
    "logarithmic axis.",
    needs=("runs", "parameters", "flow_series", "link_series"),
    when=lambda tables: not placed(tables).is_empty(),
    of_runs=True,
    note=left_out,
)
def srtt_grid(tables: network.Tables, *, width: int) -> Any:
    """One panel per queue and link scenario, with the same axes: the median over the flows, and their range.

    Args:
        tables: `runs`, `parameters`, `flow_series` and `link_series` of all runs, `run_id` first; `given` gives the
            order.
        width: Width of the whole figure, pixels; below 560 the scenarios are stacked.

    Returns:
        The chart.
    """
    places = placed(tables)
    queues = places["row"].unique(maintain_order=True).to_list()[:MOST]
    columns = places["column"].unique(maintain_order=True).to_list()
    series = network.table(tables, "flow_series").join(places, on="run_id", how="inner").drop_nulls("srtt_ms")
    rates = network.table(tables, "link_series").join(places, on="run_id", how="inner").drop_nulls("rate_mbps")
    across = len(columns) if width >= NARROW else 1
    grid = _Grid(
        colours=palette.assign(queues),
        end=prepare.maximum(series["time_s"], rates["time_s"]) or 1.0,
        low=max(FLOOR, 0.8 * prepare.low(series["srtt_ms"])),
        high=1.15 * (prepare.maximum(series["srtt_ms"]) or 1.0),
        rate=1.2 * (prepare.maximum(rates["rate_mbps"]) or 1.0),
        width=max(90, (width - LEFT - ACROSS * (across - 1) - 10) // across),
    )
    # Sorted, because joins do not keep the order of rows.
    series, rates = series.sort("time_s", "flow"), rates.sort("time_s")
    blocks = []
    for index, column in enumerate(columns):
        mine, link = series.filter(pl.col("column") == column), rates.filter(pl.col("column") == column)
        first = index % across == 0
        panels = [grid.rates(link, column, first)]
        for number, queue in enumerate(queues):
            panels.append(grid.srtt(mine.filter(pl.col("row") == queue), queue, first, number == len(queues) - 1))
        blocks.append(panels)
    # Plots are aligned for any width of their labels.
    aligned = options(spacing=options(row=DOWN, column=ACROSS), bounds="flush", align="each")
    if across == 1:
        stacked = [vl.concat(*panels, columns=1, **aligned) for panels in blocks]
        return themed(vl.vconcat(*stacked, spacing=APART))
    cells = [panel for row in zip(*blocks, strict=True) for panel in row]
    return themed(vl.concat(*cells, columns=across, **aligned))


class _Grid:
    """What all panels share."""

    def __init__(self, colours: dict[str, str], end: float, low: float, high: float, rate: float, width: int) -> None:
        self.colours, self.end, self.low, self.high, self.rate, self.width = colours, end, low, high, rate, width

    def time(self, titled: bool) -> Any:
        title = "time (s)" if titled else None
        axis = options(title=title, labels=titled, ticks=titled, domain=titled, tickCount=5, format=",.6~g")
        return vl.field("time_s:Q", scale=options(domain=[0, self.end], nice=False), axis=axis)

    def value(self, field: str, title: list[str], scale: Any, first: bool, ticks: list[float]) -> Any:
        axis = options(
            title=title if first else None, labels=first, values=ticks, tickCount=20, format=",.6~g", labelOverlap=False,
            minExtent=38 if first else 0,
        )  # fmt: skip
        return vl.field(f"{field}:Q", scale=scale, axis=axis)

    def rates(self, link: pl.DataFrame, column: str, first: bool) -> Any:
        """The rate of the link; a sample is the mean of the interval before it."""
        of_one = link.filter(pl.col("run_id") == link["run_id"][0]) if link.height else link
        light = prepare.thin(of_one.select("time_s", "rate_mbps"), "time_s", "rate_mbps", points=2 * SPANS)
        scale = options(domain=[0, self.rate], nice=False)
        # One digit: 0, 2000 and 4000 of 4620 Mbit/s.
        decade = 10 ** math.floor(math.log10(self.rate))
        top = decade * math.floor(self.rate / decade)
        line = parts.drawn(prepare.values(light), "line", interpolate="step-before", color=NEUTRAL, strokeWidth=1)
        return line.encode(
            x=self.time(False), y=self.value("rate_mbps", ["rate", "(Mbit/s)"], scale, first, [0.0, top / 2, top])
        ).properties(
            width=self.width,
            height=RATE_HEIGHT,
            title=options(text=phrases.in_words(COLUMNS, column) or column, anchor="middle"),
        )

    def srtt(self, flows: pl.DataFrame, queue: str, first: bool, last: bool) -> Any:
        """The flows of a run."""
        scale = options(type="log", domain=[self.low, self.high], nice=False)
        ticks = [tick for tick in TICKS if self.low <= tick <= self.high]
        title, colour, x = [queue, "sRTT (ms)"], self.colours[queue], self.time(last)
        middle = flows.group_by("time_s", maintain_order=True).agg(
            pl.col("srtt_ms").median().clip(FLOOR).alias("median")
        )
        light = prepare.thin(middle, "time_s", "median", points=2 * SPANS)
        return vl.layer(
            parts.drawn(prepare.values(spans(flows, self.end)), "area", opacity=0.3, color=colour).encode(
                x=x, y=self.value("low", title, scale, first, ticks), y2=vl.field("high:Q")
            ),
            parts.drawn(prepare.values(light), "line", color=colour, strokeWidth=1).encode(
                x=x, y=self.value("median", title, scale, first, ticks)
            ),
            width=self.width,
            height=HEIGHT,
        )


def spans(flows: pl.DataFrame, end: float) -> pl.DataFrame:
    """`time_s` (the middle), `low` and `high` over the flows for each of `SPANS` time spans with values."""
    span = end / SPANS
    return (
        flows.with_columns((((pl.col("time_s") / span).ceil().clip(1, SPANS) - 0.5) * span).alias("time_s"))
        .group_by("time_s", maintain_order=True)
        .agg(
            pl.col("srtt_ms").min().clip(FLOOR).alias("low"),
            pl.col("srtt_ms").max().clip(FLOOR).alias("high"),
        )
    )
