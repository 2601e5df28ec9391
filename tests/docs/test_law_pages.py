"""The pages of docs/congestion-controls are those that the code makes."""

from __future__ import annotations

from typing import Any

import pytest

from law_behaviour import QUEUES, figure, run
from law_pages import PAGES, described, write
from page_parts import stale


def test_pages_are_up_to_date() -> None:
    old = stale(write())
    assert not old, f"run `make docs` to update: {', '.join(old)}"


def test_no_page_of_a_law_that_is_gone() -> None:
    kinds = {law["kind"] for law in described()}
    assert {path.stem for path in PAGES.glob("*.md")} == kinds | {"README"}
    assert {path.stem for path in (PAGES / "images").glob("*.svg")} == kinds


@pytest.mark.parametrize("law", described(), ids=lambda law: law["kind"])
def test_every_parameter_is_explained(law: dict[str, Any]) -> None:
    assert law["summary"].strip()
    assert law["details"].strip()
    assert law["source"].strip()
    for parameter in law["parameters"]:
        assert parameter["description"].strip(), parameter["name"]


def test_the_figure_has_its_panels() -> None:
    panels = figure(run("reno", next(iter(QUEUES)))).to_dict(validate=False)
    titles = [panel["encoding"]["y"]["axis"]["title"] for panel in panels["vconcat"]]
    assert titles == ["segments", "sRTT (ms)", "Mbit/s"]
