"""Assembles what a page shows of an experiment: its answer, tables, figures, and single runs in detail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from bloatlab.analysis.claims import answers_of_store, findings_of_store
from bloatlab.analysis.ranked import Ranked
from bloatlab.figures.once import SharedTables
from bloatlab.metrics import every_definition
from bloatlab.report import (
    answers,
    entity_tables,
    metric_tables,
    model,
    ranked_verdict,
    ranked_view,
    text,
    verdict,
)
from bloatlab.report.commands import repeating
from bloatlab.report.drawing import Drawings
from bloatlab.report.engines import over_time, side_by_side
from bloatlab.report.figures import figures_of
from bloatlab.report.metric_tables import Cell
from bloatlab.report.opening import Openings, openings, with_column
from bloatlab.store import Store
from bloatlab.store.layout import FILES

if TYPE_CHECKING:
    from bloatlab.experiments import Experiment
    from bloatlab.figures.sweep import Sweep

# Of a sweep these are shown for the runs picked, of a single run all.
OF_PICKED = ("time_series", "probe_rtt", "operating_point", "in_flight", "downlink", "queue", "flow_sojourn")
ONE_POINT = "delay_throughput"
"""Of a single run this figure is one point, which the verdict says in words."""


def experiment_view(
    store: Store, drawings: Drawings, tables: Mapping[str, pl.DataFrame], name: str, anchor: str, ranked: Ranked | None
) -> model.ExperimentView:
    """All that a page shows of the runs of an experiment.

    Args:
        store: The results.
        drawings: Gets the figures.
        tables: The tables of all runs of the store.
        name: The experiment, or a user's scenario.
        anchor: Begins the names of its figures and the anchors of its runs.
        ranked: Its ranking; `None` if it has none.
    """
    from bloatlab.figures import source, sweep
    from bloatlab.report.replications import points_table

    mine = tables["runs"].filter(pl.col("experiment") == name)
    known = known_experiment(name)
    claims = _claims(store, mine)
    main = store.main_engine(name)
    of_main = _of_runs(known, tables, mine.filter(engine=main))
    own = SharedTables(
        of_main | source.of_ranking(ranked) | source.of_series(store, known, of_main["runs"]) | {"claims": claims}
    )
    everything = own if mine["engine"].n_unique() == 1 else SharedTables(_of_runs(known, tables, mine))
    swept, _ = _swept(known, own)
    all_swept, measures = _swept(known, everything)
    all_queues = verdict.waiting(sweep.at_bottlenecks(everything["metrics"], everything["bottlenecks"]))
    columns = model.columns_of(all_swept.frame, measures, known, ranked=ranked is not None)
    listed = all_swept.frame["run_id"].to_list()
    queues = {run: queue for run, queue in all_queues.items() if run in set(swept.frame["run_id"])}
    claimed = next((run for run in claims["run_id"].to_list() if run in set(swept.frame["run_id"])), None)
    picks = _ranked_picks(ranked) if ranked else _picks(swept, queues, claimed)
    picks = {run: why for run, why in picks.items() if store.has_tables(run)}
    anchors = {run: f"{anchor}-run-{index + 1}" for index, run in enumerate(picks)}
    several = len(listed) > 1
    lab = openings(store, list(picks), listed)
    details = [
        _run(store, drawings, swept, run, why, lab, own["metrics"].filter(pl.col("run_id") == run), anchors[run])
        for run, why in picks.items()
    ]
    judged = details[0].verdict if swept.frame.height == 1 and details else verdict.of_sweep(swept, queues)
    beside = side_by_side(all_swept, columns, main, known.on_linux if known else ())
    if beside:
        labels = {run.run_id: verdict.set_up(swept, run.run_id) for run in details}
        beside = replace(beside, figures=over_time(store, drawings, mine, labels, f"{anchor}-"))
    if ranked:
        judged = replace(ranked_verdict.of_ranking(ranked.ranking), grade=judged.grade)
    if known and not known.graded:
        judged = replace(judged, grade="")
    return model.ExperimentView(
        name=name,
        anchor=anchor,
        title=known.title if known else name,
        summary=known.summary if known else "",
        source=known.source if known else "",
        engines=_other_engines(mine, everything["metrics"], main),
        side_by_side=beside,
        verdict=judged,
        answer=answers.of_store(store, name),
        commands=repeating(store.invocations().filter(pl.col("experiment") == name)["command"].to_list()),
        lab="" if several else lab.links.get("".join(listed), ""),
        lab_note=lab.note,
        parameters=model.parameters(everything["parameters"], all_swept, known),
        claims=model.claims(claims, known.source if known else ""),
        fitted=known.fitted if known else "",
        ranking=ranked_view.ranking_view(ranked.ranking) if ranked else None,
        remarks=model.findings(known.remarks(list(ranked.observations.values()))) if ranked and known else [],
        points=points_table(all_swept, columns),
        runs=with_column(model.runs_table(all_swept, columns, all_queues, anchors), listed, lab) if several else None,
        not_measured=_not_measured(mine),
        figures=figures_of(
            drawings, own, f"{anchor}-", of_runs=True, only=_shown(known), without=() if several else (ONE_POINT,)
        ),
        details=details,
        files=_files(store, known, all_swept),
        findings=model.findings(findings_of_store(store, known)),
        answers=model.findings(answers_of_store(store, known)),
        facts=facts(mine),
    )


def _of_runs(
    known: Experiment | None, tables: Mapping[str, pl.DataFrame], runs: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """The tables of the store with only these runs, and `measured` if their experiment has metrics."""
    from bloatlab.figures import source

    done = runs.filter(status="done").select("run_id")
    kept = {of: tables[of].join(done, on="run_id", how="semi") for of in ("parameters", "metrics", "bottlenecks")}
    of_runs = {"runs": runs, "given": tables["given"], **kept}
    return of_runs | source.of_measures(known, of_runs)


def _swept(known: Experiment | None, of_runs: Mapping[str, pl.DataFrame]) -> tuple[Sweep, Mapping[str, str]]:
    """The runs as a sweep, with the metrics of their experiment, and the units of those that were measured."""
    from bloatlab.figures import sweep

    swept = sweep.read(of_runs)
    frame = swept.frame.with_columns(utilization_percent=100 * pl.col("utilization"))
    measures = known.measures if known else {}
    if measures:
        measured = of_runs["measured"].select("run_id", *measures)
        measures = {name: unit for name, unit in measures.items() if measured[name].count()}
        measured = measured.select("run_id", *measures)
        frame = frame.join(measured, on="run_id", how="left", maintain_order="left")
    return replace(swept, frame=frame), measures


def _claims(store: Store, runs: pl.DataFrame) -> pl.DataFrame:
    """The claims about these runs: of repetitions those about the last, with the engine's name where engines differ."""
    same = ("engine", "engine_version", "point", "seed")
    last = runs.filter(pl.col("repetition") == pl.col("repetition").max().over(same)).select("run_id", "engine")
    claims = store.claims().join(last, on="run_id", how="inner", maintain_order="left")
    if claims["engine"].n_unique() > 1:
        claims = claims.with_columns(pl.format("{} ({})", "name", "engine").alias("name"))
    return claims.drop("engine")


def known_experiment(name: str) -> Experiment | None:
    """The experiment of the catalogue; `None` for a user's scenario."""
    from bloatlab.experiments import CATALOGUE

    return CATALOGUE.get(name)


def _shown(known: Experiment | None) -> tuple[str, ...] | None:
    """The figures over all runs of an experiment. None means all that can be drawn."""
    return known.figures if known and known.figures else None


def _picks(swept: Sweep, queues: dict[str, float], claimed: str | None) -> dict[str, str]:
    """At most three runs to show in detail, each with the reason."""
    runs = swept.frame["run_id"].to_list()
    if len(runs) <= 1:
        return dict.fromkeys(runs, "")
    picks = {claimed: "the published set-up"} if claimed else {}
    if queues:
        picks.setdefault(min(queues, key=queues.__getitem__), "the run with the shortest standing queue")
        picks.setdefault(max(queues, key=queues.__getitem__), "the run with the longest standing queue")
    return picks or {runs[0]: "the first run"}


def _ranked_picks(ranked: Ranked) -> dict[str, str]:
    """One run of the first and one of the last contender of a ranking."""
    first, last = ranked.ranking.contenders[0].name, ranked.ranking.contenders[-1].name
    whose = {name: run for run, name in reversed([(run, one.contender) for run, one in ranked.observations.items()])}
    return {whose[first]: "the first of the ranking", whose[last]: "the last of the ranking"}


def _run(
    store: Store,
    drawings: Drawings,
    swept: Sweep,
    run_id: str,
    why: str,
    lab: Openings,
    metrics: pl.DataFrame,
    anchor: str,
) -> model.RunView:
    from bloatlab.figures import source

    result = store.run(run_id)
    tables = SharedTables(source.of_result(result))
    scores = result.verdict
    only = OF_PICKED if swept.frame.height > 1 else None
    return model.RunView(
        run_id=run_id,
        anchor=anchor,
        heading=verdict.label(swept, run_id),
        why=why,
        lab=lab.links.get(run_id, ""),
        verdict=verdict.of_run(tables, metrics, scores.evidence),
        scores=scores,
        tables=[*entity_tables.entities(tables), *entity_tables.on_linux(result.scenario)],
        metrics=metric_tables.tables(metrics, every_definition()),
        figures=figures_of(drawings, tables, f"{anchor}-", of_runs=False, only=only),
    )


def _files(store: Store, known: Experiment | None, swept: Sweep) -> model.PlainTable | None:
    """A table of the files that the runs wrote in addition to their tables."""
    if known is None or not known.leaves_files:
        return None
    rows: list[list[Cell]] = []
    left = 0
    for result in store.results(swept.frame["run_id"].to_list()):
        for name in known.files(result):
            path = store.directory / FILES / name
            if not path.exists():
                continue
            left += len(rows) >= model.MOST_FILES
            if len(rows) < model.MOST_FILES:
                size = path.stat().st_size
                link = Cell(name, name, link=f"{FILES}/{name}")
                rows.append([link, Cell(verdict.label(swept, result.run_id)), Cell(f"{size:,}", size)])
    note = f"{left:,} more files are in {FILES}/." if left else ""
    return model.PlainTable(["file", "run", "bytes"], rows, "Files", sortable=True, note=note) if rows else None


def _not_measured(runs: pl.DataFrame) -> model.PlainTable | None:
    """A table of the runs that failed or are suspect. The rest of the page leaves them out."""
    failed = runs.filter(pl.col("status") != "done")
    if failed.is_empty():
        return None
    rows = [
        [
            Cell(row["run_id"][:10]),
            Cell(row["status"]),
            Cell(str(row["seed"])),
            Cell(row["reason"] or "no reason given"),
        ]
        for row in failed.head(entity_tables.MOST_ENTITIES).iter_rows(named=True)
    ]
    left = failed.height - len(rows)
    title = {"failed": "Failed runs", "suspect": "Suspect runs"}
    states = failed["status"].unique().to_list()
    label = title[states[0]] if len(states) == 1 else "Failed and suspect runs"
    return model.PlainTable(["run", "state", "seed", "reason"], rows, label, note=f"and {left} more." if left else "")


def facts(runs: pl.DataFrame) -> list[tuple[str, str]]:
    """Facts with which a reader can check the page: engine, seed, digest, time."""
    done = runs.filter(pl.col("status") == "done")
    engines = done.select(pl.format("{} {}", "engine", "engine_version")).to_series()
    facts = [("engine", ", ".join(engines.unique(maintain_order=True).to_list())), ("runs", f"{done.height:,}")]
    if done.height == 1:
        facts += [("run", done["run_id"][0]), ("seed", str(done["seed"][0])), ("digest", done["digest"][0] or "")]
    facts.append(("wall time", text.with_unit(float(done["wall_s"].sum()), "s")))
    if done["events"].null_count() < done.height:
        facts.append(("events", f"{done['events'].sum():,}"))
    if done.height:
        facts.append(("finished", str(done["created"].max())[:19].replace("T", " ") + " UTC"))
    return [(name, value) for name, value in facts if value]


def _other_engines(runs: pl.DataFrame, metrics: pl.DataFrame, main: str) -> str:
    """Sentences about engines other than the simulator, and about whose runs answer. Empty: no other engine has made runs."""
    from bloatlab.engines import DEFAULT

    made = runs.filter((pl.col("status") == "done") & (pl.col("engine") != DEFAULT))
    if made.is_empty():
        return ""
    by = made.select("engine", "engine_version").unique(maintain_order=True).iter_rows()
    made_by = " and ".join(f"the engine {engine} ({version})" for engine, version in by)
    alone = runs.filter(status="done")["engine"].n_unique() == 1
    sentence = (
        f"Made by {made_by}."
        if alone
        else (f"Also made by {made_by}. The answer, its figures and the runs in detail are those of {main}.")
    )
    late: list[float] = metrics.filter(metric="p99_lateness")["value"].to_list()
    if not late:
        return sentence
    return f"{sentence} In every run, 99 % of the packets left at most {max(late):.2g} ms late."
