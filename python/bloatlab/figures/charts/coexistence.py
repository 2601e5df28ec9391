"""Pairs of congestion controls as heat maps: the newcomer's share of the throughput, and the incumbent's delay."""

from typing import Any

import polars as pl

from bloatlab.experiments import phrases
from bloatlab.figures import network, parts, prepare, sweep
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import FAINT, options, themed
from bloatlab.store.text import readable

ROLES = ("newcomer", "incumbent")
CELL = (9, 34)
"""Smallest and largest side of a cell, pixels."""
ROOM_FOR_NUMBERS = 26
LABELS = 96


def cells(tables: network.Tables) -> pl.DataFrame:
    """Means over replications: one row per pair and place on the other axes.

    Returns:
        `newcomer`, `incumbent`, `place` (such as `queue fifo, depth 4`), `share` (0 to 1), `delay` (ms); no rows if
        the runs have no such roles.
    """
    roles = _roles(tables)
    if roles.is_empty():
        numbers = dict.fromkeys(("share", "delay"), pl.Float64)
        return pl.DataFrame(schema={**dict.fromkeys((*ROLES, "place"), pl.String), **numbers})
    # In the order of the other axes.
    joined = _places(tables).join(roles, on="run_id", maintain_order="left")
    joined = joined.join(_outcomes(tables), on="run_id", maintain_order="left")
    share = pl.col("mine") / (pl.col("mine") + pl.col("theirs"))
    means = (share.mean().alias("share"), pl.col("delay").mean())
    return joined.group_by(*ROLES, "place", maintain_order=True).agg(means)


def _outcomes(tables: network.Tables) -> pl.DataFrame:
    """Throughput of the newcomers and of the incumbents, and the delay of the incumbents, for each run."""
    metrics = network.table(tables, "metrics").filter(pl.col("scope") == "flow")
    role = pl.col("entity").str.extract(rf"^({'|'.join(ROLES)})(?:_\d+)?$")

    def of(metric: str, role: str) -> pl.Expr:
        return pl.col("value").filter((pl.col("metric") == metric) & (pl.col("role") == role))

    return (
        metrics.with_columns(role.alias("role"))
        .drop_nulls("role")
        .group_by("run_id", maintain_order=True)
        .agg(
            of("mean_throughput_l7", "newcomer").sum().alias("mine"),
            of("mean_throughput_l7", "incumbent").sum().alias("theirs"),
            of("mean_sojourn_l4", "incumbent").mean().alias("delay"),
        )
    )


def _places(tables: network.Tables) -> pl.DataFrame:
    """Place of each run on the axes that are neither roles nor derived from others."""
    swept = sweep.read(tables)
    names = [name for name in swept.parameters if name not in (*ROLES, "qlen")]
    words = [pl.format("{} {}", pl.lit(phrases.heading(name)), pl.col(name)) for name in names]
    return swept.frame.select("run_id", (pl.concat_str(words, separator=", ") if words else pl.lit("")).alias("place"))


def _roles(tables: network.Tables) -> pl.DataFrame:
    parameters = network.table(tables, "parameters")
    if parameters.is_empty():
        return pl.DataFrame()
    own = parameters.filter(pl.col("name").is_in(ROLES))
    own = own.with_columns(pl.col("value").map_elements(readable, return_dtype=pl.String))
    if own["name"].n_unique() < len(ROLES):
        return pl.DataFrame()
    return own.pivot("name", index="run_id", values="value", aggregate_function="first").select("run_id", *ROLES)


def order(pairs: pl.DataFrame) -> list[str]:
    """Congestion controls by their mean share as a newcomer, the largest first."""
    taken = pairs.filter(pl.col("newcomer") != pl.col("incumbent")).group_by("newcomer").agg(pl.col("share").mean())
    ranked = taken.sort("share", "newcomer", descending=[True, False])["newcomer"].to_list()
    rest = sorted({*pairs["newcomer"], *pairs["incumbent"]} - set(ranked))
    return [*ranked, *rest]


@as_figure(
    title="Share of the newcomer",
    caption="Rows are the newcomer, columns the incumbent. Blue: the newcomer gets more than half. Rows are in the "
    "order of their mean share, the largest first.",
    needs=("runs", "parameters", "metrics"),
    when=lambda tables: cells(tables).height > 1,
    of_runs=True,
)
def share_matrix(tables: network.Tables, *, width: int) -> Any:
    """The newcomer's share of the throughput: one row per newcomer, one column per incumbent.

    Each place on the other axes has a panel.


    Args:
        tables: `runs`, `parameters` and `metrics` of a store.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    scale = options(scheme="blueorange", domain=[0, 1], domainMid=0.5, reverse=True)
    legend = options(title="newcomer's share", format=".0%", gradientLength=220, values=[0, 0.25, 0.5, 0.75, 1])
    dark = (pl.col("share") - 0.5).abs() > 0.3
    return _matrix(tables, "share", scale, legend, "pct", dark, width)


@as_figure(
    title="Delay of the incumbent",
    caption="Mean queueing delay of the incumbent's packets (column) while the newcomer (row) sends.",
    needs=("runs", "parameters", "metrics"),
    when=lambda tables: cells(tables).height > 1,
    of_runs=True,
)
def delay_matrix(tables: network.Tables, *, width: int) -> Any:
    """As `share_matrix`, with the mean queueing delay of the incumbent's packets in ms.

    Args:
        tables: `runs`, `parameters` and `metrics` of a store.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    top = prepare.high(cells(tables)["delay"]) or 1.0
    scale = options(scheme="yelloworangered", type="sqrt", domain=[0, top])
    legend = options(title="queueing delay (ms)", gradientLength=220)
    return _matrix(tables, "delay", scale, legend, "ms", pl.col("delay") > 0.3 * top, width)


def _matrix(tables: network.Tables, column: str, scale: Any, legend: Any, unit: str, dark: pl.Expr, width: int) -> Any:
    pairs = cells(tables).with_columns(dark.alias("dark"))
    names = order(pairs)
    places = pairs["place"].unique(maintain_order=True).to_list()
    # Two panels side by side, if their cells are large enough.
    across = 2 if len(places) > 1 and (width / 2 - LABELS) / len(names) >= CELL[0] else 1
    side = int(max(CELL[0], min(CELL[1], (width / across - LABELS) / len(names))))
    panels = [
        _panel(pairs.filter(pl.col("place") == place), place, names, side, column, scale, legend, unit)
        for place in places
    ]
    rows = [vl.hconcat(*panels[start : start + across], spacing=18) for start in range(0, len(panels), across)]
    return themed(vl.vconcat(*rows, spacing=14))


def _panel(
    pairs: pl.DataFrame, place: str, names: list[str], side: int, column: str, scale: Any, legend: Any, unit: str
) -> Any:
    size = side * len(names)
    number = (pl.col(column) * 100).round(0).cast(pl.Int64) if unit == "pct" else pl.col(column).round(1)
    shown = pairs.drop_nulls(column).with_columns(number.cast(pl.String).alias("text"))
    axis = options(labelFontSize=min(12, max(8, side - 2)), labelOverlap=False, ticks=False, domain=False, grid=False)
    band = options(type="band", domain=names, paddingInner=0.04, paddingOuter=0)
    x = vl.field("incumbent:N", scale=band, axis=options(**axis, title="incumbent", labelAngle=-60))
    y = vl.field("newcomer:N", scale=band, axis=options(**axis, title="newcomer", minExtent=10, labelPadding=3))
    rows = prepare.values(shown.select(*ROLES, column, "text", "dark"))
    layers = [
        parts.drawn(rows, "rect", stroke=FAINT, strokeWidth=0.3).encode(
            x=x, y=y, color=vl.field(f"{column}:Q", scale=scale, legend=legend)
        )
    ]
    if side >= ROOM_FOR_NUMBERS:
        numbers = parts.drawn(rows, "text", fontSize=9)
        layers.append(numbers.encode(x=x, y=y, text=vl.field("text:N"), color=parts.on_shade()))
    return vl.layer(*layers, width=size, height=size, title=options(text=place) if place else vl.UNSET)
