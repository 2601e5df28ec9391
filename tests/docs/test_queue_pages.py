"""The pages in docs/queues are up to date."""

from __future__ import annotations

from typing import Any

import pytest

from bloatlab.figures.figure import specification
from page_parts import deviations, stale
from queue_behaviour import figure, run
from queue_pages import PAGES, described, write


def test_pages_are_up_to_date() -> None:
    old = stale(write())
    assert not old, f"run `make docs` to update: {', '.join(old)}"


def test_no_page_of_a_queue_that_is_gone() -> None:
    kinds = {queue["kind"] for queue in described()}
    assert {path.stem for path in PAGES.glob("*.md")} == kinds | {"README"}
    assert {path.stem for path in (PAGES / "images").glob("*.svg")} == kinds


@pytest.mark.parametrize("queue", described(), ids=lambda queue: queue["kind"])
def test_every_parameter_is_explained(queue: dict[str, Any]) -> None:
    assert queue["summary"].strip()
    assert queue["source"].strip()
    for parameter in queue["parameters"]:
        assert parameter["description"].strip(), parameter["name"]


def test_deviations_are_found_by_kind() -> None:
    assert any("timestamps" in line or "alpha" in line for line in deviations("Queues", "pie"))
    assert not deviations("Queues", "no_such_queue")


def test_the_figure_has_its_panels() -> None:
    panels = specification(figure(run(next(queue for queue in described() if queue["kind"] == "codel"))))
    titles = [panel["encoding"]["y"]["axis"]["title"] for panel in panels["vconcat"]]
    assert titles == ["delay (ms)", "Mbit/s", "drops in 0.1 s"]
