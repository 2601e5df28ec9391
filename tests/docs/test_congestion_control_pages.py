"""The pages in docs/congestion-controls are up to date."""

from __future__ import annotations

from typing import Any

import pytest

from congestion_control_behaviour import QUEUES, figure, run
from congestion_control_pages import PAGES, described, write
from page_parts import stale


def test_pages_are_up_to_date() -> None:
    old = stale(write())
    assert not old, f"run `make docs` to update: {', '.join(old)}"


def test_no_page_of_a_congestion_control_that_is_gone() -> None:
    kinds = {control["kind"] for control in described()}
    assert {path.stem for path in PAGES.glob("*.md")} == kinds | {"README"}
    assert {path.stem for path in (PAGES / "images").glob("*.svg")} == kinds


@pytest.mark.parametrize("control", described(), ids=lambda control: control["kind"])
def test_every_parameter_is_explained(control: dict[str, Any]) -> None:
    assert control["summary"].strip()
    assert control["details"].strip()
    assert control["source"].strip()
    for parameter in control["parameters"]:
        assert parameter["description"].strip(), parameter["name"]


def test_the_figure_has_its_panels() -> None:
    panels = figure(run("reno", next(iter(QUEUES)))).to_dict(validate=False)
    titles = [panel["encoding"]["y"]["axis"]["title"] for panel in panels["vconcat"]]
    assert titles == ["segments", "sRTT (ms)", "Mbit/s"]
