"""Reads the tables of figures from a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from bloatlab import language
from bloatlab.analysis import order
from bloatlab.analysis.ranked import Ranked, of_store, overall_of_store
from bloatlab.experiments import CATALOGUE, suite_of
from bloatlab.experiments.ranking import at_points, by_point
from bloatlab.figures import engines, sweep
from bloatlab.judges import bottleneck

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
    tables |= engines.of_engines(store, engines.by_set_up(store, tables["runs"]))
    experiments = tables["runs"]["experiment"].unique().to_list()
    suite = suite_of(experiments)
    if suite is not None:
        return tables | of_overall(overall_of_store(store, suite))
    if len(experiments) != 1:
        return tables
    experiment = CATALOGUE.get(experiments[0])
    tables |= of_measures(experiment, tables) | {"claims": store.claims()}
    return tables | of_ranking(of_store(store, experiment)) | of_series(store, experiment, tables["runs"])


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
