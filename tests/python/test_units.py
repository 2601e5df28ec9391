from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bloatlab import _core, units
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
        (units.rate, 15, "no unit"),
        (units.rate, "15furlong", "unknown unit `furlong`"),
        (units.duration, "-1ms", "must not be negative"),
        (units.duration, "fast", "no number"),
        (units.duration, "1.2.3s", "no number"),
        (units.size, "4M", "unknown unit `M`"),
        (units.limit, "0p", "at least 1"),
        (units.limit, True, "is not a queue limit"),
        (units.limit, "12parsecs", "unknown unit"),
        (units.limit, -80, "no unit"),
        (units.duration, "1\n5ms", "unknown unit"),
        (units.duration, "15\udc80ms", "unknown unit"),
        (units.rate, "furlong" * 1000, "no number"),
    ],
)
def test_refused_in_one_line_that_says_why(parse: object, text: object, why: str) -> None:
    with pytest.raises(ParameterError) as error:
        parse(text)  # type: ignore[operator]
    assert why in str(error.value)
    assert "\n" not in str(error.value)


@given(st.integers(min_value=0, max_value=2**52))
def test_what_is_written_is_read_back(value: int) -> None:
    assert units.rate(units.write_rate(value)) == value
    assert units.size(_core.write_quantity("bytes", value)) == value
    assert units.duration(_core.write_quantity("duration", value)) == value * 1e-9
    for kind in ("duration", "rate", "bytes", "frequency"):
        text = _core.write_quantity(kind, value)
        assert _core.read_quantity(kind, text)[::2] == (value, text)


@given(st.integers(min_value=1, max_value=2**52), st.sampled_from(["packets", "bytes", "buffers"]))
def test_a_limit_keeps_its_unit(value: int, unit: str) -> None:
    found = units.queue_limit(f"{value}{'B' if unit == 'bytes' else unit}")
    assert (found.value, found.unit) == (value, unit)
    assert units.queue_limit(found.text) == found


@given(st.text(max_size=20) | st.integers() | st.floats() | st.lists(st.text(max_size=5), max_size=2))
def test_anything_is_read_or_refused_in_one_line(value: object) -> None:
    said = []
    for parse in (units.rate, units.duration, units.size, units.limit):
        try:
            parse(value)
        except ParameterError as error:
            said.append(str(error))
    assert all(len(message.splitlines()) == 1 for message in said)


def test_an_unknown_kind_of_quantity_is_refused() -> None:
    with pytest.raises(_core.ScenarioError, match="unknown kind of quantity `mass` \\(allowed: duration, rate, bytes"):
        _core.read_quantity("mass", "1kg")
    with pytest.raises(_core.ScenarioError, match="unknown kind of quantity `limit`"):
        _core.write_quantity("limit", 1)
