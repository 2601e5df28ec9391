"""The downlink of a 5G cell over time: rate of the radio, packets that wait, and delays."""

from typing import Any

import polars as pl

from bloatlab.figures import network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 110
PLACES = {"upf": "UPF", "sdap": "SDAP", "ue": "RLC"}
"""Queues of the downlink by link: `upf`, `upf_1`, `sdap_1`, `ue_1`; with named bearers `ue_1_NAME`."""
DELAYS = ("ping RTT", "mean sRTT of TCP")


def queues(tables: network.Tables) -> pl.DataFrame:
    """`time_s`, `place`, `packets` and `mbps` of each queue of the downlink, summed over users and bearers."""
    series = network.table(tables, "link_series")
    if not {"time_s", "link", "queue_packets", "throughput_mbps"} <= set(series.columns):
        return pl.DataFrame()
    link = pl.col("link").cast(pl.String)
    stem = pl.when(~link.str.ends_with("_up")).then(link.str.extract(r"^(upf|sdap|ue)(?:_\d+(?:_.+)?)?$"))
    placed = series.with_columns(stem.replace_strict(PLACES, default=None, return_dtype=pl.String).alias("place"))
    return (
        placed.drop_nulls("place")
        .group_by("time_s", "place", maintain_order=True)
        .agg(pl.col("queue_packets").sum().alias("packets"), pl.col("throughput_mbps").sum().alias("mbps"))
        .sort("place", "time_s")
    )


def delays(tables: network.Tables) -> pl.DataFrame:
    """`time_s`, `what` and `ms`: RTTs of the pings, and the mean smoothed RTT of the TCP flows."""
    found = []
    for name, column, what in (("probe_series", "rtt_ms", DELAYS[0]), ("flow_series", "srtt_ms", DELAYS[1])):
        series = network.table(tables, name)
        if column in series.columns:
            means = series.drop_nulls(column)
            if "probe" in means.columns:
                means = means.filter(pl.col("probe").cast(pl.String).str.starts_with("ping"))
            means = means.group_by("time_s").agg(pl.col(column).mean().alias("ms")).sort("time_s")
            found.append(means.select("time_s", pl.lit(what).alias("what"), pl.col("ms").cast(pl.Float64)))
    return pl.concat(found) if found else pl.DataFrame()


@as_figure(
    title="From the UPF to the UE",
    caption="The rate of the radio, the packets that wait in the UPF, in SDAP and in the RLC, and the delay of pings "
    "and of TCP's packets.",
    needs=("link_series",),
    when=lambda tables: not queues(tables).is_empty(),
)
def downlink(tables: network.Tables, *, width: int) -> Any:
    """Throughput of the radio, packets that wait in the UPF, in SDAP and in the RLC, and delays, over time.

    Args:
        tables: `link_series` of a run with a cell; `probe_series` and `flow_series` give the delays.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    waiting, waits = queues(tables), delays(tables)
    end = prepare.high(waiting["time_s"]) or 1.0
    wide = plot_width(width)
    places = [place for place in PLACES.values() if place in waiting["place"].to_list()]
    by_place = parts.colour(places, list(palette.PALETTE[: len(places)]), field="place")
    radio = waiting.filter(pl.col("place") == PLACES["ue"])
    panels = [
        _panel(radio, "mbps", "radio (Mbit/s)", end, wide, vl.value(palette.PALETTE[2])),
        _panel(waiting, "packets", "queue (packets)", end, wide, by_place, by="place", last=waits.is_empty()),
    ]
    if not waits.is_empty():
        kinds = [what for what in DELAYS if what in waits["what"].to_list()]
        tints = [palette.PALETTE[3 + index] for index in range(len(kinds))]
        shade = parts.colour(kinds, tints, field="what")
        log = parts.wants_log(prepare.low(waits["ms"]), prepare.high(waits["ms"]))
        panels.append(_panel(waits, "ms", "delay (ms)", end, wide, shade, by="what", last=True, log=log))
    return themed(vl.vconcat(*panels, spacing=10).resolve("scale", color="independent"))


def _panel(
    rows: pl.DataFrame,
    column: str,
    title: str,
    end: float,
    width: int,
    colour: Any,
    *,
    by: str = "",
    last: bool = False,
    log: bool = False,
) -> Any:
    light = prepare.thin(rows.drop_nulls(column), "time_s", column, by=by or None)
    axis = options(title="time (s)" if last else None, labels=last, ticks=last, tickCount=10, format=",.6~g")
    scale = options(type="log", nice=False) if log else options(zero=True)
    line = parts.drawn(prepare.values(light), "line").encode(
        x=vl.field("time_s:Q", scale=options(domain=[0, end], nice=False), axis=axis),
        y=vl.field(f"{column}:Q", axis=options(title=title, format=",.6~g"), scale=scale),
        color=colour,
    )
    return line.properties(width=width, height=HEIGHT)
