"""Numbers in sentences and tables."""

import pytest

from bloatlab.experiments.phrases import interval, with_unit


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (9.54512, 0.00004, "9.545 ± <0.001"),
        (54.321, 98.2, "54 ± 98"),
        (31.1234, 2.512, "31.1 ± 2.5"),
        (1234.56, 0.3, "1,235 ± <1"),
        (2617.2, 1139.4, "2,617 ± 1,139"),
        (0.02345, 0.0123, "0.023 ± 0.012"),
        (-0.001, 0.25, "0.00 ± 0.25"),
        (0.0, 0.0, "0"),
        (12.5, 0.0, "12.50"),
        (12.5, None, "12.50"),
        (3e-7, 1e-7, "3.000e-07 ± 1.0e-07"),
        (5.0, float("inf"), "5 ± –"),
    ],
)
def test_the_uncertainty_gives_the_digits(mean, half, text):
    assert interval(mean, half) == text


def test_a_delay_below_one_microsecond_has_no_digits():
    assert with_unit(0.00003955, "ms") == "<0.001 ms"
    assert with_unit(0.0012, "ms") == "0.00120 ms"
    assert with_unit(0.0, "ms") == "0 ms"
    assert with_unit(0.00004, "") == "0.0000400"
