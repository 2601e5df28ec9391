"""What goes to a worker of a cluster and comes back: batches of runs, and what came of each. Knows no cluster."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bloatlab.engines import ControlLike, OutcomeLike, engine
from bloatlab.errors import BloatlabError
from bloatlab.store.writer import METRIC_TABLES
from bloatlab.sweeps.collector import reason_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Order:
    """One run of a batch."""

    index: int
    """Its place in the plan."""
    scenario: int
    """Which of the batch's scenarios."""
    seed: int
    tables: bool
    """Whether its tables are wanted."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs that one worker makes one after the other. What many of them share goes along once."""

    session: str
    engine_version: str
    packets: bool
    scenarios: Sequence[str]
    plugins: Sequence[bytes]
    """Pickled factories of each scenario's plugins; empty where it has none."""
    orders: Sequence[Order]


@dataclass(frozen=True, slots=True)
class Shipped:
    """A run's outcome as it travels; it has an outcome's interface, but for the packets as a file."""

    digest: str
    events: int
    metrics: str
    streams: Mapping[str, bytes]
    """Tables as Arrow IPC streams."""

    @classmethod
    def pack(cls, outcome: OutcomeLike, tables: bool) -> Shipped:
        """An outcome, with or without its tables. Tables of metrics stay: they are in the metrics' JSON."""
        import polars as pl

        streams = {}
        for name, table in outcome.tables().items() if tables else ():
            if name not in METRIC_TABLES:
                buffer = io.BytesIO()
                pl.DataFrame(table).write_ipc_stream(buffer)
                streams[name] = buffer.getvalue()
        return cls(outcome.digest, outcome.events, outcome.metrics_json(), streams)

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""
        import polars as pl

        return {name: pl.read_ipc_stream(io.BytesIO(stream)) for name, stream in self.streams.items()}

    def metrics_json(self) -> str:
        """The metrics by scope, entity and name."""
        return self.metrics

    def write_pcap(self, path: str, link: str | None = None) -> None:
        """Packets as a file stay where they were made; a stored run is simulated again for them."""
        raise BloatlabError("a run made on a cluster has no packets in memory; read it from its store")


@dataclass(frozen=True, slots=True)
class Made:
    """What came of one run."""

    index: int
    outcome: Shipped | None
    reason: str | None
    wall_s: float
    """Seconds in the engine."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a batch; runs that were cancelled are absent."""

    made: Sequence[Made] = ()
    seconds: float = 0.0
    """From the first run's start to the last one's packing."""
    refused: str = ""
    """Why the worker runs nothing at all."""


@dataclass
class _Sessions:
    """What this worker process runs, and for whom it shall run no more."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    cancelled: set[str] = field(default_factory=set)
    controls: set[tuple[str, ControlLike]] = field(default_factory=set)


_sessions = _Sessions()


def cancel(session: str) -> None:
    """Stops the session's runs in this process, and lets none begin."""
    with _sessions.lock:
        _sessions.cancelled.add(session)
        for owner, control in _sessions.controls:
            if owner == session:
                control.cancel()


def refusal(engine_version: str) -> str:
    """Why this process cannot run for a driver with that engine, or nothing."""
    ours = engine().engine_version()
    if ours == engine_version:
        return ""
    return f"worker on {socket.gethostname()} has engine {ours}, the driver {engine_version}: install the same bloatlab"


def run_batch(batch: Batch) -> Answer:
    """Runs a batch in a worker. A failed run is told with its reason and does not stop the others."""
    if refused := refusal(batch.engine_version):
        return Answer(refused=refused)
    start = time.perf_counter()
    made = []
    for order in batch.orders:
        control = engine().Control()
        with _sessions.lock:
            if batch.session in _sessions.cancelled:
                break
            _sessions.controls.add((batch.session, control))
        try:
            made.append(_make(batch, order, control))
        except engine().Cancelled:
            break
        finally:
            with _sessions.lock:
                _sessions.controls.discard((batch.session, control))
    return Answer(made, time.perf_counter() - start)


def _make(batch: Batch, order: Order, control: ControlLike) -> Made:
    start = time.perf_counter()
    try:
        outcome = engine().run(
            batch.scenarios[order.scenario],
            order.seed,
            record_packets=batch.packets,
            control=control,
            plugins=_unpickle(batch.plugins[order.scenario]),
        )
        wall_s = time.perf_counter() - start
        return Made(order.index, Shipped.pack(outcome, order.tables), None, wall_s)
    except engine().Cancelled:
        raise
    # A panic of the engine is no `Exception`, and must not stop the others either.
    except BaseException as error:
        return Made(order.index, None, reason_of(error), time.perf_counter() - start)


def _unpickle(plugins: bytes) -> dict[str, Callable[[dict[str, Any]], object]] | None:
    if not plugins:
        return None
    import cloudpickle

    factories: dict[str, Callable[[dict[str, Any]], object]] = cloudpickle.loads(plugins)
    return factories
