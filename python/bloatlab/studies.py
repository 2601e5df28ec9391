"""What the commands `compare` and `export --summary` do, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.analysis import aggregate
from bloatlab.analysis import compare as comparing
from bloatlab.analysis.readings import reading
from bloatlab.errors import ParameterError
from bloatlab.experiments import CATALOGUE
from bloatlab.statistics.intervals import CONFIDENCE
from bloatlab.store import Store, canonical
from bloatlab.store.text import readable

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.analysis.compare import Comparison
    from bloatlab.statistics.differences import Correction

Results = Store | Path | str
"""A results directory: opened, its path or its URL."""


def summary(
    results: Results,
    scope: str | None = None,
    metric: str | None = None,
    *,
    confidence: float = CONFIDENCE,
    bootstrap: bool = False,
) -> pl.DataFrame:
    """One row per point and metric: the mean over the replications and its confidence interval.

    Args:
        results: A results directory.
        scope: `flow`, `link`, `network` or `probe`; absent: all.
        metric: Name of a metric; absent: all.
        confidence: Confidence level of the intervals.
        bootstrap: Add the bootstrap interval, which takes longer.

    Returns:
        `point`, `experiment`, `engine`, `engine_version`, the parameters in which points differ, `scope`, `entity`,
        `metric`, `unit`, `n`, `mean`, `sd`, `low` and `high` (Student's t interval).

    Raises:
        ParameterError: The confidence is not between 0 and 1.
        StoreError: There is no store.
    """
    return aggregate.summary(_opened(results), scope, metric, confidence=confidence, bootstrap=bootstrap)


def compare(
    a: Results,
    b: Results | None = None,
    *,
    by: str | Mapping[str, Sequence[Any]] | None = None,
    metrics: Sequence[str] = (),
    confidence: float = CONFIDENCE,
    correction: Correction = "benjamini-hochberg",
) -> Comparison:
    """Which metrics of two sets of runs differ beyond noise, with the largest effect first.

    Args:
        a: A results directory.
        b: The directory that is compared with it; absent: `by` names the two sides within `a`.
        by: A parameter with two values (or `"engine"`), or a parameter and its two values:
            `{"queue": ["fifo", "codel"]}`.
        metrics: Metrics to compare, such as `"link.mean_sojourn"`; empty: all that both sides have.
        confidence: Confidence level of the intervals.
        correction: Correction of p-values for multiple comparisons.

    Returns:
        The comparison. `rows` has the metrics, `to_polars()` gives them as a frame.

    Raises:
        ParameterError: Not exactly one of `b` and `by` is given, there is no such metric or value, or points cannot be
            matched.
        StoreError: There is no store.
    """
    if (b is None) == (by is None):
        raise ParameterError("compare: give two results directories, or one and by={'NAME': [A, B]}")
    store = _opened(a)
    if b is not None:
        one, other = comparing.sides(store, _opened(b))
    else:
        name, values = (by, ()) if isinstance(by, str) else _only(by or {})
        one, other = comparing.sides_by(store, name, [readable(canonical(value)) for value in values])
    measures = {
        metric: unit
        for name in set(store.runs()["experiment"].to_list()) & set(CATALOGUE)
        for metric, unit in CATALOGUE[name].measures.items()
    }
    readings = [reading(text, measures=measures) for text in metrics]
    return comparing.compare(one, other, readings, confidence=confidence, correction=correction)


def _opened(results: Results) -> Store:
    return results if isinstance(results, Store) else Store(results)


def _only(by: Mapping[str, Sequence[Any]]) -> tuple[str, Sequence[Any]]:
    if len(by) != 1:
        raise ParameterError(f"compare: by needs one parameter, not {len(by)}")
    return next(iter(by.items()))
