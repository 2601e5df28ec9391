"""How much longer pings take under load than on the idle link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from bloatlab import units
from bloatlab.experiments.base import plain
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.phrases import together
from bloatlab.judges.grade import MEANING, grade

if TYPE_CHECKING:
    from bloatlab.result import Result

COLUMNS = ("run", "ping", "idle (ms)", "loaded (ms)", "maximum (ms)", "increase (ms)", "grade")
NOTE = (
    "Idle and loaded: median RTTs before the load and during it. Increase: that of the mean. A grade here is that of a ping; "
    "the grade of a run is that of its TCP flows."
)
DIFFERENT, LEAST_MS = 1.5, 1.0
"""Marks make a difference if the largest increase of a ping is so many times the smallest, and so many ms above it."""


@dataclass(frozen=True)
class Loaded:
    """A ping of a run."""

    idle_ms: float
    """Median RTT before the load."""
    median_ms: float
    """Median RTT during it."""
    highest_ms: float
    increase_ms: float
    """Increase of the mean RTT."""


def rtts(run: Result, ping: str) -> tuple[list[float], list[float]]:
    """RTTs of a ping in ms: of replies before the load, and of replies during it."""
    begin = units.duration(run.parameters["idle"])
    end = begin + units.duration(run.parameters["length"])
    series = run.probe_series.to_polars()
    mine = series.filter(series["probe"].cast(str) == ping)
    replies = list(zip(mine["time_s"].to_list(), mine["rtt_ms"].to_list(), strict=True))
    return [rtt for at, rtt in replies if at < begin], [rtt for at, rtt in replies if begin <= at < end]


def answers(runs: Sequence[Result], pings: Sequence[str]) -> list[Finding]:
    """One statement about all runs, the shortest increase first. Empty if no run has replies before the load and during it.

    Args:
        runs: The runs.
        pings: Names of the pings, the unmarked one first.
    """
    found = {_label(run, runs): of for run in runs if (of := _pings(run, pings))}
    if not found:
        return []
    ordered = sorted(found, key=lambda label: found[label][pings[0]].increase_ms)
    rows = [
        (label, ping, *(f"{value:.1f}" for value in vars(of).values()), grade(of.increase_ms))
        for label in ordered
        for ping, of in found[label].items()
    ]
    plain = "unmarked ping" if len(pings) > 1 else "ping"
    said = [_plain(plain, {label: found[label][pings[0]].increase_ms for label in ordered})]
    if len(pings) > 1:
        said.append(_marks(found))
    title = "How much longer does a ping take under load?"
    return [Finding(title, "", " ".join(said), COLUMNS, tuple(rows), f"{NOTE} {MEANING}")]


def _pings(run: Result, names: Sequence[str]) -> dict[str, Loaded]:
    """The pings of a run. Empty if one of them has no reply before the load or during it."""
    found = {}
    for name in names:
        idle, loaded = rtts(run, name)
        if not idle or not loaded:
            return {}
        increase = max(0.0, fmean(loaded) - fmean(idle))
        found[name] = Loaded(median(idle), median(loaded), max(loaded), increase)
    return found


def _plain(ping: str, increases: Mapping[str, float]) -> str:
    """The shortest and the longest increase of the ping without a mark."""
    least, *others = (f"{_ms(value)} longer with {label} (grade {grade(value)})" for label, value in increases.items())
    most = f" and {others[-1]}" if others else ""
    return f"Under load, the {ping} takes {least}{most}."


def _marks(found: Mapping[str, Mapping[str, Loaded]]) -> str:
    """Where marks make the largest difference."""
    apart = {label: sorted((one.increase_ms, ping) for ping, one in of.items()) for label, of in found.items()}
    label = max(apart, key=lambda label: apart[label][-1][0] / max(apart[label][0][0], LEAST_MS))
    (shortest, first), (longest, last) = apart[label][0], apart[label][-1]
    if longest < max(DIFFERENT * shortest, shortest + LEAST_MS):
        return "Marks make no difference."
    return (
        f"Marks make the largest difference with {label}: {_ms(shortest)} for `{first}`, {_ms(longest)} for `{last}`."
    )


def _ms(value: float) -> str:
    """A delay; from 100 ms on without decimals."""
    return f"{value:,.{0 if value >= 100 else 1}f} ms"


def _label(run: Result, runs: Sequence[Result]) -> str:
    """The parameters of a run that vary, such as `fifo`."""
    names = [name for name in run.parameters if len({str(plain(one.parameters.get(name))) for one in runs}) > 1]
    parts = [together({name: plain(run.parameters[name]) for name in names or ["queue"]})]
    if len({one.seed for one in runs}) > 1:
        parts.append(f"seed {run.seed}")
    return ", ".join(parts)
