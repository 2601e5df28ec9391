"""Where executors hand in finished runs: the store's one writer, the summary, and who follows the progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bloatlab.store import RunRecord, Writer
from bloatlab.sweeps import record
from bloatlab.sweeps.plan import PlannedRun

if TYPE_CHECKING:
    from bloatlab.engines import ArrowTable


@dataclass
class Summary:
    """What became of a plan."""

    runs: Sequence[PlannedRun]
    """The runs as they were made: of an engine that is not reproducible, with their repetitions."""
    read: int = 0
    """Runs that were there already."""
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
    """How far a plan is."""

    done: float
    """Runs that have ended, those read from the store among them; with fractions of those under way where they are known."""
    failed: int
    """Failed and suspect runs."""
    workers: int | None = None
    """Worker processes of the cluster; `None` on threads."""


Progress = Callable[[Standing], None]
"""Told now and then how far it is."""


class Collector:
    """Takes ended runs in, from any thread."""

    def __init__(self, writer: Writer, summary: Summary, progress: Progress | None) -> None:
        self._writer = writer
        self._summary = summary
        self._progress = progress
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
        """A run has ended; it counts as failed nonetheless if its experiment cannot measure it.

        Raises:
            StoreError: The store cannot be written any more; nothing that runs now would be kept.
        """
        try:
            ended = record.done(
                planned, metrics_json, tables, digest=digest, events=events, wall_s=wall_s, suspect=suspect
            )
        except Exception as error:
            ended = record.failed(planned, error, wall_s)
        self._take(planned, ended)

    def failed(self, planned: PlannedRun, error: BaseException | str, wall_s: float) -> None:
        """A run did not; raises as `done` does."""
        self._take(planned, record.failed(planned, error, wall_s))

    def _take(self, planned: PlannedRun, ended: RunRecord) -> None:
        self._writer.submit(ended)
        with self._lock:
            if ended.reason is None:
                self._summary.done += 1
            else:
                (self._summary.suspect if ended.suspect else self._summary.failed).append((planned, ended.reason))

    def hasten(self) -> None:
        """The last runs are under way: what is here is written beside them."""
        self._writer.hasten()

    def tell(self, under_way: float = 0.0, workers: int | None = None) -> None:
        """Tells how far it is; raises what has stopped the writer."""
        if self._writer.error is not None:
            raise self._writer.error
        if self._progress is not None:
            failed = len(self._summary.failed) + len(self._summary.suspect)
            self._progress(Standing(self._summary.finished + failed + under_way, failed, workers))
