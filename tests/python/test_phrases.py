"""Numbers in sentences and tables."""

import pytest

from bloatlab.experiments.phrases import (
    NONE,
    amount,
    cell,
    heading,
    interval,
    numbers,
    said,
    separated,
    together,
    with_unit,
)


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
        (3e-7, 1e-7, "3.00e-07 ± 1.0e-07"),
        (12.82, 7.1e-15, "12.82"),
        (5.0, float("inf"), "5 ± –"),
    ],
)
def test_the_uncertainty_gives_the_digits(mean, half, text):
    assert interval(mean, half) == text


def test_a_delay_below_one_microsecond_has_no_digits():
    assert with_unit(0.00003955, "ms") == "<0.001 ms"
    assert with_unit(0.0012, "ms") == "0.001 ms"
    assert with_unit(0.0, "ms") == "0 ms"
    assert with_unit(0.00004, "") == "4.00e-05"


@pytest.mark.parametrize(
    ("values", "unit", "texts"),
    [
        ([44.35, 3.8142, None, 0.0], "ms", ["44.35", "3.81", NONE, "0"]),
        ([1707.6, 1268.0], "ms", ["1,708", "1,268"]),
        ([2500.4, 0.52], "Mbit/s", ["2,500.4", "0.5"]),
        ([513.8, 0.000493], "ms", ["513.80", "<0.01"]),
        ([2.266e-8, 3.4e-8], "ms", ["<0.001", "<0.001"]),
        ([1.5, -0.00001], "ms", ["1.500", ">-0.001"]),
        ([80.0, 113.0, 12000.0], "", ["80", "113", "12,000"]),
        ([2e-7, 3e-7], "", ["2.00e-07", "3.00e-07"]),
    ],
)
def test_a_column_has_one_number_of_decimals(values, unit, texts):
    assert numbers(values, unit) == texts


def test_values_of_a_row_keep_their_digits_within_the_finest_step_of_their_unit():
    assert [amount(value, "ms") for value in (1234.5, 12.3456, 0.0123, 0.0004)] == ["1,234", "12.35", "0.012", "<0.001"]
    assert amount(0.0000004, "packets") == "<0.001"
    assert amount(0.0133, "Mbit/s") == "0.0133"


def test_numbers_that_are_text_get_separators():
    assert [separated(text) for text in ("1674.1", "2022", "-1234.50", "303", "0.5", "1234p", "–")] == [
        "1,674.1",
        "2,022",
        "-1,234.50",
        "303",
        "0.5",
        "1234p",
        "–",
    ]


def test_parameters_have_words_in_headings_and_labels():
    assert [heading(name) for name in ("cca", "qlen", "upf_rate", "own")] == [
        "congestion control",
        "queue limit",
        "rate to the base station",
        "own",
    ]
    assert together({"queue": "fq_codel", "lambda": "15000", "k": "1"}) == "fq_codel at 15,000 packets/s and 1 flow"


def test_values_that_say_too_little_have_words():
    assert [cell("scenario", "sl"), cell("target", "rtt"), cell("queue", "sl")] == ["static (sl)", "RTT", "sl"]
    assert together({"cca": "vegas", "target": "rtt", "direction": "up", "lower": "15ms", "upper": "60ms"}) == (
        "vegas at a changing RTT, direction up, a lower level of 15 ms and an upper level of 60 ms"
    )
    assert together({"scenario": "mobb", "queue": "pie"}) == "walking (mobb), pie"


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("mcs", 5, "MCS 5"), ("mcs", None, "link adaptation"), ("gnbs", 1, "1 base station"), ("gnbs", 3, "3 base stations"),
        ("qlen", None, "a buffer of the default"),
    ],
)  # fmt: skip
def test_a_parameter_is_said_with_its_value(name, given, text):
    assert said(name, given) == text
