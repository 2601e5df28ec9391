"""Runs a plan on threads. The engine releases the GIL, so threads are enough; one writer stores what is finished."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from bloatlab.engines import ControlLike, engine
from bloatlab.errors import ParameterError, StoreError
from bloatlab.metrics import units
from bloatlab.store import Keep, RunRecord, Store, Writer
from bloatlab.store.files import write_files
from bloatlab.sweeps import record
from bloatlab.sweeps.plan import PlannedRun

LOOK_EVERY = 0.05
"""Seconds between two looks at the progress."""
LAST = 16
"""Runs left when the writer is hastened."""

Progress = Callable[[float, int], None]
"""Called with the finished share of the runs (a count, with fractions of those under way) and the failures."""


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


class _Execution:
    """The state the threads share."""

    def __init__(self, todo: Sequence[PlannedRun], writer: Writer, summary: Summary) -> None:
        self.todo = deque(todo)
        self.writer = writer
        self.summary = summary
        self.stop = threading.Event()
        self.controls: set[ControlLike] = set()
        self.lock = threading.Lock()

    def work(self) -> None:
        """One thread: takes runs until there are none."""
        while not self.stop.is_set():
            with self.lock:
                if not self.todo:
                    return
                planned = self.todo.popleft()
                last = len(self.todo) == LAST
                control = engine().Control()
                self.controls.add(control)
            if last:
                self.writer.hasten()
            try:
                self._run(planned, control)
            except StoreError:
                self.stop.set()
            finally:
                with self.lock:
                    self.controls.discard(control)

    def _run(self, planned: PlannedRun, control: ControlLike) -> None:
        start = time.perf_counter()
        try:
            outcome = engine().run(
                planned.scenario,
                planned.seed,
                record_packets=planned.keep >= Keep.PACKETS,
                control=control,
                plugins=planned.plugins or None,
            )
            tables = outcome.tables() if planned.keep >= Keep.TABLES else {}
            wall_s = time.perf_counter() - start
            ended = record.done(
                planned, outcome.metrics_json(), tables, digest=outcome.digest, events=outcome.events, wall_s=wall_s
            )
        except engine().Cancelled:
            return
        # A panic of the engine is no `Exception`, and must not stop the others either.
        except BaseException as error:
            ended = record.failed(planned, error, time.perf_counter() - start)
        self._end(planned, ended)

    def _end(self, planned: PlannedRun, ended: RunRecord) -> None:
        self.writer.submit(ended)
        with self.lock:
            if ended.reason is None:
                self.summary.done += 1
            else:
                self.summary.failed.append((planned, ended.reason))

    def under_way(self) -> float:
        """Sum of the shares of the runs under way."""
        with self.lock:
            return sum(control.progress for control in self.controls)

    def cancel(self) -> None:
        """Stops every thread soon."""
        self.stop.set()
        with self.lock:
            for control in self.controls:
                control.cancel()


def execute(
    runs: Sequence[PlannedRun],
    directory: Path | str,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    command: str = "",
    after: Callable[[Writer, Summary], None] | None = None,
) -> Summary:
    """Runs what the store does not hold yet. A failed run is stored with its reason and does not stop the others.

    Ctrl-C keeps what is finished: the summary then says `interrupted`, and the same plan resumes.

    Args:
        runs: The plan.
        directory: Results directory; made if there is none.
        jobs: Threads; absent: one a processor.
        progress: Told now and then how far it is.
        command: The command that asked for it, noted in the store.
        after: Called with the writer once all is run, to note claims.

    What runs leave beside their tables is written once all of them are done.

    Raises:
        StoreError: The directory cannot be written, another process writes to it, or the disk is full.
    """
    if jobs is not None and jobs < 1:
        raise ParameterError(f"jobs: must be at least 1, not {jobs}")
    directory = Path(directory)
    start = time.perf_counter()
    summary = Summary(total=len(runs))
    own = {("experiment", name): unit for planned in runs[:1] for name, unit in planned.measures.items()}
    with Writer(directory, units() | own) as writer:
        finished = Store(directory).finished()
        todo = []
        for planned in runs:
            recorded = finished.get(planned.run_id)
            if recorded is None or recorded < planned.keep:
                todo.append(planned)
            else:
                summary.read += 1
                writer.parameters(planned.run_id, planned.parameters)
        if runs:
            writer.invocation(runs[0].experiment, command, len(runs))
        _execute(todo, writer, summary, min(jobs or os.cpu_count() or 1, max(len(todo), 1)), progress)
        if not summary.interrupted:
            _leave_files(runs, writer, summary)
            if after is not None:
                after(writer, summary)
    summary.wall_s = time.perf_counter() - start
    return summary


def _leave_files(runs: Sequence[PlannedRun], writer: Writer, summary: Summary) -> None:
    """Files of the runs that are done; those of an earlier call are made again only where they are missing."""
    failed = {planned.run_id for planned, _ in summary.failed}
    leaving = [planned for planned in runs if planned.files is not None and planned.run_id not in failed]
    if not leaving:
        return
    writer.flush()
    store = Store(writer.directory)
    for planned in leaving:
        assert planned.files is not None
        created = store.find(planned.run_id)["created"]
        write_files(writer.directory, planned.files(store.run(planned.run_id)), created)


def _execute(
    todo: Sequence[PlannedRun],
    writer: Writer,
    summary: Summary,
    jobs: int,
    progress: Progress | None,
) -> None:
    execution = _Execution(todo, writer, summary)
    with ThreadPoolExecutor(jobs, thread_name_prefix="bloatlab-run") as pool:
        try:
            threads = [pool.submit(execution.work) for _ in range(jobs)]
            pending = set(threads)
            while pending:
                # With a timeout even when nobody looks: a signal that another thread receives wakes no endless wait.
                _, pending = wait(pending, LOOK_EVERY)
                if progress is not None and pending:
                    ended = summary.finished + len(summary.failed)
                    progress(ended + execution.under_way(), len(summary.failed))
            for thread in threads:
                thread.result()
        except KeyboardInterrupt:
            summary.interrupted = True
            execution.cancel()
        except BaseException:
            execution.cancel()
            raise
    if writer.error is not None:
        raise writer.error
    if progress is not None and not summary.interrupted:
        progress(summary.finished + len(summary.failed), len(summary.failed))
