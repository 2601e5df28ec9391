"""What goes to a worker of a cluster and comes back: batches of runs, and what came of each. Knows no cluster."""

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
    """One run of a batch."""

    index: int
    """Its place in the plan."""
    scenario: int
    """Which of the batch's scenarios."""
    seed: int
    keep: Keep
    """How much of it is wanted."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs that one worker makes one after the other. What many of them share goes along once."""

    session: str
    engine: bytes
    """The pickled engine."""
    engine_version: str
    scenarios: Sequence[str]
    plugins: Sequence[bytes]
    """Pickled factories of each scenario's plugins; empty where it has none."""
    orders: Sequence[Order]


LONGEST_S = 1.0
"""Seconds after which a worker begins no more runs of a batch: they take longer than those before them led to expect."""
Span = tuple[int, int, int]
"""Where a run's table is: which stream, its first row, its number of rows."""


@dataclass(frozen=True, slots=True)
class Made:
    """What came of one run."""

    index: int
    reason: str | None = None
    """Why it failed; the rest is then empty."""
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
    """What came of a batch; runs that were cancelled, or not begun, are absent."""

    made: Sequence[Made] = ()
    streams: Sequence[bytes] = ()
    """Arrow IPC: tables of the same name and columns one below the other, for a stream costs more than its rows."""
    seconds: float = 0.0
    """From the first run's start to the last one's packing."""
    refused: str = ""
    """Why the worker runs nothing at all."""

    def results(self) -> Iterator[tuple[Made, dict[str, pl.DataFrame]]]:
        """Each run with its tables."""
        frames = _Frames(self.streams)
        for made in self.made:
            yield made, {name: frames.read(span) for name, span in made.spans.items()}


class _Frames:
    """A batch's streams, each read once, when a table of it is asked for first."""

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
        """Takes those of a run's tables in that are kept."""
        if keep < Keep.TABLES:
            return {}
        import polars as pl

        spans = {}
        for name, table in kept_tables(keep, outcome.tables()).items():
            frame = pl.DataFrame(table)
            # An engine gives a column one type; which columns there are depends on the scenario.
            place = self._places.setdefault((name, *frame.columns), len(self._places))
            if place == len(self._frames):
                self._frames.append([])
                self._heights.append(0)
            spans[name] = (place, self._heights[place], frame.height)
            self._frames[place].append(frame)
            self._heights[place] += frame.height
        return spans

    def streams(self) -> list[bytes]:
        """What travels."""
        import polars as pl

        streams = []
        for frames in self._frames:
            buffer = io.BytesIO()
            pl.concat(frames).write_ipc_stream(buffer, compression="lz4")
            streams.append(buffer.getvalue())
        return streams


@dataclass
class _Sessions:
    """What this worker process runs, and for whom it shall run no more."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    cancelled: set[str] = field(default_factory=set)
    controls: set[tuple[str, Control]] = field(default_factory=set)


_sessions = _Sessions()


async def cancel(session: str) -> None:
    """Stops the session's runs in this process, and lets none begin. A coroutine, for only such need not be waited for."""
    with _sessions.lock:
        _sessions.cancelled.add(session)
        for owner, control in _sessions.controls:
            if owner == session:
                control.cancel()


def refusal(pickled_engine: bytes, engine_version: str) -> str:
    """Why this process cannot run for a driver with that engine, or nothing."""
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
    """Runs a batch in a worker. A failed run is told with its reason and does not stop the others."""
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
    # A panic of the engine is no `Exception`, and must not stop the others either.
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        return Made(order.index, reason, wall_s=time.perf_counter() - start)


def _unpickle(plugins: bytes) -> PluginFactories | None:
    if not plugins:
        return None
    import cloudpickle

    factories: PluginFactories = cloudpickle.loads(plugins)
    return factories
