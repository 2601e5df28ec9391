"""Many runs as one table: one row per run with the varied parameters and the metrics that figures compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from bloatlab.analysis import order
from bloatlab.experiments import phrases
from bloatlab.figures import network, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.once import once
from bloatlab.store.text import readable

_UNITS = {"p": "packets", "B": "bytes", "s": "s"}

# Parameters that give runs their colour, alone or as the end of a path such as `link.queue`. The first that varies is taken.
SERIES = ("cca", "queue", "traffic", "recovery")


@dataclass(frozen=True)
class Axis:
    """A parameter that varies over the runs.

    Attributes:
        name: The parameter.
        values: Its values as text, in the order of the user.
        numbers: These values as numbers if all have the same unit, else empty.
        unit: This unit, such as `packets`; empty if there is none.
    """

    name: str
    values: list[str]
    numbers: list[float]
    unit: str

    @property
    def title(self) -> str:
        """What it is, with the unit."""
        return f"{phrases.heading(self.name)} ({self.unit})" if self.unit else phrases.heading(self.name)


@dataclass(frozen=True)
class Sweep:
    """The runs of a store side by side.

    Attributes:
        frame: One row per run: `run_id`, `seed`, each axis as text, the metrics, `series` (the value that gives the
        colour).
        parameters: The varied parameters and the values of each, in the order of the user.
        axes: These parameters without the one of the colour; the parameter of the x axis is first.
        coloured_by: The parameter of `series`; `None` if no such parameter varies.
        replications: Largest number of runs that differ only in their seed.
    """

    frame: pl.DataFrame
    parameters: dict[str, list[str]]
    axes: list[Axis]
    coloured_by: str | None
    replications: int

    def value(self, row: Mapping[str, Any], name: str) -> str:
        """A varied parameter of a row of `frame`, as a reader sees it."""
        return "default" if row[name] is None else str(row[name])

    @cached_property
    def telling(self) -> list[str]:
        """The varied parameters without those that follow from others, such as the rate of a named path."""
        names = list(self.parameters)
        for name in reversed(list(self.parameters)):
            fewer = [other for other in names if other != name]
            if fewer and self._points(fewer) == self._points(names):
                names = fewer
        return names

    def _points(self, names: list[str]) -> int:
        return self.frame.select(names).n_unique()

    @property
    def legend(self) -> str | None:
        """What the colours mean."""
        return None if self.coloured_by is None else phrases.heading(self.coloured_by)

    @property
    def series(self) -> list[str]:
        """The values of `series` in the order of the user."""
        wanted = self.parameters.get(self.coloured_by or "", [])
        return order.ordered(self.frame["series"].sort().to_list(), [wanted])


@once
def read(tables: network.Tables) -> Sweep:
    """Joins `runs`, `parameters` and `metrics` of a store into one table."""
    frame = values(tables)
    varying = [name for name in frame.columns if name not in ("run_id", "seed") and frame[name].n_unique() > 1]
    lists = listed(tables)
    named = order.parameters(varying, lists)
    coloured_by = _colouring(named)
    source = coloured_by or _colouring(frame.columns)
    parameters = {
        # Without an order of the user, the values of the colour are sorted.
        name: in_order(frame[name].sort() if name == coloured_by else frame[name], lists.get(name, []))
        for name in named
    }
    axes = [axis_of(name, values) for name, values in parameters.items() if name != coloured_by]
    # The numeric parameter with the most values becomes the x axis.
    axes.sort(key=lambda axis: (not axis.numbers, -len(axis.values)))
    series = pl.lit("all runs") if source is None else pl.col(source)
    frame = frame.with_columns(series.fill_null("default").alias("series"))
    measured = metrics_by_run(network.table(tables, "metrics"), network.table(tables, "bottlenecks"))
    frame = frame.join(measured, on="run_id", how="left", maintain_order="left")
    places = [
        pl.col(name).replace_strict(values, range(len(values)), default=None) for name, values in parameters.items()
    ]
    frame = frame.sort(*places, "seed", "run_id", nulls_last=True)
    cells = frame.group_by("series", *(axis.name for axis in axes)).len()
    return Sweep(frame, parameters, axes, coloured_by, int(prepare.high(cells["len"])))


def _colouring(names: Sequence[str]) -> str | None:
    """The first of these parameters that gives runs their colour."""
    ends = {name: name.removesuffix(".kind").rpartition(".")[2] for name in names}
    return next((name for kind in SERIES for name, end in ends.items() if end == kind), None)


def listed(tables: network.Tables) -> order.Lists:
    """The values of each parameter in the order of the user, from the table `given`."""
    found: dict[str, list[list[str]]] = {}
    given = network.table(tables, "given")
    for name, of, value in given.select("name", "list", "value").iter_rows() if given.height else ():
        lists = found.setdefault(name, [])
        if of == len(lists):
            lists.append([])
        lists[of].append(value)
    return found


def given(lists: order.Lists) -> pl.DataFrame:
    """The table `given`: `name`, `list` (number of a list of its values, the most recent first), `value`."""
    rows = [(name, place, value) for name, of in lists.items() for place, values in enumerate(of) for value in values]
    return pl.DataFrame(rows, {"name": pl.String, "list": pl.Int64, "value": pl.String}, orient="row")


def tip(swept: Sweep) -> tuple[list[pl.Expr], list[dict[str, Any]]]:
    """Columns and tooltip with the varied parameters of a mark.

    The columns have names of their own, because Vega-Lite reads `a.b` and `a[b]` as paths into a value.
    """
    names = list(swept.parameters)
    columns = [pl.col(name).fill_null("default").alias(f"parameter_{index}") for index, name in enumerate(names)]
    return columns, [vl.field(f"parameter_{index}:N", title=name) for index, name in enumerate(names)]


def in_words(name: str) -> pl.Expr:
    """The values of a parameter as they are written beside marks."""
    value = pl.col(name).fill_null("default")
    return value.map_elements(lambda given: phrases.in_words(name, given) or given, return_dtype=pl.String)


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


def in_order(column: pl.Series, lists: Sequence[Sequence[str]] = ()) -> list[str]:
    """The different values of a column in the order of the user."""
    return order.ordered(column.drop_nulls().cast(pl.String).unique(maintain_order=True).to_list(), lists)


def axis_of(name: str, values: list[str]) -> Axis:
    """The axis of a parameter with these values in their order."""
    if (found := order.sized(values)) is None:
        return Axis(name, values, [], "")
    numbers, unit = found
    return Axis(name, values, numbers, _UNITS.get(unit, unit))


# Column, and the title of its panel.
METRICS = {
    "throughput_mbps": "throughput (Mbit/s)",
    "utilization": "utilization of the bottleneck (%)",
    "srtt_ms": "mean sRTT (ms)",
    "delay_ms": "queueing delay at the bottleneck (ms)",
    "delay_p95_ms": "95th percentile of queueing delay at the bottleneck (ms)",
    "ping_p95_ms": "95th percentile of the ping's RTT (ms)",
    "retransmissions": "retransmissions",
}


def metrics_by_run(metrics: pl.DataFrame, bottlenecks: pl.DataFrame | None = None) -> pl.DataFrame:
    """`METRICS`, one row per run: sums and means over the flows across the bottleneck, delay and utilization at this link.

    The sRTT is that of the long flows, if a run has any: a client that fetches pages has no RTT between two connections.

    Args:
        metrics: Rows of `metrics` of a store.
        bottlenecks: As for `at_bottlenecks`. For a run that is not there, all flows count, and the largest delay and
            utilization of any link are taken.
    """
    empty = pl.DataFrame(schema={"run_id": pl.String, **dict.fromkeys(METRICS, pl.Float64)})
    if metrics.is_empty():
        return empty

    if bottlenecks is not None and bottlenecks.height:
        metrics = at_bottlenecks(metrics, bottlenecks)
    srtt = of_long_flows(metrics).filter(metric="mean_srtt_l4").group_by("run_id").agg(pl.col("value").mean())

    def of(scope: str, name: str) -> pl.Expr:
        return pl.col("value").filter((pl.col("scope") == scope) & (pl.col("metric") == name))

    def link(pattern: str) -> pl.Expr:
        return pl.col("value").filter((pl.col("scope") == "link") & pl.col("metric").str.contains(pattern)).max()

    def total(name: str) -> pl.Expr:
        # Without values the sum must be null and not 0.
        return pl.when(of("flow", name).len() > 0).then(of("flow", name).sum())

    def network(name: str, otherwise: pl.Expr) -> pl.Expr:
        return pl.coalesce(of("network", name).first(), otherwise)

    measured = metrics.group_by("run_id", maintain_order=True).agg(
        network("agg_throughput", total("mean_throughput_l4")).alias("throughput_mbps"),
        pl.coalesce(link(r"^(mean_)?utili[sz]ation"), total("mean_utilization_bw_l4")).alias("utilization"),
        network("mean_srtt", of("flow", "mean_srtt_l4").mean()).alias("srtt_ms"),
        pl.coalesce(link(r"^mean_sojourn"), of("flow", "mean_est_qdelay_l4").mean()).alias("delay_ms"),
        link(r"^p95_sojourn").alias("delay_p95_ms"),
        _ping().alias("ping_p95_ms"),
        network("total_retransmissions", total("total_retransmissions_l4")).alias("retransmissions"),
    )
    joined = measured.join(srtt, on="run_id", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("value", "srtt_ms").alias("srtt_ms")).drop("value")


def at_bottlenecks(metrics: pl.DataFrame, bottlenecks: pl.DataFrame) -> pl.DataFrame:
    """The metrics without those of other links than the bottleneck, and of flows that do not cross it.

    Args:
        metrics: Rows of `metrics` of a store.
        bottlenecks: `run_id`, `link`, and the `flows` that cross it. A run that is not there keeps all of its metrics.
    """
    crossing = (
        bottlenecks.select("run_id", pl.col("flows").alias("entity")).explode("entity").with_columns(crosses=True)
    )
    known = bottlenecks.select("run_id", bottleneck="link")
    of_link, of_flow = pl.col("scope") == "link", pl.col("scope") == "flow"
    return (
        metrics.join(known, on="run_id", how="left", maintain_order="left")
        .join(crossing, on=["run_id", "entity"], how="left", maintain_order="left")
        .filter(
            pl.col("bottleneck").is_null()
            | (of_link & (pl.col("entity") == pl.col("bottleneck")))
            | (of_flow & pl.col("crosses").fill_null(False))
            | ~(of_link | of_flow)
        )
        .drop("bottleneck", "crosses")
    )


def of_long_flows(metrics: pl.DataFrame) -> pl.DataFrame:
    """The metrics of flows, without clients that fetch pages: between two connections they have no RTT to average."""
    clients = metrics.filter(pl.col("scope") == "probe").select("run_id", "entity").unique()
    of_flows = metrics.filter(pl.col("scope") == "flow")
    return of_flows.join(clients, on=["run_id", "entity"], how="anti", maintain_order="left")


def _ping() -> pl.Expr:
    """95th percentile of the RTT of the slowest ping. Probes that fetch objects over TCP count its SYNs and are not pings."""
    fetches = pl.col("entity").filter((pl.col("scope") == "probe") & (pl.col("metric") == "syn_retransmissions"))
    rtts = (pl.col("scope") == "probe") & (pl.col("metric") == "p95_rtt") & ~pl.col("entity").is_in(fetches.implode())
    return pl.col("value").filter(rtts).max()
