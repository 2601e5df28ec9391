"""Seconds per run of the experiments on radio links, and the aim."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import undisturbed
from bloatlab import _core
from bloatlab.experiments import get


@dataclass(frozen=True)
class Case:
    """One run of an experiment, and the shorter runs with several seeds from which its undisturbed time is computed."""

    experiment: str
    parameters: dict[str, Any]
    what: str
    aim: float
    """Seconds on one core."""
    part: float
    """Simulated seconds of a shorter run. A second one takes twice as long: its second half gives the cost after start-up."""
    seeds: int


CASES = (
    Case("nr-rlc", {"lambda": 30_000}, "10 s of 30,000 packets/s through a 5G cell (ns-3: 45 to 160 s)", 0.15, 1.0, 3),
    Case("mmwave-aqm", {"queue": "fq_codel"}, "120 s of 10 CUBIC flows at 3 Gbit/s on a 60 GHz link", 6.0, 1.0, 4),
    Case("mmwave-aqm", {"queue": "fq_codel", "offload": "receive"}, "without segmentation offload", 6.0, 1.0, 4),
)


def _document(case: Case, seconds: float | None = None) -> str:
    experiment = get(case.experiment)
    scenario = experiment.scenario(experiment.resolve(case.parameters))
    return json.dumps(scenario if seconds is None else {**scenario, "duration": f"{seconds:g}s"})


def _whole(repetitions: int) -> dict[str, tuple[list[float], int]]:
    """Seconds of each whole run, and its number of events. The cases take turns."""
    documents = {case.what: _document(case) for case in CASES}
    turns: dict[str, list[float]] = {name: [] for name in documents}
    events = {}
    for _ in range(repetitions):
        for name, document in documents.items():
            began = time.perf_counter()
            events[name] = _core.run(document, 42).events
            turns[name].append(time.perf_counter() - began)
    return {name: (turns[name], events[name]) for name in documents}


def _parts(case: Case, events: int, wanted: int, seconds: float) -> tuple[float, int, int]:
    """Undisturbed seconds of a run with `events` events, the least number of undisturbed repetitions, and all repetitions."""
    documents = {"short": _document(case, case.part), "long": _document(case, 2 * case.part)}
    parts = {f"{name} {seed}": (document, seed) for seed in range(case.seeds) for name, document in documents.items()}
    counts = {name: _core.run(*part).events for name, part in parts.items()}
    turns = undisturbed.take_turns(parts, wanted, seconds)
    timed = {name: undisturbed.judge(repetitions) for name, repetitions in turns.items()}

    def mean(name: str) -> tuple[float, float]:
        names = [f"{name} {seed}" for seed in range(case.seeds)]
        return fmean(timed[one].ns for one in names), fmean(counts[one] for one in names)

    (short, short_events), (long, long_events) = mean("short"), mean("long")
    whole = short + (long - short) / (long_events - short_events) * (events - short_events)
    scarcest = min(timed.values(), key=lambda one: one.undisturbed)
    return whole / 1e9, scarcest.undisturbed, scarcest.runs


def measure(repetitions: int, wanted: int, seconds: float) -> list[dict[str, Any]]:
    """Times each case `repetitions` times, then its shorter runs until `wanted` repetitions are undisturbed or time is up."""
    whole = _whole(repetitions)
    results = []
    for case in CASES:
        turns, events = whole[case.what]
        undisturbed_s, clean, runs = _parts(case, events, wanted, seconds)
        results.append(
            {
                "experiment": case.experiment,
                "what": case.what,
                "aim": case.aim,
                "seconds": median(turns),
                "seconds_best": min(turns),
                "seconds_undisturbed": undisturbed_s,
                "undisturbed": clean,
                "runs": runs,
            }
        )
    return results
