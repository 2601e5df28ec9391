"""Common parts of all comparisons with a reference: runs, cells, tolerances and explanations."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import bloatlab as bl
from bloatlab import language, units

Row = Mapping[str, str]
Values = Mapping[str, float]


@dataclass(frozen=True)
class Metric:
    """A metric that both sides measure, and its tolerance."""

    name: str
    label: str
    relative: float
    absolute: float
    why: str
    added: float = 0.0
    """Allowed in addition to the larger of `relative` and `absolute`."""


@dataclass(frozen=True)
class Explanation:
    """Why some cells differ: the rows, the metrics, and the cause."""

    applies: Callable[[Row], bool]
    metrics: frozenset[str]
    reason: str


@dataclass(frozen=True)
class Cell:
    """One metric of one row."""

    row: Row
    metric: Metric
    ours: float
    theirs: float
    noise: float = 0.0
    """How much the two may differ by chance, in the metric's unit."""
    explanation: str = ""
    """Letters of the explanations that cover this cell."""

    @property
    def ratio(self) -> float:
        """Ours over theirs; 1 when both are 0."""
        return self.ours / self.theirs if self.theirs else (1.0 if self.ours == 0 else math.inf)

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance of the metric and the noise."""
        allowed = max(self.metric.relative * abs(self.theirs), self.metric.absolute) + self.metric.added + self.noise
        return abs(self.ours - self.theirs) <= allowed


@dataclass
class Reference:
    """A set of rows to compare with, and the layout of its section of the page."""

    title: str
    intro: str
    metrics: Sequence[Metric]
    explanations: Mapping[str, Explanation]
    labels: Mapping[str, Callable[[Row], str]]
    """Columns that distinguish the rows of a section."""
    section: Callable[[Row], str]
    """The heading of a row. The summary has one line per heading."""
    make: Callable[[], Iterable[Cell]]
    _cells: list[Cell] = field(default_factory=list)

    def cells(self) -> list[Cell]:
        """Every metric of every row. Computed once."""
        if not self._cells:
            self._cells = list(self.make())
        return self._cells

    def explain(self, row: Row, metric: Metric) -> str:
        """Letters of the explanations that cover this metric of this row."""
        return "".join(k for k, e in self.explanations.items() if metric.name in e.metrics and e.applies(row))

    def by_section(self) -> dict[str, list[Cell]]:
        """The cells under each heading, in the order of the rows."""
        sections: dict[str, list[Cell]] = {}
        for cell in self.cells():
            sections.setdefault(self.section(cell.row), []).append(cell)
        return sections


@dataclass(frozen=True)
class Run:
    """A scenario and a seed."""

    document: str
    seed: int

    @classmethod
    def of(cls, document: Mapping[str, Any], seed: int) -> Run:
        """The run of this document."""
        return cls(json.dumps(document, sort_keys=True), seed)


_results: dict[Run, Values] = {}


def measure(runs: Iterable[Run]) -> dict[Run, Values]:
    """The values of each run. Each run is made once, in threads: the engine releases the GIL."""
    wanted = list(dict.fromkeys(runs))
    missing = [run for run in wanted if run not in _results]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        _results.update(zip(missing, pool.map(_simulate, missing), strict=True))
    return {run: _results[run] for run in wanted}


def _simulate(run: Run) -> Values:
    """Runs a dumbbell and returns what the references measure of its bottleneck, flows and ping."""
    result = bl.run(json.loads(run.document), seed=run.seed)
    link = result.link_metrics["bottleneck"]
    # By number, not by name: flow_10 comes after flow_9.
    flows = [result.flow_metrics[name] for name in sorted(result.flow_metrics, key=lambda name: (len(name), name))]
    sojourns = result.histograms.to_polars().filter(scope="link", name="bottleneck", quantity="sojourn")
    departures = float(sojourns["weight"].sum())
    document = result.scenario
    seconds = (_nanos(document["duration"]) - _nanos(document["warmup"])) * 1e-9
    values = {
        "goodput": result.network_metrics["agg_throughput"],
        "utilization": link["utilization"],
        "jain": result.network_metrics["jain_index"],
        "srtt": fmean(f.get("mean_srtt_l4", math.nan) for f in flows),
        "in_flight": fmean(f.get("mean_in_flight_l4", math.nan) for f in flows),
        "queue": link["mean_queue_length"],
        "p95_queue": link["p95_queue_length"],
        "mean_sojourn": link["mean_sojourn"],
        # Little's law: mean number over departure rate.
        "sojourn": link["mean_queue_length"] / departures * seconds * 1e3,
        "drops": link["drops"],
        "marks": link["marks"],
        "departures": departures,
        "drop_rate": link["drops"] / (link["drops"] + departures),
        "mark_rate": link["marks"] / departures,
        "retransmissions": result.network_metrics["total_retransmissions"],
    }
    for number, flow in enumerate(flows):
        values[f"goodput_{number}"] = flow["mean_throughput_l4"]
    for probe in result.probe_metrics.values():
        values["p95_ping"] = probe["p95_rtt"]
    return values


def _nanos(text: str) -> int:
    return round(units.duration(text) * 1e9)


def mean(rows: Sequence[Values], name: str) -> float:
    """Mean over the repetitions that have the metric. NaN if none has it."""
    values = [row[name] for row in rows if name in row and not math.isnan(row[name])]
    return fmean(values) if values else math.nan


def by_chance(ours: Sequence[Values], theirs: Sequence[Values], name: str) -> float:
    """Two standard errors of the difference of two means over repetitions.

    The variance is pooled over both sides, because each side has few repetitions.
    """
    sides = [[row[name] for row in side if name in row and not math.isnan(row[name])] for side in (ours, theirs)]
    freedom = sum(len(side) - 1 for side in sides)
    if freedom < 1:
        return 0.0
    squares = sum((x - fmean(side)) ** 2 for side in sides for x in side)
    return 2.0 * math.sqrt(squares / freedom * sum(1.0 / len(side) for side in sides))


def counted_by_chance(rate: float, total: float, repetitions: int) -> float:
    """Two standard errors of the difference of two rates of Poisson events, counted over `total` packets per repetition."""
    return 2.0 * math.sqrt(2.0 * rate / (total * repetitions)) if total > 0 else 0.0


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def runs(document: Mapping[str, Any]) -> bool:
    """Whether bloatlab has the queue and the congestion controls of the document."""
    try:
        language.normalise(json.dumps(document))
    except language.ScenarioError as error:
        if "unknown" in str(error):
            return False
        raise
    return True
