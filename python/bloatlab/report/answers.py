"""The answer to the question of an experiment, from the runs of a store: for the page and for the terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from bloatlab.analysis import order
from bloatlab.errors import StoreError
from bloatlab.experiments import CATALOGUE, criteria, phrases
from bloatlab.experiments.answering import WAIT, Quantity, Run, Runs, contrast, deciding, said_once, weighed
from bloatlab.experiments.suite import Suite
from bloatlab.report import verdict

if TYPE_CHECKING:
    from bloatlab.experiments.criteria import Metrics
    from bloatlab.store import Store

MOST_PINGS = 2
"""Largest number of probes with an own sentence."""


@dataclass(frozen=True)
class Answer:
    """A question and its answer.

    Attributes:
        question: The question of the experiment. Empty for a user's own scenario or plan.
        sentences: The answer.
        basis: A sentence that says which runs it is from. Empty for a single run.
    """

    question: str
    sentences: list[str]
    basis: str


def of_store(store: Store, experiment: str, runs: Collection[str] | None = None) -> Answer:
    """Answers the question of an experiment from its finished runs, or says what was measured if it asks none.

    Args:
        store: The results.
        experiment: Name of an experiment, of a suite whose members have runs, or of a user's scenario.
        runs: Identities of the runs that count; absent: all finished runs of the store's main engine.
    """
    known = CATALOGUE.get(experiment)
    read = read_runs(store, experiment, runs)
    found = known.answer(read) if known and len(read) else []
    sentences = found or generic(store, read, experiment, runs)
    # The members of a suite vary many parameters, each its own.
    counted = ("experiment", *known.compared) if isinstance(known, Suite) else None
    basis = read.described(counted) if len(read) > 1 else ""
    return Answer(known.question if known else "", sentences, basis)


def answer(store: Store, experiment: str | None = None, runs: Collection[str] | None = None) -> list[str]:
    """The same as lines for the terminal: the sentences, then which runs they are from.

    Args:
        store: The results.
        experiment: As for `of_store`; absent: every experiment of the store.
        runs: As for `of_store`.
    """
    names = [experiment] if experiment else store.runs()["experiment"].unique(maintain_order=True).to_list()
    lines = []
    for name in names:
        found = of_store(store, name, runs)
        lines += [*found.sentences, *([found.basis] if found.basis else [])]
    return lines


def read_runs(store: Store, experiment: str, runs: Collection[str] | None = None) -> Runs:
    """The finished runs of an experiment with their metrics; those of its members for a suite."""
    known = CATALOGUE.get(experiment)
    members = known.members if isinstance(known, Suite) else ()
    derived = [parameter.name for parameter in known.parameters if parameter.default is None] if known else []
    found: list[Run] = []
    for name in [member.name for member in members] or [experiment]:
        parameters = order.runs_of_main_engine(store, name) if runs is None else order.runs_of(store, name)
        parameters = {run: given for run, given in parameters.items() if runs is None or run in runs}
        metrics = store.run_metrics(list(parameters))
        own = {"experiment": name} if members else {}
        found += [Run({**own, **given}, metrics[run]) for run, given in parameters.items()]
    return Runs(found, derived)


def generic(store: Store, read: Runs, experiment: str, runs: Collection[str] | None = None) -> list[str]:
    """Says of any runs how long packets wait, how much of the capacity is used, and what a ping measured."""
    if len(read) == 1:
        pings = [line for of in _pings(read) for line in contrast(read.by(), of)]
        return [*_single(store, experiment, runs), *pings]
    if not len(read):
        return ["No run has finished."]
    found = by_value(read)
    if len(read.varying) > 1 and found:
        points = read.by()
        found += contrast(points, QUEUE, at=f"of all {len(points)} combinations")
    return found or ["No RTT and no queueing delay was measured in these runs."]


def by_value(read: Runs) -> list[str]:
    """Compares the values of the parameter that decides how long packets wait, averaged over the other parameters."""
    lead = deciding(read, QUEUE)
    groups = read.by(*[lead] if lead else [])
    pings = [line for of in _pings(read) for line in contrast(groups, of)]
    return said_once(groups, [*weighed(groups, QUEUE, USE), *pings])


def _pings(read: Runs) -> list[Quantity]:
    """The tail of the RTTs, or of the fetch times, of the first probes."""
    probes = criteria.alike(dict.fromkeys(probe for run in read for probe in run.metrics.get("probe_metrics", {})))
    fetches = {probe for run in read for probe, of in run.metrics.get("probe_metrics", {}).items() if "rtos" in of}
    return [
        _asked(name, members, "fetch time" if members[0] in fetches else "RTT")
        for name, members in list(probes.items())[:MOST_PINGS]
    ]


def _single(store: Store, experiment: str, runs: Collection[str] | None) -> list[str]:
    from bloatlab.figures import source

    run_id = next(run for run in store.run_parameters(experiment) if runs is None or run in runs)
    if not store.has_tables(run_id):
        return []
    result = store.run(run_id)
    try:
        tables = source.of_result(result)
    except StoreError:
        return []
    metrics = store.metrics().filter(pl.col("run_id") == run_id)
    return [verdict.of_run(tables, metrics, result.verdict.evidence).sentence]


def _standing(metrics: Metrics) -> float | None:
    """Mean over flows of the sRTT minus propagation; without an RTT, the mean sojourn time of the flows."""
    flows = metrics.get("flow_metrics", {}).values()
    for name in ("mean_est_qdelay_l4", "mean_sojourn_l4"):
        found = [float(of[name]) for of in flows if name in of]
        if found:
            return sum(found) / len(found)
    return None


def _used(metrics: Metrics) -> float | None:
    """Utilization of the link where packets wait longest, which is the bottleneck of a scenario of any form."""
    links = [of for of in metrics.get("link_metrics", {}).values() if {"utilization", "mean_sojourn"} <= set(of)]
    return max(links, key=lambda of: of["mean_sojourn"])["utilization"] if links else None


QUEUE = Quantity("standing queue", _standing, words=WAIT)
USE = Quantity("share of the bottleneck's capacity in use", _used, phrases.percent)


def _asked(name: str, members: Sequence[str], what: str) -> Quantity:
    def read(metrics: Metrics) -> float | None:
        of = metrics.get("probe_metrics", {})
        found = [float(of[probe]["p95_rtt"]) for probe in members if "p95_rtt" in of.get(probe, {})]
        return fmean(found) if found else None

    return Quantity(f"{what} of {name} (95th percentile)", read, words=WAIT)
