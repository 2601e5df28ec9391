"""Compares two samples: how far apart they are, and whether the difference is more than noise.

Samples are paired (replications with the same seeds) or independent. The means are compared by Student's test for
pairs, and by Welch's test otherwise. A permutation test, which assumes no distribution, is optional. A result that
does not exist is `None`, never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bloatlab.errors import ParameterError
from bloatlab.statistics.intervals import CONFIDENCE, Interval, check_confidence, checked, deviation, mean, t_quantile

Correction = Literal["benjamini-hochberg", "holm"]
PERMUTATIONS = 9999
"""Largest number of rearrangements that are all tried; beyond it a random choice is taken."""
STRAIGHT = 1000.0
"""Above this t, the noncentral t distribution equals a scaled chi distribution to five digits."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect size: a difference in units of the noise."""

    value: float | None
    """Hedges' g; `None` with one value, or without noise."""
    interval: Interval | None
    paired: bool
    """Whether the noise is the standard deviation of the paired differences, or that of the pooled runs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between B and A."""

    n_a: int
    n_b: int
    mean_a: float
    mean_b: float
    difference: float
    """B - A, in the unit of the values."""
    interval: Interval | None
    """Confidence interval of the difference; `None` if a side has one value."""
    p: float | None
    """p-value of Student's test for pairs, or of Welch's test; `None` if a side has one value."""
    permutation_p: float | None
    effect: Effect
    cliffs_delta: float
    paired: bool
    identical: bool
    """Whether every value of A equals its partner in B; for independent samples, whether all values are equal."""


def differ(
    a: Sequence[float],
    b: Sequence[float],
    *,
    paired: bool = False,
    confidence: float = CONFIDENCE,
    permutation: bool = False,
    seed: int = 42,
) -> Difference:
    """Compares B with A.

    Args:
        a: Finite numbers, at least one.
        b: Finite numbers, at least one; paired samples have the same length and order.
        paired: Whether value `i` of both sides comes from the same random numbers.
        confidence: Confidence level of the intervals.
        permutation: Run the permutation test too.
        seed: Seed of the permutation test, if it takes a random choice of rearrangements.

    Raises:
        ParameterError: A side has no value or a value that is not finite, paired samples have unequal lengths, or the
            confidence is not between 0 and 1.
    """
    check_confidence(confidence)
    one, other = checked(a), checked(b)
    if paired and len(a) != len(b):
        raise ParameterError(f"pairs: {len(a)} values on one side, {len(b)} on the other")
    gaps = [float(right) - float(left) for left, right in zip(a, b, strict=True)] if paired else []
    identical = not any(gaps) if paired else one[0] == other[-1] and one[-1] == other[0]
    difference = mean(sorted(gaps)) if paired else mean(other) - mean(one)
    error, freedom = _error_of_pairs(gaps) if paired else _error(one, other)
    interval, p = None, None
    if error is not None:
        half = t_quantile(freedom, confidence) * error if error else 0.0
        interval = Interval(difference - half, difference + half, confidence)
        p = _two_sided(difference / error, freedom) if error else float(difference == 0)
    return Difference(
        len(one), len(other), mean(one), mean(other), difference, interval, p,
        permutation_test(gaps if paired else (one, other), seed=seed) if permutation and p is not None else None,
        _effect(gaps, None, confidence) if paired else _effect(one, other, confidence),
        cliffs_delta(one, other), paired, identical,
    )  # fmt: skip


def _error(a: Sequence[float], b: Sequence[float]) -> tuple[float | None, float]:
    """Standard error of the difference of means, and Welch's degrees of freedom (Welch 1947)."""
    sd_a, sd_b = deviation(a), deviation(b)
    if sd_a is None or sd_b is None:
        return None, 0.0
    var_a, var_b = sd_a * sd_a / len(a), sd_b * sd_b / len(b)
    total = var_a + var_b
    if total == 0:
        return 0.0, float(len(a) + len(b) - 2)
    # By shares, because squares of tiny variances underflow.
    share_a, share_b = var_a / total, var_b / total
    return math.sqrt(total), 1 / (share_a**2 / (len(a) - 1) + share_b**2 / (len(b) - 1))


def _error_of_pairs(gaps: Sequence[float]) -> tuple[float | None, float]:
    spread = deviation(gaps)
    return (None, 0.0) if spread is None else (spread / math.sqrt(len(gaps)), float(len(gaps) - 1))


def _two_sided(t: float, freedom: float) -> float:
    from scipy.special import stdtr

    return float(min(1.0, 2 * stdtr(freedom, -abs(t))))


def permutation_test(samples: Sequence[float] | tuple[Sequence[float], Sequence[float]], *, seed: int = 42) -> float:
    """Two-sided p of the permutation test of the mean (Fisher 1935, Pitman 1937).

    Args:
        samples: Paired differences, whose signs are permuted; or two independent samples, whose values are permuted.
        seed: Seed of the random choice if there are more than 9999 rearrangements.
    """
    import numpy as np
    from scipy.stats import permutation_test as permute

    rng = np.random.default_rng(seed)
    if isinstance(samples, tuple):
        data = tuple(np.array(sample, dtype=float) for sample in samples)

        def apart(left: object, right: object, axis: int = -1) -> object:
            return np.mean(right, axis=axis) - np.mean(left, axis=axis)  # type: ignore[call-overload]

        found = permute(data, apart, n_resamples=PERMUTATIONS, vectorized=True, rng=rng)
    else:
        gaps = (np.sort(np.array(samples, dtype=float)),)
        found = permute(gaps, np.mean, permutation_type="samples", n_resamples=PERMUTATIONS, vectorized=True, rng=rng)
    return float(min(1.0, found.pvalue))


def hedges_correction(freedom: float) -> float:
    """Factor that corrects the bias of Cohen's d for few values (Hedges 1981).

    J = G(m/2) / (sqrt(m/2) G((m-1)/2)), for example 0.9027 for m = 8.
    """
    if freedom <= 1:
        return 0.0
    return math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom - 1) / 2)) / math.sqrt(freedom / 2)


def cohens_d(a: Sequence[float], b: Sequence[float]) -> float | None:
    """(mean B - mean A) / pooled standard deviation (Cohen 1988); `None` with one value or no noise."""
    sd_a, sd_b = deviation(a), deviation(b)
    if sd_a is None or sd_b is None:
        return None
    freedom = len(a) + len(b) - 2
    pooled = math.sqrt(((len(a) - 1) * sd_a**2 + (len(b) - 1) * sd_b**2) / freedom)
    return (mean(b) - mean(a)) / pooled if pooled else None


def _effect(a: Sequence[float], b: Sequence[float] | None, confidence: float) -> Effect:
    """Hedges' g of two samples, or of the paired differences in `a` if `b` is `None`."""
    if b is None:
        spread = deviation(a)
        d = mean(sorted(a)) / spread if spread else None
        scale, freedom = math.sqrt(len(a)), len(a) - 1
    else:
        d = cohens_d(a, b)
        scale, freedom = math.sqrt(len(a) * len(b) / (len(a) + len(b))), len(a) + len(b) - 2
    if d is None or freedom < 2:
        # With one degree of freedom Hedges' correction is 0.
        return Effect(None, None, b is None)
    correction = hedges_correction(freedom)
    low, high = (correction * end / scale for end in _noncentral(d * scale, freedom, confidence))
    return Effect(correction * d, Interval(low, high, confidence), b is None)


def _noncentral(t: float, freedom: int, confidence: float) -> tuple[float, float]:
    """Confidence interval of the noncentrality of this t (Steiger and Fouladi 1997)."""
    from scipy.special import chdtri, nctdtrinc

    if t < 0:
        low, high = _noncentral(-t, freedom, confidence)
        return -high, -low
    tail = (1 - confidence) / 2
    if t > STRAIGHT:
        # `chdtri` takes the upper tail.
        scales = [math.sqrt(float(chdtri(freedom, upper)) / freedom) for upper in (1 - tail, tail)]
        return t * scales[0], t * scales[1]
    return float(nctdtrinc(freedom, 1 - tail, t)), float(nctdtrinc(freedom, tail, t))


def cliffs_delta(a: Sequence[float], b: Sequence[float]) -> float:
    """Share of the pairs (x of A, y of B) with y > x minus the share with y < x; -1 to 1 (Cliff 1993).

    It assumes no distribution.
    """
    more = sum((right > left) - (right < left) for left in a for right in b)
    return more / (len(a) * len(b))


def adjust(p: Sequence[float], correction: Correction = "benjamini-hochberg") -> list[float]:
    """Corrects p-values for multiple comparisons; the order stays.

    Benjamini-Hochberg (1995) bounds the share of false positives among the metrics that are called different. It also
    holds for metrics that are positively correlated (Benjamini and Yekutieli 2001). Holm (1979) bounds the
    probability of any false positive, whatever the correlation, and finds fewer differences.
    """
    count = len(p)
    order = sorted(range(count), key=lambda index: p[index])
    found = [0.0] * count
    if correction == "holm":
        most = 0.0
        for place, index in enumerate(order):
            most = max(most, min(1.0, (count - place) * p[index]))
            found[index] = most
        return found
    least = 1.0
    for place in range(count - 1, -1, -1):
        index = order[place]
        least = min(least, p[index] * count / (place + 1))
        found[index] = least
    return found
