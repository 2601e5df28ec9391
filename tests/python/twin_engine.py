"""Engines for tests of `parity`: the simulator again, under other names."""

from __future__ import annotations

import json
from typing import Any

from bloatlab.engines.sim import Sim


class Twin(Sim):
    """The simulator with other seeds: it differs by chance alone."""

    name = "twin"

    def run(self, scenario_json: str, seed: int, **options: Any) -> Any:
        return super().run(scenario_json, seed + 1000, **options)


class Slow(Twin):
    """A link with a longer RTT, so that it differs for a cause."""

    name = "slow"

    def run(self, scenario_json: str, seed: int, **options: Any) -> Any:
        scenario = json.loads(scenario_json)
        scenario["dumbbell"]["rtt"] = "40ms"
        return super().run(json.dumps(scenario), seed, **options)
