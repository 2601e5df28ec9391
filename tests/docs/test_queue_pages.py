"""The pages of docs/queues are those that the code makes."""

from __future__ import annotations

import pytest

from behaviour import figure, run
from queue_pages import PAGES, described, deviations, write


def test_pages_are_up_to_date() -> None:
    stale = [
        path.name
        for path, text, _ in write()
        if not path.is_file() or path.read_text(encoding="utf-8").splitlines() != text.splitlines()
    ]
    assert not stale, f"`make docs` writes them anew: {', '.join(stale)}"


def test_no_page_of_a_queue_that_is_gone() -> None:
    kinds = {queue["kind"] for queue in described()}
    assert {path.stem for path in PAGES.glob("*.md")} == kinds | {"README"}
    assert {path.stem for path in (PAGES / "images").glob("*.svg")} == kinds


@pytest.mark.parametrize("queue", described(), ids=lambda queue: queue["kind"])
def test_every_parameter_is_explained(queue: dict) -> None:
    assert queue["summary"].strip()
    assert queue["source"].strip()
    for parameter in queue["parameters"]:
        assert parameter["description"].strip(), parameter["name"]


def test_deviations_are_found_by_kind() -> None:
    assert any("timestamps" in line or "alpha" in line for line in deviations("pie"))
    assert not deviations("no_such_queue")


def test_the_figure_has_its_panels() -> None:
    panels = figure(run(next(queue for queue in described() if queue["kind"] == "codel"))).to_dict(validate=False)
    titles = [panel["encoding"]["y"]["axis"]["title"] for panel in panels["vconcat"]]
    assert titles == ["delay (ms)", "Mbit/s", "drops in 0.1 s"]
