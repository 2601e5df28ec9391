"""`--dry-run`: the preview of a plan, and the estimate of its cost."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bloatlab import cli
from bloatlab.cli.dry_run import size, time_of
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.settings import RunSettings
from bloatlab.store import Keep
from bloatlab.sweeps import ExperimentSource, ScenarioSource, execute, plan
from bloatlab.sweeps.conditions import condition
from bloatlab.sweeps.estimate import Sample, _total_s, cost, estimate
from bloatlab.sweeps.grid import Grid
from bloatlab.sweeps.preview import SAMPLED, Preview, preview

SCENARIO: dict[str, Any] = {
    "name": "small",
    "duration": "1s",
    "dumbbell": {"rate": "10Mbit/s", "rtt": "10ms"},
    "flows": [{"cca": "cubic"}],
}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.command(list(arguments)) == 0
    return capsys.readouterr().out


def test_a_grid_is_the_product_in_the_same_order() -> None:
    axes = {"a": [1, 2], "b": ["x", "y", "z"]}
    points = [{"c": 0}, {"c": 1, "d": 2}]
    grid = Grid(axes, {}, points)
    wanted = [
        {**point, **dict(zip(axes, values, strict=True))}
        for point, values in itertools.product(points, itertools.product(*axes.values()))
    ]
    assert list(grid) == wanted
    assert [grid[place] for place in range(-len(grid), 0)] == wanted
    assert grid[3:7] == wanted[3:7]
    assert len(grid) == 12
    with pytest.raises(IndexError):
        grid[12]
    assert list(Grid({}, {})) == [{}]


@pytest.mark.parametrize(
    ("axes", "base", "points", "why"),
    [
        ({"a": []}, {}, [], "a: no values to sweep"),
        ({"a": [1]}, {"a": 2}, [], "a: is both set and swept"),
        ({"a": [1]}, {}, [{"a": 2}], "points.0.a: is on an axis, too"),
    ],
)
def test_grids_that_contradict_themselves(axes: dict, base: dict, points: list, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        Grid(axes, base, points)


def test_a_plan_of_millions_is_sampled_and_not_expanded() -> None:
    values = list(range(1, 1001))
    grid = Grid({"mss": [100 + value for value in values], "qlen": values, "k": [1, 2, 3, 4]}, {})
    found = preview(ExperimentSource(get("deep-buffers")), grid, replications=3)
    assert (found.points, found.total, found.exact) == (4_000_000, 12_000_000, False)
    assert len(found.runs) == SAMPLED
    assert [(point["mss"], point["qlen"], point["k"]) for point in found.first[:5]] == [
        (101, "1p", 1), (101, "1p", 2), (101, "1p", 3), (101, "1p", 4), (101, "2p", 1),
    ]  # fmt: skip
    half = preview(ExperimentSource(get("deep-buffers")), grid, where=[condition("k > 2")])
    assert half.points == pytest.approx(2_000_000, rel=0.1)
    assert {point["k"] for point in half.first} == {3, 4}


def test_costs_order_scenarios() -> None:
    def of(**changes: Any) -> float:
        (planned,) = plan(ScenarioSource({**SCENARIO, **changes}))
        return cost(planned.scenario)

    small = of()
    assert of(duration="2s") == pytest.approx(2 * small)
    assert of(dumbbell={"rate": "100Mbit/s", "rtt": "10ms"}) > 9 * small
    # The link back carries only ACKs, unless a flow sends data on it.
    there_and_back = {"rate": "10Mbit/s", "reverse_rate": "10Mbit/s", "rtt": "10ms"}
    assert of(dumbbell=there_and_back) == pytest.approx(small)
    both = of(dumbbell=there_and_back, flows=[{}, {"direction": "reverse"}])
    assert both > 1.9 * small


def sample(cost: float, wall_s: float) -> Sample:
    (planned,) = plan(ScenarioSource(SCENARIO))
    return Sample(planned, cost, wall_s, 0, None)  # type: ignore[arg-type]


def test_times_are_interpolated_between_the_samples() -> None:
    samples = [sample(10, 1.0), sample(20, 2.0), sample(40, 8.0)]
    low, likely, high = _total_s(samples, [10, 20, 30, 40], 400)
    assert likely == pytest.approx(100 * (1 + 2 + 5 + 8))
    assert low == pytest.approx(100 * 0.1 * 100 / 1.25)
    assert high == pytest.approx(100 * 0.2 * 100 * 1.25)
    # Equal costs with different times: the mean, between both extremes.
    low, likely, high = _total_s([sample(10, 1.0), sample(10, 3.0)], [10, 10], 2)
    assert (low, likely, high) == (pytest.approx(2 / 1.25), pytest.approx(4), pytest.approx(6 * 1.25))


@pytest.mark.parametrize("keep", [Keep.METRICS, Keep.TABLES, Keep.PACKETS])
def test_disk_is_that_of_the_store(keep: Keep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # However long the runs take, the writer makes few parts.
    monkeypatch.setattr("bloatlab.store.writer.COMMIT_EVERY", 60.0)
    axes = {"dumbbell.rate": [f"{rate}Mbit/s" for rate in range(2, 22, 2)], "flows.0.cca.kind": ["cubic", "bbr"]}
    runs = plan(ScenarioSource(SCENARIO), axes=axes, keep=keep)
    found = estimate(Preview.of(runs), RunSettings(jobs=1))
    assert found.jobs == 1
    assert len(found.samples) == 3
    costs = [one.cost for one in found.samples]
    assert costs == sorted(costs)
    execute(runs, tmp_path / "r", RunSettings(jobs=1))
    stored = sum(path.stat().st_size for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert stored / 2 < found.disk[keep] < 2 * stored


def test_a_dry_run_stores_nothing_and_says_what_the_runs_cost(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "small.json").write_text(json.dumps(SCENARIO))
    before = set(tmp_path.rglob("*"))
    command = ("simulate", "small.json", "--sweep", "dumbbell.rate=1Mbit/s,2Mbit/s", "-j", "2", "--dry-run")
    out = printed(capsys, *command)
    assert out.startswith("small: 2 runs, 2 points; tables are kept of each run\n  dumbbell.rate=1Mbit/s\n")
    for word in (
        "estimate from 2 sampled runs",
        "time ",
        "with 2 threads",
        "memory ",
        "metrics ",
        "tables ",
        "packets ",
    ):
        assert word in out
    described = json.loads(printed(capsys, *command, "--json"))
    assert (described["runs"], described["points"], described["exact"]) == (2, 2, True)
    of = described["estimate"]
    assert of["wall_s_low"] <= of["wall_s"] <= of["wall_s_high"]
    assert of["disk_bytes"]["metrics"] < of["disk_bytes"]["tables"] < of["disk_bytes"]["packets"]
    assert of["memory_bytes"] > 50e6
    assert set(tmp_path.rglob("*")) == before


def test_the_runs_of_an_experiment_are_previewed_with_its_own_axes(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "run", "home-router", "--dry-run")
    assert "home-router: 90 runs, 18 points" in out
    assert "maxq=5, queue=fifo" in out
    assert "and 8 more" in out
    assert not Path("results").exists()


def test_a_dry_run_imports_no_plugin(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "loud_plugin.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "small.json").write_text(json.dumps({**SCENARIO, "flows": [{"cca": "loud_plugin:Mine"}]}))
    out = printed(capsys, "simulate", "small.json", "--dry-run", "--allow-plugins")
    assert "no estimate: the runs need a plugin" in out
    assert "loud_plugin" not in sys.modules


@pytest.mark.usefixtures("fake")
def test_a_sampled_run_that_fails_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "fails.json").write_text(json.dumps({**SCENARIO, "name": "fails"}))
    out = printed(capsys, "simulate", "fails.json", "--dry-run", "--seed", "43")
    assert "no estimate: a sampled run (seed 43) fails: odd seeds fail" in " ".join(out.split())


def test_packets_that_are_refused_for_their_memory_do_not_prevent_the_estimate(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.json").write_text(json.dumps(SCENARIO))
    monkeypatch.setenv("BLOATLAB_MEMORY", "1MB")
    of = json.loads(printed(capsys, "simulate", "small.json", "--dry-run", "--json"))["estimate"]
    assert set(of["disk_bytes"]) == {"metrics", "tables"}


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1200, "1.2 kB"), (12_345_678, "12 MB"), (4.9e12, "4.9 TB")]
)
def test_sizes(count: float, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.0123, "0.012 s"), (9.4, "9.4 s"), (12.3, "13 s"), (7500, "2:05 h")])
def test_times(seconds: float, text: str) -> None:
    assert time_of(seconds) == text
