"""Ranks contenders by criteria.

A point is one combination of values of the axes that are not compared. At each point, values are averaged over the
replications, and contenders are ranked by each criterion; 1 is the best. Values that agree to three digits share the
mean of their ranks. A contender without a value comes last. The score of a contender is the weighted mean over the
groups of criteria of its mean rank in the group.

Ranks say nothing about distances, so many good ranks could hide a long delay. Therefore a contender that another one
beats in both delay and throughput never comes first.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from bloatlab.experiments.caveats import alike_of, caveats_of
from bloatlab.experiments.criteria import Better, Criterion, Metrics, plane
from bloatlab.experiments.weighing import EQUAL, Weights

MEANING = (
    "Contenders are ranked by each criterion; 1 is the best. Values that agree to three digits share the mean of their "
    "ranks, and a contender without a value comes last. The score is the weighted mean over the groups of criteria of the "
    "mean rank in the group; lower is better. A contender that another one beats in both delay and throughput is never "
    "first."
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
    """Contenders in the order of their scores; the first is the one with the best score that no other beats."""

    criteria: tuple[Criterion, ...]
    """Criteria for which at least one run has a value."""
    contenders: tuple[Contender, ...]
    points: int
    subject: str = "queue"
    """What the contenders are."""
    weights: Weights = EQUAL
    beaten: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Contenders that others beat, with those others: no worse in delay and throughput, and better in one of them."""
    within: Mapping[str, float] = field(default_factory=dict)
    """For a ranking over experiments: the groups of criteria that they rank by, with their weights."""

    @property
    def groups(self) -> dict[str, float]:
        """Groups of criteria with their weights."""
        return {criterion.group: self.weights.of(criterion.group) for criterion in self.criteria}

    @property
    def plane(self) -> tuple[Criterion, Criterion] | None:
        """The delay and the throughput of the Pareto front; `None` if the criteria have no such pair."""
        return plane(self.criteria)

    @property
    def front(self) -> tuple[Contender, ...]:
        """The Pareto front of delay and throughput, sorted by delay; empty without such a pair."""
        if self.plane is None:
            return ()
        delay, throughput = (criterion.name for criterion in self.plane)
        kept = [row for row in self.contenders if row.name not in self.beaten and row.values[throughput] is not None]
        return tuple(sorted(kept, key=lambda row: row.values[delay] or 0.0))

    @property
    def caveats(self) -> tuple[str, ...]:
        """What readers must know before they quote the ranking."""
        names = [row.name for row in self.contenders]
        values = {row.name: [row.values.get(of.name) for of in self.criteria] for row in self.contenders}
        return (*caveats_of(self.subject, names), *alike_of(values))

    @property
    def outscored(self) -> tuple[Contender, ...]:
        """Contenders with a better score than the first, which are not first because others beat them."""
        return tuple(row for row in self.contenders[1:] if round(row.score, 9) < round(self.contenders[0].score, 9))


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
    # `json.dumps` with options makes an encoder at each call.
    encode = json.JSONEncoder(sort_keys=True).encode
    parameters = [{name: encode(value) for name, value in given.items()} for given, _ in runs]
    names = sorted({name for of in parameters for name in of}, key=lambda name: (name in derived, name))
    varying = [name for name in names if len({of.get(name) for of in parameters}) > 1]
    named = [name for name in compared if name in varying] or list(compared[:1])
    rest = [name for name in varying if name not in named]
    for name in [name for name in reversed(rest) if name in derived]:
        fewer = [other for other in rest if other != name]
        if _distinct(parameters, [*named, *fewer]) == _distinct(parameters, [*named, *rest]):
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
    shown = "default" if value is None else str(value)
    return shown if bare else f"{name}={shown}"


def places(values: Sequence[float | None], better: Better) -> list[float]:
    """Rank of each value; 1 is the best, equal values share the mean of their ranks, and `None` comes last."""
    # scipy's rankdata does the same, but the core installation has no scipy. A ranking calls this for a few values
    # some thousand times, which takes polars longer than plain Python.
    rounded = [None if value is None else float(f"{value:.3g}") for value in values]
    counts = Counter(value for value in rounded if value is not None)
    found: dict[float | None, float] = {}
    before = 0
    for value in sorted(counts, reverse=better == "higher"):
        found[value] = before + (counts[value] + 1) / 2
        before += counts[value]
    found[None] = (before + 1 + len(values)) / 2
    return [found[value] for value in rounded]


def rank(
    criteria: Sequence[Criterion],
    observations: Sequence[Observation],
    subject: str = "queue",
    weights: Weights = EQUAL,
) -> Ranking:
    """Ranks the contenders, the best first; contenders with equal scores are in the order of their runs."""
    known = tuple(
        criterion for criterion in criteria if any(one.values[criterion.name] is not None for one in observations)
    )
    points = list(dict.fromkeys(one.point for one in observations))
    names = list(dict.fromkeys(one.contender for one in observations))
    ranks: dict[str, dict[str, list[float]]] = {name: {c.name: [] for c in known} for name in names}
    for point in points:
        here = _by_contender([one for one in observations if one.point == point])
        for criterion in known:
            means = [_mean(_values(own, criterion)) for own in here.values()]
            if all(mean is None for mean in means):
                continue
            for name, place in zip(here, places(means, criterion.better), strict=True):
                ranks[name][criterion.name].append(place)
    everywhere = _by_contender(observations)
    rows = []
    for name in names:
        own = {c.name: fmean(ranks[name][c.name]) for c in known if ranks[name][c.name]}
        groups: dict[str, list[float]] = {}
        for criterion in known:
            if criterion.name in own:
                groups.setdefault(criterion.group, []).append(own[criterion.name])
        by_group = {group: fmean(places) for group, places in groups.items()}
        score = _score(by_group, weights, len(names))
        found = {c.name: _values(everywhere[name], c) for c in known}
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
    beaten = _beaten(rows, plane(known))
    return Ranking(known, placed(rows, beaten), len(points), subject, weights, beaten)


def placed(rows: Sequence[Contender], beaten: Mapping[str, tuple[str, ...]]) -> tuple[Contender, ...]:
    """Contenders with their positions: by score, but the first is the best of those that no other beats."""
    in_order = sorted(rows, key=lambda row: round(row.score, 9))
    first = next((row for row in in_order if row.name not in beaten), None)
    if first is not None:
        in_order = [first, *(row for row in in_order if row is not first)]
    return tuple(replace(row, position=index + 1) for index, row in enumerate(in_order))


def _score(groups: Mapping[str, float], weights: Weights, last: int) -> float:
    """Weighted mean of the ranks; `last` if no group with a weight has a rank."""
    total = sum(weights.of(group) for group in groups)
    return sum(weights.of(group) * place for group, place in groups.items()) / total if total else float(last)


def _beaten(rows: Sequence[Contender], of: tuple[Criterion, Criterion] | None) -> dict[str, tuple[str, ...]]:
    """Contenders that others dominate in delay and throughput, with those others."""
    if of is None:
        return {}
    delay, throughput = (criterion.name for criterion in of)
    known = {
        row.name: (slow, -fast)
        for row in rows
        if (slow := row.values[delay]) is not None and (fast := row.values[throughput]) is not None
    }
    found = {}
    for row in rows:
        mine = known.get(row.name, (math.inf, math.inf))
        better = (name for name, its in known.items() if its != mine and its[0] <= mine[0] and its[1] <= mine[1])
        if others := tuple(better):
            found[row.name] = others
    return found


def at_points(ranking: Ranking, observations: Sequence[Observation]) -> dict[str, Ranking]:
    """The ranking at each point alone."""
    return {
        point: rank(
            ranking.criteria, [one for one in observations if one.point == point], ranking.subject, ranking.weights
        )
        for point in dict.fromkeys(one.point for one in observations)
    }


def by_point(ranking: Ranking, there: Mapping[str, Ranking]) -> Ranking | None:
    """Ranks by the score at each point, contenders in the order of `ranking`; `None` with only one point.

    Args:
        ranking: The ranking over all points.
        there: The rankings of `at_points`.
    """
    if len(there) < 2:
        return None
    scores = {point: {row.name: row.score for row in here.contenders} for point, here in there.items()}
    criteria = [
        Criterion(point, point, "", "lower", point, f"score at {point}", lambda _: None, minor=True) for point in there
    ]
    observed = [
        Observation(row.name, "", {point: of.get(row.name) for point, of in scores.items()})
        for row in ranking.contenders
    ]
    found = rank(criteria, observed, ranking.subject)
    order = {row.name: row.position for row in ranking.contenders}
    rows = sorted((replace(row, position=order[row.name]) for row in found.contenders), key=lambda row: row.position)
    return replace(found, contenders=tuple(rows))


def _by_contender(observations: Sequence[Observation]) -> dict[str, list[Observation]]:
    found: dict[str, list[Observation]] = {}
    for one in observations:
        found.setdefault(one.contender, []).append(one)
    return found


def _values(observations: Sequence[Observation], criterion: Criterion) -> list[float]:
    found = (one.values[criterion.name] for one in observations)
    return [value for value in found if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def describe(ranking: Ranking) -> dict[str, Any]:
    """The ranking in the form of `--json`."""
    return {
        "meaning": MEANING,
        "points": ranking.points,
        "weights": ranking.groups,
        "caveats": list(ranking.caveats),
        "pareto": {
            "delay": ranking.plane[0].name,
            "throughput": ranking.plane[1].name,
            "front": [row.name for row in ranking.front],
        }
        if ranking.plane
        else None,
        "criteria": [
            {key: getattr(criterion, key) for key in ("name", "title", "unit", "better", "group", "formula")}
            for criterion in ranking.criteria
        ],
        "contenders": [
            {
                "name": row.name,
                "position": row.position,
                "score": row.score,
                "beaten_by": list(ranking.beaten.get(row.name, ())),
                "groups": dict(row.groups),
                "values": dict(row.values),
                "ranks": dict(row.ranks),
            }
            for row in ranking.contenders
        ],
    }
