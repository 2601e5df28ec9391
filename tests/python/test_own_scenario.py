"""A user's copy of an experiment's scenario: its runs are kept apart from those of the experiment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bloatlab import cli
from bloatlab.experiments import get
from bloatlab.store import Store


def test_a_copy_of_an_experiments_scenario_is_simulated_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = get("home-router")
    document = experiment.scenario(experiment.resolve({"time": "3s"}))
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    results = tmp_path / "results"
    assert cli.command(["simulate", str(file), "--out", str(results)]) == 0
    assert (results / "report.html").exists()
    assert Store(results).runs()["experiment"].to_list() == ["home-router (own scenario)"]
    capsys.readouterr()
