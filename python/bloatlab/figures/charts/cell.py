"""Delay and loss of flows over the load and over the buffer, for many runs."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from bloatlab import units
from bloatlab.errors import ParameterError
from bloatlab.experiments.criteria import alike
from bloatlab.figures import network, palette, parts, prepare, sweep
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.figure import as_figure
from bloatlab.figures.theme import options, plot_width, themed

HEIGHT = 170
NARROW = 560
COLOURED = "queue"
APART = ("sounding_offset",)
"""Parameters that may differ between the runs of a figure, because they hardly change its values."""
QUANTITIES = ("tx_packets", "dropped_aqm", "dropped_overflow", "residue", "mean_delay")
MEGABYTE = 1e6


def family(tables: network.Tables, over: str) -> pl.DataFrame:
    """Runs that differ only in one parameter and the queue; empty if the parameter has fewer than two values.

    Returns:
        One row per run and flow: `run_id`, `x` (the parameter as a number), `series`, `flow`, `QUANTITIES` and
        `longest` (longest sojourn time in a downlink bearer, ms). The flows of several UEs have the same name here.
    """
    frame = sweep.values(tables)
    if not {over, COLOURED} <= set(frame.columns):
        return pl.DataFrame()
    frame = frame.with_columns(x=frame[over].map_elements(_number, return_dtype=pl.Float64)).drop_nulls("x")
    others = [name for name in frame.columns if name not in ("run_id", "seed", "x", "series", over, COLOURED, *APART)]
    rest = pl.concat_str([pl.col(name).fill_null("") for name in sorted(others)] or [pl.lit("")], separator="\n")
    frame = frame.with_columns(rest=rest)
    sizes = frame.group_by("rest", maintain_order=True).agg(pl.col("x").n_unique().alias("values"), pl.len())
    if sizes.is_empty() or prepare.high(sizes["values"]) < 2:
        return pl.DataFrame()
    most = sizes.sort("values", "len", descending=True, maintain_order=True)["rest"][0]
    kept = frame.filter(pl.col("rest") == most).select("run_id", "x", pl.col(COLOURED).alias("series"))
    # A queue with one value makes no curve.
    kept = kept.filter(pl.col("x").n_unique().over("series") > 1)
    names = sweep.in_order(kept["series"].sort(), sweep.listed(tables).get(COLOURED, []))
    place = pl.col("series").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    frame = kept.join(_flows(network.table(tables, "metrics")), on="run_id").sort(place, "x", "run_id")
    frame = frame.with_columns(pl.col("flow").cast(pl.String))
    stems = {name: stem for stem, names in alike(frame["flow"].unique().sort()).items() for name in names}
    return frame.with_columns(pl.col("flow").replace_strict(stems))


def _number(text: str | None) -> float | None:
    """A number, or the bytes of a size: `10MB` is 1e7."""
    try:
        return float(text or "")
    except ValueError:
        pass
    try:
        return float(units.size(text))
    except ParameterError:
        return None


def _flows(metrics: pl.DataFrame) -> pl.DataFrame:
    flows = metrics.filter((pl.col("scope") == "flow") & pl.col("metric").is_in(QUANTITIES))
    wide = flows.pivot("metric", index=["run_id", "entity"], values="value", aggregate_function="first")
    missing = [pl.lit(None, pl.Float64).alias(name) for name in QUANTITIES if name not in wide.columns]
    is_bearer = pl.col("entity").cast(pl.String).str.contains(r"ue_\d+$")
    down = metrics.filter((pl.col("scope") == "link") & (pl.col("metric") == "max_sojourn") & is_bearer)
    longest = down.group_by("run_id").agg(pl.col("value").max().alias("longest"))
    return wide.with_columns(missing).rename({"entity": "flow"}).join(longest, on="run_id", how="left")


@as_figure(
    title="Delay over the load",
    caption="Mean one-way delay of the packets that arrived before the run ended: those of the elephant, and those of "
    "at most ten mice. Where the load exceeds the capacity of the cell, the queue and with it the delay grow "
    "until the run ends. With several UEs, means over them.",
    needs=("runs", "parameters", "metrics"),
    when=lambda tables: prepare.has_values(family(tables, "lambda"), "mean_delay"),
    of_runs=True,
)
def load_delay(tables: network.Tables, *, width: int) -> Any:
    """Mean delay of the packets of each flow that arrived, over `lambda`; one colour per queue.

    Args:
        tables: `runs`, `parameters` and `metrics` of a store.
        width: Width of the whole figure, pixels; below 560 the panels are stacked.

    Returns:
        The chart.
    """
    frame = family(tables, "lambda").drop_nulls("mean_delay")
    panels = [(of, f"{of}: mean delay (ms)", pl.col("mean_delay")) for of in _names(frame)]
    return _curves(frame, panels, "elephant (packets/s)", width)


@as_figure(
    title="Loss over the load",
    caption="Shares of the packets that each flow sent. Dropped: by the queue's algorithm or because the buffer was "
    "full. Still under way: waiting or in flight when the run ended, and not lost. With several UEs, means over them.",
    needs=("runs", "parameters", "metrics"),
    when=lambda tables: prepare.has_values(family(tables, "lambda"), "tx_packets"),
    of_runs=True,
)
def load_loss(tables: network.Tables, *, width: int) -> Any:
    """Shares of the packets of each flow that were dropped, and that still waited when the run ended, over `lambda`.

    Args:
        tables: As for `load_delay`.
        width: As there.

    Returns:
        The chart.
    """
    frame = family(tables, "lambda")
    dropped = (pl.col("dropped_aqm") + pl.col("dropped_overflow")) / pl.col("tx_packets") * 100
    waiting = pl.col("residue") / pl.col("tx_packets") * 100
    panels = [
        panel
        for of in _names(frame)
        for panel in ((of, f"{of}: dropped (%)", dropped), (of, f"{of}: still under way (%)", waiting))
    ]
    return _curves(frame, panels, "elephant (packets/s)", width)


@as_figure(
    title="Delay over the buffer",
    caption="Mean one-way delay of the packets that arrived before the run ended, and the longest sojourn time in the "
    "RLC. The longest sojourn time is proportional to the buffer as long as the buffer fills before the run "
    "ends. With several UEs, means over them, and the longest of all.",
    needs=("runs", "parameters", "metrics"),
    when=lambda tables: prepare.has_values(family(tables, "buffer"), "mean_delay"),
    of_runs=True,
)
def buffer_delay(tables: network.Tables, *, width: int) -> Any:
    """Mean delay of each flow, and the longest sojourn time, over the buffer.

    Args:
        tables: As for `load_delay`.
        width: As there.

    Returns:
        The chart.
    """
    frame = family(tables, "buffer").with_columns(pl.col("x") / MEGABYTE)
    panels = [(of, f"{of}: mean delay (ms)", pl.col("mean_delay")) for of in _names(frame.drop_nulls("mean_delay"))]
    panels.append((_names(frame)[0], "longest sojourn in the RLC (ms)", pl.col("longest")))
    return _curves(frame, panels, "buffer (MB)", width, log=True)


def _names(frame: pl.DataFrame) -> list[str]:
    """The flows, the elephant first: it has the most packets."""
    order = frame.group_by("flow").agg(pl.col("tx_packets").max()).sort("tx_packets", "flow", descending=[True, False])
    return [str(name) for name in order["flow"].to_list()]


def _y(values: pl.Series, title: str, log: bool | None) -> Any:
    """The y axis. For delays it is logarithmic if `log` says so; if it is `None`, when they span more than a decade."""
    low, high = prepare.low(values), prepare.high(values)
    is_log = parts.wants_log(low, high) if log is None else log
    if "(ms)" not in title or low <= 0 or not is_log:
        return vl.field("value:Q", axis=options(title=title, format=",.6~g"), scale=options(zero=True))
    ticks = parts.log_ticks(low, high)
    scale = options(type="log", domain=[min(low, ticks[0]), max(high, ticks[-1])], nice=False)
    return vl.field("value:Q", axis=options(title=title, format=",.6~g", values=ticks, labelOverlap=False), scale=scale)


def _curves(
    frame: pl.DataFrame, panels: Sequence[tuple[str, str, pl.Expr]], title: str, width: int, *, log: bool = False
) -> Any:
    across = 1 if width < NARROW else 3 if len(panels) == 3 else 2
    wide = plot_width(width, across)
    names = frame["series"].unique(maintain_order=True).to_list()
    colours = palette.assign(names)
    shapes = [palette.SHAPES[index % len(palette.SHAPES)] for index in range(len(names))]
    columns = parts.legend_columns(names, width - 70)
    ticks = sorted(set(frame["x"].to_list()))
    is_log = log and parts.wants_log(ticks[0], ticks[-1])
    scale = options(type="log" if is_log else "linear", zero=False, nice=False, padding=10)
    x = vl.field(
        "x:Q",
        scale=scale,
        axis=options(title=title, values=ticks if len(ticks) <= 9 else vl.UNSET, format=",.5~g"),
    )
    legend = len(names) > 1
    colour = parts.colour(names, list(colours.values()), field="series", title=COLOURED, legend=legend, columns=columns)
    shape = vl.field(
        "series:N",
        scale=options(domain=names, range=shapes),
        legend=options(title=COLOURED, columns=columns) if legend else None,
    )
    drawn = []
    for flow, name, value in panels:
        cells = (
            frame.filter(pl.col("flow") == flow)
            .with_columns(value.alias("value"))
            .drop_nulls("value")
            .group_by("series", "x", maintain_order=True)
            .agg(pl.col("value").mean())
            .sort("series", "x")
        )
        data = prepare.values(cells)
        # Over the buffer, a proportional delay is a straight line only if both axes have the same scale.
        y = _y(cells["value"], name, is_log if log else None)
        drawn.append(
            vl.layer(
                parts.drawn(data, "line").encode(x=x, y=y, color=colour),
                parts.drawn(data, "point", filled=False, size=50, strokeWidth=1.8, opacity=1).encode(
                    x=x, y=y, color=colour, shape=shape
                ),
                width=wide,
                height=HEIGHT,
            )
        )
    rows = [drawn[start : start + across] for start in range(0, len(drawn), across)]
    joined = vl.vconcat(*(vl.hconcat(*row, spacing=14) for row in rows), spacing=14)
    return themed(joined.resolve("legend", color="shared", shape="shared"))
