"""Compares two sets of runs: which metrics differ by more than noise.

Points are matched by their parameters. Replications are paired where both sides have the same seeds. A parameter in
which all of A differs from all of B (such as the queue or the engine) is what is compared, so it is ignored in the
match.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from bloatlab.analysis.points import parameters_of, points, varying
from bloatlab.analysis.readings import Reading
from bloatlab.engines import DEFAULT
from bloatlab.engines.registry import MEASURING_TOOLS
from bloatlab.errors import ParameterError, unknown
from bloatlab.experiments import phrases
from bloatlab.statistics.differences import Correction, Difference, adjust, differ
from bloatlab.statistics.intervals import CONFIDENCE, check_confidence
from bloatlab.store import Store, canonical
from bloatlab.store.metrics import SINGLE
from bloatlab.store.text import readable

if TYPE_CHECKING:
    import polars as pl

Key = tuple[str | None, ...]
Replication = tuple[int, int]
"""Seed, and repetition of the seed."""


@dataclass(frozen=True)
class Suspect:
    """A run that a comparison leaves out, because its engine doubts its own measurement."""

    run_id: str
    engine: str
    seed: int
    reason: str


@dataclass(frozen=True)
class Side:
    """One side of the comparison: its points with their parameters and runs."""

    name: str
    store: Store
    parameters: Mapping[int, Mapping[str, str]]
    runs: pl.DataFrame
    """`run_id`, `point`, `seed`, `repetition`."""
    suspect: Sequence[tuple[Suspect, Mapping[str, str]]]
    """Runs that are left out, with their parameters."""


@dataclass(frozen=True)
class Row:
    """A metric at a point, in A and in B."""

    point: str
    """The parameters in which this point differs from others; empty if there is only one point."""
    scope: str
    entity: str
    metric: str
    unit: str
    difference: Difference
    p_adjusted: float | None
    differs: bool | None
    """Whether the difference is larger than noise; `None`: with one replication, noise is unknown."""
    said: str = ""
    """The point in words, such as `fq_codel at a rate of 10 Mbit/s`."""

    @property
    def name(self) -> str:
        """Whose metric."""
        return f"{self.entity} {self.metric}" if self.scope not in SINGLE else self.metric

    @property
    def apart(self) -> bool:
        """Whether it differs beyond noise or, where noise is unknown, at all."""
        return not self.difference.identical if self.differs is None else self.differs

    @property
    def relative(self) -> float:
        """Size of the difference as a share of the larger mean."""
        larger = max(abs(self.difference.mean_a), abs(self.difference.mean_b))
        return abs(self.difference.difference) / larger if larger else 0.0

    @property
    def weight(self) -> tuple[int, float, float]:
        """Sort key: differences without any noise first, then by the size of the effect."""
        found, relative = self.difference, self.relative
        if found.effect.value is not None:
            return (1, abs(found.effect.value), relative)
        return (0 if not found.difference else 2, relative, relative)


@dataclass(frozen=True)
class Comparison:
    """Result of a comparison, the largest effect first."""

    a: str
    b: str
    compared: Mapping[str, tuple[str, str]]
    """Parameters in which all of A differs from all of B."""
    rows: Sequence[Row]
    matched: int
    alone_a: Sequence[str]
    alone_b: Sequence[str]
    replications: tuple[int, int]
    """Smallest number of replications on each side."""
    paired: bool
    """Whether every point's replications are paired by seed."""
    confidence: float
    correction: Correction
    suspect: Sequence[Suspect] = ()
    """Runs of both sides that are left out."""
    measured: bool = False
    """Whether one of the sides was imported from measurements, which bloatlab cannot replicate."""

    @property
    def judged(self) -> bool:
        """Whether there are replications, from which noise can be estimated."""
        return any(row.differs is not None for row in self.rows)

    @property
    def identical(self) -> bool:
        """Whether every value of A equals the matching value of B."""
        return bool(self.rows) and all(row.difference.identical for row in self.rows)

    def describe(self) -> dict[str, Any]:
        """The comparison in the form of `--json`."""
        head = {
            name: getattr(self, name)
            for name in ("a", "b", "matched", "alone_a", "alone_b", "paired", "confidence", "correction", "identical")
        }
        compared = {name: {"a": one, "b": other} for name, (one, other) in self.compared.items()}
        replications = {"a": self.replications[0], "b": self.replications[1]}
        suspect = [asdict(run) for run in self.suspect]
        metrics = [{**asdict(row), **asdict(row.difference)} for row in self.rows]
        for of in metrics:
            del of["said"]
            if isinstance(of["difference"], dict):
                of["difference"] = of["difference"]["difference"]
        return {**head, "compared": compared, "replications": replications, "suspect": suspect, "metrics": metrics}

    def to_polars(self) -> pl.DataFrame:
        """One row per metric and point.

        `point`, `scope`, `entity`, `metric`, `unit`, `a` and `b` (means), `difference` (b - a), `effect`, `p_adjusted`,
        `differs` (null: with one replication, noise is unknown).
        """
        import polars as pl

        rows = [
            {
                **{name: getattr(row, name) for name in ("point", "scope", "entity", "metric", "unit")},
                "a": row.difference.mean_a,
                "b": row.difference.mean_b,
                "difference": row.difference.difference,
                "effect": row.difference.effect.value,
                "p_adjusted": row.p_adjusted,
                "differs": row.differs,
            }
            for row in self.rows
        ]
        texts = dict.fromkeys(("point", "scope", "entity", "metric", "unit"), pl.String)
        numbers = dict.fromkeys(("a", "b", "difference", "effect", "p_adjusted"), pl.Float64)
        return pl.DataFrame(rows, schema={**texts, **numbers, "differs": pl.Boolean})

    def __repr__(self) -> str:
        apart = sum(row.differs is True for row in self.rows)
        judged = f"{apart} of {len(self.rows)} metrics differ beyond noise" if self.judged else "noise is unknown"
        return f"Comparison of {self.b} with {self.a}: {judged}\n{self.to_polars().head(10)}"

    def _repr_html_(self) -> str:
        return self.to_polars()._repr_html_()


def sides(a: Store, b: Store, names: tuple[str, str] | None = None) -> tuple[Side, Side]:
    """The sides of a comparison of two results directories."""
    one, other = names or (str(a.directory), str(b.directory))
    return _side(one, a), _side(other, b)


def sides_by(store: Store, parameter: str, values: Sequence[str] = ()) -> tuple[Side, Side]:
    """The sides of a comparison of two values of a parameter within one directory.

    Args:
        store: The results.
        parameter: The parameter, or `engine`.
        values: The values of A and B; empty: the only two values that there are, that of the simulator first.

    Raises:
        ParameterError: There is no such parameter, or no run with such a value.
    """
    whole = _side("", store)
    known = {name for of in whole.parameters.values() for name in of}
    if parameter not in known:
        raise unknown("parameter", parameter, known)
    there = list(dict.fromkeys(readable(of[parameter]) for of in whole.parameters.values() if parameter in of))
    values = values or sorted(there, key=lambda value: value != DEFAULT)
    if len(values) != 2 or values[0] == values[1]:
        has = ", ".join(there)
        raise ParameterError(f"--by {parameter}: needs two values, such as queue=fifo,codel (finished runs have {has})")
    for value in values:
        if value not in there:
            doubted = [run.reason for run, of in whole.suspect if _has(of, parameter, value)]
            if doubted:
                raise ParameterError(f"--by {parameter}: all runs with {value} are suspect ({doubted[0]})")
            raise unknown(f"value of {parameter}", value, there)
    one, other = (_only(whole, parameter, value) for value in values)
    return one, other


def _side(name: str, store: Store) -> Side:
    found, suspect = points(store), _suspect(store)
    if found.is_empty():
        doubted = f", only suspect ones ({suspect[0][0].reason})" if suspect else ""
        raise ParameterError(f"{store.directory}: holds no finished run{doubted}")
    parameters = parameters_of(store, found)
    heads = found.unique("point", keep="first", maintain_order=True)
    for point, *values in heads.select("point", *_ORIGIN).iter_rows():
        parameters[point] |= _origin(values)
    return Side(name, store, parameters, found.select("run_id", "point", "seed", "repetition"), suspect)


_ORIGIN = ("experiment", "engine", "engine_version")


def _origin(values: Sequence[str]) -> dict[str, str]:
    """Where runs come from, as JSON like all parameters."""
    return {name: canonical(value) for name, value in zip(_ORIGIN, values, strict=True)}


def _suspect(store: Store) -> Sequence[tuple[Suspect, Mapping[str, str]]]:
    """The suspect runs of a store, with their parameters."""
    runs = store.runs().filter(status="suspect")
    stored = dict(store.points().select("point", "parameters").iter_rows()) if not runs.is_empty() else {}
    found = []
    for row in runs.iter_rows(named=True):
        own = {name: canonical(value) for name, value in json.loads(stored[row["point"]]).items()}
        suspect = Suspect(row["run_id"], row["engine"], row["seed"], row["reason"] or "no reason given")
        found.append((suspect, own | _origin([row[name] for name in _ORIGIN])))
    return found


def _only(side: Side, parameter: str, value: str) -> Side:
    """The points and runs of a side with this value of a parameter."""
    import polars as pl

    kept = [point for point, of in side.parameters.items() if _has(of, parameter, value)]
    return replace(
        side,
        name=value,
        parameters={point: side.parameters[point] for point in kept},
        runs=side.runs.filter(pl.col("point").is_in(kept)),
        suspect=[(run, of) for run, of in side.suspect if _has(of, parameter, value)],
    )


def _has(parameters: Mapping[str, str], name: str, value: str) -> bool:
    return name in parameters and readable(parameters[name]) == value


def match(a: Side, b: Side) -> tuple[dict[int, int], dict[str, tuple[str, str]]]:
    """Matches points: for each point of A its point of B, and the parameters in which all of A differs from all of B.

    Raises:
        ParameterError: Several points of one side match the same point of the other.
    """
    names = sorted({name for side in (a, b) for of in side.parameters.values() for name in of})
    apart = {}
    for name in names:
        ours, theirs = ({of.get(name) for of in side.parameters.values()} for side in (a, b))
        if ours.isdisjoint(theirs):
            apart[name] = (_listed(ours), _listed(theirs))
    shared = [name for name in names if name not in apart]
    keys_a, keys_b = (_keys(side, shared, apart) for side in (a, b))
    return {point: keys_b[key] for key, point in keys_a.items() if key in keys_b}, apart


def _listed(values: set[str | None]) -> str:
    texts = sorted("default" if value is None else readable(value) for value in values)
    return ", ".join(texts[:6]) + (f", ... ({len(texts)} values)" if len(texts) > 6 else "")


def _keys(side: Side, shared: Sequence[str], apart: Mapping[str, object]) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for point, of in side.parameters.items():
        key = tuple(of.get(name) for name in shared)
        if key in found:
            other = side.parameters[found[key]]
            names = [name for name in apart if of.get(name) != other.get(name)]
            why = f"differ only in {', '.join(names)}" if names else "have the same parameters but other scenarios"
            raise ParameterError(
                f"{side.name}: several of its points {why}, so they cannot be matched (choose two values by --by)"
            )
        found[key] = point
    return found


def compare(
    a: Side,
    b: Side,
    readings: Sequence[Reading] = (),
    *,
    confidence: float = CONFIDENCE,
    correction: Correction = "benjamini-hochberg",
    permutation: bool = False,
) -> Comparison:
    """Compares B with A, metric by metric.

    Args:
        a: The reference.
        b: The side that is compared with it.
        readings: Metrics to compare; empty: all that both sides have.
        confidence: Confidence level of the intervals. A metric differs if its adjusted p is at most 1 - confidence.
        correction: Correction of p-values for multiple comparisons.
        permutation: Run the permutation tests too.

    Raises:
        ParameterError: Points cannot be matched, or A and B have no point or no metric in common.
    """
    check_confidence(confidence)
    partners, apart = match(a, b)
    if not partners:
        has = ", ".join(f"{side.name} has {_labels(side, list(side.parameters)[:1])[0]}" for side in (a, b))
        raise ParameterError(f"no point of {a.name} matches a point of {b.name}: {has}")
    within = [name for name in varying({point: a.parameters[point] for point in partners}) if name not in apart]
    values_a, values_b = _values(a, list(partners)), _values(b, list(partners.values()))
    rows, seeds = [], []
    seeds_a, seeds_b = _seeds(a), _seeds(b)
    for point, partner in partners.items():
        ours, theirs = seeds_a[point], seeds_b[partner]
        seeds.append((ours, theirs))
        label, said = _label(a, point, within), _said(a, point, within)
        for key, by_seed in values_a.get(point, {}).items():
            others = values_b.get(partner, {}).get(key)
            if others is None or (readings and not any(of.matches(*key[:3]) for of in readings)):
                continue
            paired = by_seed.keys() == others.keys()
            order = list(by_seed)
            one = list(by_seed.values())
            other = [others[seed] for seed in order] if paired else list(others.values())
            found = differ(one, other, paired=paired, confidence=confidence, permutation=permutation)
            rows.append(Row(label, *key, found, None, None, said))
    if not rows:
        raise ParameterError("compare: no run of both sides has such a metric")
    matched_b = set(partners.values())
    return Comparison(
        a.name, b.name, apart, _judged(rows, confidence, correction), len(partners),
        _labels(a, [point for point in a.parameters if point not in partners]),
        _labels(b, [point for point in b.parameters if point not in matched_b]),
        (min(len(ours) for ours, _ in seeds), min(len(theirs) for _, theirs in seeds)),
        all(ours == theirs and len(ours) > 1 for ours, theirs in seeds), confidence, correction,
        list(dict.fromkeys(run for run, _ in (*a.suspect, *b.suspect))), _is_measured(a) or _is_measured(b),
    )  # fmt: skip


def _is_measured(side: Side) -> bool:
    return any(json.loads(of["engine"]) in MEASURING_TOOLS for of in side.parameters.values())


def _judged(rows: Sequence[Row], confidence: float, correction: Correction) -> list[Row]:
    """The rows with p adjusted over all of them, the largest effect first."""
    asked = [index for index, row in enumerate(rows) if row.difference.p is not None]
    adjusted = adjust([p for index in asked if (p := rows[index].difference.p) is not None], correction)
    found = list(rows)
    for index, p in zip(asked, adjusted, strict=True):
        found[index] = replace(rows[index], p_adjusted=p, differs=p <= 1 - confidence)
    return sorted(
        found, key=lambda row: (*(-part for part in row.weight), row.point, row.scope, row.entity, row.metric)
    )


def _labels(side: Side, some: Sequence[int]) -> list[str]:
    """Labels of some points of a side: the parameters in which they differ."""
    names = varying(side.parameters)
    return [_label(side, point, names) for point in some]


def _label(side: Side, point: int, names: Sequence[str]) -> str:
    of = side.parameters[point]
    return ", ".join(f"{name}={readable(of[name])}" for name in names if name in of) or "the only point"


def _said(side: Side, point: int, names: Sequence[str]) -> str:
    """A point in words."""
    of, words = side.parameters[point], phrases.short(names)
    return phrases.together({words[name]: json.loads(of[name]) for name in names if name in of}) or "the only set-up"


def _seeds(side: Side) -> dict[int, set[Replication]]:
    """By point."""
    found: dict[int, set[Replication]] = {}
    for point, seed, repetition in side.runs.select("point", "seed", "repetition").iter_rows():
        found.setdefault(point, set()).add((seed, repetition))
    return found


def _values(side: Side, kept: Sequence[int]) -> dict[int, dict[tuple[str, str, str, str], dict[Replication, float]]]:
    """Values by point, metric, seed and repetition."""
    import polars as pl

    runs = side.runs.filter(pl.col("point").is_in(list(kept)))
    rows = side.store.metrics().join(runs, on="run_id", how="inner").filter(pl.col("value").is_finite())
    found: dict[int, dict[tuple[str, str, str, str], dict[Replication, float]]] = {}
    order = ("point", "scope", "entity", "metric", "seed", "repetition")
    for point, *key, unit, value in rows.sort(order).select(*order, "unit", "value").iter_rows():
        scope, entity, metric, seed, repetition = key
        found.setdefault(point, {}).setdefault((scope, entity, metric, unit), {})[seed, repetition] = value
    return found
