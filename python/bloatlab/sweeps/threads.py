"""Runs a plan on threads of this process. The simulator releases the GIL, so threads are enough."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Sequence

from bloatlab.engines import Cancelled, Control
from bloatlab.errors import ParameterError
from bloatlab.store import Keep
from bloatlab.sweeps.collector import Receiver
from bloatlab.sweeps.plan import PlannedRun

LOOK_EVERY = 0.05
"""Seconds between two updates of the progress."""
LAST = 16
"""Number of remaining runs at which the writer is hastened."""
TEARDOWN_S = 10.0
"""How long a cancelled run may take to end its processes, seconds."""


class Threads:
    """The executor for one machine."""

    def __init__(self, jobs: int | None = None) -> None:
        """With `jobs` threads; absent: one per CPU core."""
        if jobs is not None and jobs < 1:
            raise ParameterError(f"jobs: must be at least 1, not {jobs}")
        self.jobs = jobs or os.cpu_count() or 1

    def run(self, todo: Sequence[PlannedRun], collector: Receiver) -> None:
        """Runs the plan and passes each run to the collector when it ends. An interrupt cancels the current runs.

        After an interrupt it waits for the engine's runs to return, for at most `TEARDOWN_S`.
        """
        limits = (planned.engine.concurrency for planned in todo)
        jobs = min(self.jobs, max(len(todo), 1), *(limit for limit in limits if limit is not None))
        work = _Work(todo, collector)
        # Daemons: an engine that does not return from a cancelled run must not keep this process.
        threads = [
            threading.Thread(target=work.thread, name=f"bloatlab-run-{place}", daemon=True) for place in range(jobs)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    # The timeout is always necessary: a signal that another thread receives does not end a wait without
                    # one.
                    thread.join(LOOK_EVERY)
                    collector.tell(work.under_way())
        except BaseException:
            work.cancel()
            _join(threads)
            raise
        if work.error is not None:
            raise work.error

    def close(self) -> None:
        """Does nothing, because threads hold no resources."""


def _join(threads: Sequence[threading.Thread]) -> None:
    end = time.monotonic() + TEARDOWN_S
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    left = sum(thread.is_alive() for thread in threads)
    if left:
        warnings.warn(f"{left} cancelled runs have not ended after {TEARDOWN_S:g} s", RuntimeWarning, stacklevel=2)


class _Work:
    """The shared state of the threads."""

    def __init__(self, todo: Sequence[PlannedRun], collector: Receiver) -> None:
        self.todo = deque(todo)
        self.collector = collector
        self.stop = threading.Event()
        self.error: BaseException | None = None
        self.controls: set[Control] = set()
        self.lock = threading.Lock()

    def thread(self) -> None:
        """One thread: takes runs until there are none."""
        try:
            while self._next():
                pass
        except BaseException as error:
            self.error = error
            self.cancel()

    def _next(self) -> bool:
        with self.lock:
            if self.stop.is_set() or not self.todo:
                return False
            planned = self.todo.popleft()
            last = len(self.todo) == LAST
            control = planned.engine.control()
            self.controls.add(control)
        try:
            if last:
                self.collector.hasten()
            self._run(planned, control)
        finally:
            with self.lock:
                self.controls.discard(control)
        return True

    def _run(self, planned: PlannedRun, control: Control) -> None:
        start = time.perf_counter()
        try:
            outcome = planned.engine.run(
                planned.scenario,
                planned.seed,
                record_packets=planned.keep >= Keep.PACKETS,
                control=control,
                plugins=planned.plugins or None,
            )
            tables = outcome.tables() if planned.keep >= Keep.TABLES else {}
            wall_s = time.perf_counter() - start
        except Cancelled:
            return
        # A panic of the engine is not an `Exception`, and must not stop the other runs either.
        except BaseException as error:
            # An engine that was told to stop may fail because its processes have ended.
            if not self.stop.is_set():
                self.collector.failed(planned, error, time.perf_counter() - start)
        else:
            self.collector.done(
                planned,
                outcome.metrics_json(),
                tables,
                digest=outcome.digest,
                events=outcome.events,
                wall_s=wall_s,
                suspect=outcome.suspect,
            )

    def under_way(self) -> float:
        """Sum of the completed shares of the current runs."""
        with self.lock:
            return sum(control.progress for control in self.controls)

    def cancel(self) -> None:
        """Stops every thread soon."""
        with self.lock:
            self.stop.set()
            for control in self.controls:
                control.cancel()
