"""The experiment `congestion-control-behaviour`: its seeds, its notes and its page of documentation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import behaviour_docs
from bloatlab.analysis.claims import findings_of_store
from bloatlab.experiments import get
from bloatlab.experiments.behaviour import REASONS, bbr, response
from bloatlab.experiments.behaviour.parts import OURS, SEEDS, Combined, Reading, run_key, span
from bloatlab.store import Store
from conftest import REAL

NAME = behaviour_docs.NAME
EXPERIMENT = get(NAME)
real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return behaviour_docs.reproduced(tmp_path_factory.mktemp("behaviour"))


def _runs(case: str, *values: float) -> dict[str, Mapping[str, Any]]:
    return {run_key(case, seed): {"value": value} for seed, value in zip(SEEDS, values, strict=False)}


def test_a_reading_is_the_mean_of_the_seeds() -> None:
    one, other = Reading("one", lambda run: run["value"]), Reading("other", lambda run: run["value"])
    cases = {**_runs("one", 1.0, 2.0, 6.0), **_runs("other", 1.0, 1.0, 4.0)}
    assert one.each(cases) == [1, 2, 6]
    assert one(cases) == 3
    assert one({}) is None
    assert span([1, 2, 6]) == "1 to 6"
    assert span([2.0001, 2.0002]) == "2"
    ratio = Combined((one, other), lambda values: values[0] / values[1])
    assert ratio.each(cases) == [1, 2, 1.5]
    assert ratio(cases) == 1.5
    assert ratio(_runs("one", 1.0)) is None


def test_everything_random_has_five_seeds() -> None:
    seeds: dict[str, list[int]] = {}
    for run in EXPERIMENT.published.values():
        seeds.setdefault(run.parameters["case"], []).append(run.seed)
    assert len(SEEDS) == EXPERIMENT.replications == 5
    assert set(seeds) == set(EXPERIMENT.cases)
    assert {case for case, found in seeds.items() if found != list(SEEDS)} == set(response.SINGLE)
    assert all(seeds[case] == [SEEDS[0]] for case in response.SINGLE)


def test_a_claim_is_named_by_the_congestion_control_that_it_is_about() -> None:
    names = [claim.name for claim in (*EXPERIMENT.claims, *EXPERIMENT.comparison)]
    about = {"reno", "cubic", "bbr", "ledbat", "ledbat++", "dctcp", "prague", "vegas", "copa"}
    assert {name.split()[0].rstrip(",:") for name in names} == about
    assert set(REASONS) <= set(names)


def test_the_mean_is_judged_and_the_note_tells_the_seeds() -> None:
    case = "cubic, then ledbat"
    flows = [
        {"first": {"mean_throughput_l4": 1 - x}, "second": {"mean_throughput_l4": x, "min_rtt_l4": 80.0}}
        for x in (0.04, 0.1)
    ]
    cases = {run_key(case, seed): {"flow_metrics": one} for seed, one in zip(SEEDS, flows, strict=False)}
    for also in ("cubic, then ledbat, target 20 ms", "ledbat, then cubic"):
        cases |= {run_key(also, seed): {"flow_metrics": one} for seed, one in zip(SEEDS, flows, strict=False)}
    verdict = next(
        one for one in EXPERIMENT.verdicts(cases) if one.claim.name == "ledbat that starts after cubic: share"
    )
    assert verdict.measured == pytest.approx(0.07)
    assert verdict.holds is False
    assert verdict.claim.note.startswith(OURS)
    assert "2 seeds: 0.04 to 0.1, which holds with 1 of them" in verdict.claim.note
    assert "its smallest RTT is 80 ms on a path of 40 ms" in verdict.claim.note


def test_bbr_gets_its_measured_share_from_the_model_with_every_measured_value() -> None:
    depth = 8
    pauses = 1 - (depth * bbr.WARE_RTT + 0.2 + bbr.WARE_RTT) / 10
    assert bbr.ware(depth) == pytest.approx((0.5 + 0.5 / depth + 4 / (depth * bbr.WARE_BDP)) * pauses)
    flows = {"bbr": {"mean_throughput_l4": 4.0}, "cubic": {"mean_throughput_l4": 6.0}}
    readings = dict(zip(bbr.READINGS, (120.0, 150.0, 110.0, 280.0), strict=True))
    case = next(case for case in bbr.READ if case.startswith("bbr beside cubic, 8 BDP") and bbr.OF_FORTY not in case)
    steps = bbr.steps(depth)({run_key(case, SEEDS[0]): {"flow_metrics": flows, "readings": readings}})
    assert steps[0] == bbr.ware(depth)
    assert steps[-2] == pytest.approx(120 / 280 * pauses)
    assert steps[-1] == 0.4


@real
def test_the_page_has_the_values_of_a_reproduction(store: Store) -> None:
    assert behaviour_docs.written() == behaviour_docs.block(store), (
        "docs/experiments.md is out of date: run tests/python/behaviour_docs.py"
    )


@real
def test_every_claim_that_fails_gives_the_reason_that_runs_show(store: Store) -> None:
    failed = store.claims().filter(pl.col("holds") == 0)["name"].to_list()
    assert set(failed) <= set(REASONS)
    assert [finding.title.split()[0] for finding in findings_of_store(store, EXPERIMENT)] == ["BBR", "BBR's", "Copa"]


def test_the_fitted_tolerances_are_told() -> None:
    assert "Chosen after the first results" in EXPERIMENT.fitted
    assert Path(behaviour_docs.PAGE).read_text(encoding="utf-8").count(behaviour_docs.FIRST) == 1
