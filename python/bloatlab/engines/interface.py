"""What an engine is, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

PluginFactories = Mapping[str, Callable[[dict[str, Any]], object]]
"""What makes instances of a scenario's plugins, by `module:Class`."""


class ArrowTable(Protocol):
    """Anything with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as an Arrow C stream."""


class Control(Protocol):
    """Cancels a run from another thread and tells how far it is."""

    def cancel(self) -> None:
        """Asks the run to stop. `Engine.run` then raises, once everything that it started has ended."""

    @property
    def progress(self) -> float:
        """Share of the run that is done, 0 to 1."""


class Outcome(Protocol):
    """What one run gave."""

    @property
    def suspect(self) -> str | None:
        """Why the engine doubts its own measurement, such as packets that left too late in real time; `None`: it does not."""

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


class Refusal(NamedTuple):
    """Something in a scenario that an engine cannot run."""

    path: str
    """Of the key, such as `flows.0.cca`."""
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Engine(Protocol):
    """What runs a scenario. `bloatlab.language` has checked the scenario, and has filled every default in."""

    @property
    def name(self) -> str:
        """Name of the engine, as results have it."""

    @property
    def reproducible(self) -> bool:
        """Whether equal scenario, seed and version give equal bytes."""

    @property
    def concurrency(self) -> int | None:
        """How many runs it makes at once; `None`: one per CPU core."""

    def version(self) -> str:
        """Version of everything that decides results; part of a run's identity."""

    def available(self) -> str | None:
        """Why it cannot run on this machine; `None`: it can."""

    def supports(self, scenario: Mapping[str, Any]) -> Sequence[Refusal]:
        """What it cannot run of a scenario."""

    def control(self) -> Control:
        """The control of one run."""

    def run(
        self,
        scenario_json: str,
        seed: int,
        *,
        record_packets: bool = False,
        control: Control | None = None,
        plugins: PluginFactories | None = None,
    ) -> Outcome:
        """Runs the scenario.

        Raises:
            Cancelled: The control was cancelled.
        """


@runtime_checkable
class Detailed(Protocol):
    """An engine that depends on the machine, and says what it found there. `bloatlab engines` prints it."""

    def details(self) -> Mapping[str, Any]:
        """Facts by name; a value is a text, a list, or a table."""
