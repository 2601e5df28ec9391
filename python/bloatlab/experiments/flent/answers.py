"""How much longer pings take under load than on the idle link."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING

from bloatlab import units
from bloatlab.experiments.base import plain
from bloatlab.experiments.finding import Finding
from bloatlab.judges.grade import MEANING, grade

if TYPE_CHECKING:
    from bloatlab.result import Result

COLUMNS = (
    "run",
    "ping",
    "idle median (ms)",
    "loaded median (ms)",
    "loaded maximum (ms)",
    "mean increase (ms)",
    "grade",
)
NOTE = "Idle: replies before the load begins."


def rtts(run: Result, ping: str) -> tuple[list[float], list[float]]:
    """RTTs of a ping in ms: of replies before the load, and of replies during it."""
    begin = units.duration(run.parameters["idle"])
    end = begin + units.duration(run.parameters["length"])
    series = run.probe_series.to_polars()
    mine = series.filter(series["probe"].cast(str) == ping)
    replies = list(zip(mine["time_s"].to_list(), mine["rtt_ms"].to_list(), strict=True))
    return [rtt for at, rtt in replies if at < begin], [rtt for at, rtt in replies if begin <= at < end]


def answers(runs: Sequence[Result], pings: Sequence[str]) -> list[Finding]:
    """One statement about all runs. Empty if no run has replies both before the load and during it."""
    rows, increases = [], {}
    for run in runs:
        for ping in pings:
            idle, loaded = rtts(run, ping)
            if not idle or not loaded:
                continue
            increase = max(0.0, fmean(loaded) - fmean(idle))
            label = _label(run, runs)
            values = (median(idle), median(loaded), max(loaded), increase)
            rows.append((label, ping, *(f"{value:.1f}" for value in values), grade(increase)))
            if ping == pings[0]:
                increases[label] = increase
    if not rows:
        return []
    least, most = min(increases, key=increases.__getitem__), max(increases, key=increases.__getitem__)
    said = f"Under load, the unmarked ping takes {increases[least]:.1f} ms longer with {least} (grade {grade(increases[least])})"
    if least != most:
        said += f" and {increases[most]:.1f} ms longer with {most} (grade {grade(increases[most])})"
    return [
        Finding(
            "How much longer does a ping take under load?", "", f"{said}.", COLUMNS, tuple(rows), f"{NOTE} {MEANING}"
        )
    ]


def _label(run: Result, runs: Sequence[Result]) -> str:
    """The parameters of a run that vary, such as `queue = fifo`."""
    names = [name for name in run.parameters if len({str(plain(one.parameters.get(name))) for one in runs}) > 1]
    parts = [f"{name} = {plain(run.parameters[name])}" for name in names or ["queue"]]
    if len({one.seed for one in runs}) > 1:
        parts.append(f"seed {run.seed}")
    return ", ".join(parts)
