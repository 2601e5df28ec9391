"""Names from documents and stores are text: no markup, no terminal codes, no formulas, no scripts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bloatlab import cli, language
from bloatlab.cli.console import complain, console
from bloatlab.store import Store
from bloatlab.sweeps import ScenarioSource, execute, plan
from bloatlab.visible import one_line, spreadsheet_safe, visible

HOSTILE = "[link=file:///etc]a[/link]\x1b[2J\x1b]0;title\x07\u202eb\x9b"
SHOWN = r"[link=file:///etc]a[/link]\x1b[2J\x1b]0;title\x07\u202eb\x9b"


def test_what_moves_the_cursor_or_reorders_the_line_is_written_out() -> None:
    assert visible(HOSTILE) == SHOWN
    assert visible("µ\tä\n日本") == "µ\tä\n日本"
    assert one_line("a\nb\r\x1b[A") == r"a b \x1b[A"
    assert visible("\ud800") == r"\ud800"


def test_formulas_become_texts_and_numbers_stay() -> None:
    cells = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\r=1", "-5", "+3.5e-2", "plain", "a=b", None]
    frame = pl.DataFrame({"text": cells, "number": [-1.0] * len(cells)})
    frame = frame.with_columns(pl.col("text").cast(pl.Categorical).alias("kind"))
    safe = spreadsheet_safe(frame)
    for column in ("text", "kind"):
        assert safe[column].to_list() == [f"'{cell}" for cell in cells[:6]] + cells[6:]
    assert safe["number"].equals(frame["number"])


def hostile_store(name: str) -> Store:
    """A store with names that the language would refuse: whoever makes a store can write them."""
    document: dict[str, Any] = {
        "name": name,
        "duration": "1s",
        "dumbbell": {"rate": "1Mbit/s", "queue": "fifo"},
        "flows": [{}],
    }
    source = ScenarioSource(document)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "normalise", lambda text: text)
        execute(plan(source, axes={"dumbbell.queue": ["fifo", name]}, replications=2), "r")
    return Store("r")


@pytest.mark.usefixtures("fake")
def test_names_of_a_store_reach_the_terminal_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    hostile_store(HOSTILE)
    text = json.dumps(HOSTILE)
    Path("plan.toml").write_text(f'experiment = "deep-buffers"\naxes = {{ cca = ["cubic", {text}] }}\n')
    Path("named.toml").write_text(
        f'name = {text}\nduration = "1s"\ndumbbell = {{ rate = "1Mbit/s", rtt = "9ms" }}\nflows = [{{}}]\n'
    )
    for arguments in (
        ["compare", "r", "--by", f"dumbbell.queue=fifo,{text}"],
        ["compare", "r", "r"],
        ["sweep", "plan.toml", "--dry-run"],
        ["simulate", "named.toml", "--out", "named"],
        ["report", "r"],
        ["figure", "r", HOSTILE, "-o", "x.svg"],
        ["run", HOSTILE],
    ):
        cli.command(arguments)
        said = "".join(capsys.readouterr())
        assert said
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(said), arguments


@pytest.mark.usefixtures("fake")
def test_cells_that_are_formulas_are_harmless_in_csv(capsys: pytest.CaptureFixture[str]) -> None:
    hostile_store("=1+1")
    assert cli.command(["export", "r", "--csv", "-o", "out"]) == 0
    runs = rows("runs")
    assert {row["experiment"] for row in runs} == {"'=1+1"}
    assert {row["seed"] for row in runs} == {"42", "43"}
    assert {row["value"] for row in rows("parameters")} == {'"fifo"', '"=1+1"'}


def rows(table: str) -> list[dict[str, str]]:
    with Path(f"out/{table}.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_console_prints_brackets_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.table import Table

    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    out = console()
    out.print(table)
    out.print(HOSTILE, soft_wrap=True)
    said = capsys.readouterr().out
    assert said.count(SHOWN) == 4
    complain("a\nb \x1b[2J [bold]")
    assert capsys.readouterr().err == "bloatlab: a b \\x1b[2J [bold]\n"
