"""A crafted store or document gives values or one line, and reading one touches nothing (more of them: `make soak-hostile`)."""

from __future__ import annotations

from pathlib import Path

import pytest

import hostile
from bloatlab.sweeps import ScenarioSource, execute, plan
from conftest import DOCUMENT, REAL


@pytest.mark.usefixtures("fake")
def test_a_crafted_store_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    template = tmp_path / "template"
    execute(plan(ScenarioSource(DOCUMENT), replications=2), template, command="bloatlab simulate s.toml")
    refused = [hostile.case(template, tmp_path, seed) > 0 for seed in range(150)]
    assert sum(refused) > 50
    # In some of them, nothing was changed that is read here.
    assert not all(refused)


@pytest.mark.skipif(not REAL, reason="documents are read by the engine")
def test_a_changed_scenario_file_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    refused = [hostile.document(tmp_path, seed) for seed in range(2_000)]
    assert sum(refused) > 500
    assert not all(refused)
