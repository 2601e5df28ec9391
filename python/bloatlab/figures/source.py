"""Reads the tables of figures from a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from bloatlab import language
from bloatlab.analysis import order
from bloatlab.analysis.ranked import Ranked, of_store, overall_of_store
from bloatlab.engines import DEFAULT
from bloatlab.experiments import CATALOGUE, suite_of
from bloatlab.experiments.ranking import at_points, by_point
from bloatlab.figures import network, sweep
from bloatlab.judges import bottleneck
from bloatlab.store import Keep

if TYPE_CHECKING:
    from bloatlab.experiments import Experiment
    from bloatlab.experiments.ranking import Ranking
    from bloatlab.language import Plan
    from bloatlab.result import Result
    from bloatlab.store import Store

RUN_TABLES = ("flows", "links", "probes", "flow_series", "link_series", "probe_series", "histograms")


def of_run(
    store: Store, run_id: str, *, allow_plugins: bool = False, engine: str | None = None
) -> dict[str, pl.DataFrame]:
    """Tables of one run.

    `links` also has `limit_packets`, the limit of the queue if it counts packets, and `air`, the direction of the cell
    whose symbols a bearer shares. `flows` also has `links`, the names of the
    links that the data crosses. Tables that were not kept are simulated again.

    Args:
        store: The results.
        run_id: Identity of the run, or an unambiguous prefix of it.
        allow_plugins: A run that is simulated again may import the plugins that its scenario names.
        engine: The engine that simulates it again, if it is not built in.

    Raises:
        StoreError: There is no such run, or a table that was not kept cannot be simulated again.
    """
    result = store.run(run_id)
    if allow_plugins:
        result.allow_plugins()
    if engine is not None:
        result.with_engine(engine)
    return of_result(result)


def of_result(result: Result) -> dict[str, pl.DataFrame]:
    """Tables of one run, as `of_run`.

    Raises:
        StoreError: A table that was not kept cannot be simulated again.
    """
    tables = {name: result.table(name).to_polars() for name in RUN_TABLES}
    scenario = result.scenario
    own = {
        "links": with_air(with_limits(tables["links"], scenario), scenario),
        "flows": with_links(tables["flows"], scenario),
    }
    return {**tables, **own}


def stored(store: Store) -> dict[str, pl.DataFrame]:
    """Tables of a store over all runs: `runs`, `parameters`, `metrics`, `bottlenecks`, and `given`.

    `bottlenecks` has the `link` that is the bottleneck of a run, if it is known, and the `flows` whose data crosses it.
    `given` has the values of sweeps in the order of the user.
    """
    runs, metrics = store.runs(), store.metrics()
    return {
        "runs": runs,
        "parameters": store.parameters(),
        "metrics": metrics,
        "bottlenecks": bottlenecks(runs, dict(store.points().select("point", "scenario").iter_rows()), metrics),
        "given": sweep.given(order.of_store(store, runs["experiment"].unique(maintain_order=True).to_list())),
    }


def bottlenecks(runs: pl.DataFrame, scenarios: Mapping[int, str], metrics: pl.DataFrame) -> pl.DataFrame:
    """The bottleneck of each run whose scenario this version accepts: `run_id`, `link`, and the `flows` whose data crosses it.

    Args:
        runs: Rows of `runs` of a store.
        scenarios: The canonical scenario of each point.
        metrics: The metrics of these runs.
    """
    named = ("mean_queue_length", "goodput", "goodput_share")
    of_links: dict[str, dict[str, dict[str, float]]] = {}
    rows = metrics.filter((pl.col("scope") == "link") & pl.col("metric").is_in(named))
    for run_id, link, metric, value in rows.select("run_id", "entity", "metric", "value").iter_rows():
        of_links.setdefault(run_id, {}).setdefault(link, {})[metric] = value
    plans: dict[int, Plan | None] = {}
    found = []
    for run_id, point in runs.filter(pl.col("run_id").is_in(list(of_links))).select("run_id", "point").iter_rows():
        if point not in plans:
            plans[point] = language.stored_plan(scenarios[point])
        plan = plans[point]
        if plan is not None and (link := bottleneck(plan, of_links[run_id])) is not None:
            found.append((run_id, link, plan.across(link)))
    schema: dict[str, pl.DataType] = {"run_id": pl.String(), "link": pl.String(), "flows": pl.List(pl.String())}
    return pl.DataFrame(found, schema=schema, orient="row")


def of_runs(store: Store) -> dict[str, pl.DataFrame]:
    """Tables over all runs, for figures that compare runs; with the ranking if one experiment made all runs."""
    tables = stored(store)
    tables |= of_engines(store, tables["runs"])
    experiments = tables["runs"]["experiment"].unique().to_list()
    suite = suite_of(experiments)
    if suite is not None:
        return tables | of_overall(overall_of_store(store, suite))
    if len(experiments) != 1:
        return tables
    experiment = CATALOGUE.get(experiments[0])
    tables |= of_measures(experiment, tables) | {"claims": store.claims()}
    return tables | of_ranking(of_store(store, experiment)) | of_series(store, experiment, tables["runs"])


ENGINE_SERIES = "engine_series"
SERIES_COLUMNS = {
    "engine": pl.String,
    "run_id": pl.String,
    "quantity": pl.String,
    "entity": pl.String,
    "time_s": pl.Float64,
    "value": pl.Float64,
}
ENGINE_RUNS = 5
"""Largest number of runs of an engine that are drawn."""
_QUANTITIES = {"throughput": "throughput_mbps", "cwnd": "cwnd", "srtt": "srtt_ms"}


def points_of_engines(runs: pl.DataFrame) -> list[int]:
    """The points of a store that several engines ran, and whose series are kept, in the order of their first runs.

    Args:
        runs: Rows of `runs` of a store.
    """
    there = _with_series(runs)
    several = there.filter(pl.col("engine").n_unique().over("point") > 1)
    return several["point"].unique(maintain_order=True).to_list()


def of_engines(store: Store, runs: pl.DataFrame, point: int | None = None) -> dict[str, pl.DataFrame]:
    """`engine_series`: time series of a point that several engines ran; nothing if there is none.

    `engine`, `run_id`, `quantity` (`queue_delay`, `throughput`, `cwnd`, `srtt`, `rtt`), `entity` (the link with the longest
    queue, a flow, or for `rtt` a probe), `time_s`, `value`. The simulator comes first. At most `ENGINE_RUNS` runs of each
    engine are taken.

    Args:
        store: The results.
        runs: Rows of its `runs`.
        point: The point; absent: the first that several engines ran.
    """
    points = points_of_engines(runs) if point is None else [point]
    if not points:
        return {}
    there = _with_series(runs).filter(point=points[0])
    engines = sorted(there["engine"].unique(maintain_order=True).to_list(), key=lambda name: name != DEFAULT)
    order = there.sort(pl.col("engine").replace_strict(engines, range(len(engines))), maintain_order=True)
    taken = order.group_by("engine", maintain_order=True).head(ENGINE_RUNS).select("engine", "run_id")
    return {ENGINE_SERIES: _series(store, taken)}


def of_stores(sides: Sequence[tuple[str, Store, Sequence[str]]]) -> dict[str, pl.DataFrame]:
    """As `of_engines`, for runs that belong together in one store or in several: a name in the place of each engine.

    Args:
        sides: The name, the store, and the runs whose series are kept. At most `ENGINE_RUNS` of them are taken.
    """
    taken = [
        (store, pl.DataFrame({"engine": [name] * len(runs[:ENGINE_RUNS]), "run_id": list(runs[:ENGINE_RUNS])}))
        for name, store, runs in sides
        if runs
    ]
    return {ENGINE_SERIES: pl.concat([_series(store, of) for store, of in taken])} if taken else {}


def _series(store: Store, taken: pl.DataFrame) -> pl.DataFrame:
    """The series of these runs.

    Args:
        store: Their store.
        taken: `engine`, `run_id`.
    """
    ids = taken["run_id"].to_list()
    flows, links, probes = (store.table(name, ids) for name in ("flow_series", "link_series", "probe_series"))
    parts = []
    # Runs without a probe, and measurements without a queue, have no such table.
    if not links.is_empty():
        (link,) = network.queueing_links({"link_series": links}, 1) or [""]
        parts.append(
            _quantity(links.filter(pl.col("link").cast(pl.String) == link), "queue_delay", "link", "sojourn_ms")
        )
    if not flows.is_empty():
        parts += [_quantity(flows, quantity, "flow", column) for quantity, column in _QUANTITIES.items()]
    if not probes.is_empty():
        parts.append(_quantity(probes, "rtt", "probe", "rtt_ms"))
    if not parts:
        return pl.DataFrame(schema=SERIES_COLUMNS)
    return taken.join(pl.concat(parts), on="run_id", how="inner", maintain_order="left_right")


def _with_series(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.filter((pl.col("status") == "done") & (pl.col("kept") >= Keep.TABLES))


def _quantity(series: pl.DataFrame, quantity: str, entity: str, column: str) -> pl.DataFrame:
    return series.select(
        "run_id",
        pl.lit(quantity).alias("quantity"),
        pl.col(entity).cast(pl.String).alias("entity"),
        "time_s",
        pl.col(column).cast(pl.Float64).alias("value"),
    ).drop_nulls("value")


def of_measures(experiment: Experiment | None, tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """`measured`: one row per finished run with its parameters as text and the metrics that the experiment defines.

    Args:
        experiment: The experiment that made the runs.
        tables: `runs`, `parameters` and `metrics` of these runs.
    """
    if experiment is None or not experiment.measures:
        return {}
    own = tables["metrics"].filter(pl.col("scope") == "experiment")
    wide = own.pivot("metric", index="run_id", values="value", aggregate_function="first")
    missing = [pl.lit(None, pl.Float64).alias(name) for name in experiment.measures if name not in wide.columns]
    joined = sweep.values(tables).join(wide.with_columns(missing), on="run_id", how="left", maintain_order="left")
    return {"measured": joined}


def of_series(store: Store, experiment: Experiment | None, runs: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Series of these runs for the experiment's figures, with the column `run_id` first.

    `own_axes` has the values of the experiment's own axes in their order: `parameter`, `value` as text.
    """
    if experiment is None or not experiment.series:
        return {}
    done = runs.filter(pl.col("status") == "done")["run_id"].to_list()
    axes = [(name, str(value)) for name, values in experiment.axes().items() for value in values]
    return {
        **{name: store.table(name, done) for name in experiment.series},
        "own_axes": pl.DataFrame(axes, schema=dict.fromkeys(("parameter", "value"), pl.String), orient="row"),
    }


def of_ranking(ranked: Ranked | None) -> dict[str, pl.DataFrame]:
    """Tables of a ranking.

    `ranking`: one row per contender and criterion. `contenders`: one row per run with its contender and its point on
    the other axes. `places`: as `ranking`, with the score at each point as a criterion. `at_points`: as `ranking`, at
    each `point` alone.
    """
    if ranked is None:
        return {}
    runs = [{"run_id": run, "contender": one.contender, "point": one.point} for run, one in ranked.observations.items()]
    tables = {"ranking": _rows(ranked.ranking), "contenders": pl.DataFrame(runs)}
    there = at_points(ranked.ranking, list(ranked.observations.values()))
    tables["at_points"] = _at_points(ranked.ranking, there)
    places = by_point(ranked.ranking, there)
    return tables if places is None else {**tables, "places": _rows(places)}


def _at_points(ranking: Ranking, there: Mapping[str, Ranking]) -> pl.DataFrame:
    """Rows of the rankings at each point; positions are those of the overall ranking."""
    positions = {row.name: row.position for row in ranking.contenders}
    parts = []
    for point, here in there.items():
        placed = [replace(row, position=positions[row.name]) for row in here.contenders]
        rows = _rows(replace(here, contenders=tuple(placed)))
        parts.append(rows.with_columns(pl.lit(point).alias("point")))
    return pl.concat(parts)


def of_overall(ranking: Ranking | None) -> dict[str, pl.DataFrame]:
    """`overall`: one row per contender and experiment of a suite; the value is the score in the experiment."""
    return {} if ranking is None else {"overall": _rows(ranking)}


def _rows(ranking: Ranking) -> pl.DataFrame:
    rows = [
        {
            "contender": row.name,
            "position": row.position,
            "score": row.score,
            "criterion": criterion.name,
            "title": criterion.title,
            "group": criterion.group,
            "unit": criterion.shown_unit,
            "better": criterion.better,
            "value": criterion.shown(row.values[criterion.name]),
            "low": criterion.shown(row.low[criterion.name]),
            "high": criterion.shown(row.high[criterion.name]),
            "rank": row.ranks.get(criterion.name),
        }
        for row in ranking.contenders
        for criterion in ranking.criteria
    ]
    numbers = dict.fromkeys(("score", "value", "low", "high", "rank"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=numbers)


def with_links(flows: pl.DataFrame, scenario: Mapping[str, Any]) -> pl.DataFrame:
    """Adds `links` to `flows`: the names of the links that the data crosses.

    It is null if this version does not accept the scenario.
    """
    if "flow" not in flows.columns:
        return flows
    planned = language.stored_plan(scenario)
    paths = {flow.name: flow.forward for flow in planned.every_flow} if planned else {}
    crossed = [
        None if planned is None or name not in paths else [box for box in paths[name] if box in planned.links]
        for name in map(str, flows["flow"].to_list())
    ]
    return flows.with_columns(pl.Series("links", crossed, dtype=pl.List(pl.String)))


def with_air(links: pl.DataFrame, scenario: Mapping[str, Any]) -> pl.DataFrame:
    """Adds `air` to `links`: `downlink` or `uplink` for a bearer of a cell, null for other links."""
    if "link" not in links.columns:
        return links
    planned = language.stored_plan(scenario)
    airs = {name: link.air for name, link in planned.links.items()} if planned else {}
    found = [airs.get(name) for name in links["link"].to_list()]
    return links.with_columns(pl.Series("air", found, dtype=pl.String))


def with_limits(links: pl.DataFrame, scenario: Mapping[str, Any]) -> pl.DataFrame:
    """Adds `limit_packets` to `links`.

    It is null if the limit does not count packets, if the timeline changes the queue during the run, or if this version does
    not accept the scenario.
    """
    if "link" not in links.columns:
        return links
    limits = {}
    if planned := language.stored_plan(scenario):
        limits = {name: link.limit for name, link in planned.links.items() if name not in planned.replaced_queues}
    found = [limit.packets if (limit := limits.get(name)) else None for name in links["link"].to_list()]
    return links.with_columns(pl.Series("limit_packets", found, dtype=pl.Float64))
