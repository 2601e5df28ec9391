"""What the probes measured: their RTT, or the time of their fetches, over time and as a distribution."""

from typing import Any

import polars as pl

from bloatlab.analysis import order
from bloatlab.figures import network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 130
NARROW = 560
MOST = 4
"""Largest number of probes with a panel each."""
FEW = 60
"""Largest number of replies of a line with points."""
QUANTILES = 100
PACKET = 1500
"""Bytes. A probe of more asks for an object, and what it measures is the time of the whole fetch."""


def replies(tables: network.Tables) -> pl.DataFrame:
    """`time_s`, `probe` and `rtt_ms` of every reply."""
    series = network.table(tables, "probe_series")
    if not {"time_s", "probe", "rtt_ms"} <= set(series.columns):
        return pl.DataFrame(schema={"time_s": pl.Float64, "probe": pl.String, "rtt_ms": pl.Float64})
    return series.select("time_s", pl.col("probe").cast(pl.String), "rtt_ms").drop_nulls()


def _names(tables: network.Tables) -> list[str]:
    return sorted(replies(tables)["probe"].unique(maintain_order=True).to_list(), key=order.natural)


def _note(tables: network.Tables) -> str:
    more = len(_names(tables)) - MOST
    return f"{MOST} probes are shown; {more} more are in the table of metrics." if more > 0 else ""


@as_figure(
    title="RTT of the probes",
    caption="Each reply of a ping or of another probe over time, and the share of replies that took at most that long.",
    needs=("probe_series",),
    when=lambda tables: not replies(tables).is_empty(),
    note=_note,
)
def probe_rtt(tables: network.Tables, *, width: int) -> Any:
    """The RTT of each probe over time, and its distribution function. A probe that fetches objects has its fetch time.

    Args:
        tables: `probe_series`; `probes` gives the sizes.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    found = replies(tables)
    names = _names(tables)[:MOST]
    sizes = _sizes(tables)
    end = prepare.high(found["time_s"]) or 1.0
    stacked = width < NARROW
    wide = plot_width(width, 1 if stacked else 2)
    rows = []
    for name, colour in palette.in_order(names).items():
        what = "fetch time" if sizes.get(name, 0) > PACKET else "RTT"
        of = found.filter(pl.col("probe") == name).sort("time_s", maintain_order=True)
        title = f"{name}: {what} (ms)"
        panels = [_over_time(of, title, colour, end, wide), _distribution(of, title, colour, wide)]
        rows.append(vl.vconcat(*panels, spacing=12) if stacked else vl.hconcat(*panels, spacing=14))
    return themed(vl.vconcat(*rows, spacing=12))


def _sizes(tables: network.Tables) -> dict[str, float]:
    probes = network.table(tables, "probes")
    if not {"probe", "size"} <= set(probes.columns):
        return {}
    return dict(probes.select(pl.col("probe").cast(pl.String), pl.col("size").fill_null(0)).iter_rows())


def _over_time(of: pl.DataFrame, title: str, colour: str, end: float, width: int) -> vl.View:
    light = prepare.thin(of.select("time_s", "rtt_ms"), "time_s", "rtt_ms")
    point = options(size=20) if light.height <= FEW else False
    return (
        parts.drawn(prepare.values(light), "line", color=colour, point=point)
        .encode(
            x=vl.field(
                "time_s:Q", axis=options(title="time (s)", tickCount=6), scale=options(domain=[0, end], nice=False)
            ),
            y=vl.field("rtt_ms:Q", axis=options(title=title), scale=options(zero=True)),
        )
        .properties(width=width, height=HEIGHT)
    )


def _distribution(of: pl.DataFrame, title: str, colour: str, width: int) -> vl.View:
    values = of["rtt_ms"].sort()
    # A step at every reply, or at every hundredth of many.
    places = [round(step * (len(values) - 1) / QUANTILES) for step in range(QUANTILES + 1)]
    chosen = places if len(values) > QUANTILES else list(range(len(values)))
    curve = pl.DataFrame({"value": values[chosen], "share": [(place + 1) / len(values) for place in chosen]})
    return (
        parts.drawn(prepare.values(curve), "line", color=colour, interpolate="step-after")
        .encode(
            x=vl.field(
                "value:Q", axis=options(title=title, grid=True, tickCount=6), scale=options(zero=False, nice=True)
            ),
            y=vl.field("share:Q", axis=options(title="share of replies", format=".0%"), scale=options(domain=[0, 1])),
        )
        .properties(width=width, height=HEIGHT)
    )
