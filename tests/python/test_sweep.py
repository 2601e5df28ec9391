from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_core
from bloatlab.errors import ParameterError, StoreError
from bloatlab.experiments import get
from bloatlab.experiments.base import Experiment
from bloatlab.language import ScenarioError
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store
from bloatlab.sweeps import ExperimentSource, ScenarioSource, Standing, execute, plan, plan_points
from gates import Gate

pytestmark = pytest.mark.usefixtures("fake")


def scenario(name: str = "small", **more: object) -> ScenarioSource:
    return ScenarioSource(
        {"name": name, "duration": "1s", "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"}, "flows": [{}], **more}
    )


def test_the_plan_is_the_product_with_replications_innermost() -> None:
    source = ExperimentSource(get("deep-buffers"))
    runs = plan(source, {"rtt": "20ms"}, {"qlen": [20, "40p"], "cca": ["cubic", "bbr"]}, replications=2, seed=7)
    assert [(run.parameters["qlen"], run.parameters["cca"], run.seed) for run in runs] == [
        ("20p", "cubic", 7), ("20p", "cubic", 8), ("20p", "bbr", 7), ("20p", "bbr", 8),
        ("40p", "cubic", 7), ("40p", "cubic", 8), ("40p", "bbr", 7), ("40p", "bbr", 8),
    ]  # fmt: skip
    assert {run.parameters["rtt"] for run in runs} == {"20ms"}
    assert len({run.run_id for run in runs}) == 8


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(["1ms", "2ms", "3ms"]), min_size=1, max_size=3, unique=True),
    st.integers(1, 3),
    st.integers(0, 2**62),
)
def test_size_and_seeds_of_any_plan(counts: list[int], rtts: list[str], replications: int, seed: int) -> None:
    axes = {"flows.0.count": counts, "dumbbell.rtt": rtts}
    runs = plan(scenario(), {}, axes, replications=replications, seed=seed)
    assert len(runs) == len(counts) * len(rtts) * replications
    assert {run.seed for run in runs} == {seed + r for r in range(replications)}
    again = plan(scenario(), {}, axes, replications=replications, seed=seed)
    assert [run.run_id for run in runs] == [run.run_id for run in again]


def test_equal_points_are_one_run() -> None:
    runs = plan(ExperimentSource(get("deep-buffers")), {}, {"qlen": [80, "80p", "80packets"]})
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("keywords", "why"),
    [
        ({"replications": 0}, "replications"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"axes": {"flows.0.count": []}}, "no values"),
        ({"base": {"warmup": "0s"}, "axes": {"warmup": ["1s"]}}, "both set and swept"),
        ({"base": {"warmup": {1, 2}}}, "JSON cannot"),
    ],
)
def test_bad_plans(keywords: dict[str, object], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        plan(scenario(), **keywords)  # type: ignore[arg-type]


def test_a_refused_scenario_names_the_path() -> None:
    with pytest.raises(ScenarioError, match=r"dumbbell.rat: unknown key"):
        plan(scenario(), {"dumbbell.rat": "1Mbit/s"})


def test_what_is_finished_is_read_not_run(tmp_path: Path) -> None:
    runs = plan(scenario(), axes={"flows.0.count": [1, 2]}, replications=3)
    first = execute(runs[:4], tmp_path, RunSettings(jobs=2))
    second = execute(runs, tmp_path, RunSettings(jobs=2))
    assert (first.done, first.read) == (4, 0)
    assert (second.done, second.read) == (2, 4)
    third = execute(runs, tmp_path)
    assert (third.done, third.read, third.finished) == (0, 6, 6)
    assert Store(tmp_path).runs().height == 6
    assert Store(tmp_path).invocations()["runs"].to_list() == [4, 6, 6]


def test_what_is_asked_for_later_is_kept(tmp_path: Path) -> None:
    runs = {keep: plan(scenario(), keep=keep) for keep in Keep if keep >= Keep.METRICS}
    identity = runs[Keep.METRICS][0].run_id
    for keep, of in runs.items():
        assert execute(of, tmp_path).done == 1
        assert execute(of, tmp_path).read == 1
        assert Store(tmp_path).finished() == {identity: keep}
        assert Store(tmp_path).table("flow_series").height == (10 if keep >= Keep.TABLES else 0)
        assert Store(tmp_path).run(identity).flow_series.to_polars().height == 10
    assert execute(runs[Keep.METRICS], tmp_path).read == 1
    assert len(Store(tmp_path).run(identity).packets) == 3


def test_seeds_of_their_own(tmp_path: Path) -> None:
    points = [{"dumbbell.rtt": "10ms"}, {"dumbbell.rtt": "20ms"}]
    common = [run.seed for run in plan_points(scenario(), points, replications=3)]
    assert common == [42, 43, 44] * 2
    own = [run.seed for run in plan_points(scenario(), points, replications=3, seeds="independent")]
    assert len(set(own)) == 6
    # The seeds of a point do not depend on the rest of the plan.
    assert own[3:] == [run.seed for run in plan_points(scenario(), points[1:], replications=3, seeds="independent")]
    other = plan_points(scenario(), points, replications=3, seed=43, seeds="independent")
    assert not set(own) & {run.seed for run in other}


class Measured(Experiment):
    name = "measured"
    parameters = ()
    measures: ClassVar = {"delay": "ms", "none": ""}

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": "m", "duration": "1s", "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"}, "flows": [{}]}

    def measure(self, metrics: Mapping[str, Any]) -> dict[str, float]:
        return {"delay": 2 * metrics["link_metrics"]["bottleneck"]["mean_sojourn"]}


class Mismeasured(Measured):
    def measure(self, metrics: Mapping[str, Any]) -> dict[str, float]:
        raise KeyError("no such link")


@pytest.mark.parametrize("keep", [Keep.MEASURES, Keep.METRICS, Keep.TABLES])
def test_metrics_of_an_experiment_s_own(tmp_path: Path, keep: Keep) -> None:
    runs = plan(ExperimentSource(Measured()), keep=keep)
    assert execute(runs, tmp_path).done == 1
    store = Store(tmp_path)
    own = store.metrics("experiment")
    assert own.rows() == [(runs[0].run_id, "experiment", "experiment", "delay", 20.0, "ms")]
    assert store.metrics().height == (1 if keep == Keep.MEASURES else 1 + 6)
    result = store.run(runs[0].run_id)
    assert result.experiment_metrics == {"delay": 20.0}
    assert len(result.flow_series) == 10
    if keep < Keep.TABLES:
        with pytest.raises(StoreError, match="has no table `packets`"):
            _ = result.packets.column_names


def test_a_measure_that_fails_fails_the_run_alone(tmp_path: Path) -> None:
    summary = execute(plan(ExperimentSource(Mismeasured())), tmp_path)
    assert [reason for _, reason in summary.failed] == ["KeyError: 'no such link'"]
    with pytest.raises(ParameterError, match="defines no measures"):
        plan(scenario(), keep=Keep.MEASURES)


def test_a_failed_run_is_stored_with_its_reason_and_tried_again(tmp_path: Path) -> None:
    runs = plan(scenario("fails"), replications=6)
    summary = execute(runs, tmp_path, RunSettings(jobs=2))
    assert (summary.done, len(summary.failed)) == (3, 3)
    failed = Store(tmp_path).runs().filter(status="failed")
    assert failed["reason"].to_list() == ["PluginError: odd seeds fail"] * 3
    assert execute(runs, tmp_path).read == 3


def test_a_stalled_run_says_where_and_with_which_seed_and_the_sweep_goes_on(tmp_path: Path) -> None:
    runs = plan(scenario("stalls"), replications=6)
    summary = execute(runs, tmp_path, RunSettings(jobs=2))
    assert (summary.done, len(summary.failed)) == (3, 3)
    failed = Store(tmp_path).runs().filter(status="failed")
    for seed, reason in zip(failed["seed"], failed["reason"], strict=True):
        assert reason.startswith("StalledError: flow `flow_1`: simulated time did not move from 0 s")
        assert reason.endswith(f"(seed {seed})")


def test_a_panic_of_the_engine_is_a_failed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        pass

    def panics(*_: object, **__: object) -> None:
        raise Panic("index\nout of bounds")

    monkeypatch.setattr(fake_core, "run", panics)
    summary = execute(plan(scenario()), tmp_path)
    assert summary.failed[0][1] == "Panic: index out of bounds"


def test_results_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    runs = plan(scenario(), replications=8)
    for jobs in (1, 4):
        execute(runs, tmp_path / str(jobs), RunSettings(jobs=jobs))
    one, four = (Store(tmp_path / str(jobs)).runs().sort("run_id") for jobs in (1, 4))
    assert one["digest"].to_list() == four["digest"].to_list()


def test_progress_is_told_and_ends_at_the_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(tmp_path / "gate", monkeypatch.setenv)
    seen: list[tuple[float, int]] = []

    def look(now: Standing) -> None:
        seen.append((now.done, now.failed))
        # The next run ends after the previous ones were reported.
        gate.open_for(int(now.done) + 1)

    execute(plan(scenario("gated"), replications=4), tmp_path / "r", RunSettings(jobs=2), progress=look)
    assert {0, 1, 2, 3} <= {done for done, _ in seen}
    assert seen[-1] == (4, 0)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_an_interrupt_cancels_what_runs_and_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Gate(tmp_path / "gate", monkeypatch.setenv)
    runs = [*plan(scenario(), replications=3), *plan(scenario("gated"), replications=3)]

    def interrupt(now: Standing) -> None:
        if now.done >= 3:
            raise KeyboardInterrupt

    summary = execute(runs, tmp_path / "r", RunSettings(jobs=2), progress=interrupt)
    assert summary.interrupted
    assert (summary.done, summary.failed) == (3, [])
    assert Store(tmp_path / "r").runs().height == 3
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("bloatlab")]


def test_a_disk_that_fills_up_stops_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bloatlab.store import parts

    written = []
    whole = parts.write_durably

    def fills_up(path: Path, data: memoryview) -> None:
        written.append(path)
        if len(written) > 20:
            raise OSError(28, "No space left on device")
        whole(path, data)

    gate = Gate(tmp_path / "gate", monkeypatch.setenv)
    gate.open_for(5)

    def look(_: object) -> None:
        # The next runs wait until those before them are stored.
        gate.open_for(len(Store(out).finished()) + 5)

    out = tmp_path / "r"
    runs = plan(scenario("gated"), replications=200)
    with monkeypatch.context() as patch:
        patch.setattr(parts, "write_durably", fills_up)
        with pytest.raises(StoreError, match="disk is full"):
            execute(runs, out, RunSettings(jobs=2), progress=look)
    kept = Store(out).runs().height
    assert 5 <= kept < 100
    assert Store(out).table("flow_series")["run_id"].n_unique() == kept
    gate.open_for(200)
    assert execute(runs[: kept + 5], out, RunSettings(jobs=2)).finished == kept + 5


def test_jobs_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="jobs"):
        execute([], tmp_path, RunSettings(jobs=0))
