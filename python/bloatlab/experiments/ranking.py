"""Ranks contenders by criteria.

A point is one combination of values of the axes that are not compared. At each point, values are averaged over the
replications, and contenders are ranked by each criterion; 1 is the best. Values that agree to three digits share the
mean of their ranks. A contender without a value comes last. The score of a contender is the mean over the groups of
criteria of its mean rank in the group.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from bloatlab.experiments.criteria import Better, Criterion, Metrics

MEANING = (
    "Contenders are ranked by each criterion; 1 is the best. Values that agree to three digits share the mean of their "
    "ranks, and a contender without a value comes last. The score is the mean over the groups of criteria of the mean "
    "rank in the group; lower is better."
)


@dataclass(frozen=True)
class Observation:
    """One run: its contender, its point on the other axes, and its values."""

    contender: str
    point: str
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class Contender:
    """A row of the ranking."""

    name: str
    position: int
    score: float
    values: Mapping[str, float | None]
    """Mean over points and replications for each criterion."""
    low: Mapping[str, float | None]
    high: Mapping[str, float | None]
    ranks: Mapping[str, float]
    """Mean rank over the points for each criterion."""
    groups: Mapping[str, float]
    """Mean rank for each group of criteria."""


@dataclass(frozen=True)
class Ranking:
    """Contenders in the order of their scores."""

    criteria: tuple[Criterion, ...]
    """Criteria for which at least one run has a value."""
    contenders: tuple[Contender, ...]
    points: int
    subject: str = "queue"
    """What the contenders are."""


def observe(
    criteria: Sequence[Criterion],
    compared: Sequence[str],
    runs: Sequence[tuple[Mapping[str, Any], Metrics]],
    derived: Sequence[str] = (),
) -> list[Observation]:
    """Observations from the parameters and metrics of runs.

    Args:
        criteria: Criteria to read from each run.
        compared: Parameters that make a contender; constant parameters are left out of its name.
        runs: Stored parameters, and metrics in the form of `--json`.
        derived: Parameters that may follow from others; then they are not part of a point's name.
    """
    parameters = [{name: json.dumps(value, sort_keys=True) for name, value in given.items()} for given, _ in runs]
    names = sorted({name for of in parameters for name in of}, key=lambda name: (name in derived, name))
    varying = [name for name in names if len({of.get(name) for of in parameters}) > 1]
    named = [name for name in compared if name in varying] or list(compared[:1])
    rest = [name for name in varying if name not in named]
    for name in [name for name in reversed(rest) if name in derived]:
        fewer = [other for other in rest if other != name]
        if _distinct(parameters, fewer) == _distinct(parameters, rest):
            rest = fewer
    return [
        Observation(
            ", ".join(_label(name, given.get(name), bare=name == compared[0]) for name in named),
            ", ".join(_label(name, given[name]) for name in rest if name in given),
            {criterion.name: criterion.read(metrics) for criterion in criteria},
        )
        for given, metrics in runs
    ]


def _distinct(parameters: Sequence[Mapping[str, str]], names: Sequence[str]) -> int:
    return len({tuple(of.get(name) for name in names) for of in parameters})


def _label(name: str, value: Any, *, bare: bool = False) -> str:
    if isinstance(value, Mapping):
        rest = ", ".join(f"{key}={item}" for key, item in value.items() if key != "kind")
        value = f"{value.get('kind')} ({rest})" if rest else value.get("kind")
    return str(value) if bare else f"{name}={value}"


def places(values: Sequence[float | None], better: Better) -> list[float]:
    """Rank of each value; 1 is the best, equal values share the mean of their ranks, and `None` comes last."""
    import polars as pl

    # scipy's rankdata does the same, but the core installation has no scipy.
    rounded = [None if value is None else float(f"{value:.3g}") for value in values]
    ranks = pl.Series(rounded, dtype=pl.Float64).rank("average", descending=better == "higher")
    last = len(values) - (ranks.null_count() - 1) / 2
    return ranks.fill_null(last).to_list()


def rank(criteria: Sequence[Criterion], observations: Sequence[Observation], subject: str = "queue") -> Ranking:
    """Ranks the contenders, the best first."""
    known = tuple(
        criterion for criterion in criteria if any(one.values[criterion.name] is not None for one in observations)
    )
    points = list(dict.fromkeys(one.point for one in observations))
    names = list(dict.fromkeys(one.contender for one in observations))
    ranks: dict[str, dict[str, list[float]]] = {name: {c.name: [] for c in known} for name in names}
    for point in points:
        here = [one for one in observations if one.point == point]
        present = list(dict.fromkeys(one.contender for one in here))
        for criterion in known:
            means = [_mean(_values(here, name, criterion)) for name in present]
            if all(mean is None for mean in means):
                continue
            for name, place in zip(present, places(means, criterion.better), strict=True):
                ranks[name][criterion.name].append(place)
    rows = []
    for name in names:
        own = {c.name: fmean(ranks[name][c.name]) for c in known if ranks[name][c.name]}
        groups: dict[str, list[float]] = {}
        for criterion in known:
            if criterion.name in own:
                groups.setdefault(criterion.group, []).append(own[criterion.name])
        by_group = {group: fmean(places) for group, places in groups.items()}
        score = fmean(by_group.values()) if by_group else float(len(names))
        found = {c.name: _values(observations, name, c) for c in known}
        rows.append(
            Contender(
                name, 0, score,
                {key: _mean(values) for key, values in found.items()},
                {key: min(values, default=None) for key, values in found.items()},
                {key: max(values, default=None) for key, values in found.items()},
                own,
                by_group,
            )
        )  # fmt: skip
    rows.sort(key=lambda row: (round(row.score, 9), row.name))
    placed = (replace(row, position=index + 1) for index, row in enumerate(rows))
    return Ranking(known, tuple(placed), len(points), subject)


def by_point(ranking: Ranking, observations: Sequence[Observation]) -> Ranking | None:
    """Ranks by the score at each point, contenders in the order of `ranking`; `None` with only one point."""
    points = list(dict.fromkeys(one.point for one in observations))
    if len(points) < 2:
        return None
    scores: dict[str, dict[str, float]] = {}
    for point in points:
        here = rank(ranking.criteria, [one for one in observations if one.point == point], ranking.subject)
        scores[point] = {row.name: row.score for row in here.contenders}
    criteria = [
        Criterion(point, point, "", "lower", point, f"score at {point}", lambda _: None, minor=True) for point in points
    ]
    observed = [
        Observation(row.name, "", {point: of.get(row.name) for point, of in scores.items()})
        for row in ranking.contenders
    ]
    found = rank(criteria, observed, ranking.subject)
    order = {row.name: row.position for row in ranking.contenders}
    placed = sorted((replace(row, position=order[row.name]) for row in found.contenders), key=lambda row: row.position)
    return replace(found, contenders=tuple(placed))


def _values(observations: Sequence[Observation], name: str, criterion: Criterion) -> list[float]:
    found = (one.values[criterion.name] for one in observations if one.contender == name)
    return [value for value in found if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def describe(ranking: Ranking) -> dict[str, Any]:
    """The ranking in the form of `--json`."""
    return {
        "meaning": MEANING,
        "points": ranking.points,
        "criteria": [
            {key: getattr(criterion, key) for key in ("name", "title", "unit", "better", "group", "formula")}
            for criterion in ranking.criteria
        ],
        "contenders": [
            {
                "name": row.name,
                "position": row.position,
                "score": row.score,
                "groups": dict(row.groups),
                "values": dict(row.values),
                "ranks": dict(row.ranks),
            }
            for row in ranking.contenders
        ],
    }
