"""sRTT over time of many runs: a row a queue, a column a link scenario, the link's rate above."""

from typing import Any

import altair as alt
import polars as pl

from bloatlab.figures import network, palette, parts, prepare, sweep
from bloatlab.figures.theme import INK, NEUTRAL, options, themed

ROWS, COLUMNS = "queue", "scenario"
"""The parameters that place a run."""
MOST = 10
"""Rows that are drawn."""
NARROW = 560
HEIGHT, RATE_HEIGHT, GAP = 84, 44, 12
LEFT = 64
"""Pixels that titles and labels of the leftmost axes take."""
SPANS = 100
"""Spans of time that a panel has: of each the lowest, the median and the highest value over the flows."""
FLOOR = 0.1
"""ms; a logarithmic axis has no 0."""


def placed(tables: network.Tables) -> pl.DataFrame:
    """A row a panel: `run_id`, `row` and `column`. Of runs in one place the first is drawn, by seed and other parameters."""
    if network.table(tables, "parameters").is_empty():
        return pl.DataFrame(schema=dict.fromkeys(("run_id", "row", "column"), pl.String))
    frame = sweep.read(tables).frame
    if not {ROWS, COLUMNS} <= set(frame.columns):
        return pl.DataFrame(schema=dict.fromkeys(("run_id", "row", "column"), pl.String))
    runs = network.table(tables, "runs").select("run_id").with_row_index("_made")
    found = frame.join(runs, on="run_id", how="inner").sort("seed", "_made")
    found = found.select("run_id", pl.col(ROWS).alias("row"), pl.col(COLUMNS).alias("column"), "_made")
    return found.unique(["row", "column"], keep="first", maintain_order=True).sort("_made").drop("_made")


def left_out(tables: network.Tables) -> str:
    """What of the runs is not drawn, in a sentence; empty if nothing."""
    shown = placed(tables)
    queues = shown["row"].n_unique()
    said = f"The first {MOST} of {queues} queues are drawn. " if queues > MOST else ""
    runs = sweep.read(tables).frame.height
    said += f"Of {runs} runs the first in each place is drawn." if runs > shown.height else ""
    return said.strip()


def srtt_grid(tables: network.Tables, *, width: int) -> Any:
    """One panel a queue and link scenario, all with the same axes: the median over the flows, and the range of them.

    Args:
        tables: `runs`, `parameters`, `flow_series` and `link_series` of all runs, `run_id` first.
        width: Width of the whole figure, pixels; below 560 the scenarios stand one below the other.

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
        low=max(FLOOR, 0.9 * prepare.low(series["srtt_ms"])),
        high=1.15 * (prepare.maximum(series["srtt_ms"]) or 1.0),
        rate=1.05 * (prepare.maximum(rates["rate_mbps"]) or 1.0),
        width=max(90, (width - LEFT - GAP * across) // across),
    )
    blocks = []
    for index, column in enumerate(columns):
        mine, link = series.filter(pl.col("column") == column), rates.filter(pl.col("column") == column)
        first = index % across == 0
        panels = [grid.rates(link.sort("time_s"), column, first)]
        for number, queue in enumerate(queues):
            panels.append(grid.srtt(mine.filter(pl.col("row") == queue), queue, first, number == len(queues) - 1))
        blocks.append(alt.vconcat(*panels, spacing=8))
    return themed(alt.hconcat(*blocks, spacing=GAP) if across > 1 else alt.vconcat(*blocks, spacing=18))


class _Grid:
    """What all panels have in common."""

    def __init__(
        self, colours: dict[str, str], end: float, low: float, high: float, rate: float, width: int
    ) -> None:
        self.colours, self.end, self.low, self.high, self.rate, self.width = colours, end, low, high, rate, width

    def time(self, titled: bool) -> Any:
        axis = options(title="time (s)" if titled else None, labels=titled, ticks=titled, tickCount=5, format=".6~g")
        return alt.X("time_s:Q", scale=options(domain=[0, self.end], nice=False), axis=axis)

    def value(self, field: str, title: Any, scale: Any, first: bool, ticks: list[float] | None = None) -> Any:
        axis = options(title=title if first else None, labels=first, minExtent=38 if first else 0, tickCount=2)
        if ticks:
            axis = options(**axis, values=ticks, format=".6~g")
        return alt.Y(f"{field}:Q", scale=scale, axis=axis)

    def rates(self, link: pl.DataFrame, column: str, first: bool) -> Any:
        """The link's rate; a sample is the mean of the interval before it."""
        of_one = link.filter(pl.col("run_id") == link["run_id"][0]) if link.height else link
        light = prepare.thin(of_one.select("time_s", "rate_mbps"), "time_s", "rate_mbps", points=3 * SPANS)
        scale = options(domain=[0, self.rate], nice=False)
        line = parts.drawn(prepare.values(light), "line", interpolate="step-before", color=NEUTRAL, strokeWidth=1)
        return line.encode(
            x=self.time(False), y=self.value("rate_mbps", ["rate", "(Mbit/s)"], scale, first)
        ).properties(width=self.width, height=RATE_HEIGHT, title=options(text=column, anchor="middle", color=INK))

    def srtt(self, flows: pl.DataFrame, queue: str, first: bool, last: bool) -> Any:
        """The flows of a run."""
        data = prepare.values(spans(flows, self.end))
        scale = options(type="log", domain=[self.low, self.high], nice=False)
        decades = [tick for tick in (0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0) if self.low <= tick <= self.high]
        title, colour = [queue, "sRTT (ms)"], self.colours[queue]
        x = self.time(last)
        return alt.layer(
            parts.drawn(data, "area", opacity=0.3, color=colour).encode(
                x=x, y=self.value("low", title, scale, first, decades), y2=alt.Y2("high:Q")
            ),
            parts.drawn(data, "line", color=colour, strokeWidth=1.2).encode(
                x=x, y=self.value("median", title, scale, first, decades)
            ),
            width=self.width,
            height=HEIGHT,
        )


def spans(flows: pl.DataFrame, end: float) -> pl.DataFrame:
    """`time_s`, `low`, `median` and `high` over the flows in each of `SPANS` spans of time; null where there is nothing."""
    span = end / SPANS
    return (
        flows.with_columns(((pl.col("time_s") / span).ceil().clip(1, SPANS) * span).alias("time_s"))
        .group_by("time_s")
        .agg(
            pl.col("srtt_ms").min().clip(FLOOR).alias("low"),
            pl.col("srtt_ms").median().clip(FLOOR).alias("median"),
            pl.col("srtt_ms").max().clip(FLOOR).alias("high"),
        )
        .sort("time_s")
    )
