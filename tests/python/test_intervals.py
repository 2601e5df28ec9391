"""Intervals, differences and corrections compared with values computed by hand and with their invariants."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from bloatlab.errors import ParameterError
from bloatlab.statistics.differences import adjust, cliffs_delta, cohens_d, differ, hedges_correction
from bloatlab.statistics.intervals import (
    bootstrap_interval,
    bootstrap_intervals,
    mean,
    summarise,
    t_interval,
    t_quantile,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12)


@pytest.mark.parametrize(
    ("freedom", "confidence", "quantile"),
    # Two-sided quantiles as every table of Student's t prints them.
    [(1, 0.95, 12.706), (4, 0.95, 2.776), (9, 0.95, 2.262), (30, 0.95, 2.042), (4, 0.99, 4.604), (9, 0.90, 1.833)],
)
def test_quantiles_of_t(freedom: int, confidence: float, quantile: float) -> None:
    assert t_quantile(freedom, confidence) == pytest.approx(quantile, abs=5e-4)


@given(st.floats(0.5, 1e6), st.floats(0.2, 0.99999))
def test_quantiles_of_t_are_those_of_scipy(freedom: float, confidence: float) -> None:
    expected = float(stdtrit(freedom, (1 + confidence) / 2))
    assert t_quantile(freedom, confidence) == pytest.approx(expected, rel=1e-8)


def test_the_interval_of_a_textbook_sample() -> None:
    # By hand: 1..5 has mean 3, sd sqrt(2.5), so half-width 2.7764 * 1.5811 / sqrt(5) = 1.9632.
    found = summarise([5, 3, 1, 2, 4])
    assert (found.n, found.mean, found.sd) == (5, 3.0, pytest.approx(math.sqrt(2.5)))
    assert found.t is not None
    assert (found.t.low, found.t.high) == (pytest.approx(1.03676, abs=1e-5), pytest.approx(4.96324, abs=1e-5))
    assert found.t.half_width == pytest.approx(1.96324, abs=1e-5)
    assert found.bootstrap is None


@pytest.mark.parametrize("value", [0.0, 0.1, -3.3, 1e300])
def test_one_value_and_equal_values(value: float) -> None:
    alone = summarise([value], bootstrap=True)
    assert (alone.mean, alone.sd, alone.t, alone.bootstrap) == (value, None, None, None)
    equal = summarise([value] * 7, bootstrap=True)
    assert (equal.mean, equal.sd) == (value, 0.0)
    for interval in (equal.t, equal.bootstrap):
        assert interval is not None
        assert interval.low == interval.high == value
    json.dumps([asdict(alone), asdict(equal)], allow_nan=False)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_no_value_or_none_that_counts(values: list[float]) -> None:
    with pytest.raises(ParameterError, match=r"^values:"):
        summarise(values)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, -1.0])
def test_a_confidence_is_between_0_and_1(confidence: float) -> None:
    with pytest.raises(ParameterError, match=r"^confidence:"):
        summarise([1, 2], confidence=confidence)


@settings(deadline=None)
@given(VALUES, st.randoms())
def test_properties_of_the_t_interval(values: list[float], random: object) -> None:
    found = summarise(values)
    assert found.t is not None
    assert found.t.holds(found.mean)
    assert min(values) <= found.mean <= max(values)
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert summarise(shuffled) == found
    wider = t_interval(values, 0.99)
    assert wider is not None
    assert wider.half_width >= found.t.half_width
    # The same values four times over: the same spread, four times the evidence.
    more = summarise(values * 4)
    assert more.t is not None
    assert more.t.half_width <= found.t.half_width


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=8).filter(lambda values: len(set(values)) > 1), st.randoms())
def test_properties_of_the_bootstrap(values: list[int], random: object) -> None:
    found = bootstrap_interval(values, resamples=199)
    assert found is not None
    assert min(values) <= found.low <= found.high <= max(values)
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert bootstrap_interval(shuffled, resamples=199) == found
    # Beside others it is what it is alone.
    low, high = bootstrap_intervals([values[::-1], [7.0] * len(values)], resamples=199)
    assert (low[0], high[0], low[1], high[1]) == (found.low, found.high, 7.0, 7.0)


def test_the_bootstrap_covers_the_mean_about_as_often_as_it_says() -> None:
    import numpy as np

    samples = np.random.default_rng(1).normal(10.0, 3.0, (600, 30))
    low, high = bootstrap_intervals(samples.tolist(), 0.95, resamples=999)
    covered = (
        sum(left <= 10.0 <= right for left, right in zip(low, high, strict=True) if left is not None and right) / 600
    )
    # BCa of 30 values covers a little less than it says; the binomial error of 600 is 0.9 %.
    assert 0.915 <= covered <= 0.975
    t = [t_interval(row, 0.95) for row in samples.tolist()]
    assert 0.93 <= sum(of is not None and of.holds(10.0) for of in t) / 600 <= 0.97


def test_the_acceleration_follows_the_skew() -> None:
    skewed = bootstrap_interval([1, 1, 2, 2, 3, 3, 4, 20])
    assert skewed is not None
    assert skewed.high - mean([1, 1, 2, 2, 3, 3, 4, 20]) > mean([1, 1, 2, 2, 3, 3, 4, 20]) - skewed.low


def test_welch_and_effects_of_two_samples() -> None:
    a, b = [1, 2, 3, 4, 5], [3, 4, 5, 6, 8]
    found = differ(a, b, permutation=True)
    # By hand: variances 2.5 and 3.7, standard error sqrt(6.2 / 5) = 1.11355, df = 1.24^2 / (0.25/4 + 0.5476/4) = 7.7111.
    assert found.difference == pytest.approx(2.2)
    assert found.p == pytest.approx(0.084956, abs=1e-5)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(-0.384698, abs=1e-5)
    # Pooled sd sqrt(3.1), d = 2.2 / 1.76068 = 1.24952, J(8) = 0.90270.
    assert cohens_d(a, b) == pytest.approx(1.249516, abs=1e-5)
    assert found.effect.value == pytest.approx(1.127942, abs=1e-5)
    # Of the 25 pairs 19 have b above a, 3 below, 3 equal.
    assert found.cliffs_delta == pytest.approx(16 / 25)
    # 32 of the 252 ways to divide the ten values are at least as far apart.
    assert found.permutation_p == pytest.approx(32 / 252)


def test_pairs_see_what_independent_samples_hide() -> None:
    a, b = [10, 20, 30, 40, 50], [11, 22, 31, 42, 51]
    paired, apart = differ(a, b, paired=True, permutation=True), differ(a, b)
    # Differences 1 2 1 2 1: mean 1.4, sd 0.5477, t = 5.715 with 4 degrees of freedom.
    assert paired.p == pytest.approx(0.00464, abs=1e-4)
    assert paired.effect.value == pytest.approx(1.4 / 0.547723 * hedges_correction(4), abs=1e-4)
    # All signs alike: 2 of the 32 assignments.
    assert paired.permutation_p == pytest.approx(2 / 32)
    assert apart.p is not None
    assert apart.p > 0.8


def test_hedges_correction() -> None:
    # Hedges 1981 table: c(m) for m = 2, 8, 50.
    assert [hedges_correction(m) for m in (2, 8, 50)] == pytest.approx([0.5642, 0.9027, 0.9849], abs=1e-4)


@pytest.mark.parametrize(
    ("a", "b", "identical", "p", "delta"),
    [
        ([1.0], [2.0], False, None, 1.0),
        ([1.0], [1.0], True, None, 0.0),
        ([1.0, 1.0], [1.0, 1.0], True, 1.0, 0.0),
        ([1.0, 1.0], [2.0, 2.0], False, 0.0, 1.0),
        ([1.0], [2.0, 3.0], False, None, 1.0),
    ],
)
def test_differences_without_noise(
    a: list[float], b: list[float], identical: bool, p: float | None, delta: float
) -> None:
    for paired in [False, True] if len(a) == len(b) else [False]:
        found = differ(a, b, paired=paired, permutation=True)
        assert (found.identical, found.p, found.cliffs_delta, found.effect.value) == (identical, p, delta, None)
        json.dumps(asdict(found), allow_nan=False)


@settings(deadline=None)
@given(VALUES, VALUES)
def test_properties_of_differences(a: list[float], b: list[float]) -> None:
    one, other = differ(a, b), differ(b, a)
    assert one.difference == -other.difference
    assert one.p == other.p
    assert one.cliffs_delta == -other.cliffs_delta
    assert -1 <= one.cliffs_delta <= 1
    assert one.interval is not None
    assert one.interval.holds(one.difference)
    assert one.p is not None
    # The interval of the difference leaves out 0 just where p is below its level.
    if one.interval.low > 0 or one.interval.high < 0:
        assert one.p <= 0.05 + 1e-9
    else:
        assert one.p >= 0.05 - 1e-9
    json.dumps(asdict(one), allow_nan=False)


@settings(deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=3, max_size=6))
def test_the_interval_of_an_effect_holds_it_and_agrees_with_the_test(a: list[float]) -> None:
    b = [value + 1 + index % 3 for index, value in enumerate(a)]
    found = differ(a, b, paired=True)
    assert found.effect.value is not None
    assert found.effect.interval is not None
    assert found.p is not None
    assert found.effect.interval.holds(found.effect.value)
    if abs(found.p - 0.05) > 1e-3:
        assert (found.effect.interval.low > 0) == (found.p < 0.05)


def test_an_effect_far_beyond_noise_has_a_finite_interval() -> None:
    small, large = (differ([0.0, 1e-9, 2e-9], [size, size + 1e-9, size + 3e-9]).effect for size in (1e-6, 1.0))
    for effect in (small, large):
        assert effect.interval is not None
        assert effect.value is not None
        assert 0 < effect.interval.low < effect.value < effect.interval.high < math.inf
        # The two ways to compute it meet: with four degrees of freedom the ends are these multiples of the effect.
        ends = (effect.interval.low / effect.value, effect.interval.high / effect.value)
        assert ends == pytest.approx((0.348, 1.669), rel=0.01)


def test_corrections() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert adjust(p) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert adjust(p, "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_properties_of_corrections(p: list[float]) -> None:
    hochberg, holm = adjust(p), adjust(p, "holm")
    for raw, less, more in zip(p, hochberg, holm, strict=True):
        assert raw <= less * (1 + 1e-12)
        assert less <= more * (1 + 1e-12) <= 1 + 1e-9


def test_cliffs_delta_knows_no_unit() -> None:
    assert cliffs_delta([1, 2, 3], [4, 5, 6]) == 1.0
    assert cliffs_delta([1, 2, 3], [1, 2, 3]) == 0.0


def test_pairs_of_unequal_number() -> None:
    with pytest.raises(ParameterError, match="pairs: 2 values on one side, 1 on the other"):
        differ([1, 2], [1], paired=True)
