"""The engines that run a scenario with Linux's own TCP, in real time."""

from __future__ import annotations

import json
import os
import platform
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from bloatlab import _core, units
from bloatlab.engines.interface import Control, Outcome, PluginFactories, Refusal
from bloatlab.engines.linux import driver, exchange, native
from bloatlab.engines.linux.probe import probe
from bloatlab.engines.linux.turn import turn
from bloatlab.errors import EngineError

START_UP_S = 15.0
GRACE_S = 30.0
"""Least time that a run may take after its end, to write its tables."""
WAIT_S = 0.1


class RunControl:
    """Cancels a run and tells how far it is."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self.progress = 0.0
        """Share of the run that is done."""

    def cancel(self) -> None:
        """Asks the run to stop. Its worker has ended within a second."""
        self._cancelled.set()

    def check(self) -> None:
        """Raises `Cancelled` if the run is to stop."""
        if self._cancelled.is_set():
            raise _core.Cancelled

    def wait(self) -> None:
        """Pauses for a moment. Raises `Cancelled` if the run is to stop."""
        self._cancelled.wait(WAIT_S)
        self.check()

    def tell(self, progress: float) -> None:
        """Notes how far the run is."""
        self.progress = progress


class Linux:
    """Linux's TCP through our links, in real time."""

    name = "linux"
    kernel_link = False
    reproducible = False
    concurrency: int | None = 1

    def version(self) -> str:
        """The version of our links and queues, and the release of the kernel."""
        return f"{_core.engine_version()} on Linux {platform.release()}"

    def available(self) -> str | None:
        """Why this machine cannot run scenarios in real time, and what to do about it."""
        return probe().refusal

    def details(self) -> Mapping[str, Any]:
        """What the machine offers: kernel, congestion controls, queues, scheduling, tools."""
        return probe().details

    def supports(self, scenario: Mapping[str, Any]) -> Sequence[Refusal]:
        """What Linux, or this machine, cannot run of a scenario."""
        why = "is a Python class, which only the engine sim runs"
        plugins = [Refusal(path, why) for path in plugin_paths(scenario, ())]
        if plugins:
            return plugins
        return [Refusal(*found) for found in native.refusals(json.dumps(scenario), kernel_link=self.kernel_link)]

    def control(self) -> RunControl:
        """The control of one run."""
        return RunControl()

    def run(
        self,
        scenario_json: str,
        seed: int,
        *,
        record_packets: bool = False,
        control: Control | None = None,
        plugins: PluginFactories | None = None,
    ) -> Outcome:
        """Runs the scenario in a process of its own, after other runs in real time of this user."""
        own = self.control() if control is None else cast("RunControl", control)
        own.check()
        duration_s = units.duration(json.loads(scenario_json)["duration"])
        limit_s = START_UP_S + duration_s + max(GRACE_S, duration_s)
        try:
            with turn(own.wait) as directory:
                request = exchange.Request(
                    scenario=scenario_json,
                    seed=seed,
                    kernel_link=self.kernel_link,
                    record_packets=record_packets,
                    directory=str(directory),
                    driver=os.getpid(),
                )
                driver.make(request, limit_s, driver.Heard(progress=own.tell), own.check)
                return exchange.read(directory)
        except EngineError as error:
            raise EngineError(f"engine {self.name}: {error}") from error


class LinuxKernel(Linux):
    """Linux's TCP and Linux's queues, in real time."""

    name = "linux-kernel"
    kernel_link = True


def plugin_paths(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Paths of the Python classes in a scenario."""
    if isinstance(value, Mapping):
        if value.get("kind") == "python":
            yield ".".join(path)
        else:
            for name, item in value.items():
                yield from plugin_paths(item, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from plugin_paths(item, (*path, str(place)))
