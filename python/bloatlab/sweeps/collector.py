"""Receives finished runs from executors, passes them to the writer of the store, and reports the progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bloatlab.store import RunRecord, Writer
from bloatlab.sweeps import record
from bloatlab.sweeps.plan import PlannedRun

if TYPE_CHECKING:
    from bloatlab.engines import ArrowTable


@dataclass
class Summary:
    """The result of a plan."""

    runs: Sequence[PlannedRun]
    """The runs as they were made: of an engine that is not reproducible, with their repetitions."""
    read: int = 0
    """Number of runs that were already stored."""
    done: int = 0
    failed: list[tuple[PlannedRun, str]] = field(default_factory=list)
    """Runs without results, and why."""
    suspect: list[tuple[PlannedRun, str]] = field(default_factory=list)
    """Runs whose engine doubts its own measurement, and why."""
    interrupted: bool = False
    wall_s: float = 0.0

    @property
    def total(self) -> int:
        """Number of runs."""
        return len(self.runs)

    @property
    def finished(self) -> int:
        """Number of runs whose results are in the store."""
        return self.read + self.done

    @property
    def measured(self) -> list[PlannedRun]:
        """The runs that are done, once the plan was carried out."""
        without = {planned.run_id for planned, _ in (*self.failed, *self.suspect)}
        return [planned for planned in self.runs if planned.run_id not in without]


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of a plan."""

    done: float
    """Number of ended runs, including those read from the store, plus the known fractions of current runs."""
    failed: int
    """Failed and suspect runs."""
    workers: int | None = None
    """Worker processes of the cluster; `None` on threads."""


Progress = Callable[[Standing], None]
"""Called now and then with the progress."""
Ended = Callable[[PlannedRun, RunRecord], None]
"""Called with each run when it has ended."""


class Receiver(Protocol):
    """Receives ended runs from any thread of an executor."""

    def done(
        self,
        planned: PlannedRun,
        metrics_json: str,
        tables: Mapping[str, ArrowTable],
        *,
        digest: str,
        events: int,
        wall_s: float,
        suspect: str | None = None,
    ) -> None:
        """Receives a run that has ended."""

    def failed(self, planned: PlannedRun, error: BaseException | str, wall_s: float) -> None:
        """Receives a run that failed."""

    def hasten(self) -> None:
        """Called when the last runs of the plan start."""

    def tell(self, under_way: float = 0.0) -> None:
        """Called now and then with the sum of the completed shares of the current runs."""


class Collector:
    """Receives ended runs from any thread, and stores them."""

    def __init__(self, writer: Writer, summary: Summary, progress: Progress | None, ended: Ended | None = None) -> None:
        self._writer = writer
        self._summary = summary
        self._progress = progress
        self._ended = ended
        self._lock = threading.Lock()

    def done(
        self,
        planned: PlannedRun,
        metrics_json: str,
        tables: Mapping[str, ArrowTable],
        *,
        digest: str,
        events: int,
        wall_s: float,
        suspect: str | None = None,
    ) -> None:
        """Receives a run that has ended. It counts as failed if its experiment cannot measure it.

        Raises:
            StoreError: The store can no longer be written, so further runs would be lost.
        """
        try:
            ended = record.done(
                planned, metrics_json, tables, digest=digest, events=events, wall_s=wall_s, suspect=suspect
            )
        except Exception as error:
            ended = record.failed(planned, error, wall_s)
        self._take(planned, ended)

    def failed(self, planned: PlannedRun, error: BaseException | str, wall_s: float) -> None:
        """Receives a run that failed. Raises as `done` does."""
        self._take(planned, record.failed(planned, error, wall_s))

    def _take(self, planned: PlannedRun, ended: RunRecord) -> None:
        self._writer.submit(ended)
        with self._lock:
            if ended.reason is None:
                self._summary.done += 1
            else:
                (self._summary.suspect if ended.suspect else self._summary.failed).append((planned, ended.reason))
            if self._ended is not None:
                self._ended(planned, ended)

    def hasten(self) -> None:
        """Writes the received runs at once. Called when the last runs of the plan start."""
        self._writer.hasten()

    def tell(self, under_way: float = 0.0, workers: int | None = None) -> None:
        """Reports the progress. Raises the error that stopped the writer."""
        if self._writer.error is not None:
            raise self._writer.error
        if self._progress is not None:
            failed = len(self._summary.failed) + len(self._summary.suspect)
            self._progress(Standing(self._summary.finished + failed + under_way, failed, workers))
