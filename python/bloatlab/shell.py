"""A program, or a shell, behind an emulated bottleneck: its scenario, and its run in a store.

The engine is `linux` or `linux-kernel`. The program is a flow of the scenario, besides the scenario's own flows. It runs as
long as it likes, so the duration of the stored scenario is the time that it took.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bloatlab import language
from bloatlab.engines import Engine, Outcome
from bloatlab.errors import ParameterError
from bloatlab.experiments.queues import with_limit
from bloatlab.loading import NO_PLUGINS, AllowedPlugins, command_reference
from bloatlab.scenario import dumbbell, flow
from bloatlab.scenario.revise import NS, cut, flow_names, with_flow
from bloatlab.store.identity import canonical, run_id
from bloatlab.store.lock import is_locked
from bloatlab.sweeps import PlannedRun, ScenarioSource, Summary, execute, plan
from bloatlab.sweeps.collector import Collector

if TYPE_CHECKING:
    from bloatlab.store.remote import Place

NAME = "shell"
MOST_TIME = "24h"
"""The longest duration of a scenario."""
SERVERS = ("$BLOATLAB_PYTHON", "-P", "-m", "bloatlab.engines.linux.servers")
"""What runs on the server side. The engine replaces the variable."""
WAIT_S = 60.0
LOOK_EVERY_S = 0.1
"""Seconds between two looks whether another process still writes."""


class Finished(Protocol):
    """A shell that has ended."""

    @property
    def outcome(self) -> Outcome:
        """What was measured."""

    @property
    def exit_code(self) -> int:
        """Exit code of the program; 128 plus the number of the signal that ended it."""

    @property
    def seconds(self) -> float:
        """How long the program ran."""


@dataclass(frozen=True)
class Shell:
    """A program that is ready to run."""

    planned: PlannedRun
    """Its run. Its duration is the time limit."""
    flow: str
    """Name of the flow that is the program."""

    @property
    def links(self) -> list[language.Link]:
        """The links between the program and its server: those of downloads, then those of uploads."""
        compiled = language.plan(self.planned.scenario)
        own = next(one for one in compiled.flows if one.name == self.flow)
        return [link for name in (*own.forward, *own.reverse) if (link := compiled.links.get(name)) is not None]


def network(
    rate: str,
    rtt: str,
    *,
    queue: Any = None,
    limit: str | None = None,
    loss: float | None = None,
    reverse_rate: str | None = None,
    reverse_queue: Any = None,
) -> dict[str, Any]:
    """The scenario of a shell without a scenario file: a dumbbell, whose parameters these are.

    Args:
        rate: Rate of downloads.
        rtt: Base RTT.
        queue: Queue of the bottleneck.
        limit: Limit of this queue, such as `"80p"` or `"150kB"`.
        loss: Probability that a packet of a download is lost.
        reverse_rate: Rate of uploads; absent: they have no bottleneck.
        reverse_queue: Queue of uploads.

    Raises:
        ParameterError: The queue has no limit.
    """
    if limit is not None:
        given = {"kind": "fifo"} if queue is None else queue
        queue = with_limit(given, limit)
        if queue == given or "limit" not in queue:
            raise ParameterError(f"limit: the queue `{given}` has no limit, or it states its limit already")
    return dumbbell(rate, rtt, queue=queue, loss=loss, reverse_rate=reverse_rate, reverse_queue=reverse_queue)


def prepare(
    document: Mapping[str, Any],
    command: Sequence[str],
    *,
    engine: Engine,
    name: str = NAME,
    values: Mapping[str, Any] | None = None,
    cca: Any = None,
    time_limit: str = MOST_TIME,
    seed: int = 42,
    allowed: AllowedPlugins = NO_PLUGINS,
) -> Shell:
    """Puts a program behind the bottleneck of a scenario.

    The duration and the warm-up of the scenario do not matter: the program decides how long the run takes, and metrics
    count from its start.

    Args:
        document: The scenario. Its own flows run beside the program.
        command: The program and its arguments.
        engine: `linux` or `linux-kernel`.
        name: Name of the scenario, if the document has none.
        values: What to set in the scenario, by dotted paths.
        cca: Congestion control of the server; absent: the scenario's default.
        time_limit: When the program is ended, at most `"24h"`.
        seed: Seed of the random choices of the network and of the scenario's own flows.
        allowed: What the scenario may start besides the program.

    Raises:
        ParameterError: A value is not allowed.
        ScenarioError: The scenario is not valid.
        EngineError: The engine cannot run the scenario.
    """
    for key in ("flows", "timeline"):
        if not isinstance(document.get(key, []), list):
            raise ParameterError(f"{key}: must be a list of tables")
    own = _flow(document, command) | ({} if cca is None else {"cca": cca})
    rest = {key: value for key, value in document.items() if key != "warmup"}
    whole = with_flow({**rest, "duration": time_limit}, own)
    allowed = allowed.and_also(command_reference(command, SERVERS))
    (planned,) = plan(ScenarioSource(whole, name, allowed, engine), values, seed=seed)
    parameters = {"command": shlex.join(command), **planned.parameters}
    return Shell(replace(planned, parameters=parameters), own["name"])


def _flow(document: Mapping[str, Any], command: Sequence[str]) -> dict[str, Any]:
    """The flow that is the program."""
    flows = [one for one in document.get("flows", []) if isinstance(one, Mapping)]
    place: dict[str, Any] = {}
    if "boxes" in document:
        first = next((one for one in flows if one.get("direction", "forward") == "forward"), None)
        if first is None:
            raise ParameterError(
                "flows: in a network of boxes, the program takes the path of the first flow; add a flow"
            )
        place = {key: first[key] for key in ("path", "return_path") if key in first}
    client = {"kind": "command", "client": list(command), "server": list(SERVERS)}
    return {**flow(name=_free_name(document, flows), traffic=client), **place}


def _free_name(document: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> str:
    later = (entry.get("value") for entry in document.get("timeline", []) if isinstance(entry, Mapping))
    added = [value for value in later if isinstance(value, Mapping)]
    whole = [one for one in (*flows, *added) if isinstance(one.get("count", 1), int)]
    taken = {name for names in flow_names(whole) for name in names}
    names = (NAME if number == 1 else f"{NAME}_{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


class _Made:
    """Hands in a run that has been made already."""

    def __init__(self, finished: Finished) -> None:
        self._finished = finished

    def run(self, todo: Sequence[PlannedRun], collector: Collector) -> None:
        """Hands in the run."""
        outcome = self._finished.outcome
        for planned in todo:
            collector.done(
                planned,
                outcome.metrics_json(),
                outcome.tables(),
                digest=outcome.digest,
                events=outcome.events,
                wall_s=self._finished.seconds,
                suspect=outcome.suspect,
            )

    def close(self) -> None:
        """Holds nothing."""


def store(shell: Shell, finished: Finished, directory: Place, *, command: str = "") -> Summary:
    """Stores the run of a shell. Waits for another process that writes to the directory, for at most `WAIT_S`.

    Args:
        shell: What was run.
        finished: What it gave.
        directory: Results directory, or a URL; made if there is none.
        command: The command line that started it, noted in the store.

    Raises:
        StoreError: The directory cannot be written, or another process writes to it.
    """
    # Several shells of one directory may end at the same time, and this run cannot be made again.
    end = time.monotonic() + WAIT_S
    while isinstance(directory, Path) and is_locked(directory) and time.monotonic() < end:
        time.sleep(LOOK_EVERY_S)
    return execute([_as_it_ended(shell.planned, finished)], directory, command=command, executor=_Made(finished))


def _as_it_ended(planned: PlannedRun, finished: Finished) -> PlannedRun:
    """The run with the duration that it really had."""
    document = cut(json.loads(planned.scenario), max(1, round(finished.seconds * NS)))
    scenario = canonical(json.loads(language.normalise(canonical(document))))
    return replace(
        planned,
        run_id=run_id(scenario, planned.seed, planned.engine_version, planned.engine.name),
        scenario=scenario,
        parameters={**planned.parameters, "duration": f"{finished.seconds:.3f}s"},
    )
