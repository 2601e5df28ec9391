"""`tc`: the set-up of a queue, or of a whole scenario, on Linux and for other tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab import language
from bloatlab.cli.target import Target
from bloatlab.cli.values import assignments, named, value
from bloatlab.engines import find
from bloatlab.errors import ParameterError, unknown
from bloatlab.loading import NO_PLUGINS
from bloatlab.setups import FORMS, linux, set_up
from bloatlab.sweeps import ExperimentSource, plan_points

DEVICE = "eth0"


def commands(
    name: str | None,
    set_: Sequence[str],
    queue: str | None,
    devices: Sequence[str],
    box: str | None,
    form: str,
    *,
    all_words: bool,
    sysctl: bool = False,
) -> list[str]:
    """The lines that set up a queue, the queue of one box, or the whole network of a scenario.

    With `sysctl`, the commands for the TCP connections of the flows follow.

    Raises:
        ParameterError: Not exactly one of name and queue is given, or there is no such box.
        ScenarioError: The scenario is refused, or the tool does not have the queue or one of its parameters.
    """
    if (name is not None) + (queue is not None) != 1:
        raise ParameterError("tc: give either a scenario file or an experiment, or --queue QUEUE")
    if form not in FORMS:
        raise unknown("value of --as", form, FORMS)
    if queue is not None:
        if set_ or box is not None or sysctl or form != "tc":
            raise ParameterError("tc: --set, --box, --as and --sysctl need a scenario or an experiment, not --queue")
        return language.tc(json.dumps(named("--queue", value, queue)), _device(devices), all_words)
    if form != "tc" and (sysctl or box is not None):
        raise ParameterError("tc: --box and --sysctl are for --as tc")
    target = Target.named(str(name), NO_PLUGINS, find("sim"))
    source = target.source
    if target.experiment is not None:
        # Links on Linux have shapers already, so an experiment leaves its own out there.
        source = ExperimentSource(target.experiment.for_engine("linux-kernel"))
    given = {key: named(key, value, text) for key, text in assignments(set_, "--set").items()}
    scenario = plan_points(source, [{}], given, dry=True)[0].scenario
    queues = language.plan(scenario).queues
    if box is not None:
        if box not in queues:
            raise unknown("box with a queue", box, queues)
        lines = linux.queue_commands(queues[box], _device(devices), all_words=all_words)
    else:
        lines = set_up(scenario, form, _devices(devices), all_words=all_words)
    return [*lines, *(_of_flows(json.loads(scenario)["flows"], _device(devices)) if sysctl else [])]


def _device(devices: Sequence[str]) -> str:
    """The device of a single queue."""
    return _devices(devices).get("", DEVICE)


def _devices(devices: Sequence[str]) -> dict[str, str]:
    """Devices by the name of their link; `""`: the bottleneck."""
    pairs = (text.rpartition("=") for text in devices)
    return {link: device for link, _, device in pairs}


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
