"""Window, queue and RTT over time: one column per limit of the queue."""

from typing import Any

import polars as pl

from bloatlab.experiments.home_router.setup import PING
from bloatlab.figures import limits, network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, themed

NARROW = 560
HEIGHT = 110
ACROSS, DOWN, APART = 16, 14, 24
"""Pixels between panels, and between stacked limits."""
LEFT = 66
"""Width of the titles and labels of the leftmost axes, pixels."""


@as_figure(
    title="Window, queue and RTT over time by the queue's limit",
    caption="The long flow's congestion window, the packets in the router's queue and the RTT of the pings, for the "
    "first run of each limit with a FIFO. All limits have the same scale.",
    needs=("runs", "parameters", "flow_series", "link_series", "probe_series"),
    when=lambda tables: limits.placed(tables).height > 0,
    of_runs=True,
    note=limits.left_out,
)
def limit_series(tables: network.Tables, *, width: int) -> Any:
    """One panel per quantity and limit with its first run; one y axis per row, one colour per router.

    Args:
        tables: `runs`, `parameters`, `flow_series`, `link_series` and `probe_series` of all runs, `run_id` first.
        width: Width of the whole figure, pixels; below 560 the limits are stacked.

    Returns:
        The chart.
    """
    runs = limits.first(limits.placed(tables))
    sizes = limits.sizes(tables, runs)
    names = limits.routers(runs)
    across = len(sizes) if width >= NARROW else 1
    wide = max(90, (width - LEFT - ACROSS * (across - 1) - 10) // across)
    rows = [
        (title, limits.joined(series, runs, sizes))
        for title, series in (
            ("cwnd (segments)", limits.window(tables, runs)),
            ("queue (packets)", limits.queue(tables, runs)),
            ("RTT (ms)", limits.probe(tables, runs, PING)),
        )
    ]
    end = prepare.maximum(*(series["time_s"] for _, series in rows)) or 1.0
    colours = palette.in_order(names)
    blocks = []
    for place, size in enumerate(sizes):
        panels = []
        for row, (title, series) in enumerate(rows):
            own = series.filter(pl.col("limit") == size).drop_nulls("value")
            light = prepare.thin(own.select("time_s", "value", "router"), "time_s", "value", by="router", points=300)
            first, last = place % across == 0, row == len(rows) - 1
            heading = f"maxq {size}" if row == 0 else None
            line = parts.drawn(prepare.values(light), "line", strokeWidth=1.1).encode(
                x=vl.field(
                    "time_s:Q",
                    scale=options(domain=[0, end], nice=False),
                    axis=options(title="time (s)" if last else None, labels=last, ticks=last, domain=last, tickCount=6),
                ),
                y=vl.field(
                    "value:Q",
                    scale=options(domain=[0, 1.05 * (prepare.maximum(series["value"]) or 1.0)], nice=False),
                    axis=options(title=title if first else None, labels=first, minExtent=38 if first else 0),
                ),
                color=parts.colour(names, list(colours.values()), field="router", legend=len(names) > 1),
            )
            titled = {"title": options(text=heading)} if heading else {}
            panels.append(line.properties(width=wide, height=HEIGHT, **titled))
        blocks.append(panels)
    aligned = options(spacing=options(row=DOWN, column=ACROSS), bounds="flush", align="each")
    if across == 1:
        stacked = [vl.concat(*panels, columns=1, **aligned) for panels in blocks]
        return themed(vl.vconcat(*stacked, spacing=APART))
    cells = [panel for row in zip(*blocks, strict=True) for panel in row]
    return themed(vl.concat(*cells, columns=across, **aligned))
