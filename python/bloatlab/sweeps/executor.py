"""Runs a plan: passes the runs that are not stored yet to an executor, and stores the results with one writer."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from bloatlab.errors import ParameterError
from bloatlab.loading import AllowedPlugins
from bloatlab.metrics import units
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store, Writer
from bloatlab.store.files import write_files
from bloatlab.store.remote import Place, local
from bloatlab.sweeps.collector import Collector, Ended, Progress, Summary
from bloatlab.sweeps.plan import PlannedRun
from bloatlab.sweeps.repetitions import with_repetitions
from bloatlab.sweeps.threads import Threads

DEFAULT_SETTINGS = RunSettings()


class Executor(Protocol):
    """Makes runs. Results do not depend on the executor."""

    def run(self, todo: Sequence[PlannedRun], collector: Collector) -> None:
        """Makes every run, passes each to the collector when it ends, and reports the progress now and then.

        Any thread may do so.

        At `KeyboardInterrupt` it cancels the current runs, passes on the finished ones, and raises it again.
        """

    def close(self) -> None:
        """Releases its resources."""


def executor_for(runs: Sequence[PlannedRun], settings: RunSettings) -> Executor:
    """Returns the executor: threads, or the cluster of a scheduler.

    Raises:
        ParameterError: `jobs` is not positive, or given with a scheduler; or a plugin cannot be sent.
        EngineError: The engine limits how many runs it makes at once, which a cluster cannot keep.
        ClusterError: The scheduler cannot be reached, or its workers have another engine.
    """
    if settings.scheduler is None:
        return Threads(settings.jobs)
    if settings.jobs is not None:
        raise ParameterError(
            "jobs: only applies to threads of this process; on a cluster, the number of workers decides"
        )
    from bloatlab.sweeps.cluster import Cluster

    return Cluster(settings.scheduler, runs)


def execute(
    runs: Sequence[PlannedRun],
    directory: Place,
    settings: RunSettings = DEFAULT_SETTINGS,
    *,
    progress: Progress | None = None,
    ended: Ended | None = None,
    command: str = "",
    axes: Mapping[str, Sequence[Any]] | None = None,
    after: Callable[[Writer, Summary], None] | None = None,
    executor: Executor | None = None,
) -> Summary:
    """Makes the runs that are not stored yet. A failed run is stored with its reason and does not stop the others.

    Ctrl-C keeps the finished runs. The summary then says `interrupted`, and the same plan resumes.

    Args:
        runs: The plan.
        directory: Results directory, or a URL such as `s3://bucket/path`; created if it does not exist.
        settings: Threads or a cluster. The engine is the one that the runs were planned for.
        progress: Called now and then with the progress.
        ended: Called with each run when it has ended.
        command: The command that requested the runs, for the store.
        axes: The values of each swept parameter as they are stored, in the order of the user.
        after: Called with the writer after all runs, to store claims.
        executor: Makes the runs; absent: the one that the settings name.

    Additional files of runs are written when all runs are done.

    Raises:
        StoreError: The directory cannot be written, another process writes to it, or the disk is full.
        ClusterError: The scheduler cannot be reached or was lost (finished runs are kept), or a worker has another
            engine.
    """
    directory = local(directory)
    start = time.perf_counter()
    own = {("experiment", name): unit for planned in runs[:1] for name, unit in planned.measures.items()}
    if executor is None:
        executor = executor_for(runs, settings)
    with contextlib.closing(executor), Writer(directory, units() | own) as writer:
        store = Store(directory)
        runs = with_repetitions(runs, store.finished())
        summary = Summary(runs)
        finished = _whole(store, runs)
        todo = []
        for planned in runs:
            recorded = finished.get(planned.run_id)
            # More can be kept of a run only where making it again gives the same results.
            if recorded is None or (recorded < planned.keep and planned.engine.reproducible):
                todo.append(planned)
            else:
                summary.read += 1
                writer.parameters(planned.run_id, planned.parameters)
        if runs:
            writer.invocation(runs[0].experiment, command, len(runs), axes)
        collector = Collector(writer, summary, progress, ended)
        try:
            executor.run(todo, collector)
            collector.tell()
        except KeyboardInterrupt:
            summary.interrupted = True
        if not summary.interrupted:
            _leave_files(writer, summary)
            if after is not None:
                after(writer, summary)
    summary.wall_s = time.perf_counter() - start
    return summary


def _whole(store: Store, runs: Sequence[PlannedRun]) -> dict[str, Keep]:
    """The finished runs of a plan, and how much of each is stored.

    A run whose files are missing or altered is repeated.
    """
    finished = store.finished()
    wanted = [planned.run_id for planned in runs if planned.run_id in finished]
    damaged = store.damaged(wanted)
    return {run_id: finished[run_id] for run_id in wanted if run_id not in damaged}


def _leave_files(writer: Writer, summary: Summary) -> None:
    """Files of the runs that are done; those of an earlier call are written only where they are missing."""
    leaving = [planned for planned in summary.measured if planned.files is not None]
    if not leaving:
        return
    writer.flush()
    store = Store(writer.directory)
    for planned in leaving:
        assert planned.files is not None
        created = store.find(planned.run_id)["created"]
        result = store.run(planned.run_id)
        # What it was planned with, and nothing else that the store may name.
        result.plugins, result.given_engine = AllowedPlugins(frozenset(planned.plugins)), planned.engine
        write_files(writer.directory, planned.files(result), created)
