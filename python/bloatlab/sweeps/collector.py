"""Where executors hand in finished runs: the store's one writer, the summary, and who follows the progress."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from bloatlab.engines import OutcomeLike
from bloatlab.store import RunRecord, Writer
from bloatlab.sweeps.plan import PlannedRun


@dataclass
class Summary:
    """What became of a plan."""

    total: int
    read: int = 0
    """Runs that were there already."""
    done: int = 0
    failed: list[tuple[PlannedRun, str]] = field(default_factory=list)
    interrupted: bool = False
    wall_s: float = 0.0

    @property
    def finished(self) -> int:
        """Runs whose results are in the store."""
        return self.read + self.done


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a plan is."""

    done: float
    """Runs that have ended, those read from the store among them; with fractions of those under way where they are known."""
    failed: int
    workers: int | None = None
    """Worker processes of the cluster; `None` on threads."""


Progress = Callable[[Standing], None]
"""Told now and then how far it is."""


def reason_of(error: BaseException) -> str:
    """Why a run failed, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


class Collector:
    """Takes finished runs in, from any thread."""

    def __init__(self, writer: Writer, summary: Summary, packets: bool, progress: Progress | None) -> None:
        self.packets = packets
        """Whether every packet is recorded."""
        self._writer = writer
        self._summary = summary
        self._progress = progress
        self._lock = threading.Lock()

    def take(self, planned: PlannedRun, outcome: OutcomeLike | None, reason: str | None, wall_s: float) -> None:
        """Stores what came of a run: its outcome, or the reason why there is none.

        Raises:
            StoreError: The store cannot be written any more; nothing that runs now would be kept.
        """
        self._writer.submit(
            RunRecord(
                run_id=planned.run_id,
                experiment=planned.experiment,
                scenario=planned.scenario,
                seed=planned.seed,
                engine_version=planned.engine_version,
                parameters=planned.parameters,
                outcome=outcome,
                reason=reason,
                wall_s=wall_s,
                packets=self.packets,
            )
        )
        with self._lock:
            if reason is None:
                self._summary.done += 1
            else:
                self._summary.failed.append((planned, reason))

    def hasten(self) -> None:
        """The last runs are under way: what is here is written beside them."""
        self._writer.hasten()

    def tell(self, under_way: float = 0.0, workers: int | None = None) -> None:
        """Tells how far it is; raises what has stopped the writer."""
        if self._writer.error is not None:
            raise self._writer.error
        if self._progress is not None:
            failed = len(self._summary.failed)
            self._progress(Standing(self._summary.finished + failed + under_way, failed, workers))
