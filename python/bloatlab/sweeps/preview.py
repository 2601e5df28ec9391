"""The runs of a plan before they are made: all of a small plan, a random sample of a large one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.sweeps.conditions import Condition
from bloatlab.sweeps.grid import Grid
from bloatlab.sweeps.plan import PlannedRun, Source, plan_points

EXACT = 5000
"""Largest number of points that are all made to count them."""
LISTED = 10
"""Points that are listed."""
SAMPLED = 1000
"""Points that stand for a larger plan."""
SEED = 42
"""Seed of the sample, so that the same plan gives the same preview."""


@dataclass(frozen=True)
class Preview:
    """The runs of a plan.

    Attributes:
        runs: The first replication of each point, or of each point of the sample.
        points: Number of points.
        total: Number of runs.
        exact: Whether the numbers are exact. Otherwise they are estimates from a sample.
        first: Parameters of the first points.
    """

    runs: Sequence[PlannedRun]
    points: int
    total: int
    exact: bool
    first: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, runs: Sequence[PlannedRun]) -> Preview:
        """The preview of runs that are all planned."""
        firsts: dict[str, PlannedRun] = {}
        for planned in runs:
            firsts.setdefault(planned.scenario, planned)
        points = list(firsts.values())
        return cls(points, len(points), len(runs), True, [planned.parameters for planned in points[:LISTED]])


def preview(
    source: Source,
    grid: Grid,
    base: Mapping[str, Any] | None = None,
    *,
    replications: int = 1,
    seed: int = 42,
    where: Sequence[Condition] = (),
) -> Preview:
    """Plans the runs of a grid without importing a plugin. Of a grid with many points only a sample is planned.

    Args:
        source: The source of scenarios.
        grid: The points.
        base: Values at all points, unless a point replaces them.
        replications: Runs of each point.
        seed: Seed of the first replication.
        where: Conditions on a point's parameters.

    Raises:
        ParameterError: A value is not allowed, or no point meets the conditions.
        ScenarioError: The scenario is not valid.
        EngineError: The engine cannot run the scenario.
    """

    def planned(points: Sequence[Mapping[str, Any]], replications: int) -> list[PlannedRun]:
        return plan_points(source, points, base, replications=replications, seed=seed, where=where, dry=True)

    if len(grid) <= EXACT:
        runs = planned(grid, replications)
    else:
        drawn = random.Random(SEED).sample(range(len(grid)), SAMPLED)
        runs = planned([grid[place] for place in sorted(drawn)], 1)
    if not runs:
        raise ParameterError("where: no point of the plan meets the conditions")
    if len(grid) <= EXACT:
        return Preview.of(runs)
    points = round(len(grid) * len(runs) / SAMPLED)
    first = [one.parameters for one in planned(grid[:SAMPLED], 1)[:LISTED]]
    return Preview(runs, points, points * replications, False, first)
