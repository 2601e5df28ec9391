"""The tuning problem of a scenario or experiment: what is tuned, over which ranges, for which goals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bloatlab import units
from bloatlab.analysis import tune
from bloatlab.analysis.bottleneck import CELL, Bottleneck, bottleneck_of
from bloatlab.analysis.front import Objective
from bloatlab.analysis.knobs import knobs
from bloatlab.analysis.objectives import objectives_of
from bloatlab.analysis.readings import Reading
from bloatlab.analysis.space import Vary
from bloatlab.analysis.tune import Problem
from bloatlab.errors import ParameterError
from bloatlab.experiments.base import Experiment
from bloatlab.sweeps import ScenarioSource, Source, plan, plan_points

BUFFER = "cell.buffer"
LEAST_BUFFER_KB = 30
"""Smallest searched RLC buffer of a cell in kB: two initial windows."""
JITTER, LATEST = ".start_jitter", "100ms"


def problem_of(
    source: Source,
    experiment: Experiment | None,
    base: Mapping[str, Any],
    *,
    queues: Sequence[str] | None,
    ranges: Sequence[Vary],
    objectives: Sequence[Objective],
    read: Callable[[str], Reading],
    replications: int | None,
    seed: int,
) -> Problem:
    """Builds the problem.

    Args:
        source: Where the scenarios come from.
        experiment: The experiment, if it is one.
        base: Values that all trials share.
        queues: Queues to try. `None` for those that are common in home routers.
        ranges: What else is varied.
        objectives: What is optimised. Empty for the default goals.
        read: Reads the name of a metric, for the default goals.
        replications: Runs of each trial. `None` for the default.
        seed: Seed of the first replication.

    Raises:
        ParameterError: Something of it does not fit.
    """
    replications = tune.REPLICATIONS if replications is None else replications
    if isinstance(source, ScenarioSource) and replications > 1:
        base = {**_jitter(source, base), **base}
    given = {**base, **{of.name: of.at(0.0) for of in ranges if of.name not in base}}
    bottleneck = _bottleneck(source, experiment, given)
    path = bottleneck.path
    if path in base:
        raise ParameterError(f"{path}: is tuned, so it cannot be set; choose the queues to try with --queue")
    tried = list(tune.QUEUES) if queues is None else list(queues)
    if len(set(tried)) < len(tried):
        raise ParameterError("--queue: a queue is given twice")
    for kind in tried:
        knobs(kind, bottleneck)
    varied, defaults = list(ranges), dict[str, int]()
    if path == CELL and BUFFER not in base and all(of.name != BUFFER for of in varied):
        buffer, defaults = _buffer(source, base)
        varied.append(buffer)
    goals = list(objectives)
    if not goals:
        first = plan(source, {**base, path: tried[0], **{of.name: of.at(0.0) for of in varied}})
        goals = objectives_of(json.loads(first[0].scenario), bottleneck, read)
    return Problem(source, base, bottleneck, tried, varied, goals, replications, seed, defaults)


def draws_starts(problem: Problem) -> bool:
    """Whether the problem gives flows a random start."""
    return any(name.endswith(JITTER) for name in problem.base)


def _jitter(source: ScenarioSource, base: Mapping[str, Any]) -> dict[str, str]:
    """A random start for flows that have none: most scenarios draw no random number, so all replications are equal."""
    flows = json.loads(plan_points(source, [{}], base, dry=True)[0].scenario)["flows"]
    return {
        f"flows.{index}{JITTER}": LATEST for index, of in enumerate(flows) if not units.duration(of["start_jitter"])
    }


def _bottleneck(source: Source, experiment: Experiment | None, given: Mapping[str, Any]) -> Bottleneck:
    """What is tuned: a queue of the scenario, or the parameter `queue` of the experiment."""
    if experiment is None:
        return bottleneck_of(plan_points(source, [{**given}], {}, dry=True)[0].scenario)
    if all(of.name != tune.QUEUE for of in experiment.parameters):
        raise ParameterError(
            f"{experiment.name}: has no parameter `queue` to tune (allowed: an experiment with this parameter, or the file "
            "of a scenario)"
        )
    if tune.QUEUE in given:
        return Bottleneck(tune.QUEUE, ())
    return bottleneck_of(plan(source, given)[0].scenario, tune.QUEUE)


def _buffer(source: Source, base: Mapping[str, Any]) -> tuple[Vary, dict[str, int]]:
    """The range of the RLC buffer of a cell, up to its size in the scenario, which is the default."""
    document = json.loads(plan_points(source, [{}], base, dry=True)[0].scenario)
    size = max(2, round(units.size(document["cell"]["buffer"]) / 1000))
    return Vary(BUFFER, (), min(size // 2, LEAST_BUFFER_KB), size, "kB", True), {BUFFER: size}
