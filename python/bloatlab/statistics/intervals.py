"""Means of replications and their confidence intervals: Student's t and the bootstrap.

A result that does not exist is `None`, never NaN: one value has neither a standard deviation nor an interval. The
interval of equal values has the width 0.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab import _core
from bloatlab.errors import ParameterError

CONFIDENCE = 0.95
RESAMPLES = 9999
"""Resamples of a bootstrap, after Efron and Tibshirani 1993 chapter 14: BCa needs thousands."""
DRAWS = 20_000_000
"""Values that a bootstrap of many samples draws at once; they take 160 MB."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, in the unit of the values."""

    low: float
    high: float
    confidence: float = CONFIDENCE

    @property
    def half_width(self) -> float:
        """Half-width of the interval; for an asymmetric interval, half its length."""
        return (self.high - self.low) / 2

    def holds(self, value: float) -> bool:
        """Whether the interval contains the value; its ends belong to it."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of the replications of one number."""

    n: int
    mean: float
    sd: float | None
    """Sample standard deviation (n - 1); `None` with one value."""
    t: Interval | None
    """Student's t interval of the mean; `None` with one value."""
    bootstrap: Interval | None = None
    """BCa bootstrap interval of the mean; `None` with one value, or if it was not requested."""


def summarise(
    values: Iterable[float],
    *,
    confidence: float = CONFIDENCE,
    bootstrap: bool = False,
    seed: int = 42,
    resamples: int = RESAMPLES,
) -> Summary:
    """Mean, standard deviation and intervals of replications.

    Args:
        values: One finite number per replication; at least one.
        confidence: Confidence level of the intervals, between 0 and 1.
        bootstrap: Compute the bootstrap interval too.
        seed: Seed of the bootstrap.
        resamples: Number of resamples of the bootstrap.

    Raises:
        ParameterError: There is no value, one is not finite, or the confidence is not between 0 and 1.
    """
    found = checked(values)
    return Summary(
        len(found),
        mean(found),
        deviation(found),
        t_interval(found, confidence),
        bootstrap_interval(found, confidence, seed=seed, resamples=resamples) if bootstrap else None,
    )


def checked(values: Iterable[float]) -> list[float]:
    """The values in ascending order, so that results do not depend on their order.

    Raises:
        ParameterError: There is no value, or one is not finite.
    """
    found = sorted(float(value) for value in values)
    if not found:
        raise ParameterError("values: at least one is needed")
    if not all(math.isfinite(value) for value in found):
        raise ParameterError("values: must be finite")
    return found


def check_confidence(confidence: float) -> float:
    """Returns the confidence; raises `ParameterError` if it is not between 0 and 1."""
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence: must be between 0 and 1, such as 0.95, not {confidence:g}")
    return confidence


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean, rounded once, and never outside the range of the values."""
    return min(max(math.fsum(values) / len(values), min(values)), max(values))


def deviation(values: Sequence[float]) -> float | None:
    """Sample standard deviation (n - 1); `None` with one value, exactly 0 for equal values."""
    if len(values) < 2:
        return None
    if min(values) == max(values):
        return 0.0
    middle = mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


def t_quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """The two-sided quantile of Student's t (Student 1908): 2.776 for 4 degrees of freedom at 95 %.

    Args:
        freedom: Degrees of freedom, above 0; not always an integer in Welch's test.
        confidence: Between 0 and 1.
    """
    return _core.t_quantile(freedom, (1 + check_confidence(confidence)) / 2)


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Student's t interval of the mean: mean +- t sd / sqrt(n). Exact for normal values; `None` with one value."""
    check_confidence(confidence)
    spread = deviation(values)
    if spread is None:
        return None
    middle = mean(values)
    half = t_quantile(len(values) - 1, confidence) * spread / math.sqrt(len(values)) if spread else 0.0
    return Interval(middle - half, middle + half, confidence)


def bootstrap_interval(
    values: Sequence[float], confidence: float = CONFIDENCE, *, seed: int = 42, resamples: int = RESAMPLES
) -> Interval | None:
    """The bias-corrected and accelerated (BCa) bootstrap interval of the mean; `None` with one value.

    It assumes no distribution. With fewer than about ten values it is too narrow, and Student's t interval is better.
    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 14.3.

    Args:
        values: At least one; the order does not matter.
        confidence: Between 0 and 1.
        seed: Seed of the resampling; the same values and seed give the same interval.
        resamples: Number of resamples.
    """
    low, high = bootstrap_intervals([values], confidence, seed=seed, resamples=resamples)
    if low[0] is None or high[0] is None:
        return None
    return Interval(low[0], high[0], confidence)


def bootstrap_intervals(
    samples: Sequence[Sequence[float]], confidence: float = CONFIDENCE, *, seed: int = 42, resamples: int = RESAMPLES
) -> tuple[list[float | None], list[float | None]]:
    """Lower and upper ends of the BCa intervals of many samples of equal size.

    All samples use the same random numbers, so the interval of a sample does not depend on the others.
    """
    check_confidence(confidence)
    import numpy as np

    size = len(samples[0]) if samples else 0
    if size < 2:
        nothing: list[float | None] = [None] * len(samples)
        return nothing, list(nothing)
    matrix = np.sort(np.array(samples, dtype=float), axis=1)
    # Samples of equal values need no resampling: the interval is the value.
    low, high = matrix[:, 0].copy(), matrix[:, -1].copy()
    spread = np.flatnonzero(low != high)
    at_once = max(1, DRAWS // (resamples * size))
    for start in range(0, len(spread), at_once):
        some = spread[start : start + at_once]
        low[some], high[some] = _bca(matrix[some], confidence, np.random.default_rng(seed), resamples)
    return low.tolist(), high.tolist()


def _bca(matrix: Any, confidence: float, rng: Any, resamples: int) -> tuple[Any, Any]:
    import numpy as np
    from scipy.stats import bootstrap

    with warnings.catch_warnings():
        # Where BCa gives NaN and a warning, the percentile interval is taken.
        warnings.simplefilter("ignore")
        found = bootstrap(
            (matrix,), np.mean, axis=-1, confidence_level=confidence, n_resamples=resamples, method="BCa", rng=rng
        )
    low, high = (np.asarray(end) for end in found.confidence_interval)
    tail = (1 - confidence) / 2
    least, most = np.quantile(found.bootstrap_distribution, [tail, 1 - tail], axis=-1)
    clear = np.isfinite(low) & np.isfinite(high)
    return np.where(clear, low, least), np.where(clear, high, most)
