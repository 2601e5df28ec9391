"""The pages in docs/congestion-controls are up to date."""

from __future__ import annotations

from typing import Any

import pytest

from bloatlab.figures.figure import specification
from cc_behaviour import QUEUES, figure, run
from cc_pages import PAGES, described, write
from page_parts import stale


def test_pages_are_up_to_date() -> None:
    old = stale(write())
    assert not old, f"run `make docs` to update: {', '.join(old)}"


def test_no_page_of_a_congestion_control_that_is_gone() -> None:
    kinds = {algorithm["kind"] for algorithm in described()}
    assert {path.stem for path in PAGES.glob("*.md")} == kinds | {"README"}
    assert {path.stem for path in (PAGES / "images").glob("*.svg")} == kinds


@pytest.mark.parametrize("algorithm", described(), ids=lambda algorithm: algorithm["kind"])
def test_every_parameter_is_explained(algorithm: dict[str, Any]) -> None:
    assert algorithm["summary"].strip()
    assert algorithm["details"].strip()
    assert algorithm["source"].strip()
    for parameter in algorithm["parameters"]:
        assert parameter["description"].strip(), parameter["name"]


def test_the_figure_has_its_panels() -> None:
    panels = specification(figure(run("reno", next(iter(QUEUES)))))
    titles = [panel["encoding"]["y"]["axis"]["title"] for panel in panels["vconcat"]]
    assert titles == ["segments", "sRTT (ms)", "Mbit/s"]
