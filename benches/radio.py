"""Seconds that one run of the experiments on radio links takes, beside what is aimed at."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

from bloatlab import _core
from bloatlab.experiments import get


@dataclass(frozen=True)
class Case:
    """One run of an experiment."""

    experiment: str
    parameters: dict[str, Any]
    what: str
    aim: float
    """Seconds on one core."""


CASES = (
    Case("nr-rlc", {"lambda": 30_000}, "10 s of 30,000 packets/s through a 5G cell (ns-3: 45 to 160 s)", 0.15),
    Case("mmwave-aqm", {"queue": "fq_codel"}, "120 s of 10 CUBIC flows at 3 Gbit/s on a 60 GHz link", 6.0),
)


def measure(repetitions: int) -> list[dict[str, Any]]:
    """Each case so often, in turns."""
    documents = {}
    for case in CASES:
        experiment = get(case.experiment)
        documents[case.experiment] = json.dumps(experiment.scenario(experiment.resolve(case.parameters)))
    turns: dict[str, list[float]] = {name: [] for name in documents}
    for _ in range(repetitions):
        for name, document in documents.items():
            began = time.perf_counter()
            _core.run(document, 42)
            turns[name].append(time.perf_counter() - began)
    return [
        {
            "experiment": case.experiment,
            "what": case.what,
            "aim": case.aim,
            "seconds": median(turns[case.experiment]),
            "seconds_best": min(turns[case.experiment]),
        }
        for case in CASES
    ]
