"""The tables that `run`, `simulate` and `sweep` print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bloatlab.analysis import order
from bloatlab.cli.console import number
from bloatlab.cli.main_numbers import MainNumbers, main_numbers, mean_of
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.experiments import CATALOGUE, phrases
from bloatlab.experiments.headings import headings
from bloatlab.experiments.phrases import interval
from bloatlab.metrics import definitions, for_people
from bloatlab.store import canonical
from bloatlab.store.metrics import SINGLE
from bloatlab.store.text import readable

if TYPE_CHECKING:
    from bloatlab.sweeps.plan import PlannedRun

FEW_ROWS = 20
"""Rows of a sweep's table without `--all`."""
MOST_ENTITIES = 4
MOST_PINGS = 2
"""Pings with columns. Of more pings, the largest value is shown."""
ESSENTIAL = 5
"""Optional columns up to this number are more important than the half-widths of intervals."""
ELSEWHERE = "the page, --json and a wider terminal (COLUMNS=160) show them"


def one_run(name: str, run: PlannedRun, metrics: Mapping[str, Any]) -> FittedTable:
    """Every metric of a run, with a row per flow, or with the mean over many flows."""
    table = FittedTable(
        [Column("metric", whole=True), Column("of"), Column("value", right=True), Column("unit", whole=True)],
        title=f"{name}, run {run.run_id}, engine {run.engine.name}, seed {run.seed}",
    )
    known = definitions()
    places = {key: place for place, key in enumerate(known)}
    for scope in ("experiment", "flow", "link", "probe", "network"):
        found = metrics.get(f"{scope}_metrics", {})
        entities = {scope: found} if scope in SINGLE else found
        shown = entities
        if len(entities) > MOST_ENTITIES:
            names = dict.fromkeys(metric for values in entities.values() for metric in values)
            shown = {
                f"mean of {len(entities)} {scope}s": {
                    metric: fmean(values[metric] for values in entities.values() if metric in values)
                    for metric in names
                }
            }
        for entity, values in shown.items():
            for metric, value in sorted(values.items(), key=lambda item: places.get((scope, item[0]), len(places))):
                definition = known.get((scope, metric))
                factor, unit = for_people(metric, definition.unit if definition else run.measures.get(metric, ""))
                table.add(metric, entity, number(factor * value), unit)
        table.end_section()
    return table


def rows_of(runs: Sequence[PlannedRun], axes: Mapping[str, Sequence[Any]]) -> list[list[PlannedRun]]:
    """The runs of each row of the table: all runs of a point if there are replications, otherwise one run.

    Args:
        runs: The runs.
        axes: The values of each swept parameter, in the order of the user, which is that of the rows.
    """
    replicated = len({run.scenario for run in runs}) < len(runs)
    points: dict[str, list[PlannedRun]] = {}
    for run in runs:
        points.setdefault(run.scenario if replicated else run.run_id, []).append(run)
    rows = list(points.values())
    swept = [order.of_values({axis: row[0].parameters.get(axis) for axis in axes}) for row in rows]
    lists = {name: [values] for name, values in order.of_axes(axes).items()}
    return [rows[index] for index in order.indices(swept, lists)]


@dataclass(frozen=True)
class Point:
    """One row of a sweep's table: a run, or the replications of a point.

    Attributes:
        runs: Its runs.
        swept: The swept parameters, as text.
        numbers: The main numbers of each run.
        own: The metrics that the experiment defines, of each run.
    """

    runs: Sequence[PlannedRun]
    swept: Mapping[str, str]
    numbers: Sequence[MainNumbers]
    own: Sequence[Mapping[str, float]]

    @property
    def label(self) -> str:
        """The swept parameters, such as `cubic at a buffer of 80 packets`."""
        words = phrases.short(list(self.swept))
        return (
            phrases.together({words[name]: value for name, value in self.swept.items()}) or f"seed {self.runs[0].seed}"
        )

    def mean(self, read: Callable[[MainNumbers], float | None]) -> float | None:
        """Mean over the runs of one of the main numbers; `None` if no run has it."""
        return mean_of([read(numbers) for numbers in self.numbers])


def points_of(
    rows: Sequence[Sequence[PlannedRun]], metrics: Mapping[str, Mapping[str, Any]], axes: Mapping[str, Any]
) -> list[Point]:
    """The points of a sweep.

    Args:
        rows: The runs of each point.
        metrics: The metrics of these runs.
        axes: The swept parameters.
    """
    return [
        Point(
            row,
            {axis: text_of(row[0].parameters.get(axis)) for axis in axes},
            [main_numbers(run.scenario, metrics[run.run_id]) for run in row],
            [metrics[run.run_id].get("experiment_metrics", {}) for run in row],
        )
        for row in rows
    ]


def many_runs(name: str, points: Sequence[Point], total: int, width: int, most: int | None = FEW_ROWS) -> FittedTable:
    """A table with one row per point: swept parameters and main numbers.

    Of several runs a value is mean ± half-width. Half-widths are left out if columns or whole words would have to go for them.

    Args:
        name: Of the experiment or scenario.
        points: The points that may be shown.
        total: Number of all points.
        width: Width of the output, columns.
        most: Largest number of rows; `None`: all.
    """
    shown = points if most is None else points[:most]
    table = _table(name, shown, total, intervals=True)
    cramped = any(0 < table.columns[place].optional <= ESSENTIAL for place in table.left_out(width))
    if cramped or table.least_width(width) > width:
        return _table(name, shown, total, intervals=False)
    return table


def _table(name: str, points: Sequence[Point], total: int, *, intervals: bool) -> FittedTable:
    quantities = _quantities(points)
    counts = {len(point.runs) for point in points}
    seeds = {run.seed for point in points for run in point.runs}
    further: list[tuple[Column, Callable[[Point], str]]] = []
    if len(counts) > 1:
        further = [(Column("runs", right=True, optional=ESSENTIAL), lambda point: str(len(point.runs)))]
    elif counts == {1} and len(seeds) > 1:
        further = [(Column("seed", right=True, optional=ESSENTIAL), lambda point: str(point.runs[0].seed))]
    notes = []
    if counts != {1}:
        many = f"{min(counts)} runs" if len(counts) == 1 else "the runs"
        interval = "mean ± half of the 95 % interval (Student's t)"
        notes.append(
            f"{interval} of {many}" if intervals else f"means over {many}; a wider terminal shows the intervals"
        )
    if total > len(points):
        notes.append(f"{total - len(points):,} more rows: --all prints them")
    columns = [*(Column(axis) for axis in points[0].swept), *(column for column, _ in (*further, *quantities))]
    table = FittedTable(columns, name, notes, ELSEWHERE)
    for point in points:
        cells = [_cell(read(point), intervals=intervals) for _, read in quantities]
        table.add(*point.swept.values(), *(read(point) for _, read in further), *cells)
    return table


Quantity = tuple[Column, Callable[[Point], list[float | None]]]
"""A column, and its value in each run of a point."""


def _quantities(points: Sequence[Point]) -> list[Quantity]:
    """The columns of a sweep's table: what the experiment measures itself, the pings, and the bottleneck."""
    first = points[0].runs[0]
    with_value = {name for point in points for found in point.own for name in found}
    measured = {name: unit for name, unit in first.measures.items() if name in with_value}
    known = CATALOGUE.get(first.experiment)
    named = headings(known, measured)
    own = [(Column(heading, right=True), _own(measure)) for measure, heading in named.items()]
    pings = list(dict.fromkeys(name for point in points for numbers in point.numbers for name in numbers.pings_ms))
    found: list[Quantity] = []
    for place, title, optional in ((0, "median", 4), (1, "p95", 0)):
        if len(pings) > MOST_PINGS:
            heading = f"RTT {title} (ms), worst of {len(pings)} pings"
            found.append((Column(heading, right=True, optional=optional), _worst_ping(place)))
        else:
            found += [
                (Column(f"{ping} RTT {title} (ms)", right=True, optional=optional), _ping(ping, place))
                for ping in pings
            ]
    usual: list[Quantity] = [
        (Column("throughput (Mbit/s)", right=True, optional=1), _main(lambda of: of.throughput_mbps)),
        (Column("share of rate (%)", right=True, optional=3), _main(lambda of: _percent(of.share))),
        (Column("standing queue (ms)", right=True, optional=2), _main(lambda of: of.standing_ms)),
        (Column("sojourn p95 (ms)", right=True, optional=6), _main(lambda of: of.sojourn_p95_ms)),
        (Column("sRTT (ms)", right=True, optional=8), _main(lambda of: of.srtt_ms)),
        (Column("retransmissions", right=True, optional=7), _main(lambda of: of.retransmissions)),
    ]
    kept = known.columns if known else ()
    there = [
        (replace(column, optional=0) if column.heading in kept else column, read)
        for column, read in usual
        if any(value is not None for point in points for value in read(point))
    ]
    mine = {column.heading for column, _ in own}
    return [*own, *(pair for pair in found if pair[0].heading not in mine), *([] if own else there)]


def _own(measure: str) -> Callable[[Point], list[float | None]]:
    return lambda point: [own.get(measure) for own in point.own]


def _main(read: Callable[[MainNumbers], float | None]) -> Callable[[Point], list[float | None]]:
    return lambda point: [read(numbers) for numbers in point.numbers]


def _ping(name: str, place: int) -> Callable[[Point], list[float | None]]:
    return _main(lambda of: of.pings_ms[name][place] if name in of.pings_ms else None)


def _worst_ping(place: int) -> Callable[[Point], list[float | None]]:
    return _main(lambda of: max((values[place] for values in of.pings_ms.values()), default=None))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _cell(found: Sequence[float | None], *, intervals: bool) -> str:
    values = [value for value in found if value is not None]
    if len(values) < 2 or not intervals:
        return number(fmean(values)) if values else "-"
    from bloatlab.statistics.intervals import summarise

    of_values = summarise(values)
    return interval(of_values.mean, of_values.t.half_width if of_values.t else None)


def text_of(value: Any) -> str:
    """A parameter as a user writes it; a dash for none."""
    return "-" if value is None else readable(canonical(value))
