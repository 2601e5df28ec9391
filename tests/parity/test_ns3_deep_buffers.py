"""Parity with ns-3 in deep-buffers: every metric of every row agrees, or an explanation covers it."""

import pytest

from frame import Cell
from ns3_deep_buffers import EXPLANATIONS, NS3_DEEP_BUFFERS
from write_docs import PAGE, page

CELLS = NS3_DEEP_BUFFERS.cells()


def name(cell: Cell) -> str:
    """A test id."""
    row = cell.row
    return f"{row['cca']}-{row['version']}-q{row['qlen']}-d{row['delack']}-{cell.metric.name}"


@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_agrees_or_is_explained(cell: Cell) -> None:
    assert cell.agrees or cell.explanation, f"ours {cell.ours:.5g}, ns-3 {cell.theirs:.5g}, ratio {cell.ratio:.3f}"


@pytest.mark.parametrize("letter", EXPLANATIONS)
def test_explanations_are_needed(letter: str) -> None:
    assert any(not c.agrees and letter in c.explanation for c in CELLS)


def test_newreno_agrees_wherever_ns3_does_not_time_out() -> None:
    plain = [c for c in CELLS if c.row["cca"] == "TcpNewReno" and int(c.row["rtos"]) == 0]
    assert len(plain) > 100
    assert all(c.agrees for c in plain)


def test_westwood_agrees_wherever_ns3_does_not_time_out() -> None:
    plain = [c for c in CELLS if c.row["cca"] == "TcpWestwoodPlus" and int(c.row["rtos"]) == 0]
    assert len(plain) == 12 * 7
    assert {c.explanation for c in plain if not c.agrees} == {"k"}


def test_ledbat_agrees_where_its_target_is_not_reached() -> None:
    """With a buffer below the target, LEDBAT grows as Reno does. Only version 3.48 of ns-3 can grow its window."""
    rows = {"20", "80"}
    plain = [
        c for c in CELLS if c.row["cca"] == "TcpLedbat" and c.row["version"] == "3.48-opt" and c.row["qlen"] in rows
    ]
    assert len(plain) == 4 * 7
    assert {c.explanation for c in plain if not c.agrees} == {"j"}


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"
