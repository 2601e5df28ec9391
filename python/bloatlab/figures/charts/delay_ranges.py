"""Delays of every contender: median, 95th and 99th percentile in one bar."""

from typing import Any

import polars as pl

from bloatlab.figures import contenders, network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import INK, options, plot_width, themed

ROW = 17
NARROW = 560
NAMES = 90
"""Width of the names, pixels."""


@as_figure(
    title="Delay of every contender",
    caption="In the order of the ranking. The dot is the median; the thick bar reaches to the 95th percentile, the "
    "thin bar to the 99th.",
    needs=("ranking",),
    when=lambda tables: bool(contenders.stems(network.table(tables, "ranking"))),
    of_runs=True,
)
def delay_ranges(tables: network.Tables, *, width: int) -> Any:
    """One panel per kind of delay, one row per contender in the order of the ranking.

    The dot is the median; the thick bar reaches to the 95th percentile, the thin bar to the 99th.

    Args:
        tables: `ranking`.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    ranking = network.table(tables, "ranking")
    names = contenders.order(ranking)
    stems = contenders.stems(ranking)
    across = 1 if width < NARROW or len(stems) == 1 else 2
    wide = plot_width(width - across * (NAMES - 40), across)
    panels = [_panel(ranking, stem, names, wide) for stem in stems]
    rows = [panels[start : start + across] for start in range(0, len(panels), across)]
    return themed(vl.vconcat(*(vl.hconcat(*row, spacing=14) for row in rows), spacing=16))


def _panel(ranking: pl.DataFrame, stem: str, names: list[str], width: int) -> Any:
    found = ranking.filter(pl.col("criterion").str.starts_with(f"{stem}_p"))
    title = found["title"][0].rpartition(" ")[0]
    spread = found.drop_nulls("value").with_columns(pl.col("criterion").str.split("_").list.last().alias("percentile"))
    wide = spread.pivot("percentile", index="contender", values="value", aggregate_function="first")
    wide = wide.drop_nulls(["p50", "p95", "p99"])
    data = prepare.values(wide.select("contender", "p50", "p95", "p99"))
    positive = prepare.low(wide["p50"]) > 0
    log = positive and parts.wants_log(prepare.low(wide["p50"]), prepare.high(wide["p99"]))
    axis = options(title=f"{title} ({found['unit'][0]})", tickCount=5, grid=True, format=",.6~g")
    scale = options(type="log" if log else "linear", zero=not log, nice=not log, padding=8 if log else 0)
    y = vl.field("contender:N", sort=names, axis=options(title=None, labelLimit=NAMES + 60, minExtent=NAMES))
    tints = contenders.colours(names)
    colour = parts.colour(names, list(tints.values()), field="contender", legend=False)

    def x(field: str) -> Any:
        return vl.field(f"{field}:Q", axis=axis, scale=scale)

    return vl.layer(
        parts.drawn(data, "rule", strokeWidth=1.5).encode(x=x("p95"), x2=vl.field("p99:Q"), y=y, color=colour),
        parts.drawn(data, "rule", strokeWidth=7, opacity=0.55).encode(
            x=x("p50"), x2=vl.field("p95:Q"), y=y, color=colour
        ),
        parts.drawn(data, "tick", thickness=2, size=10).encode(x=x("p99"), y=y, color=colour),
        parts.drawn(data, "point", filled=True, size=46, opacity=1, color=INK).encode(x=x("p50"), y=y),
        width=width,
        height=ROW * len(names),
    )
