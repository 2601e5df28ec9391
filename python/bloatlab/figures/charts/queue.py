"""Queue length and sojourn time over time at each bottleneck."""

import math
from typing import Any

import polars as pl

from bloatlab.figures import network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 130


def _note(tables: network.Tables) -> str:
    shown = len(network.queueing_links(tables))
    total = network.table(tables, "link_series")["link"].n_unique()
    counted = "The axis of drops and marks grows with the square root." if _counts(tables) else ""
    if shown == total:
        return counted
    which = "is shown: the one with the longest queue" if shown == 1 else "are shown: those with the longest queues"
    return f"{counted} {shown} of {total} links {which}.".strip()


def _counts(tables: network.Tables) -> bool:
    """Whether the drawn links dropped or marked packets."""
    series = network.table(tables, "link_series")
    mine = series.filter(pl.col("link").is_in(network.queueing_links(tables)))
    return any(prepare.high(mine[name]) > 0 for name in ("drops", "marks") if name in mine.columns)


@as_figure(
    title="Queue over time",
    caption="Queue length at each sample with the limit of the queue, the mean sojourn time per interval, and drops "
    "and marks.",
    needs=("link_series",),
    when=lambda tables: prepare.has_values(network.table(tables, "link_series"), "queue_packets"),
    note=_note,
)
def queue(tables: network.Tables, *, width: int) -> Any:
    """Queue length with its limit, sojourn time, and drops and marks, over time.

    The four links with the longest queues are drawn. Links without waiting packets are left out.

    Args:
        tables: `link_series`; `links` gives the limit.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    names = network.queueing_links(tables)
    colours = palette.links(names)
    series = network.table(tables, "link_series").filter(pl.col("link").is_in(names))
    end = prepare.high(series["time_s"]) or 1.0
    wide = plot_width(width)
    columns = parts.legend_columns(names, wide)
    events = _events(series, end)
    titles = [("queue_packets", "queue (packets)"), ("sojourn_ms", "sojourn (ms)")]
    titles = [(column, title) for column, title in titles if prepare.has_values(series, column)]
    panels = []
    for index, (column, title) in enumerate(titles):
        last = index == len(titles) - 1 and events.is_empty()
        colour = parts.colour(names, list(colours.values()), field="link", columns=columns, legend=index == 0)
        light = prepare.thin(
            series.select("time_s", "link", pl.col(column).cast(pl.Float64)), "time_s", column, by="link"
        )
        few = light.height <= 20 * len(names)
        layers = [
            parts.drawn(prepare.values(light), "line", point=options(size=20) if few else False).encode(
                x=_time(end, last),
                y=vl.field(f"{column}:Q", axis=options(title=title), scale=_from_zero(series[column])),
                color=colour if len(names) > 1 else vl.value(colours[names[0]]),
            )
        ]
        if column == "queue_packets":
            layers.extend(_limits(tables, names, wide, prepare.maximum(series[column]) or 0))
        panels.append(vl.layer(*layers, width=wide, height=HEIGHT))
    if not events.is_empty():
        panels.append(_event_panel(events, end, wide))
    # The colour of drops differs from those of the links.
    return themed(vl.vconcat(*panels, spacing=10).resolve("scale", color="independent"))


def _from_zero(values: pl.Series) -> Any:
    """A scale that begins at zero, also if every value is zero."""
    return options(zero=True) if prepare.maximum(values) else options(domain=[0, 1])


def _time(end: float, titled: bool) -> Any:
    axis = options(title="time (s)" if titled else None, labels=titled, ticks=titled, tickCount=10, format=",.6~g")
    return vl.field("time_s:Q", scale=options(domain=[0, end], nice=False), axis=axis)


def _limits(tables: network.Tables, names: list[str], width: int, top: float) -> list[Any]:
    # A limit far above the data, such as fq_codel's 10240, would flatten the curve. The table of links has it.
    known = {name: network.queue_limit_packets(tables, name) for name in names}
    limits = {limit for limit in known.values() if limit is not None and limit <= 4 * max(top, 1)}
    return [
        layer
        for limit in sorted(limits)
        for layer in parts.level(limit, f"limit {parts.number(limit, 'packets')}", width)
    ]


def _events(series: pl.DataFrame, end: float, bins: int = 150) -> pl.DataFrame:
    """Drops and marks of all drawn links, summed in at most `bins` spans of time."""
    span = max(end / bins, 1e-9)
    counts = [name for name in ("drops", "marks") if name in series.columns]
    if not counts:
        return pl.DataFrame()
    return (
        series.with_columns(((pl.col("time_s") / span).floor() * span).clip(0, end).alias("time_s"))
        .group_by("time_s", maintain_order=True)
        .agg(pl.col(name).sum() for name in counts)
        .unpivot(on=counts, index="time_s", variable_name="event", value_name="packets")
        .filter(pl.col("packets") > 0)
        .sort("time_s", "event")
    )


def _ticks(top: float) -> list[float]:
    """Ticks of the square-root axis: a round number up to the largest value, and a tenth of it if that is whole."""
    decade = 10 ** math.floor(math.log10(top))
    largest = max(step * decade for step in (1, 2, 5) if step * decade <= top)
    return [0, largest / 10, largest] if largest >= 10 else [0, largest]


def _event_panel(events: pl.DataFrame, end: float, width: int) -> Any:
    kinds = [kind for kind in ("drops", "marks") if kind in events["event"].to_list()]
    shades = {"drops": "#D55E00", "marks": "#009E73"}
    title = f"{' and '.join(kinds)} (packets)"
    return (
        parts.drawn(prepare.values(events), "rule", strokeWidth=2)
        .encode(
            x=_time(end, True),
            y=vl.field(
                "packets:Q",
                axis=options(
                    title=title if len(kinds) == 1 else "packets",
                    values=_ticks(prepare.high(events["packets"])),
                    format=",d",
                ),
                # One packet stays visible beside a hundred of a slow start.
                scale=options(type="sqrt", zero=True),
            ),
            y2=vl.datum(0),
            color=parts.colour(kinds, [shades[kind] for kind in kinds], field="event"),
        )
        .properties(width=width, height=60)
    )
