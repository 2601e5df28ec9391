"""The figures of the survey and its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bloatlab import figures
from bloatlab.experiments import get
from bloatlab.experiments.aqm_survey import cases, setup
from bloatlab.experiments.aqm_survey.measures import MEASURES
from bloatlab.figures import registry, source, survey
from bloatlab.report import make_report
from bloatlab.settings import RunSettings
from bloatlab.store import Store
from bloatlab.sweeps import ExperimentSource, execute
from bloatlab.sweeps.plan import plan
from test_aqm_survey import NAME, invented_runs, real

SURVEYED = [name for name in registry.REGISTRY if name.startswith("survey_")]
SMALL = {
    "survey_base": 9, "survey_scores": 4, "survey_shares": 3, "survey_buffer": 9, "survey_drop_tail": 2, "survey_mixtures": 3,
}  # fmt: skip
"""Figures and their number of panels."""


@pytest.fixture(scope="module")
def invented_cases() -> dict[str, dict[str, Any]]:
    return invented_runs()


def tables(found: dict[str, dict[str, Any]]) -> dict[str, pl.DataFrame]:
    """The tables of a store with these cases."""
    runs, parameters, metrics = [], [], []
    for case, run in cases.RUNS.items():
        runs.append((case, run.seed, "done", NAME))
        start = run.parameters["ccp_start"] or ("0s" if run.parameters["ccp"] == setup.RENO else setup.CCP_START)
        resolved = {**run.parameters, "delays": "fix", "ccp_start": start}
        parameters += [(case, name, json.dumps(value)) for name, value in resolved.items()]
        metrics += [
            (case, "experiment", "experiment", name, value) for name, value in found[case]["experiment_metrics"].items()
        ]
    every = {
        "runs": pl.DataFrame(runs, schema=["run_id", "seed", "status", "experiment"], orient="row"),
        "parameters": pl.DataFrame(parameters, schema=["run_id", "name", "value"], orient="row"),
        "metrics": pl.DataFrame(metrics, schema=["run_id", "scope", "entity", "metric", "value"], orient="row"),
    }
    return every | source.of_measures(get(NAME), every)


@pytest.mark.parametrize("width", [900, 360])
@pytest.mark.parametrize("name", SMALL)
def test_figures_draw_at_both_widths(name: str, width: int, invented_cases: dict[str, dict[str, Any]]) -> None:
    spec = figures.draw(name, tables(invented_cases), width=width).to_dict(validate=width == 900)
    assert len(spec["concat"]) == SMALL[name]


def test_drop_tail_has_a_line_per_buffer_and_all_reno_a_column(invented_cases: dict[str, dict[str, Any]]) -> None:
    every = tables(invented_cases)
    grid = survey.by_buffer(every)
    assert grid.group_by("ccp").agg(pl.struct("cap", "buf").n_unique().alias("n")).sort("ccp").rows() == [
        ("LEDBAT", 32), ("all Reno", 32),
    ]  # fmt: skip
    drawn = figures.draw("survey_drop_tail", every, width=900).to_dict()["datasets"].values()
    assert {(row["ccp"], row["series"]) for data in drawn for row in data} == {
        (ccp, f"BUF {packets}") for ccp in ("LEDBAT", "all Reno") for packets in cases.BUFS
    }
    # All Reno is not one of the low-priority congestion controls of the other figures.
    assert set(survey.over(every, "cap")["ccp"]) == set(setup.CCPS.values())


def test_an_axis_goes_through_the_base_point(invented_cases: dict[str, dict[str, Any]]) -> None:
    every = tables(invented_cases)
    capacity = survey.over(every, "cap")
    assert sorted(capacity["x"].unique()) == [0.25, 0.5, 1, 2, 4, 6, 8, 10]
    assert set(capacity["buf"]) == {400}
    assert set(capacity["wld"]) == {5}
    assert set(capacity["mode"]) == {setup.PUBLISHED}
    buffers = survey.over(every, "buf")
    assert {"DRR, equal limits", "SFQ, equal limits"} < set(buffers["series"])
    assert set(survey.over(every, "wld")["ccp"]) == set(setup.CCPS.values())
    at_base = pl.col("run_id").str.contains("4 Mbit/s, 400 packets, 5 of 10 Reno, as-pub", literal=True)
    base = {"measured": every["measured"].filter(at_base)}
    drawn = [name for name in SURVEYED if registry.REGISTRY[name].applicable(base)]
    assert drawn == ["survey_base", "survey_scores", "survey_shares"]


@real
def test_a_reduced_survey_shows_the_trends_on_its_page(tmp_path: Path) -> None:
    """20 s of the two ends of BUF under DropTail and CoDel, and of the base point under SFQ in both modes."""
    of = ExperimentSource(get(NAME))
    common = {"time": "20s", "ccp_start": "1s"}
    runs = plan(of, common, {"queue": ["fifo", "codel"], "buf": [100, 400]}, replications=2)
    runs += plan(of, {**common, "queue": "SFQ"}, {"mode": ["as-published", "equal-limits"]}, replications=2)
    summary = execute(runs, tmp_path, RunSettings(jobs=2))
    assert not summary.failed
    store = Store(tmp_path)
    found = survey.runs(figures.of_runs(store))
    means = {
        (row["queue"], row["buf"], row["mode"]): row
        for row in found.group_by("queue", "buf", "mode").agg(pl.col(*MEASURES).mean()).iter_rows(named=True)
    }
    own = setup.PUBLISHED
    assert means["DropTail", 400, own]["qlen"] > 2.5 * means["DropTail", 100, own]["qlen"]
    assert means["CoDel", 400, own]["qlen"] == pytest.approx(means["CoDel", 100, own]["qlen"], rel=0.1)
    assert means["DropTail", 400, own]["tcp_share"] > 90 > 70 > means["CoDel", 400, own]["tcp_share"]
    assert means["SFQ", 400, setup.EQUAL]["qlen"] > 4 * means["SFQ", 400, own]["qlen"]
    assert means["SFQ", 400, own]["fair_tcp"] > 99
    page = make_report(tmp_path).read_text()
    assert "The score table" in page
    assert "Every metric over BUF" in page
    assert "Every metric over CAP" not in page
