"""Compares the claims of an experiment with runs: for `--json`, for the store and for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab.engines import Engine
from bloatlab.experiments.base import Experiment, plain
from bloatlab.experiments.claim import Cases, Verdict
from bloatlab.experiments.finding import Finding
from bloatlab.store import Store, Writer, canonical
from bloatlab.sweeps.collector import Summary
from bloatlab.sweeps.plan import PlannedRun, plan
from bloatlab.sweeps.source import ExperimentSource


def published_runs(experiment: Experiment | None, runs: Sequence[PlannedRun]) -> dict[str, PlannedRun]:
    """The runs with the parameters and seeds of the source, by case; empty if one of them is missing.

    Parameters that name data of the source may have any value. If the runs differ in them, the first complete set
    counts.
    """
    if experiment is None or not experiment.claims:
        return {}
    engines = dict.fromkeys(run.engine.name for run in runs)
    for engine in engines:
        of_engine = [run for run in runs if run.engine.name == engine]
        if found := _of_one_engine(experiment.for_engine(engine), of_engine):
            return found
    return {}


def _of_one_engine(experiment: Experiment, runs: Sequence[PlannedRun]) -> dict[str, PlannedRun]:
    variants: list[dict[str, Any]] = []
    for run in runs:
        data = {name: run.parameters.get(name) for name in experiment.data}
        if data not in variants:
            variants.append(data)
    return next((found for data in variants if (found := _published(experiment, runs, data))), {})


def _published(experiment: Experiment, runs: Sequence[PlannedRun], data: Mapping[str, Any]) -> dict[str, PlannedRun]:
    there = {(canonical(run.parameters), run.seed): run for run in reversed(runs)}
    found = {
        case: there.get((canonical(plain(parameters)), experiment.seed_of(case)))
        for case, parameters in experiment.published_runs(data).items()
    }
    return {case: run for case, run in found.items() if run is not None} if all(found.values()) else {}


def plan_published(
    experiment: Experiment, data: Mapping[str, Any] | None = None, engine: Engine | None = None
) -> list[PlannedRun]:
    """Every published run, each with its seed.

    Args:
        experiment: The experiment.
        data: Values of the parameters that name data of the source.
        engine: What makes the runs; absent: the simulator.
    """
    source = ExperimentSource(experiment, engine=engine)
    runs: dict[str, PlannedRun] = {}
    for case, parameters in source.experiment.published_runs(data).items():
        for planned in plan(source, parameters, seed=experiment.seed_of(case)):
            runs.setdefault(planned.run_id, planned)
    return list(runs.values())


def verdicts_on(experiment: Experiment, published: Mapping[str, PlannedRun], store: Store) -> list[Verdict]:
    """Compares the claims and the other published values with the published runs of a store."""
    cases = _cases(store, experiment, {case: run.run_id for case, run in published.items()})
    return experiment.verdicts(cases, next(iter(published.values())).parameters)


def _cases(store: Store, experiment: Experiment, ids: Mapping[str, str]) -> Cases:
    """The metrics of the published runs by case, with the readings of the experiment if it has any."""
    metrics = store.run_metrics(list(ids.values()))
    cases = {case: metrics[run_id] for case, run_id in ids.items()}
    if type(experiment).readings is not Experiment.readings:
        with store.held():
            for case, run in zip(ids, store.results(list(ids.values())), strict=True):
                cases[case]["readings"] = experiment.readings(run)
    return cases


def describe(verdict: Verdict) -> dict[str, Any]:
    """A verdict in the form of `--json`; `tolerance` is the largest allowed difference in the unit of the claim.

    A claim that was not judged has `holds` null and the reason in `why`.
    """
    described = {
        "name": verdict.claim.name,
        "kind": verdict.claim.kind,
        "bound": verdict.claim.bound,
        "published": verdict.claim.published,
        "measured": verdict.measured,
        "tolerance": verdict.claim.tolerance,
        "holds": verdict.holds,
    }
    return {**described, "why": verdict.why} if verdict.why else described


def claims_of(experiment: Experiment | None, runs: Sequence[PlannedRun], store: Store) -> list[dict[str, Any]]:
    """Verdicts on the claims, if the published set-up is among the finished runs."""
    published = published_runs(experiment, runs)
    if experiment is None or not published:
        return []
    verdicts = verdicts_on(experiment, published, store)
    return [describe(verdict) for verdict in verdicts if verdict.claim.tolerance is not None]


def note_claims(writer: Writer, experiment: Experiment, runs: Sequence[PlannedRun], summary: Summary) -> None:
    """Stores the verdicts with the first of the published runs, if all of these are among the runs."""
    published = published_runs(experiment, runs)
    ids = {run.run_id for run in published.values()}
    if not ids or any(failed.run_id in ids for failed, _ in summary.failed):
        return
    writer.flush()
    first = next(iter(published.values())).run_id
    rows = [
        (
            experiment.name,
            first,
            verdict.claim.name,
            verdict.claim.unit,
            verdict.claim.published,
            verdict.measured,
            verdict.claim.tolerance,
            verdict.holds,
            "; ".join(part for part in (verdict.claim.source, verdict.claim.note, verdict.why) if part),
            verdict.claim.bound,
            verdict.claim.kind,
        )
        for verdict in verdicts_on(experiment, published, Store(writer.directory))
    ]
    writer.note("claims", rows)


def findings_of_store(store: Store, experiment: Experiment | None) -> list[Finding]:
    """Compares the published runs of a store with the conclusions of the source; empty if a run is missing."""
    if experiment is None or type(experiment).findings is Experiment.findings:
        return []
    there = store.places(experiment.name)
    wanted = {
        case: there.get((canonical(plain(given)), experiment.seed_of(case)))
        for case, given in experiment.published_runs().items()
    }
    found = {case: run_id for case, run_id in wanted.items() if run_id is not None}
    if len(found) < len(wanted):
        return []
    return experiment.findings(_cases(store, experiment, found))


def answers_of_store(store: Store, experiment: Experiment | None) -> list[Finding]:
    """Answers the questions of an experiment's source from the runs of a store, those of its main engine."""
    if experiment is None or type(experiment).answers is Experiment.answers:
        return []
    main = store.main_engine(experiment.name)
    done = store.runs().filter(experiment=experiment.name, status="done", engine=main)["run_id"].to_list()
    return experiment.answers(store.results([run_id for run_id in done if store.has_tables(run_id)]))
