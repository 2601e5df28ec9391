"""The simulator: simulated time, results that are the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from bloatlab import _core
from bloatlab.engines.interface import Control, Outcome, PluginFactories, Refusal
from bloatlab.programs import programs


class Sim:
    """The simulator, in virtual time."""

    name = "sim"
    reproducible = True
    concurrency: int | None = None

    def version(self) -> str:
        """A hash of everything that decides results."""
        return _core.engine_version()

    def available(self) -> str | None:
        """It runs everywhere."""
        return None

    def supports(self, scenario: Mapping[str, Any]) -> Sequence[Refusal]:
        """It runs every scenario that the language allows, apart from programs."""
        why = "is a program, which only an engine in real time runs; use --engine linux"
        return [Refusal(started.path, f"`{started.kind}` {why}") for started in programs(scenario)]

    def control(self) -> Control:
        """The control of one run."""
        return _core.Control()

    def run(
        self,
        scenario_json: str,
        seed: int,
        *,
        record_packets: bool = False,
        control: Control | None = None,
        plugins: PluginFactories | None = None,
    ) -> Outcome:
        """Simulates the scenario."""
        own = cast("_core.Control | None", control)
        return _core.run(scenario_json, seed, record_packets=record_packets, control=own, plugins=plugins)
