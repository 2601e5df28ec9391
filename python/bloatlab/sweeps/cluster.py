"""Runs a plan on a dask.distributed cluster: sends batches to the workers and stores their results as they arrive."""

from __future__ import annotations

import contextlib
import math
import queue
import secrets
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bloatlab.engines import Engine
from bloatlab.errors import ClusterError, EngineError, ParameterError
from bloatlab.loading import Factories, Factory
from bloatlab.sweeps import shipping
from bloatlab.sweeps.collector import Collector
from bloatlab.sweeps.connection import connect, said
from bloatlab.sweeps.plan import PlannedRun

if TYPE_CHECKING:
    from distributed import Client, Future

BATCH_S = 0.5
"""Work per batch in seconds: much more than dask's overhead per batch (a few ms), and little to lose with a worker."""
LARGEST_BATCH = 256
AHEAD = 2
"""Batches sent per thread of the cluster: one that runs and one that waits."""
LOOK_EVERY = 0.05
"""Seconds between two updates of the progress."""
COUNT_EVERY = 1.0
"""Seconds between two counts of the workers."""
GRACE_S = 3.0
"""Seconds that an interrupt waits for runs to stop, so that the finished runs of their batches are not lost."""


class Cluster:
    """The executor of a dask.distributed cluster."""

    def __init__(self, scheduler: str | Client, runs: Sequence[PlannedRun] = ()) -> None:
        """Connects to a scheduler, and pickles the plugins of the runs.

        Args:
            scheduler: Address (`tcp://host:8786`), `file:PATH` of a scheduler file, or a connected client.
            runs: The plan.

        Raises:
            ClusterError: There is no such scheduler, or its workers have another engine.
            ParameterError: A plugin or the engine cannot be sent.
            EngineError: The engine limits how many runs it makes at once, which a cluster cannot keep; or the plan has
                several engines.
        """
        self._pickled = _Pickled()
        engines = {planned.engine.name: (planned.engine, planned.engine_version) for planned in runs}
        if len(engines) > 1:
            raise EngineError(f"a plan on a cluster has one engine, not {', '.join(sorted(engines))}")
        for engine, _ in engines.values():
            if engine.concurrency is not None:
                raise EngineError(
                    f"engine {engine.name}: makes at most {engine.concurrency} runs at once, so it cannot run on a "
                    "cluster"
                )
        self._own = isinstance(scheduler, str)
        self._client: Client = connect(scheduler) if isinstance(scheduler, str) else scheduler
        self._name = str(getattr(self._client.scheduler, "address", scheduler))
        try:
            for planned in runs:
                self._pickled.plugins(planned.plugins)
            for engine, version in engines.values():
                self._refuse_other_engines(engine, version)
        except BaseException:
            self.close()
            raise

    def run(self, todo: Sequence[PlannedRun], collector: Collector) -> None:
        """Runs the plan and passes each run to the collector when it ends. An interrupt cancels the current runs.

        Raises:
            ClusterError: The scheduler is lost, or a worker cannot run anything.
        """
        if not todo:
            return
        dispatch = _Dispatch(self._client, self._name, todo, collector, self._pickled)
        try:
            dispatch.run()
        except KeyboardInterrupt:
            dispatch.recall()
            raise
        finally:
            dispatch.cancel()

    def close(self) -> None:
        """Disconnects from the cluster, if this object connected."""
        if self._own:
            with contextlib.suppress(Exception):
                self._client.close(timeout=2)

    def _refuse_other_engines(self, engine: Engine, version: str) -> None:
        from distributed.comm.core import CommClosedError

        try:
            answers = self._client.run(shipping.refusal, self._pickled.engine(engine), version, on_error="return")
        except (OSError, CommClosedError) as error:
            raise ClusterError(f"scheduler {self._name}: {error}") from error
        for worker, answer in answers.items():
            if isinstance(answer, BaseException):
                raise ClusterError(f"worker {worker}: {said(answer)}")
            if answer:
                raise ClusterError(answer)


class _Dispatch:
    """The state of one plan on the cluster."""

    def __init__(
        self, client: Client, name: str, todo: Sequence[PlannedRun], collector: Collector, pickled: _Pickled
    ) -> None:
        self.client = client
        self.name = name
        self.todo = todo
        self.collector = collector
        self.pickled = pickled
        self.session = secrets.token_hex(8)
        self.waiting = deque(range(len(todo)))
        self.singly: deque[int] = deque()
        """Runs of a batch during which workers died. Each is sent again in its own batch."""
        self.suspects: deque[int] = deque()
        """Runs during which workers died although they were alone in their batch. Another run on the same worker may be
        the cause, so each is tried a last time at the end, with nothing else running."""
        self.alone: int | None = None
        """The suspect that is tried a last time."""
        self.out: dict[Future[shipping.Answer], Sequence[int]] = {}
        self.ended: queue.SimpleQueue[Future[shipping.Answer]] = queue.SimpleQueue()
        self.run_s: float | None = None
        """Moving average of the seconds that a run takes on a worker."""
        self.workers = self.threads = 0
        self.counted = -math.inf

    def run(self) -> None:
        """Runs until every run has ended."""
        while self.waiting or self.singly or self.suspects or self.out:
            self._count()
            self._fill()
            self._take_ended(LOOK_EVERY)
            self.collector.tell(workers=self.workers)

    def recall(self) -> None:
        """Tells the workers to stop, and collects the runs that they have finished."""
        with contextlib.suppress(Exception):
            self.client.run(shipping.cancel, self.session, wait=False)
            end = time.monotonic() + (GRACE_S if self.workers else 0)
            while self.out and time.monotonic() < end:
                self._take_ended(LOOK_EVERY)

    def cancel(self) -> None:
        """Drops the batches that were sent."""
        if self.out and self.client.status == "running":
            with contextlib.suppress(Exception):
                self.client.run(shipping.cancel, self.session, wait=False)
                self.client.cancel(list(self.out), force=True)
        self.out.clear()

    def _count(self) -> None:
        if time.monotonic() - self.counted >= COUNT_EVERY:
            self.counted = time.monotonic()
            if self.client.status != "running":
                raise self._lost()
            try:
                about: dict[str, Any] = self.client.scheduler_info(n_workers=0)
            except OSError as error:
                raise self._lost() from error
            self.workers, self.threads = about["n_workers"], about["total_threads"]

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"scheduler {self.name}: the connection is lost; what was finished is kept, the same command resumes"
        )

    def _fill(self) -> None:
        """Sends batches until every thread has one and another one waits."""
        while len(self.out) < AHEAD * max(self.threads, 1):
            if self.singly:
                batch = [self.singly.popleft()]
            elif self.waiting:
                batch = [self.waiting.popleft() for _ in range(self._size())]
            elif self.suspects and not self.out:
                self.alone = self.suspects.popleft()
                self._submit([self.alone])
                return
            else:
                return
            self._submit(batch)
            if not self.waiting:
                self.collector.hasten()

    def _size(self) -> int:
        """Size of the next batch: half a second of work, and less near the end, so that all threads end together."""
        wanted = 1 if self.run_s is None else int(BATCH_S / self.run_s)
        share = math.ceil(len(self.waiting) / (AHEAD * max(self.threads, 1)))
        return max(1, min(wanted, share, LARGEST_BATCH))

    def _submit(self, indices: Sequence[int]) -> None:
        batch = self._batch(indices)
        key = f"bloatlab-{self.session}-{secrets.token_hex(6)}"
        future = self.client.submit(shipping.run_batch, batch, key=key, pure=False)
        self.out[future] = indices
        future.add_done_callback(self.ended.put)

    def _batch(self, indices: Sequence[int]) -> shipping.Batch:
        scenarios: dict[str, int] = {}
        plugins: list[bytes] = []
        orders = []
        for index in indices:
            planned = self.todo[index]
            place = scenarios.setdefault(planned.scenario, len(scenarios))
            if place == len(plugins):
                plugins.append(self.pickled.plugins(planned.plugins))
            orders.append(shipping.Order(index, place, planned.seed, planned.keep))
        first = self.todo[indices[0]]
        engine = self.pickled.engine(first.engine)
        return shipping.Batch(self.session, engine, first.engine_version, list(scenarios), plugins, orders)

    def _take_ended(self, timeout: float) -> None:
        """Collects the results that have arrived. Waits a short time for the first."""
        with contextlib.suppress(queue.Empty):
            self._take(self.ended.get(timeout=timeout))
            while True:
                self._take(self.ended.get_nowait())

    def _take(self, future: Future[shipping.Answer]) -> None:
        from distributed import CancelledError, KilledWorker

        if future.status in ("pending", "lost"):
            # Its worker died before the result was fetched, so the run is repeated.
            future.add_done_callback(self.ended.put)
            return
        indices = self.out.pop(future)
        try:
            answer = future.result()
        except KilledWorker as error:
            self._killed(indices, error.allowed_failures + 1)
        except CancelledError as error:
            raise self._lost() from error
        except Exception as error:
            raise ClusterError(f"scheduler {self.name}: a worker failed: {said(error)}") from error
        else:
            self._hand_in(indices, answer)
        future.release()

    def _hand_in(self, indices: Sequence[int], answer: shipping.Answer) -> None:
        if answer.refused:
            raise ClusterError(answer.refused)
        for made, tables in answer.results():
            planned = self.todo[made.index]
            if made.reason is not None:
                self.collector.failed(planned, made.reason, made.wall_s)
            else:
                self.collector.done(
                    planned,
                    made.metrics,
                    tables,
                    digest=made.digest,
                    events=made.events,
                    wall_s=made.wall_s,
                    suspect=made.suspect,
                )
        made_of_it = {made.index for made in answer.made}
        self.waiting.extendleft(index for index in reversed(indices) if index not in made_of_it)
        if answer.made:
            took = max(answer.seconds / len(answer.made), 1e-6)
            self.run_s = took if self.run_s is None else (self.run_s + took) / 2

    def _killed(self, indices: Sequence[int], deaths: int) -> None:
        if len(indices) > 1:
            self.singly.extend(indices)
        elif indices[0] != self.alone:
            self.suspects.append(indices[0])
        else:
            reason = f"KilledWorker: {deaths} workers died while they made this run and nothing else"
            self.collector.failed(self.todo[indices[0]], reason, 0.0)


class _Pickled:
    """Engines and the classes of plugins, pickled by value: their modules need not be on the workers."""

    def __init__(self) -> None:
        self._plugins: dict[tuple[tuple[str, object], ...], bytes] = {}
        self._engines: dict[str, bytes] = {}

    def plugins(self, factories: Factories) -> bytes:
        """The factories of a scenario as bytes; empty if it has no plugins.

        Raises:
            ParameterError: One cannot be pickled.
        """
        if not factories:
            return b""
        key = tuple(sorted(factories.items(), key=lambda item: item[0]))
        if key not in self._plugins:
            classes = [made.plugin for made in factories.values() if isinstance(made, Factory)]
            names = ", ".join(f"`{name}`" for name in sorted(factories))
            self._plugins[key] = _by_value(factories, classes, f"plugin {names}")
        return self._plugins[key]

    def engine(self, engine: Engine) -> bytes:
        """An engine as bytes.

        Raises:
            ParameterError: It cannot be pickled.
        """
        if engine.name not in self._engines:
            self._engines[engine.name] = _by_value(engine, [type(engine)], f"engine {engine.name}")
        return self._engines[engine.name]


def _by_value(what: object, classes: Sequence[type], called: str) -> bytes:
    """An object with the modules that its classes come from; those of bloatlab itself are on the workers."""
    import cloudpickle

    names = {base.__module__ for of in classes for base in of.__mro__} - {"builtins", "abc"}
    modules = [sys.modules[name] for name in sorted(names) if name in sys.modules and not name.startswith("bloatlab.")]
    modules = [module for module in modules if module.__name__ not in cloudpickle.list_registry_pickle_by_value()]
    try:
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        pickled: bytes = cloudpickle.dumps(what)
    except Exception as error:
        raise ParameterError(f"{called}: cannot be sent to a cluster ({said(error)})") from error
    finally:
        for module in modules:
            with contextlib.suppress(ValueError):
                cloudpickle.unregister_pickle_by_value(module)
    return pickled
