"""Time series of runs of the same scenario by several engines, over each other."""

from typing import Any

import polars as pl

from bloatlab.figures import network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 130
NARROW = 560
FLOWS = 3
"""Largest number of flows that are drawn side by side."""
SPANS = 120
"""Points of a line."""
TABLE = "engine_series"
QUANTITIES = {
    "queue_delay": "queueing delay (ms)",
    "throughput": "throughput (Mbit/s)",
    "cwnd": "cwnd (segments)",
    "srtt": "sRTT (ms)",
    "rtt": "RTT of probes (ms)",
}
OF_FLOWS = ("throughput", "cwnd", "srtt")


def _note(tables: network.Tables) -> str:
    series = network.table(tables, TABLE)
    flows = series.filter(pl.col("quantity").is_in(OF_FLOWS))["entity"].n_unique()
    runs = series.group_by("engine", maintain_order=True).agg(pl.col("run_id").n_unique())
    counts = ", ".join(f"{engine}: {count}" for engine, count in runs.iter_rows())
    shown = f" {FLOWS} of {flows} flows are drawn." if flows > FLOWS else ""
    return f"Number of runs: {counts}.{shown}"


@as_figure(
    title="Engines over time",
    caption="The same scenario by each engine: queueing delay at the bottleneck, and throughput, window and sRTT of each "
    "flow, and RTT of each probe. Thin lines are single runs, thick lines their mean.",
    needs=(TABLE,),
    when=lambda tables: network.table(tables, TABLE)["engine"].n_unique() > 1,
    of_runs=True,
    note=_note,
)
def engine_series(tables: network.Tables, *, width: int) -> Any:
    """One panel per quantity and flow on the same time axis, one colour per engine.

    Args:
        tables: `engine_series`: `engine`, `run_id`, `quantity`, `entity` (link, flow or probe), `time_s`, `value`.
        width: Width of the whole figure, pixels; below 560 the flows are stacked.

    Returns:
        The chart.
    """
    series = network.table(tables, TABLE)
    engines = series["engine"].unique(maintain_order=True).to_list()
    end = prepare.high(series["time_s"]) or 1.0
    flows, probes = (
        series.filter(pl.col("quantity").is_in(of))["entity"].unique(maintain_order=True).to_list()[:FLOWS]
        for of in (OF_FLOWS, ("rtt",))
    )
    across = 1 if width < NARROW else max(1, len(flows), len(probes))
    rows = []
    for quantity, title in QUANTITIES.items():
        of = series.filter(quantity=quantity)
        if quantity == "queue_delay":
            rows += [[_Panel(of, title, "", plot_width(width))]] if not of.is_empty() else []
            continue
        entities = probes if quantity == "rtt" else flows
        panels = [
            _Panel(own, title, entity if len(entities) > 1 else "", plot_width(width, across))
            for entity in entities
            if not (own := of.filter(entity=entity)).is_empty()
        ]
        rows += [panels[start : start + across] for start in range(0, len(panels), across)]
    colour = parts.colour(engines, list(palette.in_order(engines).values()), field="engine")
    drawn = [vl.hconcat(*(panel.draw(end, colour) for panel in row), spacing=14) for row in rows]
    # Flows of a row are compared, too.
    drawn = [row.resolve("scale", y="shared") for row in drawn]
    return themed(vl.vconcat(*drawn, spacing=10))


class _Panel:
    """One quantity of one link or flow."""

    def __init__(self, series: pl.DataFrame, title: str, heading: str, width: int) -> None:
        self.series, self.title, self.heading, self.width = series, title, heading, width

    def draw(self, end: float, colour: Any) -> Any:
        """The panel: a thin line per run where an engine made several, and a thick line for their mean."""
        runs, means = averaged(self.series, end)
        x = vl.field(
            "time_s:Q", scale=options(domain=[0, end], nice=False), axis=options(title="time (s)", tickCount=6)
        )
        y = vl.field("value:Q", axis=options(title=self.title), scale=options(zero=True))
        layers = [
            parts.drawn(prepare.values(runs), "line", strokeWidth=0.8, opacity=0.45).encode(
                x=x, y=y, color=colour, detail="run_id:N"
            ),
            parts.drawn(prepare.values(means), "line", strokeWidth=2).encode(x=x, y=y, color=colour),
        ]
        shown = layers if not runs.is_empty() else layers[1:]
        heading = options(title=self.heading) if self.heading else {}
        return vl.layer(*shown, width=self.width, height=HEIGHT, **heading)


def averaged(series: pl.DataFrame, end: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The runs of engines that made several, and the mean of the runs of each engine, in at most `SPANS` spans of time."""
    span = end / SPANS
    placed = (
        series.with_columns((((pl.col("time_s") / span).floor() + 0.5) * span).clip(0, end))
        .group_by("engine", "run_id", "time_s", maintain_order=True)
        .agg(pl.col("value").mean())
        .sort("engine", "run_id", "time_s")
    )
    several = placed.filter(pl.col("run_id").n_unique().over("engine") > 1)
    means = placed.group_by("engine", "time_s", maintain_order=True).agg(pl.col("value").mean())
    return several, means.sort("engine", "time_s")
