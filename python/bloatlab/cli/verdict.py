"""The first answer of a command that makes runs: the verdict, the main numbers, and where the rest is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from bloatlab.cli.console import number
from bloatlab.cli.main_numbers import PING, MainNumbers, traffic_of
from bloatlab.cli.summary import Point
from bloatlab.errors import StoreError
from bloatlab.experiments import CATALOGUE
from bloatlab.experiments.headings import titles
from bloatlab.store import Store
from bloatlab.sweeps import PlannedRun

NEAR = 0.95
"""A throughput of at least this share of the highest counts as full."""
EXPLAINED = 0.5
"""A parameter is named as the cause if the means of its values explain at least this share of the variance."""


def verdict_of(store: Store, run: PlannedRun, metrics: Mapping[str, Any]) -> list[str]:
    """The answer of a single run. Empty if it has no tables, or if the packages of the report are missing.

    Args:
        store: The results.
        run: The run.
        metrics: Its metrics, as `--json` has them.
    """
    try:
        from bloatlab.analysis.judged import verdicts
        from bloatlab.figures import source
        from bloatlab.judges import line_of
        from bloatlab.report import verdict
    except ImportError:
        return []
    if not store.has_tables(run.run_id):
        return []
    import polars as pl

    try:
        tables = source.of_run(store, run.run_id)
    except StoreError:
        return []
    scored = verdicts(store, [run.run_id], {run.run_id: metrics})[run.run_id]
    judged = verdict.of_run(tables, store.metrics().filter(pl.col("run_id") == run.run_id), scored.evidence)
    numbers = [f"{name} {value}" for name, value in judged.numbers]
    probes = _probes(metrics.get("probe_metrics", {}), traffic_of(run.scenario))
    scores = line_of(scored)
    grade = f"grade {judged.grade}: " if judged.grade else ""
    return [*filter(None, [f"{grade}{judged.sentence}", scores, "; ".join(numbers), *probes])]


def _probes(measured: Mapping[str, Mapping[str, float]], traffic: Mapping[str, str]) -> list[str]:
    """A line for each probe, or for all probes of a flow with a count.

    Args:
        measured: The metrics of each probe.
        traffic: The kind of traffic of each flow; a probe that is not there is a ping.
    """
    from bloatlab.experiments.criteria import alike
    from bloatlab.experiments.phrases import with_unit

    lines = []
    for name, members in alike(probe for probe, values in measured.items() if "p50_rtt" in values).items():
        what = "RTT" if traffic.get(members[0], PING) == PING else "fetch time"
        medians = [measured[probe]["p50_rtt"] for probe in members]
        tails = [measured[probe]["p95_rtt"] for probe in members if "p95_rtt" in measured[probe]]
        several = f" (means over {len(members)} probes)" if len(members) > 1 else ""
        lines.append(
            f"{what} of {name}: median {with_unit(fmean(medians), 'ms')}, 95th percentile "
            f"{with_unit(fmean(tails) if tails else None, 'ms')}{several}"
        )
    return lines


def verdict_of_sweep(points: Sequence[Point]) -> list[str]:
    """The answer of many runs: the points with the least and the most delay, and what differs most.

    Empty if no point has a queueing delay and the experiment measures nothing itself.

    Args:
        points: All points.
    """
    lines = []
    waiting = {
        place: delay for place, point in enumerate(points) if (delay := point.mean(lambda of: of.queue_ms)) is not None
    }
    if waiting:
        low, high = min(waiting, key=waiting.__getitem__), max(waiting, key=waiting.__getitem__)
        best, worst = points[low], points[high]
        if len(points) == 1:
            lines.append(f"mean of {len(best.runs)} runs: {_described(best)}")
        elif waiting[low] == waiting[high]:
            lines.append(f"the queueing delay is {number(waiting[low])} ms in every set-up")
        else:
            fullest = _most_throughput(points, best)
            both = " and most throughput" if fullest is worst else ""
            lines += [
                f"least delay with {best.label}: {_described(best)}",
                f"most delay{both} with {worst.label}: {_described(worst)}",
            ]
            if fullest is not None and fullest is not worst:
                lines.append(f"most throughput with {fullest.label}: {_described(fullest)}")
    if len(points) > 1:
        lines += _differs_most(points)
    return lines


def _most_throughput(points: Sequence[Point], best: Point) -> Point | None:
    """The point with the highest throughput; `None` if the point with the least delay has nearly as much."""
    rates = {place: rate for place, point in enumerate(points) if (rate := point.mean(lambda of: of.throughput_mbps))}
    mine = best.mean(lambda of: of.throughput_mbps)
    if not rates or mine is None:
        return None
    most = max(rates, key=rates.__getitem__)
    return None if mine >= NEAR * rates[most] else points[most]


def _described(point: Point) -> str:
    """The main numbers of a point in words."""
    standing = point.mean(lambda of: of.standing_ms)
    parts = []
    if standing is not None:
        parts.append(f"standing queue {number(standing)} ms{_graded(standing)}")
    elif (sojourn := point.mean(lambda of: of.sojourn_ms)) is not None:
        parts.append(f"mean sojourn time {number(sojourn)} ms")
    if (ping := point.mean(worst_ping)) is not None:
        parts.append(f"RTT of pings {number(ping)} ms (95th percentile)")
    if (rate := point.mean(lambda of: of.throughput_mbps)) is not None:
        share = point.mean(lambda of: of.share)
        parts.append(
            f"{number(rate)} Mbit/s" + (f" ({100 * share:.0f} % of the bottleneck)" if share is not None else "")
        )
    return ", ".join(parts)


def _graded(standing_ms: float) -> str:
    try:
        from bloatlab.report.verdict import grade
    except ImportError:
        return ""
    return f" (grade {grade(standing_ms)})"


def worst_ping(numbers: MainNumbers) -> float | None:
    """95th percentile of the RTT of the ping where it is highest, ms; `None` without a ping."""
    return max((p95 for _, p95 in numbers.pings_ms.values()), default=None)


def _differs_most(points: Sequence[Point]) -> list[str]:
    """A line with the quantity that differs most between the points, and the parameter that explains it."""
    found = [
        (spread, name, unit, values) for name, unit, values in _compared(points) if (spread := _spread(values)) > 0
    ]
    if not found:
        return []
    _, name, unit, values = max(found, key=lambda one: one[0])
    there = [value for value in values if value is not None]
    low, high = min(there), max(there)
    times = f", {high / low:.3g} times as much" if low > 0 and high / low >= 1.1 else ""
    line = f"differs most: {name}, {number(low)} to {number(high)} {unit}".rstrip() + times
    axis = _cause(points, values)
    return [line + (f"; mostly with {axis}" if axis else "")]


def _compared(points: Sequence[Point]) -> list[tuple[str, str, list[float | None]]]:
    """Name, unit, and value at each point of what the points are compared by."""
    reads: list[tuple[str, str, Callable[[MainNumbers], float | None]]] = [
        ("the standing queue", "ms", lambda of: of.standing_ms),
        ("the RTT of pings (95th percentile)", "ms", worst_ping),
        ("the throughput", "Mbit/s", lambda of: of.throughput_mbps),
    ]
    found = [(name, unit, [point.mean(read) for point in points]) for name, unit, read in reads]
    first = points[0].runs[0]
    for name, title in titles(CATALOGUE.get(first.experiment), first.measures).items():
        means = [_mean_of_own(point, name) for point in points]
        found.append((title, first.measures[name], means))
    return found


def _mean_of_own(point: Point, name: str) -> float | None:
    values = [own[name] for own in point.own if name in own]
    return fmean(values) if values else None


def _spread(values: Sequence[float | None]) -> float:
    """Range over the largest size; 0 if fewer than two points have a value."""
    there = [value for value in values if value is not None]
    largest = max(map(abs, there), default=0.0)
    return (max(there) - min(there)) / largest if len(there) > 1 and largest > 0 else 0.0


def _cause(points: Sequence[Point], values: Sequence[float | None]) -> str | None:
    """The swept parameter that explains most of the variance (eta squared); `None` if none explains half of it."""
    pairs = [(point, value) for point, value in zip(points, values, strict=True) if value is not None]
    axes = [axis for axis in points[0].swept if len({point.swept[axis] for point, _ in pairs}) > 1]
    if len(axes) < 2:
        return None
    mean = fmean(value for _, value in pairs)
    total = sum((value - mean) ** 2 for _, value in pairs)

    def explained(axis: str) -> float:
        groups: dict[str, list[float]] = {}
        for point, value in pairs:
            groups.setdefault(point.swept[axis], []).append(value)
        return sum(len(group) * (fmean(group) - mean) ** 2 for group in groups.values()) / total

    best = max(axes, key=explained)
    return best if explained(best) >= EXPLAINED else None
