"""RTT against the limit of the queue, with fitted lines and the delay of a full queue."""

from statistics import linear_regression
from typing import Any

import polars as pl

from bloatlab.experiments.home_router.setup import PING, base_ms, frame_ms
from bloatlab.figures import limits, network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import NEUTRAL, options, plot_width, themed

NARROW = 560
HEIGHT = 230
MEDIAN, LARGEST = "median", "largest"


def read(tables: network.Tables) -> pl.DataFrame:
    """One row per run and kind of RTT: `router`, `limit`, `kind` (median, largest), `value` (ms)."""
    runs = limits.placed(tables)
    everything = [int(limit) for limit in runs["limit"].unique().to_list()]
    pings = limits.joined(limits.probe(tables, runs, PING), runs, everything).drop_nulls("value")
    wide = pings.group_by("router", "limit", "run_id", maintain_order=True).agg(
        pl.col("value").median().alias(MEDIAN), pl.col("value").max().alias(LARGEST)
    )
    long = wide.unpivot([MEDIAN, LARGEST], index=["router", "limit", "run_id"], variable_name="kind")
    return long.sort("router", "kind", "limit", "run_id")


def fit(points: pl.DataFrame) -> tuple[float, float] | None:
    """Slope (ms per buffer) and intercept (ms) of a fit to the means; `None` with fewer than two limits."""
    means = points.group_by("limit").agg(pl.col("value").mean()).sort("limit")
    if means.height < 2:
        return None
    found = linear_regression(means["limit"].cast(pl.Float64).to_list(), means["value"].to_list())
    return found.slope, found.intercept


@as_figure(
    title="RTT against the queue's limit",
    caption="One mark per run. Solid lines are least-squares fits to the means at each limit. Dashed: the base RTT, "
    "and the time to send that many full buffers at the rate of the bottleneck.",
    needs=("runs", "parameters", "probe_series"),
    when=lambda tables: any(fit(part) for part in read(tables).partition_by("router")),
    of_runs=True,
)
def limit_rtt(tables: network.Tables, *, width: int) -> Any:
    """One panel per router, one mark per run and kind of RTT; lines are fits.

    Args:
        tables: `runs`, `parameters` and `probe_series` of all runs, `run_id` first.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    points = read(tables)
    runs = limits.placed(tables)
    names = limits.routers(runs)
    across = 1 if width < NARROW else len(names)
    wide = plot_width(width, across)
    high = 1.08 * prepare.high(points["value"])
    panels = [_panel(points, runs.filter(pl.col("router") == name), name, wide, high) for name in names]
    joined = vl.vconcat(*panels, spacing=14) if across == 1 else vl.hconcat(*panels, spacing=14)
    return themed(joined.resolve("legend", color="shared", shape="shared"))


def _panel(points: pl.DataFrame, runs: pl.DataFrame, name: str, width: int, high: float) -> Any:
    own = points.filter(pl.col("router") == name)
    end = int(prepare.high(own["limit"]))
    slope = frame_ms(str(runs["rate"][0])) * int(runs["segments"][0])
    base = base_ms(str(runs["delay"][0]))
    theory = pl.DataFrame({"limit": [0.0, float(end)], "value": [base, base + slope * end]})
    x = vl.field(
        "limit:Q", axis=options(title="maxq (buffers)", tickCount=6), scale=options(domain=[0, 1.03 * end], nice=False)
    )
    y = vl.field(
        "value:Q", axis=options(title="RTT (ms)"), scale=options(domain=[0, max(high, base + slope * end)], nice=False)
    )
    kinds = [LARGEST, MEDIAN]
    colour = parts.colour(kinds, list(palette.in_order(kinds).values()), field="kind")
    shape = vl.field("kind:N", scale=options(domain=kinds, range=["triangle-up", "circle"]), legend=options(title=None))
    lines, words = [], [f"full buffers: {slope:.3f} ms each"]
    for kind in kinds:
        found = fit(own.filter(pl.col("kind") == kind))
        if found:
            lines += [{"limit": at, "value": found[1] + found[0] * at, "kind": kind} for at in (0.0, float(end))]
            words.append(f"{kind}: {found[0]:.3f} ms per buffer {'+' if found[1] >= 0 else '-'} {abs(found[1]):.1f} ms")
    fits = pl.DataFrame(lines, schema={"limit": pl.Float64, "value": pl.Float64, "kind": pl.String})
    marks = own.select("limit", "kind", "value")
    layers = [
        parts.drawn(prepare.values(theory), "line", color=NEUTRAL, strokeDash=[5, 4]).encode(x=x, y=y),
        parts.drawn(prepare.values(fits), "line").encode(x=x, y=y, color=colour),
        parts.drawn(prepare.values(marks), "point", filled=False, size=46, strokeWidth=1.6, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape
        ),
    ]
    return vl.layer(*layers, width=width, height=HEIGHT, title=options(text=[name, *words], fontSize=12))
