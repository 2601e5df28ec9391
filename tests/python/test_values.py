from __future__ import annotations

import pytest

from bloatlab.cli.values import assignments, axis, value
from bloatlab.errors import ParameterError
from bloatlab.scenario.paths import with_values


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("80p", "80p"),
        ("80", 80),
        ("0.5", 0.5),
        ("true", True),
        ("15ms", "15ms"),
        ("2020-01-01", "2020-01-01"),
        ('{"kind": "codel", "target": "5ms"}', {"kind": "codel", "target": "5ms"}),
        ('{kind = "codel"}', {"kind": "codel"}),
        ("[1, 2]", [1, 2]),
        ("NaN", "NaN"),
        ("my_module:Control", "my_module:Control"),
    ],
)
def test_values(text: str, read: object) -> None:
    assert value(text) == read


def test_commas_in_tables_do_not_separate() -> None:
    assert axis('fifo,{"kind":"codel","limit":"80p"},{kind="pie",limit="9p"}') == [
        "fifo",
        {"kind": "codel", "limit": "80p"},
        {"kind": "pie", "limit": "9p"},
    ]
    assert axis("20,40p,0.5") == [20, "40p", 0.5]


@pytest.mark.parametrize("text", ["1,,2", "", ",1", "{kind=}"])
def test_bad_axes(text: str) -> None:
    with pytest.raises(ParameterError):
        axis(text)


@pytest.mark.parametrize("items", [["qlen"], ["=5"], ["qlen="], ["a=1", "a=2"]])
def test_bad_assignments(items: list[str]) -> None:
    with pytest.raises(ParameterError, match="--set"):
        assignments(items, "--set")


def test_paths_make_tables_and_leave_the_original_alone() -> None:
    document = {"dumbbell": {"queue": "fifo"}, "flows": [{"cca": "cubic"}, {}]}
    changed = with_values(document, {"dumbbell.queue.kind": "codel", "flows.1.tcp.ecn": True, "flows.0.cca": "bbr"})
    assert changed == {"dumbbell": {"queue": {"kind": "codel"}}, "flows": [{"cca": "bbr"}, {"tcp": {"ecn": True}}]}
    assert document["dumbbell"] == {"queue": "fifo"}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("flows.2.cca", "allowed: 0 to 1"),
        ("flows.x", "is not an index"),
        ("duration.x", "not a table"),
        ("a..b", "a key of the path is empty"),
    ],
)
def test_paths_that_lead_nowhere(path: str, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        with_values({"duration": "1s", "flows": [{}, {}]}, {path: 1})
