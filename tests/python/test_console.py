"""Numbers in the terminal."""

import pytest

from bloatlab.cli.console import number


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-0.0, "0"),
        (-1e-9, "-1.00e-09"),
        (-0.25, "-0.2500"),
        (2.0, "2"),
        (12345.6, "12,346"),
        (None, "-"),
        (float("nan"), "-"),
    ],
)
def test_numbers_have_four_digits_and_no_negative_zero(value, shown):
    assert number(value) == shown
