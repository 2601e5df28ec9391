"""Runs a plan on threads of this process. The engine releases the GIL, so threads are enough."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from bloatlab.engines import ControlLike, engine
from bloatlab.errors import ParameterError
from bloatlab.store import Keep
from bloatlab.sweeps.collector import Collector
from bloatlab.sweeps.plan import PlannedRun

LOOK_EVERY = 0.05
"""Seconds between two looks at the progress."""
LAST = 16
"""Runs left when the writer is hastened."""


class Threads:
    """The executor of one machine."""

    def __init__(self, jobs: int | None = None) -> None:
        """With `jobs` threads; absent: one a processor."""
        if jobs is not None and jobs < 1:
            raise ParameterError(f"jobs: must be at least 1, not {jobs}")
        self.jobs = jobs or os.cpu_count() or 1

    def run(self, todo: Sequence[PlannedRun], collector: Collector) -> None:
        """Runs all of it and hands each run in as it ends; an interrupt cancels what is under way."""
        jobs = min(self.jobs, max(len(todo), 1))
        work = _Work(todo, collector)
        with ThreadPoolExecutor(jobs, thread_name_prefix="bloatlab-run") as pool:
            try:
                threads = [pool.submit(work.thread) for _ in range(jobs)]
                pending = set(threads)
                while pending:
                    # With a timeout even when nobody looks: a signal that another thread receives wakes no endless wait.
                    _, pending = wait(pending, LOOK_EVERY)
                    if pending:
                        collector.tell(work.under_way())
                for thread in threads:
                    thread.result()
            except BaseException:
                work.cancel()
                raise

    def close(self) -> None:
        """There is nothing to give back."""


class _Work:
    """The state the threads share."""

    def __init__(self, todo: Sequence[PlannedRun], collector: Collector) -> None:
        self.todo = deque(todo)
        self.collector = collector
        self.stop = threading.Event()
        self.controls: set[ControlLike] = set()
        self.lock = threading.Lock()

    def thread(self) -> None:
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
                self.collector.hasten()
            try:
                self._run(planned, control)
            except BaseException:
                self.stop.set()
                raise
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
        except engine().Cancelled:
            return
        # A panic of the engine is no `Exception`, and must not stop the others either.
        except BaseException as error:
            self.collector.failed(planned, error, time.perf_counter() - start)
        else:
            self.collector.done(
                planned, outcome.metrics_json(), tables, digest=outcome.digest, events=outcome.events, wall_s=wall_s
            )

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
