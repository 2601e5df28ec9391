"""RTT and throughput against the segments in flight, with Kleinrock's operating point."""

from typing import Any

import polars as pl

from bloatlab.figures import network, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import HALF, INK, NEUTRAL, OPTIMUM, PHONE, STAR, options, plot_width, themed

SAMPLES = 500
HEIGHT = 125
KINDS = ["mean", "operating point (BDP)"]


@as_figure(
    title="In flight against the operating point",
    caption="All flows through the bottleneck together. The dashed line is an ideal path. To the right of the star (the "
    "bandwidth-delay product), more segments in flight only add delay.",
    needs=("flow_series",),
    when=lambda tables: network.has_pairs(tables, "srtt_ms", "in_flight"),
    width=HALF,
    note=lambda tables: network.across_note(tables, "The samples are of"),
)
def in_flight(tables: network.Tables, *, width: int) -> Any:
    """SRTT and throughput against segments in flight, with the lines of an ideal path.

    All flows through the bottleneck are added up.

    An ideal path delivers `min(C, w / RTT)` with the round-trip time `max(RTT, w / C)`. So to the right of the
    bandwidth-delay product only the delay grows (Kleinrock 1979; Cardwell et al., CACM 60(2), 2017, figure 1).

    Args:
        tables: `flow_series` and `flows`; `links` gives the lines of the ideal path.
        width: Width of the whole figure, pixels.

    Returns:
        The chart.
    """
    across = network.across(tables)
    path, colours = across.path, across.groups.range
    # The dots have the colour of the algorithm if there is only one.
    dot = colours[0] if len(colours) == 1 else NEUTRAL
    together = (
        network.table(across.tables, "flow_series")
        .drop_nulls("in_flight")
        .group_by("time_s", maintain_order=True)
        .agg(
            pl.col("in_flight").sum().alias("w"),
            pl.col("srtt_ms").mean(),
            pl.col("throughput_mbps").sum(),
        )
        .sort("time_s")
        .drop_nulls(["w", "srtt_ms", "throughput_mbps"])
    )
    bdp = path.bdp_segments
    right = 1.08 * (prepare.maximum(together["w"], bdp) or 1.0)
    wide = plot_width(width)
    dots = prepare.sample(together, SAMPLES)
    mean = together.select(pl.col("w").mean(), pl.col("srtt_ms").mean(), pl.col("throughput_mbps").mean())
    panels = []
    for index, (column, title) in enumerate((("srtt_ms", "sRTT (ms)"), ("throughput_mbps", "throughput (Mbit/s)"))):
        last = index == 1
        x = vl.field(
            "w:Q",
            scale=options(domain=[0, right], nice=False),
            axis=options(title="in flight, sum of the flows (segments)" if last else None, labels=last, ticks=last),
        )
        ideal = _ideal(path, right, column)
        top = 1.12 * (prepare.maximum(together[column], *(row[column] for row in ideal)) or 1.0)
        y = vl.field(f"{column}:Q", scale=options(domain=[0, top], nice=False), axis=options(title=title))
        layers = []
        if ideal:
            at_bdp = ideal[1]
            line = parts.drawn(vl.Rows(values=ideal), "line", color=NEUTRAL, strokeDash=[5, 4], strokeWidth=1.5)
            layers.append(line.encode(x=x, y=y))
            layers.append(parts.drawn(vl.Rows(values=[at_bdp]), "rule", color=NEUTRAL, strokeWidth=1).encode(x=x))
        layers.append(
            parts.drawn(prepare.values(dots.select("w", column), 3), "circle", size=12, opacity=0.35, color=dot).encode(
                x=x, y=y
            )
        )
        marks = [{**mean.row(0, named=True), "point": KINDS[0]}]
        if ideal:
            marks.append({**ideal[1], "point": KINDS[1]})
        legend = options(title=None, symbolStrokeWidth=1, symbolSize=110, columns=1 if width < PHONE else 2)
        shape, fill, stroke = (
            vl.field("point:N", scale=options(domain=KINDS, range=range_), legend=None if last else legend)
            for range_ in (["diamond", STAR], [INK, OPTIMUM], [INK, INK])
        )
        layers.append(
            parts.drawn(
                prepare.values(pl.DataFrame(marks).select("w", column, "point")),
                "point",
                filled=True,
                size=130,
                opacity=1,
                strokeWidth=1,
            ).encode(x=x, y=y, shape=shape, fill=fill, stroke=stroke)
        )
        panels.append(vl.layer(*layers, width=wide, height=HEIGHT))
    return themed(vl.vconcat(*panels, spacing=10))


def _ideal(path: network.Path, right: float, column: str) -> list[dict[str, float]]:
    """Points of the ideal path: from nothing in flight over the BDP to the right edge."""
    bdp, base, capacity = path.bdp_segments, path.base_rtt_ms, path.capacity_mbps
    if bdp is None or base is None or capacity is None:
        return []
    heights = [base, base, base * right / bdp] if column == "srtt_ms" else [0.0, capacity, capacity]
    return [
        {"w": float(f"{w:.4g}"), column: float(f"{height:.4g}")}
        for w, height in zip([0.0, bdp, right], heights, strict=True)
    ]
