"""Estimates time, memory and disk of a plan from three sampled runs, which are not stored."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bloatlab import language
from bloatlab.errors import BloatlabError, ParameterError
from bloatlab.loading import NO_PLUGINS, resolve
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, writer
from bloatlab.store.merge import MERGE_ABOVE
from bloatlab.store.parts import encoded
from bloatlab.sweeps import record
from bloatlab.sweeps.one import simulate
from bloatlab.sweeps.plan import PlannedRun
from bloatlab.sweeps.preview import Preview
from bloatlab.sweeps.threads import Threads

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines import ArrowTable
    from bloatlab.store import RunRecord

MARGIN = 1.25
"""Factor by which the range is wider than that of the samples: three runs do not show every cost."""
SHORT_S = 0.1
"""A sampled run that is shorter than this, seconds, is made three times, because the first also loads code."""
PACKET_BITS = 12_000
SLOTS_PER_S = 2000
"""Slots of a radio cell per second at a subcarrier spacing of 30 kHz (3GPP TS 38.211, section 4.3.2)."""
ROW_BYTES = 600
"""A run in memory and in the database, besides its scenario and parameters."""
PAGE_BYTES = 90_000_000
"""Memory of the packages that the answer and the page load."""
EMPTY_BYTES = 70_000
"""The database of an empty store."""
PART_BYTES = 2000
"""Manifest and mark of a part."""
PACKETS_LIMIT_S = 2.0
"""The packets of a sampled run are recorded to measure their size if the run is shorter than this, seconds."""


@dataclass(frozen=True)
class Sample:
    """A run that was made for the estimate.

    Attributes:
        planned: The run.
        cost: Its cost by the plan of its scenario, which orders runs: about the number of packets.
        wall_s: Seconds in the engine, and to make the record.
        memory: Bytes by which the peak memory of the process grew.
        record: What the store would get.
    """

    planned: PlannedRun
    cost: float
    wall_s: float
    memory: int
    record: RunRecord


@dataclass(frozen=True)
class Estimate:
    """What a plan costs on a machine that does nothing else. The page is not included.

    Attributes:
        samples: The sampled runs: the cheapest, the middle and the dearest.
        jobs: Runs that are made at the same time.
        wall_s: Seconds, with the least and the most that the samples allow.
        memory: Peak memory of the process, bytes.
        disk: Bytes on disk, by how much of a run is kept. A level that was not measured is absent.
    """

    samples: Sequence[Sample]
    jobs: int
    wall_s: tuple[float, float, float]
    memory: int
    disk: Mapping[Keep, int]


class NoEstimateError(BloatlabError):
    """Sampled runs cannot be made; the text says why."""


def cost(scenario: str) -> float:
    """Packets that the bottlenecks of the flows can carry in the run, and slots of a radio cell: the order of costs.

    Args:
        scenario: The canonical scenario.
    """
    planned = language.plan(scenario)
    links = planned.links
    slowest = {}
    cells = False
    for flow in planned.flows:
        rates = {name: links[name].rate_bps for name in flow.forward if name in links}
        known = {name: rate for name, rate in rates.items() if rate > 0}
        cells |= len(known) < len(rates)
        if known:
            name = min(known, key=known.__getitem__)
            slowest[name] = known[name]
    per_s = 1 + len(planned.flows) + sum(slowest.values()) / PACKET_BITS + SLOTS_PER_S * cells
    return planned.duration_ns / 1e9 * per_s


def estimate(preview: Preview, settings: RunSettings, tell: Callable[[float], None] = lambda _: None) -> Estimate:
    """Makes three runs of a plan and estimates the cost of all.

    Args:
        preview: The points of the plan.
        settings: Threads. A cluster counts as one thread, because its size is not known.
        tell: Called now and then with the number of sampled runs that have ended, and the completed share of the current.

    Raises:
        NoEstimateError: The engine runs in real time, the runs need a plugin, or a sampled run fails.
    """
    jobs = _jobs(preview, settings)
    if not (engine := preview.runs[0].engine).reproducible:
        mean = statistics.fmean(language.plan(planned.scenario).duration_ns for planned in preview.runs) / 1e9
        raise NoEstimateError(
            f"engine {engine.name} runs in real time: at least {preview.total * mean / jobs:.0f} s, {jobs} at once"
        )
    costs = {planned.run_id: cost(planned.scenario) for planned in preview.runs}
    ordered = sorted(preview.runs, key=lambda planned: costs[planned.run_id])
    chosen = list({place: ordered[place] for place in (0, len(ordered) // 2, len(ordered) - 1)}.values())
    samples: list[Sample] = []
    for planned in chosen:
        samples.append(_sample(planned, costs[planned.run_id], _behind(len(samples), tell)))
    times = _total_s(samples, [costs[planned.run_id] for planned in preview.runs], preview.total)
    longest = max(sample.wall_s for sample in samples)
    files_s, files_bytes = _files(chosen[len(chosen) // 2])
    # Files are written one after the other when all runs are done.
    low, middle, high = (max(total / jobs, longest) + preview.total * files_s for total in times)
    disk = {keep: of + preview.total * files_bytes for keep, of in _disk(samples, preview, middle).items()}
    # After the sizes, which need what the writer imports, and before packets are recorded, which take memory.
    of_runs = jobs * max(sample.memory for sample in samples)
    memory = _resident() + PAGE_BYTES + of_runs + _planned_bytes(preview)
    packets = _disk_of_packets(samples, preview, statistics.fmean(costs.values()))
    if packets is not None:
        disk[Keep.PACKETS] = disk[Keep.TABLES] + packets
    return Estimate(samples, jobs, (middle, low, high), memory, disk)


def _behind(ended: int, tell: Callable[[float], None]) -> Callable[[float], None]:
    return lambda share: tell(ended + share)


def _jobs(preview: Preview, settings: RunSettings) -> int:
    if settings.scheduler is not None:
        return 1
    limits = [limit for planned in preview.runs if (limit := planned.engine.concurrency) is not None]
    return max(1, min([settings.jobs or os.cpu_count() or 1, preview.total, *limits]))


class _Taken:
    """Receives one run and keeps it in memory."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self.record: RunRecord | None = None

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
        self.record = record.done(
            planned, metrics_json, tables, digest=digest, events=events, wall_s=wall_s, suspect=suspect
        )

    def failed(self, planned: PlannedRun, error: BaseException | str, wall_s: float) -> None:
        raise NoEstimateError(f"a sampled run (seed {planned.seed}) fails: {error}")

    def hasten(self) -> None:
        """There is no writer."""

    def tell(self, under_way: float = 0.0) -> None:
        self._tell(under_way)


def _sample(planned: PlannedRun, cost: float, tell: Callable[[float], None]) -> Sample:
    """Makes a run and measures it."""
    try:
        resolve(json.loads(planned.scenario), NO_PLUGINS)
    except ParameterError as error:
        raise NoEstimateError("the runs need a plugin or a program, and a dry run imports and starts none") from error
    before = _reset_peak()
    made, wall_s = _made(planned, tell)
    memory = max(0, _peak() - before)
    if wall_s < SHORT_S:
        wall_s = statistics.median([wall_s, *(_made(planned, tell)[1] for _ in range(2))])
    return Sample(planned, cost, wall_s, memory, made)


def _made(planned: PlannedRun, tell: Callable[[float], None], keep: Keep = Keep.TABLES) -> tuple[RunRecord, float]:
    """Makes a run in a thread, so that Ctrl-C cancels it. Returns its record, and its seconds."""
    taken = _Taken(tell)
    start = time.perf_counter()
    Threads(1).run([replace(planned, keep=keep)], taken)
    assert taken.record is not None
    return taken.record, time.perf_counter() - start


def _total_s(samples: Sequence[Sample], costs: Sequence[float], total: int) -> tuple[float, float, float]:
    """Least, likely and most seconds of all runs on one thread.

    Likely: between the sampled costs the time is interpolated. Least and most: every run takes as long per cost as the
    quickest and the slowest sample.
    """
    scale = total / len(costs)
    likely = scale * sum(_interpolated(samples, cost) for cost in costs)
    per_cost = [sample.wall_s / sample.cost for sample in samples]
    bounds = [scale * rate * sum(costs) for rate in (min(per_cost), max(per_cost))]
    return min(*bounds, likely) / MARGIN, likely, max(*bounds, likely) * MARGIN


def _interpolated(samples: Sequence[Sample], cost: float) -> float:
    """Seconds of a run of this cost, which lies between the least and the largest of the samples."""
    same = [sample.wall_s for sample in samples if sample.cost == cost]
    if same:
        return statistics.fmean(same)
    below = max((sample for sample in samples if sample.cost < cost), key=lambda sample: sample.cost)
    above = min((sample for sample in samples if sample.cost > cost), key=lambda sample: sample.cost)
    share = (cost - below.cost) / (above.cost - below.cost)
    return below.wall_s + share * (above.wall_s - below.wall_s)


def _files(planned: PlannedRun) -> tuple[float, int]:
    """Seconds and bytes of the files that a run leaves in the form of its source. They are written and removed again."""
    if planned.files is None:
        return 0.0, 0
    result = simulate(planned)
    seconds = []
    with TemporaryDirectory(prefix="bloatlab-") as directory:
        # Twice, because the first time also loads code.
        for _ in range(2):
            start = time.perf_counter()
            paths = [(Path(directory) / str(place), make) for place, make in enumerate(planned.files(result).values())]
            for path, make in paths:
                make(path)
            seconds.append(time.perf_counter() - start)
        return min(seconds), sum(path.stat().st_size for path, _ in paths)


def _planned_bytes(preview: Preview) -> int:
    """Bytes of the plan itself: a million runs are not small."""
    scenario = statistics.fmean(len(planned.scenario) for planned in preview.runs)
    return int(preview.total * ROW_BYTES + preview.points * scenario)


def _disk(samples: Sequence[Sample], preview: Preview, wall_s: float) -> dict[Keep, int]:
    """Bytes of the store at each level but that of packets, if the runs take `wall_s` seconds."""
    database = EMPTY_BYTES + _planned_bytes(preview)
    # The writer merges the parts when there are many.
    parts = min(preview.total, MERGE_ABOVE, 1 + int(wall_s / writer.COMMIT_EVERY))
    found = {}
    for keep in (Keep.MEASURES, Keep.METRICS, Keep.TABLES):
        if keep < Keep.METRICS and samples[0].planned.measure is None:
            continue
        of_part, of_run = _bytes_of(samples, keep)
        found[keep] = int(database + parts * (PART_BYTES + of_part) + preview.total * of_run)
    return found


def _disk_of_packets(samples: Sequence[Sample], preview: Preview, mean_cost: float) -> int | None:
    """Bytes of the packets of all runs; `None` if they cannot be measured."""
    short = [sample for sample in samples if sample.wall_s < PACKETS_LIMIT_S]
    try:
        packets = sum(map(_bytes_of_packets, short))
    except NoEstimateError:
        # A record of packets may be refused for its memory.
        return None
    return int(preview.total * mean_cost * packets / sum(sample.cost for sample in short)) if short else None


def _bytes_of(samples: Sequence[Sample], keep: Keep) -> tuple[float, float]:
    """Bytes of the files of a part, and those of each further run in it."""
    records = [_kept(sample, keep) for sample in samples]
    alone = statistics.fmean(_size(writer.frames_of([one]).values()) for one in records)
    if len(records) > 1:
        of_run = (_size(writer.frames_of(records).values()) - alone) / (len(records) - 1)
    else:
        of_run = alone - _size(frame.clear() for frame in writer.frames_of(records).values())
    return alone - of_run, of_run


def _size(frames: Iterable[pl.DataFrame]) -> int:
    return sum(encoded(frame).nbytes for frame in frames)


def _kept(sample: Sample, keep: Keep) -> RunRecord:
    """The record with what this level keeps."""
    metrics = sample.record.metrics
    own = {scope: of for scope, of in metrics.items() if scope == "experiment_metrics"}
    return replace(
        sample.record,
        metrics=own if keep < Keep.METRICS else metrics,
        tables=record.kept_tables(keep, sample.record.tables),
    )


def _bytes_of_packets(sample: Sample) -> int:
    """Bytes of the packets of a sampled run, which is made again."""
    recorded, _ = _made(sample.planned, lambda _: None, Keep.PACKETS)
    packets = writer.frames_of([recorded]).get("packets")
    return 0 if packets is None else encoded(packets).nbytes


def _reset_peak() -> int:
    """Starts a new measurement of the peak memory. Returns the memory that the process has now, bytes."""
    try:
        # Linux: proc(5), clear_refs.
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak()
    return _resident()


def _resident() -> int:
    """Memory that the process has now, bytes; where the system does not say, its peak."""
    return _status("VmRSS") or _peak()


def _peak() -> int:
    """Peak memory of the process, bytes."""
    if (found := _status("VmHWM")) is not None:
        return found
    import resource
    import sys

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def _status(name: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return 1024 * int(found[0]) if found else None
