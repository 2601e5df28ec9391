"""The CCPerf family: its scenarios, its ranking, and its site."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import bloatlab
from bloatlab.errors import ParameterError
from bloatlab.experiments import CATALOGUE, get, suite_of
from bloatlab.experiments.ccperf import traces
from bloatlab.experiments.ccperf.benchmark import FAMILY, CcBenchmark
from bloatlab.experiments.ccperf.fairness import rtts
from bloatlab.experiments.ccperf.paths import PATHS
from bloatlab.experiments.congestion_controls import comparable
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.ranking import Observation, Ranking, at_points, by_point, rank
from bloatlab.experiments.suite import overall
from bloatlab.report import make_report
from bloatlab.store.parts import Part
from bloatlab.sweeps import ExperimentSource, execute, plan, plan_all
from conftest import REAL

real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def dumbbell(name: str, **params: object) -> dict[str, object]:
    experiment = get(name)
    found: dict[str, object] = experiment.scenario(experiment.resolve(params))["dumbbell"]
    return found


def vary(name: str, **params: object) -> object:
    return dumbbell(name, **params).get("vary")


@real
@pytest.mark.parametrize("name", [member.name for member in FAMILY])
def test_the_engine_takes_every_point(name: str) -> None:
    experiment = get(name)
    axes = experiment.all_axes({"cca": "newreno"}, {})
    points = 1
    for values in axes.values():
        points *= len(values)
    assert len(plan(ExperimentSource(experiment), {"cca": "newreno"}, axes)) == points


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("steady_state_single_flow", "steady-state"),
        ("steady_state_synchronous_fairness", "synchronous-fairness"),
        ("responsiveness_pulse_wave", "responsiveness-pulse"),
        ("start_time_fairness", "start-time-fairness"),
    ],
)
def test_names_of_ccperf_are_accepted(name: str, ours: str) -> None:
    assert get(name) is CATALOGUE[ours]


def test_defaults_are_those_of_ccperf() -> None:
    assert {"newreno", "reno", "cubic", "bbr"} <= set(comparable())
    for member in FAMILY:
        assert member.axes()["cca"] == comparable()
    plain = {"rate": "16Mbit/s", "rtt": "15ms", "loss": 0.0}
    assert plain.items() <= dumbbell("shallow-buffers").items()
    assert dumbbell("shallow-buffers")["queue"] == {"kind": "fifo", "limit": "10p"}
    assert dumbbell("loss-resilience")["loss"] == 0.02
    shared = dumbbell("synchronous-fairness", k=10)
    assert (shared["rate"], shared["queue"]) == ("160Mbit/s", {"kind": "fifo", "limit": "200p"})
    later = get("start-time-fairness")
    (flow,) = later.scenario(later.resolve({}))["flows"]
    assert (flow["count"], flow["start_interval"]) == (2, "1.87s")


@pytest.mark.usefixtures("fake")
def test_paths_are_those_listed() -> None:
    assert len(PATHS) == 8
    winds = dumbbell("steady-state", path="winds")
    assert winds["rate"] == "42Mbit/s"
    assert winds["rtt"] == "800ms"
    assert winds["loss"] == 0.0074
    assert winds["queue"] == {"kind": "fifo", "limit": "2800p"}
    assert "vary" not in winds
    nepal = dumbbell("steady-state", path="nepal-aws-india", rtt="1ms")
    assert (nepal["rate"], nepal["rtt"], nepal["loss"]) == ("0.57Mbit/s", "1ms", 0.0477)
    assert nepal["vary"] == {"rate": {"kind": "poisson"}}


def test_round_trips_of_two_and_of_ten() -> None:
    assert rtts(2) == ["97ms", "76ms"]
    assert rtts(10) == ["10ms", "18ms", "26ms", "34ms", "42ms", "49ms", "57ms", "65ms", "73ms", "81ms"]


@pytest.mark.usefixtures("fake")
def test_what_changes_and_where_it_starts() -> None:
    step = [{"at": "0s", "value": "16Mbit/s"}, {"at": "7.5s", "value": "4Mbit/s"}]
    assert vary("responsiveness-step") == {"rate": {"kind": "steps", "steps": step}}
    up = vary("responsiveness-step", target="rtt", direction="up", at="2s", lower="5ms")
    step = [{"at": "0s", "value": "5ms"}, {"at": "2s", "value": "60ms"}]
    assert up == {"rtt": {"kind": "steps", "steps": step}}
    # The queueing delay of a run is counted from the constant value.
    assert dumbbell("responsiveness-step", target="rtt", direction="down", lower="5ms")["rtt"] == "5ms"
    wave = {"kind": "pulse", "lower": 0.0, "upper": 0.02, "period": "3s"}
    assert vary("responsiveness-pulse", target="loss") == {"loss": wave}
    walk = vary("random-walk", target="rate", max="20Mbit/s", rho=0)
    assert walk == {
        "rate": {
            "kind": "random_walk",
            "min": "2Mbit/s",
            "max": "20Mbit/s",
            "sigma": "800kbit/s",
            "rho": 0.0,
            "interval": "100ms",
        }
    }
    assert dumbbell("random-walk", target="rtt")["rtt"] == "30ms"


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"target": "rtt", "lower": "4Mbit/s"}, "lower: .*(the target is rtt)"),
        ({"lower": "low"}, "`low` is not a rate, a duration or a probability"),
        ({"target": "jitter"}, "target"),
    ],
)
def test_bounds_must_suit_the_target(params: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said.replace("(", r"\(").replace(")", r"\)")):
        get("responsiveness-step").resolve(params)


def test_the_generated_trace_is_a_trace_with_its_features() -> None:
    trace = traces.generated()
    assert list(trace) == sorted(trace)
    assert trace[-1] == traces.LENGTH_MS
    mean = len(trace) * traces.DELIVERY_BITS / traces.LENGTH_MS / 1e3
    assert 8 < mean < 20
    gaps = [second - first for first, second in pairwise(trace)]
    # It fails for moments, and its rate over half seconds differs by a factor.
    assert sum(gap >= 100 for gap in gaps) >= 2
    halves = [sum(1 for at in trace if start <= at < start + 500) for start in range(0, traces.LENGTH_MS, 500)]
    assert max(halves) > 3 * min(halves)


@pytest.mark.usefixtures("fake")
def test_a_trace_s_mean_is_the_constant_rate(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_text("0\n1\n3\n6\n")
    found = dumbbell("replay-rate-trace", trace=str(file))
    assert found["rate"] == "8000kbit/s"
    assert found["vary"] == {"rate": {"kind": "mahimahi", "file": str(file)}}
    assert traces.mean_rate(str(tmp_path / "none")) is None
    file.write_text("1\nx\n")
    assert traces.mean_rate(str(file)) is None


@real
def test_a_broken_trace_is_refused_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_text("1\n4\n3\n")
    with pytest.raises(
        bloatlab.ScenarioError,
        match=r"vary\.rate\.file: `.*trace` line 3: must not be earlier than the delivery before it",
    ):
        plan(ExperimentSource(get("replay-rate-trace")), {"trace": str(file)})


DELAY = Criterion("delay", "delay", "ms", "lower", "delay", "f", lambda metrics: metrics.get("delay"))


def ranked(*delays: tuple[str, str, float]) -> tuple[Ranking, list[Observation]]:
    observed = [Observation(name, point, {"delay": delay}) for name, point, delay in delays]
    return rank([DELAY], observed, "congestion control"), observed


def test_places_over_experiments_make_the_score() -> None:
    first, _ = ranked(("a", "", 1.0), ("b", "", 2.0), ("c", "", 3.0))
    second, _ = ranked(("a", "", 3.0), ("b", "", 1.0), ("c", "", 1.0))
    whole = overall(CcBenchmark(), {"steady-state": first, "random-walk": second, "shallow-buffers": None})
    assert whole is not None
    assert whole.subject == "congestion control"
    # Places: a 1 and 3, b 2 and 1.5, c 3 and 1.5.
    assert {row.name: row.score for row in whole.contenders} == {"a": 2.0, "b": 1.75, "c": 2.25}
    assert [row.name for row in whole.contenders] == ["b", "a", "c"]
    assert whole.contenders[0].ranks == {"steady-state": 2.0, "random-walk": 1.5}
    named = overall(CcBenchmark(), {"rtt-fairness": first, "random-walk": second})
    assert named is not None
    assert [criterion.title for criterion in named.criteria] == ["RTT fairness", "random walk"]
    assert overall(CcBenchmark(), {"steady-state": first, "random-walk": None}) is first


def test_places_by_point_keep_the_order_of_the_ranking() -> None:
    ranking, observed = ranked(
        ("a", "x", 1.0), ("b", "x", 2.0), ("a", "y", 4.0), ("b", "y", 3.0), ("a", "z", 1.0), ("b", "z", 5.0)
    )
    places = by_point(ranking, at_points(ranking, observed))
    assert places is not None
    assert [(row.name, dict(row.ranks)) for row in places.contenders] == [
        ("a", {"x": 1.0, "y": 2.0, "z": 1.0}),
        ("b", {"x": 2.0, "y": 1.0, "z": 2.0}),
    ]
    ranking, observed = ranked(("a", "", 1.0), ("b", "", 2.0))
    assert by_point(ranking, at_points(ranking, observed)) is None


@pytest.mark.usefixtures("fake")
def test_the_benchmark_takes_lists_and_refuses_what_is_none() -> None:
    source = ExperimentSource(get("cc-benchmark"))
    parts = get("cc-benchmark")
    assert isinstance(parts, CcBenchmark)
    asked = parts.resolve({"ccas": "bbr+cubic", "experiments": "random_walk+steady-state", "stop": "3s"})
    found = parts.parts(asked)
    assert [part.experiment.name for part in found] == ["steady-state", "random-walk"]
    assert found[0].axes == {"cca": ["bbr", "cubic"], "path": list(PATHS)}
    assert found[0].base == {"stop": "3s"}
    marked = parts.parts(parts.resolve({"queue": "codel", "ecn": "true"}))
    assert all(part.base == {"queue": "codel", "ecn": True} for part in marked)
    for base, given, said in (
        ({"experiments": "steady-stat"}, {}, "did you mean `steady-state`"),
        ({"ccas": "cubic+bbrr"}, {}, "did you mean `bbr`"),
        ({"ccas": "cubic"}, {}, "name two or more"),
        ({}, {"stop": ["1s"]}, "sweep one of its experiments"),
    ):
        with pytest.raises(ParameterError, match=said):
            plan_all(source, base, given)
    assert suite_of(["steady-state", "random-walk"]) is CATALOGUE["cc-benchmark"]
    assert suite_of(["steady-state"]) is None
    assert suite_of(["steady-state", "aqm-comparison"]) is None


@real
def test_the_benchmark_makes_a_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = {"ccas": "cubic+newreno", "experiments": "shallow-buffers+responsiveness-pulse", "stop": "3s"}
    runs, _ = plan_all(ExperimentSource(get("cc-benchmark")), base, {})
    assert len(runs) == 2 + 2 * 3
    assert not execute(runs, tmp_path, command="bloatlab run cc-benchmark").failed
    reads: list[tuple[str, str]] = []
    read = Part.read
    monkeypatch.setattr(Part, "read", lambda part, table: reads.append((part.name, table)) or read(part, table))
    index = make_report(tmp_path)
    # All pages share what was read.
    assert len(reads) == len(set(reads)) > 0
    assert index == tmp_path / "index.html"
    text = index.read_text()
    linked = set(re.findall(r'href="([^"#]+\.html)"', text))
    assert linked == {"shallow-buffers.html", "responsiveness-pulse.html"}
    assert "bloatlab run cc-benchmark" in re.sub(r"</?span>", "", text)
    assert "<svg" in text
    for name in linked:
        page = (tmp_path / name).read_text()
        assert 'href="index.html"' in page
        assert "congestion control" in page
        assert "bloatlab run cc-benchmark" in re.sub(r"</?span>", "", page)
    pulse = (tmp_path / "responsiveness-pulse.html").read_text()
    assert "Rank by set-up" in pulse
    assert "Rank by set-up" not in (tmp_path / "shallow-buffers.html").read_text()
