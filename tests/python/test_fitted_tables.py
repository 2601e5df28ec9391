"""Tables that fit the width of the output."""

from __future__ import annotations

import re

import pytest

from bloatlab.cli.console import console, number
from bloatlab.cli.tables import Column, FittedTable, output_width, paragraph


def printed(table: FittedTable, capsys: pytest.CaptureFixture[str]) -> list[str]:
    table.print(console())
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def wide() -> FittedTable:
    columns = [
        Column("metric", whole=True),
        Column("throughput (Mbit/s)", right=True),
        Column("sojourn time (ms)", right=True, optional=1),
        Column("retransmissions", right=True, optional=2),
        Column("meaning"),
    ]
    table = FittedTable(columns, "a title", elsewhere="--json shows them")
    for metric in ("mean_throughput_l4", "mean_network_power_l4"):
        table.add(metric, "15.39 ± 0.12", "123.4 ± 5", "12", "payload that the receiver has acknowledged in order")
    return table


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_no_line_is_wider_and_no_word_is_broken(
    wide: FittedTable, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = printed(wide, capsys)
    assert max(map(len, lines)) <= width
    words = set(" ".join(lines).split())
    assert {"mean_network_power_l4", "throughput", "acknowledged", "receiver"} <= words


def test_columns_that_do_not_fit_are_named_the_least_important_first(
    wide: FittedTable, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert "not shown" not in "\n".join(printed(wide, capsys))
    monkeypatch.setenv("COLUMNS", "80")
    assert printed(wide, capsys)[-1] == "not shown here: retransmissions; --json shows them"
    monkeypatch.setenv("COLUMNS", "60")
    said = " ".join(printed(wide, capsys))
    assert "not shown here: sojourn time (ms), retransmissions; --json shows them" in said


def test_a_word_wider_than_the_output_is_broken_behind_punctuation_and_nothing_is_lost(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path = "flows.0.cca.a_long_name_of_a_parameter.another_long_name_of_it=123456789"
    table = FittedTable([Column("path", whole=True), Column("value", right=True)])
    table.add(path, "1")
    lines = printed(table, capsys)
    assert max(map(len, lines)) <= 60
    assert "".join(re.sub(r"\s+1$", "", line) for line in lines[2:]) == path
    assert lines[2].removesuffix("1").rstrip()[-1] in "._="


def test_brackets_and_control_characters_are_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    table = FittedTable([Column("name")])
    table.add("[red]a\x1b[31m")
    assert printed(table, capsys)[-1] == "[red]a\\x1b[31m"


def test_the_width_is_columns_or_80(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "123")
    assert output_width() == 123
    assert console().width == 123
    monkeypatch.setenv("COLUMNS", "3")
    assert output_width() == 40
    monkeypatch.delenv("COLUMNS")
    assert output_width() == 80


def test_paragraphs_keep_numbers_with_their_units_and_paths_whole() -> None:
    text = "a standing queue of 43.7 ms and 96.2 % of the rate in /a/path/that/is/longer/than/the/width"
    for width in range(20, 60):
        lines = paragraph(text, width).splitlines()
        assert " ".join(lines) == text
        assert not any(line.startswith(("ms", "%")) for line in lines)
        assert all(len(line) <= width or line.startswith("/a/path") for line in lines)


def test_numbers_have_no_minus_zero() -> None:
    assert [number(value) for value in (-0.0, 0.0, None, float("nan"), -1.5, 1234.5)] == [
        "0", "0", "-", "-", "-1.500", "1,234",
    ]  # fmt: skip


def test_prose_is_easy_to_read_before_numbers_get_more_room(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    columns = [Column("case"), *(Column(f"a long heading {place} (ms)", right=True) for place in range(4))]
    table = FittedTable(columns)
    table.add("reno, 100 ms, even losses 0.01", "1", "2", "3", "4")
    assert "reno, 100 ms, even" in printed(table, capsys)[-2]
    assert table.least_width(60) == len("losses") + 4 * (2 + len("heading"))
