"""Engines: a scenario goes in, an outcome comes out. One interface; the simulator is the engine unless another is set.

What an engine is, is the interface of the extension module `bloatlab._core`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

PluginFactories = Mapping[str, Callable[[dict[str, Any]], object]]


class ArrowTable(Protocol):
    """Anything with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as an Arrow C stream."""


class ControlLike(Protocol):
    """Cancels a run from another thread and tells how far it is."""

    def cancel(self) -> None:
        """Asks the run to stop."""

    @property
    def progress(self) -> float:
        """Share of the simulated time that has passed, 0 to 1."""


class OutcomeLike(Protocol):
    """What one run gave."""

    @property
    def digest(self) -> str:
        """Hash of every table."""

    @property
    def events(self) -> int:
        """Events the engine processed."""

    def tables(self) -> Mapping[str, ArrowTable]:
        """The tables of docs/architecture.md by name."""

    def metrics_json(self) -> str:
        """The metrics by scope, entity and name."""

    def write_pcap(self, path: str, link: str | None = None) -> None:
        """Writes the packets as a pcap file."""


class Engine(Protocol):
    """What runs a scenario."""

    ScenarioError: type[ValueError]
    Cancelled: type[Exception]
    Control: Callable[[], ControlLike]

    def engine_version(self) -> str:
        """Version; part of a run's identity."""

    def schema(self) -> str:
        """JSON Schema of a scenario document."""

    def normalise(self, scenario_json: str) -> str:
        """The document in canonical form; raises `ScenarioError`."""

    def queue(self, queue_json: str) -> str:
        """The queue (a name, tc's words or a table) as a table with every parameter, JSON; raises `ScenarioError`."""

    def tc(self, queue_json: str, device: str, every: bool = False) -> list[str]:
        """The tc commands for the queue; raises `ScenarioError` where Linux lacks something."""

    def algorithms(self) -> str:
        """Queues and congestion controls with their parameters, JSON."""

    def metric_definitions(self) -> str:
        """Every metric with unit, formula and source, JSON."""

    def run(
        self,
        scenario_json: str,
        seed: int,
        *,
        record_packets: bool = False,
        control: ControlLike | None = None,
        plugins: PluginFactories | None = None,
    ) -> OutcomeLike:
        """Runs the scenario."""


_current: Engine | None = None


def engine() -> Engine:
    """The engine in use."""
    global _current
    if _current is None:
        from bloatlab import _core

        _current = cast(Engine, _core)
    return _current


def use(other: Engine | None) -> None:
    """Sets the engine of this process; `None` goes back to the simulator."""
    global _current
    _current = other
