"""`tc`: the commands that set up a queue, and TCP connections, on Linux."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bloatlab import language
from bloatlab.cli.values import assignments, named, value
from bloatlab.errors import ParameterError, unknown
from bloatlab.experiments import get
from bloatlab.scenario.read import read
from bloatlab.sweeps import ExperimentSource, ScenarioSource, Source, plan_points

BOTTLENECK = "bottleneck"


def commands(
    file: Path | None,
    experiment: str | None,
    set_: Sequence[str],
    queue: str | None,
    device: str,
    box: str | None,
    *,
    all_words: bool,
    sysctl: bool = False,
) -> list[str]:
    """The commands for a queue, for the queue of a box in a scenario, or for that of an experiment.

    With `sysctl`, the commands for the TCP connections of the flows follow.

    Raises:
        ParameterError: Not exactly one of them is given, or there is no such box.
        ScenarioError: The scenario is refused, or Linux does not have the queue or one of its parameters.
    """
    if (file is not None) + (experiment is not None) + (queue is not None) != 1:
        raise ParameterError("tc: give one of a scenario file, --experiment NAME and --queue QUEUE")
    if queue is not None:
        if set_ or box is not None or sysctl:
            raise ParameterError("tc: --set, --box and --sysctl need a scenario or an experiment, not --queue")
        return language.tc(json.dumps(named("--queue", value, queue)), device, all_words)
    source: Source = (
        ScenarioSource(read(file), file.stem)
        if file is not None
        else ExperimentSource(get(str(experiment), may_import=True))
    )
    given = {name: named(name, value, text) for name, text in assignments(set_, "--set").items()}
    scenario = plan_points(source, [{}], given, dry=True)[0].scenario
    queues = language.plan(scenario).queues
    name = _choose(queues, box)
    try:
        lines = language.tc(json.dumps(queues[name].queue), device, all_words)
    except language.ScenarioError as error:
        raise ParameterError(f"{name}: {error}") from error
    return [*lines, *(_of_flows(json.loads(scenario)["flows"], device) if sysctl else [])]


def _of_flows(flows: Sequence[Mapping[str, Any]], device: str) -> list[str]:
    """The commands for the TCP connections of the flows. Flows with the same commands share them."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for index, flow in enumerate(flows):
        path = f"flows[{index}]"
        try:
            lines = language.sysctl(json.dumps(flow), device)
        except language.ScenarioError as error:
            raise ParameterError(f"{path}.{error}") from error
        if lines:
            groups.setdefault(tuple(lines), []).append(flow.get("name", path))
    return [line for lines, names in groups.items() for line in (f"# {', '.join(names)}", *lines)]


def _choose(queues: Mapping[str, language.Link], box: str | None) -> str:
    if box is not None:
        if box not in queues:
            raise unknown("box with a queue", box, queues)
        return box
    first = next(iter(queues), None)
    if first is None:
        raise ParameterError("tc: the scenario has no link, so it has no queue")
    if BOTTLENECK in queues:
        return BOTTLENECK
    if all(link.queue == queues[first].queue for link in queues.values()):
        return first
    raise ParameterError(f"tc: the links have different queues; choose one with --box (allowed: {', '.join(queues)})")
