from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bloatlab import units
from bloatlab.errors import ParameterError


@pytest.mark.parametrize("text", ["16Mbit/s", "16Mbps", "16Mbit", "16 Mbit/s", "16000kbit", "2MB/s"])
def test_rates_are_read_as_users_write_them(text: str) -> None:
    assert units.rate(text) == 16e6


@pytest.mark.parametrize(("text", "seconds"), [("15ms", 0.015), ("7.5 ms", 0.0075), ("2min", 120.0), ("0s", 0.0)])
def test_durations(text: str, seconds: float) -> None:
    assert units.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("given_limit", "read"),
    [("80p", "80p"), (80, "80p"), ("80", "80p"), ("80packets", "80p"), ("10kB", "10000B"), ("20buffers", "20buffers")],
)
def test_limits_and_bare_numbers_of_packets(given_limit: object, read: str) -> None:
    assert units.limit(given_limit) == read


@pytest.mark.parametrize(
    ("parse", "text", "why"),
    [
        (units.rate, "15", "no unit"),
        (units.rate, 15, "with its unit"),
        (units.rate, "15furlong", "unknown unit `furlong`"),
        (units.duration, "-1ms", "must not be negative"),
        (units.duration, "fast", "no number"),
        (units.duration, "1.2.3s", "no number"),
        (units.size, "4M", "unknown unit `M`"),
        (units.limit, "0p", "at least 1"),
        (units.limit, True, "is not a queue limit"),
        (units.limit, "12parsecs", "unknown unit"),
    ],
)
def test_refused_in_one_line_that_says_why(parse: object, text: object, why: str) -> None:
    with pytest.raises(ParameterError) as error:
        parse(text)  # type: ignore[operator]
    assert why in str(error.value)
    assert "\n" not in str(error.value)


@given(st.integers(min_value=1, max_value=10**13))
def test_a_rate_that_is_written_is_read_back(rate: int) -> None:
    assert units.rate(units.write_rate(rate)) == rate


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (units.rate, units.duration, units.size, units.limit):
        with contextlib.suppress(ParameterError):
            parse(text)
