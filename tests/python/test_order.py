"""The order of the values of sweeps: that in which the user gave them, on the terminal and on the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bloatlab
from bloatlab import cli
from bloatlab.analysis import order
from bloatlab.analysis.ranked import of_store
from bloatlab.experiments import CATALOGUE
from bloatlab.store import Store
from conftest import REAL

SCENARIO = """
name = "mine"
duration = "1s"
dumbbell = { rate = "10Mbit/s", rtt = "20ms", queue = "fifo" }
flows = [{ cca = "cubic" }]
"""
PLAN = """
scenario = "mine.toml"
points = [{ "flows.0.cca" = "newreno" }, { "flows.0.cca" = "bbr" }, { "flows.0.cca" = "cubic" }]
[axes]
"dumbbell.queue" = ["fq_codel", "fifo"]
"""


def test_commands_of_older_stores_are_read() -> None:
    command = "bloatlab run deep-buffers --sweep cca=reno,bbr --sweep 'queue=fq_codel limit 5,codel'"
    call = "bloatlab.sweep('deep-buffers', axes={'cca': ['cubic', 'bbr'], 'qlen': ['80p', '20p']}, engine='sim')"
    hostile = "bloatlab.sweep(__import__('os').getcwd(), axes={'k': [exit()]})"
    commands = [(text, "{}") for text in ("not ( python", "'open", hostile, call, command)]
    found = order.of_commands(commands, ["rrul", "no-such-experiment"])
    assert found == {
        "cca": [["reno", "bbr"], ["cubic", "bbr"]],
        "queue": [["fq_codel limit 5", "codel"], ["fifo", "fq_codel", "cake"]],
        "qlen": [["80p", "20p"]],
    }


@pytest.mark.parametrize(
    "axes", ["[", "[1]", '{"queue": "fifo"}', "[" * 100_000, '{"q": [NaN]}', '{"q": [' + "[" * 5000 + "]" * 5000 + "]}"]
)
def test_recorded_axes_that_are_none_are_ignored(axes: str) -> None:
    assert order.of_commands([("bloatlab sweep plan.toml", axes)], []) == {}


def test_recorded_axes_come_before_the_words_of_the_command() -> None:
    axes = json.dumps({"rtt": ["80ms", "20ms"], "queue": [{"kind": "codel", "target": "2ms"}, None]})
    assert order.of_commands([("bloatlab run x --sweep rtt=1ms", axes)], []) == {
        "rtt": [["80ms", "20ms"]],
        "queue": [["codel (target=2ms)", "default"]],
    }


@pytest.mark.parametrize(
    ("values", "lists", "expected"),
    [
        (["a", "c", "b"], [["c", "b", "a"]], ["c", "b", "a"]),
        (["a", "z", "c", "b", "a"], [["c"], ["a", "b", "c"]], ["c", "a", "b", "z"]),
        (["z", "a"], [], ["z", "a"]),
        (["80p", "20p", "320p"], [["320p", "20p", "80p"]], ["320p", "20p", "80p"]),
        (["80p", "20p", "320p"], [["80p"], ["320p", "20p"]], ["20p", "80p", "320p"]),
        (["80p", "20p"], [["80p"], ["80p", "40p", "20p"]], ["80p", "20p"]),
        (["100p", "20p"], [], ["20p", "100p"]),
        (["100p", "20kB"], [], ["100p", "20kB"]),
    ],
)
def test_values(values: list[str], lists: list[list[str]], expected: list[str]) -> None:
    assert order.ordered(values, lists) == expected


def test_the_first_parameter_of_the_user_varies_slowest() -> None:
    points = [{"rate": rate, "queue": queue} for queue in ("fifo", "cake") for rate in ("5", "50")]
    lists = {"rate": [["50", "5"]], "queue": [["cake", "fifo"]]}
    found = [tuple(points[index].values()) for index in order.indices(points, lists)]
    assert found == [("50", "cake"), ("50", "fifo"), ("5", "cake"), ("5", "fifo")]


def first_cells(page: str) -> list[str]:
    """The first varied parameters of the rows of the table `Runs`."""
    table = page[page.index('aria-label="Runs"') :]
    return re.findall(r'data-label="dumbbell.queue"[^>]*>([^<]+)<', table[: table.index("</table>")])


@pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")
def test_terminal_and_page_have_the_order_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text(SCENARIO)
    words = ["simulate", "mine.toml", "--out", "r", "--jobs", "2", "--sweep"]
    assert cli.command([*words, "dumbbell.queue=cake,fifo"]) == 0
    capsys.readouterr()
    # The most recent command decides.
    assert cli.command([*words, "dumbbell.queue=fq_codel,fifo,cake"]) == 0
    table = capsys.readouterr().out.partition("mine: 3 runs")[2]
    assert re.findall(r"^(fq_codel|fifo|cake) ", table, re.MULTILINE) == ["fq_codel", "fifo", "cake"]
    page = Path("r/report.html").read_text(encoding="utf-8")
    assert first_cells(page) == ["fq_codel", "fifo", "cake"]
    assert '"domain":["fq_codel","fifo","cake"]' in re.sub(r"\s", "", page)
    # A run that leaves the parameter as the file has it comes last.
    assert cli.command(["simulate", "mine.toml", "--out", "r", "--seed", "7"]) == 0
    page = Path("r/report.html").read_text(encoding="utf-8")
    assert first_cells(page) == ["fq_codel", "fifo", "cake", "default"]
    assert '"domain":["fq_codel","fifo","cake","default"]' in re.sub(r"\s", "", page)


@pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")
def test_terminal_and_page_have_the_order_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text(SCENARIO)
    Path("plan.toml").write_text(PLAN)
    assert cli.command(["sweep", "plan.toml", "--out", "r"]) == 0
    table = capsys.readouterr().out.partition("mine: 6 runs")[2]
    expected = [(cca, queue) for cca in ("newreno", "bbr", "cubic") for queue in ("fq_codel", "fifo")]
    assert re.findall(r"^(newreno|bbr|cubic) +(fq_codel|fifo) ", table, re.MULTILINE) == expected
    assert json.loads(Store("r").invocations()["axes"][0]) == {
        "flows.0.cca": ["newreno", "bbr", "cubic"],
        "dumbbell.queue": ["fq_codel", "fifo"],
    }
    page = Path("r/report.html").read_text(encoding="utf-8")
    assert first_cells(page) == ["fq_codel", "fifo"] * 3


@pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")
def test_points_of_a_ranking_have_the_order_of_the_user() -> None:
    axes = {"rate": ["20Mbit/s", "5Mbit/s"], "queue": ["fq_codel", "fifo"]}
    # These runs end first.
    bloatlab.sweep("aqm-comparison", {**axes, "rate": ["5Mbit/s"]}, stop="2s", warmup="500ms", out="r")
    store = bloatlab.sweep("aqm-comparison", axes, stop="2s", warmup="500ms", out="r")
    ranked = of_store(store, CATALOGUE["aqm-comparison"])
    assert ranked is not None
    found = [(one.point, one.contender) for one in ranked.observations.values()]
    assert found == [(f"rate={rate}", queue) for rate in axes["rate"] for queue in axes["queue"]]
