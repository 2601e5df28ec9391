"""Many runs as one table: one row per run with the varied parameters and the metrics that figures compare."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bloatlab.figures import network, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.store.text import readable

_SIZED = re.compile(r"\s*([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([A-Za-zµ%/]*)\s*\Z")
_UNITS = {"p": "packets", "B": "bytes", "s": "s"}

# Parameters that give runs their colour; the first that varies is taken.
SERIES = ("cca", "queue", "traffic", "recovery")


@dataclass(frozen=True)
class Axis:
    """A parameter that varies over the runs.

    Attributes:
        name: The parameter.
        values: Its values as text, in the order of an axis.
        numbers: The values as numbers if all have the same unit, else empty.
        unit: This unit, such as `packets`; empty if there is none.
    """

    name: str
    values: list[str]
    numbers: list[float]
    unit: str

    @property
    def title(self) -> str:
        """The name with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Sweep:
    """The runs of a store side by side.

    Attributes:
        frame: One row per run: `run_id`, `seed`, each axis as text, the metrics, `series` (the value that gives the
        colour).
        axes: The varied parameters without the one of the colour; the parameter of the x axis is first.
        coloured_by: The parameter of `series`; `None` if no such parameter varies.
        replications: Largest number of runs that differ only in their seed.
    """

    frame: pl.DataFrame
    axes: list[Axis]
    coloured_by: str | None
    replications: int


def read(tables: network.Tables) -> Sweep:
    """Joins `runs`, `parameters` and `metrics` of a store into one table."""
    frame = values(tables)
    varying = [name for name in frame.columns if name not in ("run_id", "seed") and frame[name].n_unique() > 1]
    constant = [name for name in SERIES if name in frame.columns]
    coloured_by = next((name for name in SERIES if name in varying), None)
    listed = network.table(tables, "given")
    wanted = {name: listed.filter(name=name)["value"].to_list() for name in varying} if listed.height else {}
    axes = [axis_of(name, frame[name], wanted.get(name, [])) for name in varying if name != coloured_by]
    # The numeric parameter with the most values becomes the x axis.
    axes.sort(key=lambda axis: (not axis.numbers, -len(axis.values)))
    series = pl.col(coloured_by or constant[0]) if coloured_by or constant else pl.lit("all runs")
    frame = frame.with_columns(series.fill_null("default").alias("series"))
    measured = metrics_by_run(network.table(tables, "metrics"), network.table(tables, "bottlenecks"))
    frame = frame.join(measured, on="run_id", how="left", maintain_order="left")
    places = [pl.col(axis.name).replace_strict(axis.values, range(len(axis.values)), default=None) for axis in axes]
    order = in_order(frame["series"].sort(), wanted.get(coloured_by or "", []))
    first = pl.col("series").replace_strict(order, range(len(order)), return_dtype=pl.Int64)
    frame = frame.sort(first, *places, "seed", "run_id")
    cells = frame.group_by("series", *(axis.name for axis in axes)).len()
    return Sweep(frame, axes, coloured_by, int(prepare.high(cells["len"])))


def tip(swept: Sweep) -> tuple[list[pl.Expr], list[dict[str, Any]]]:
    """Columns and tooltip with the varied parameters of a mark.

    The columns have names of their own, because Vega-Lite reads `a.b` and `a[b]` as paths into a value.
    """
    names = [name for name in (swept.coloured_by, *(axis.name for axis in swept.axes)) if name]
    columns = [pl.col(name).fill_null("default").alias(f"parameter_{index}") for index, name in enumerate(names)]
    return columns, [vl.field(f"parameter_{index}:N", title=name) for index, name in enumerate(names)]


def values(tables: network.Tables) -> pl.DataFrame:
    """One row per finished run: `run_id`, `seed` and every parameter as text."""
    runs = network.table(tables, "runs")
    if "status" in runs.columns:
        runs = runs.filter(pl.col("status") == "done")
    frame = runs.select("run_id", "seed")
    return frame.join(
        _parameters(network.table(tables, "parameters"), frame), on="run_id", how="left", maintain_order="left"
    )


def _parameters(parameters: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    if parameters.is_empty():
        return runs.select("run_id")
    kept = parameters.join(runs.select("run_id"), on="run_id", how="semi").filter(pl.col("name") != "seed")
    # Thousands of runs share a few values.
    written = {text: "default" if text == "null" else readable(text) for text in kept["value"].unique().to_list()}
    kept = kept.with_columns(pl.col("value").replace_strict(written, return_dtype=pl.String))
    # A parameter with the name of another column gets an underscore.
    clash = ["run_id", "series", *METRICS]
    kept = kept.with_columns(
        pl.when(pl.col("name").is_in(clash)).then(pl.col("name") + "_").otherwise("name").alias("name")
    )
    return kept.pivot("name", index="run_id", values="value", aggregate_function="first")


def in_order(column: pl.Series, wanted: Sequence[str]) -> list[str]:
    """The values of a column: those of `wanted` in that order, then the others by first appearance."""
    values = column.drop_nulls().cast(pl.String).unique(maintain_order=True).to_list()
    place = {value: index for index, value in enumerate(wanted)}
    return sorted(values, key=lambda value: place.get(value, len(place)))


def axis_of(name: str, column: pl.Series, wanted: Sequence[str] = ()) -> Axis:
    """Orders the values of a parameter: by number if all have a common unit, else as in `wanted`."""
    values = in_order(column, wanted)
    sized = [_SIZED.match(value) for value in values]
    units = {match.group(2) for match in sized if match}
    if not values or not all(sized) or len(units) != 1:
        return Axis(name, values, [], "")
    pairs = sorted((float(match.group(1)), value) for match, value in zip(sized, values, strict=True) if match)
    unit = units.pop()
    return Axis(name, [value for _, value in pairs], [number for number, _ in pairs], _UNITS.get(unit, unit))


# Column, and the title of its panel.
METRICS = {
    "throughput_mbps": "throughput (Mbit/s)",
    "utilization": "utilization of the bottleneck",
    "srtt_ms": "mean sRTT (ms)",
    "delay_ms": "queueing delay at the bottleneck (ms)",
    "delay_p95_ms": "95th percentile of queueing delay at the bottleneck (ms)",
    "ping_p95_ms": "95th percentile of the ping's RTT (ms)",
    "retransmissions": "retransmissions",
}


def metrics_by_run(metrics: pl.DataFrame, bottlenecks: pl.DataFrame | None = None) -> pl.DataFrame:
    """`METRICS`, one row per run: sums and means over the flows across the bottleneck, delay and utilization at this link.

    An engine that measures no `network` metrics gives sums and means over all flows.

    Args:
        metrics: Rows of `metrics` of a store.
        bottlenecks: `run_id`, `link`. For a run that is not there, the largest delay and utilization of any link are taken.
    """
    empty = pl.DataFrame(schema={"run_id": pl.String, **dict.fromkeys(METRICS, pl.Float64)})
    if metrics.is_empty():
        return empty

    if bottlenecks is not None and bottlenecks.height:
        known = bottlenecks.select("run_id", pl.col("link").alias("bottleneck"))
        metrics = metrics.join(known, on="run_id", how="left", maintain_order="left").filter(
            (pl.col("scope") != "link") | pl.col("bottleneck").is_null() | (pl.col("entity") == pl.col("bottleneck"))
        )

    def of(scope: str, name: str) -> pl.Expr:
        return pl.col("value").filter((pl.col("scope") == scope) & (pl.col("metric") == name))

    def link(pattern: str) -> pl.Expr:
        return pl.col("value").filter((pl.col("scope") == "link") & pl.col("metric").str.contains(pattern)).max()

    def total(name: str) -> pl.Expr:
        # Without values the sum must be null and not 0.
        return pl.when(of("flow", name).len() > 0).then(of("flow", name).sum())

    def network(name: str, otherwise: pl.Expr) -> pl.Expr:
        return pl.coalesce(of("network", name).first(), otherwise)

    return metrics.group_by("run_id", maintain_order=True).agg(
        network("agg_throughput", total("mean_throughput_l4")).alias("throughput_mbps"),
        pl.coalesce(link(r"^(mean_)?utili[sz]ation"), total("mean_utilization_bw_l4")).alias("utilization"),
        network("mean_srtt", of("flow", "mean_srtt_l4").mean()).alias("srtt_ms"),
        pl.coalesce(link(r"^mean_sojourn"), of("flow", "mean_est_qdelay_l4").mean()).alias("delay_ms"),
        link(r"^p95_sojourn").alias("delay_p95_ms"),
        _ping().alias("ping_p95_ms"),
        network("total_retransmissions", total("total_retransmissions_l4")).alias("retransmissions"),
    )


def _ping() -> pl.Expr:
    """95th percentile of the RTT of the slowest ping. Probes that fetch objects over TCP count its SYNs and are not pings."""
    fetches = pl.col("entity").filter((pl.col("scope") == "probe") & (pl.col("metric") == "syn_retransmissions"))
    rtts = (pl.col("scope") == "probe") & (pl.col("metric") == "p95_rtt") & ~pl.col("entity").is_in(fetches.implode())
    return pl.col("value").filter(rtts).max()
