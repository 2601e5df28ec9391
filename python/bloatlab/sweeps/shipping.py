"""The messages to and from a worker of a cluster: batches of runs, and their results. Does not depend on dask."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bloatlab.engines import Cancelled, Control, Engine, Outcome, PluginFactories
from bloatlab.store import Keep
from bloatlab.sweeps.record import kept_tables

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Order:
    """A run of a batch."""

    index: int
    """Its index in the plan."""
    scenario: int
    """Index of its scenario in the batch."""
    seed: int
    keep: Keep
    """How much of it is stored."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs that one worker makes in sequence. What several runs share is sent once."""

    session: str
    engine: bytes
    """The pickled engine."""
    engine_version: str
    scenarios: Sequence[str]
    plugins: Sequence[bytes]
    """Pickled factories of each scenario's plugins; empty if it has none."""
    orders: Sequence[Order]


LONGEST_S = 1.0
"""Seconds after which a worker starts no more runs of a batch, because they take longer than predicted."""
Span = tuple[int, int, int]
"""The place of a run's table: index of the stream, first row, number of rows."""


@dataclass(frozen=True, slots=True)
class Made:
    """The result of one run."""

    index: int
    reason: str | None = None
    """Why it failed. All other fields are then empty."""
    suspect: str | None = None
    """Why the engine doubts its own measurement."""
    wall_s: float = 0.0
    """Seconds in the engine."""
    digest: str = ""
    events: int = 0
    metrics: str = ""
    spans: Mapping[str, Span] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of a batch. Runs that were cancelled or not started are absent."""

    made: Sequence[Made] = ()
    streams: Sequence[bytes] = ()
    """Arrow IPC streams. Tables of the same name and columns share one, because a stream costs more than its rows."""
    seconds: float = 0.0
    """Seconds from the start of the first run to the packing of the last."""
    refused: str = ""
    """Why the worker makes no run."""

    def results(self) -> Iterator[tuple[Made, dict[str, pl.DataFrame]]]:
        """Each run with its tables."""
        frames = _Frames(self.streams)
        for made in self.made:
            yield made, {name: frames.read(span) for name, span in made.spans.items()}


class _Frames:
    """The streams of a batch. Each is read once, when the first of its tables is needed."""

    def __init__(self, streams: Sequence[bytes]) -> None:
        self._streams = streams
        self._read: dict[int, pl.DataFrame] = {}

    def read(self, span: Span) -> pl.DataFrame:
        """The rows of a run's table."""
        import polars as pl

        stream, first, height = span
        if stream not in self._read:
            self._read[stream] = pl.read_ipc_stream(io.BytesIO(self._streams[stream]))
        return self._read[stream].slice(first, height)


class _Packing:
    """Collects the tables of a batch."""

    def __init__(self) -> None:
        self._frames: list[list[pl.DataFrame]] = []
        self._heights: list[int] = []
        self._places: dict[tuple[str, ...], int] = {}

    def add(self, outcome: Outcome, keep: Keep) -> dict[str, Span]:
        """Adds the tables of a run that are kept."""
        if keep < Keep.TABLES:
            return {}
        import polars as pl

        spans = {}
        for name, table in kept_tables(keep, outcome.tables()).items():
            frame = pl.DataFrame(table)
            # A column always has the same type, but the set of columns depends on the scenario.
            place = self._places.setdefault((name, *frame.columns), len(self._places))
            if place == len(self._frames):
                self._frames.append([])
                self._heights.append(0)
            spans[name] = (place, self._heights[place], frame.height)
            self._frames[place].append(frame)
            self._heights[place] += frame.height
        return spans

    def streams(self) -> list[bytes]:
        """The streams to send."""
        import polars as pl

        streams = []
        for frames in self._frames:
            buffer = io.BytesIO()
            pl.concat(frames).write_ipc_stream(buffer, compression="lz4")
            streams.append(buffer.getvalue())
        return streams


@dataclass
class _Sessions:
    """The current runs of this worker process, and the sessions that were cancelled."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    cancelled: set[str] = field(default_factory=set)
    controls: set[tuple[str, Control]] = field(default_factory=set)


_sessions = _Sessions()


async def cancel(session: str) -> None:
    """Stops the runs of a session in this process, and starts no more of them.

    It is a coroutine, because dask waits for any other function.
    """
    with _sessions.lock:
        _sessions.cancelled.add(session)
        for owner, control in _sessions.controls:
            if owner == session:
                control.cancel()


def refusal(pickled_engine: bytes, engine_version: str) -> str:
    """Why this process cannot make runs for a driver with this engine; empty if it can."""
    engine = unpickled_engine(pickled_engine)
    here = f"worker on {socket.gethostname()}"
    if why := engine.available():
        return f"{here} cannot run engine {engine.name} ({why})"
    ours = engine.version()
    if ours == engine_version:
        return ""
    return f"{here} has engine {ours}, the driver {engine_version}: install the same bloatlab"


def unpickled_engine(pickled: bytes) -> Engine:
    """The engine that the driver sent."""
    import cloudpickle

    engine: Engine = cloudpickle.loads(pickled)
    return engine


def run_batch(batch: Batch) -> Answer:
    """Runs a batch in a worker. A failed run is reported with its reason and does not stop the others."""
    if refused := refusal(batch.engine, batch.engine_version):
        return Answer(refused=refused)
    start = time.perf_counter()
    engine = unpickled_engine(batch.engine)
    made: list[Made] = []
    packing = _Packing()
    for order in batch.orders:
        control = engine.control()
        with _sessions.lock:
            if batch.session in _sessions.cancelled:
                break
            _sessions.controls.add((batch.session, control))
        try:
            made.append(_make(batch, order, engine, control, packing))
        except Cancelled:
            break
        finally:
            with _sessions.lock:
                _sessions.controls.discard((batch.session, control))
        if time.perf_counter() - start > LONGEST_S:
            break
    streams = packing.streams()
    return Answer(made, streams, time.perf_counter() - start)


def _make(batch: Batch, order: Order, engine: Engine, control: Control, packing: _Packing) -> Made:
    start = time.perf_counter()
    try:
        outcome = engine.run(
            batch.scenarios[order.scenario],
            order.seed,
            record_packets=order.keep >= Keep.PACKETS,
            control=control,
            plugins=_unpickle(batch.plugins[order.scenario]),
        )
        wall_s = time.perf_counter() - start
        spans = packing.add(outcome, order.keep)
        metrics = outcome.metrics_json()
        return Made(order.index, None, outcome.suspect, wall_s, outcome.digest, outcome.events, metrics, spans)
    except Cancelled:
        raise
    # A panic of the engine is not an `Exception`, and must not stop the other runs either.
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        return Made(order.index, reason, wall_s=time.perf_counter() - start)


def _unpickle(plugins: bytes) -> PluginFactories | None:
    if not plugins:
        return None
    import cloudpickle

    factories: PluginFactories = cloudpickle.loads(plugins)
    return factories
