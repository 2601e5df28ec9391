"""Sensitivity of functions with known indices, and searches that are interrupted and resumed."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from bloatlab.analysis import front as fronts
from bloatlab.analysis import sensitivity, tune
from bloatlab.analysis.knobs import default_of, knobs
from bloatlab.analysis.readings import Reading, number
from bloatlab.analysis.space import Vary
from bloatlab.cli import command
from bloatlab.cli.vary import varied
from bloatlab.errors import ParameterError, StoreError
from bloatlab.experiments.queues import comparable
from bloatlab.lab import single
from bloatlab.settings import RunSettings
from bloatlab.sweeps import ScenarioSource
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")

FILE = """
duration = "1s"
[dumbbell]
rate = "10Mbit/s"
rtt = "20ms"
[[flows]]
name = "bulk"
[[flows]]
name = "ping"
traffic = { kind = "ping", interval = "50ms" }
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "small.toml").write_text(FILE, encoding="utf-8")
    return "small.toml"


def y() -> Reading:
    return number("network.agg_throughput")


def test_sobol_of_the_ishigami_function() -> None:
    """Ishigami and Homma 1990, a = 7, b = 0.1: the indices in closed form."""
    inputs = [Vary(f"x{i}", (), -math.pi, math.pi) for i in (1, 2, 3)]
    made = sensitivity.design(inputs, "sobol", 1024, seed=7)
    assert len(made.points()) == 1024 * 5
    values = [
        math.sin(p["x1"]) + 7 * math.sin(p["x2"]) ** 2 + 0.1 * p["x3"] ** 4 * math.sin(p["x1"]) for p in made.points()
    ]
    found = sensitivity.analyse(made, values, y())
    first, total = [of.first for of in found.indices], [of.total for of in found.indices]
    assert first == pytest.approx([0.3139, 0.4424, 0.0], abs=0.03)
    assert total == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.03)
    for of, exact in zip(found.indices, (0.5576, 0.4424, 0.2437), strict=True):
        assert of.total is not None
        assert of.total_half_width is not None
        assert abs(of.total - exact) <= 1.5 * of.total_half_width


def test_morris_of_a_linear_function() -> None:
    made = sensitivity.design([Vary("a", (), 0.0, 1.0), Vary("b", (), 0.0, 10.0)], "morris", 6, seed=1)
    assert len(made.points()) == 6 * 3
    found = sensitivity.analyse(made, [3 * p["a"] - 0.2 * p["b"] for p in made.points()], y())
    # Effects over the whole range: 3 and -2, the same everywhere.
    assert [of.first for of in found.indices] == pytest.approx([3.0, 2.0], abs=0.01)
    assert [of.mean for of in found.indices] == pytest.approx([3.0, -2.0], abs=0.01)
    assert [of.total for of in found.indices] == pytest.approx([0.0, 0.0], abs=0.01)


@pytest.mark.parametrize("method", ["sobol", "morris"])
def test_what_does_not_vary_has_no_index(method: Any) -> None:
    made = sensitivity.design([Vary("a", (), 0.0, 1.0), Vary("b", ("x", "y"))], method, 4)
    found = sensitivity.analyse(made, [5.0] * len(made.points()), y())
    assert [(of.first, of.total) for of in found.indices] == [(None, None)] * 2
    json.dumps(sensitivity.describe(made, [found], 1), allow_nan=False)


def test_ranges() -> None:
    rate, rtt, count, queue = varied(
        ["rate=1Mbit/s..1Gbit/s", "rtt=5ms..0.05s", "flows.0.count=1..9", 'queue=fifo,{kind="codel", target="1ms"}']
    )
    assert (rate.log, rtt.log, count.log) == (True, False, False)
    # On a log scale the middle is the geometric mean: sqrt(1 * 1000) = 31.62.
    assert (rate.at(0), rate.at(0.5), rate.at(1)) == ("1Mbit/s", "31.62Mbit/s", "1000Mbit/s")
    assert (rtt.at(0), rtt.at(0.5), rtt.at(1)) == ("5ms", "27.5ms", "50ms")
    assert [count.at(share) for share in (0, 0.5, 1)] == [1, 5, 9]
    assert [queue.at(share) for share in (0, 0.49, 0.5, 1)] == ["fifo"] * 2 + [{"kind": "codel", "target": "1ms"}] * 2
    assert Vary("q", ("a", "b", "c")).at(1 / 3) == "b"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rate=1Mbit/s..2ms", "`Mbit/s` and `ms` are not units of one kind"),
        ("rate=2Mbit/s..1Mbit/s", "the first must be less than the second"),
        ("rate=fast..slow", "is not a range of numbers"),
        ("rate=1Mbit/s", "neither a range"),
        ("rate", "--vary rate: must be key=value"),
    ],
)
def test_ranges_that_are_none(text: str, why: str) -> None:
    with pytest.raises(ParameterError) as caught:
        varied([text])
    assert str(caught.value).startswith("--vary rate")
    assert why in str(caught.value).replace("`1Mbit/s..2ms`: ", "").replace("`ms` and `Mbit/s`", "`Mbit/s` and `ms`")


def test_a_small_sensitivity_resumes(file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    call = ["sensitivity", file, "--vary", "dumbbell.rate=2Mbit/s..40Mbit/s", "--vary", "dumbbell.queue=fifo,codel"]
    call += [
        "--metric",
        "network.agg_throughput",
        "--metric",
        "probe.ping.lost",
        "--samples",
        "4",
        "--jobs",
        "2",
        "--out",
        "s",
    ]
    assert command([*call, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    # 4 x (2 + 2) samples; those that set the same are one run.
    assert first["runs"] <= 16
    throughput = {of["name"]: of for of in first["metrics"][0]["indices"]}
    assert throughput["dumbbell.rate"]["total"] > throughput["dumbbell.queue"]["total"]
    assert command(call) == 0
    assert f"0 simulated, {first['runs']} read from the store" in " ".join(capsys.readouterr().out.split())
    assert json.loads((tmp_path / "s" / "sensitivity.json").read_text(encoding="utf-8")) == first
    assert (tmp_path / "s" / "sensitivity.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["sensitivity", "small.toml", "--metric", "network.power"], "--vary: give at least two"),
        (["sensitivity", "small.toml", "--vary", "a=1..2"], "--metric: give at least one"),
        (["sensitivity", "small.toml", "--vary", "a=1..2", "--vary", "b=1..2", "--metric", "network.power", "--samples", "3"],
         "samples: Sobol's sequence needs a power of 2, such as 2 or 4, not 3"),
        (["sensitivity", "small.toml", "--vary", "a=1..2", "--vary", "b=1..2", "--metric", "network.power"], "unknown key"),
        (["sensitivity", "nothing", "--vary", "a=1..2", "--metric", "network.power"], "unknown experiment `nothing`"),
        (["tune", "small.toml", "--queue", "fifo,nonsense"], "unknown queue that can be tuned `nonsense`"),
        (["tune", "small.toml", "--queue", "fifo,fifo"], "--queue: a queue is given twice"),
        (["tune", "small.toml", "--trials", "0"], "trials: must be at least 1, not 0"),
        (["tune", "small.toml", "--set", "dumbbell.queue=fifo"], "dumbbell.queue: is tuned, so it cannot be set"),
        (["tune", "small.toml", "--vary", "dumbbell.queue=fifo,codel"], "dumbbell.queue: is both varied and tuned"),
        (["tune", "small.toml", "--minimise", "link.mean_delight"], "unknown metric `mean_delight`"),
        (["tune", "congestion-control-behaviour"], "has no parameter `queue`"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(arguments: list[str], why: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert why in lines[0]
    assert not Path("results").exists()


def test_every_queue_that_stands_by_itself_has_something_to_tune() -> None:
    for kind in comparable():
        assert knobs(kind), kind
        for knob in knobs(kind):
            assert knob.low <= default_of(knob) <= knob.high
    assert [knob.name for knob in knobs("codel")] == ["codel.target", "codel.interval"]
    assert [knob.text for knob in knobs("fifo")] == ["10p to 1000p, log scale"]
    assert [knob.text for knob in knobs("cake")] == ["10000us to 1000000us, log scale"]


def problem(**more: Any) -> tune.Problem:
    import tomllib

    source = ScenarioSource({**tomllib.loads(FILE), "name": "small"})
    objectives = [
        fronts.Objective(number("probe.ping.p95_rtt"), True),
        fronts.Objective(number("network.agg_throughput"), False),
    ]
    return tune.Problem(source, {}, "dumbbell.queue", ["fifo", "codel"], [], objectives, **more)


def trials_of(directory: str) -> list[tuple[Any, ...]]:
    import optuna

    study = optuna.load_study(study_name="tune", storage=f"sqlite:///{directory}/{tune.STUDY}")
    return [(trial.number, trial.state.name, trial.params, trial.values) for trial in study.trials]


def test_a_search_that_was_broken_off_goes_on_as_if_it_had_not(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tune.tune(problem(), Path("whole"), 20, RunSettings(jobs=2))
    assert len(whole.trials) == 20

    class Killed(BaseException):
        pass

    left = [19]
    suggest = tune._suggest

    def dies(*arguments: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise Killed
        return suggest(*arguments)

    # In the middle of a trial of the second round: its queue is chosen, its parameters are not.
    monkeypatch.setattr(tune, "_suggest", dies)
    with pytest.raises(Killed):
        tune.tune(problem(), Path("parts"), 20, RunSettings(jobs=1))
    assert "RUNNING" in {state for _, state, *_ in trials_of("parts")}
    monkeypatch.setattr(tune, "_suggest", suggest)
    # And again when a round has run and half of it is recorded.
    told, tell = [0], tune._tell

    def dies_telling(*arguments: Any) -> None:
        told[0] += 1
        if told[0] == 6:
            raise Killed
        tell(*arguments)

    monkeypatch.setattr(tune, "_tell", dies_telling)
    with pytest.raises(Killed):
        tune.tune(problem(), Path("parts"), 20, RunSettings(jobs=2))
    monkeypatch.setattr(tune, "_tell", tell)
    resumed = tune.tune(problem(), Path("parts"), 20, RunSettings(jobs=1))
    assert trials_of("parts") == trials_of("whole")
    assert resumed == whole


def test_what_a_search_finds(file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, lab_file: Path) -> None:
    call = [
        "tune",
        file,
        "--queue",
        "fifo,codel,gsp",
        "--trials",
        "10",
        "--replications",
        "2",
        "--jobs",
        "2",
        "--out",
        "t",
    ]
    assert command([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["trials"], found["failed"], found["replications"]) == (10, 0, 2)
    assert [of["goal"] for of in found["objectives"]] == ["minimize", "maximize"]
    assert found["objectives"][0]["metric"] == "probe.ping.p95_rtt"
    delays, rates = zip(*(of["values"] for of in found["front"]), strict=True)
    assert list(delays) == sorted(delays)
    assert list(rates) == sorted(rates)
    assert found["recommended"] in found["front"]
    assert all(len(of["runs"]) == 2 for of in found["front"])
    for of in found["front"]:
        kind = of["queue"]["kind"]
        assert of["tc"].startswith(
            "not on Linux" if kind == "gsp" else f"tc qdisc replace dev eth0 root {'pfifo' if kind == 'fifo' else kind}"
        )
    lab_file.write_bytes(single.MARK)
    assert command(call) == 0
    assert "recommended: " in capsys.readouterr().out
    page = (tmp_path / "t" / "tune.html").read_text(encoding="utf-8")
    assert found["recommended"]["tc"].replace("'", "&#39;") in page
    assert page.count('<a href="lab.html#') == len(found["front"])
    assert (tmp_path / "t" / "pareto.svg").exists()
    with pytest.raises(StoreError, match="has another search \\(it differs in"):
        tune.tune(problem(), Path("t"), 10)


def found(number: int, *values: float) -> fronts.Found:
    return fronts.Found(number, "fifo", "fifo", {}, values, [None] * len(values), {}, [])


def test_the_front_and_its_knee() -> None:
    goals = problem().objectives
    trials = [found(0, 10, 5), found(1, 20, 9), found(2, 20, 8), found(3, 90, 10), found(4, 10, 5), found(5, 95, 9.5)]
    front = fronts.front(trials, goals)
    assert [of.number for of in front] == [0, 1, 3]
    # Scaled to all: (0, 1), (0.12, 0.2), (0.94, 0): the second is the nearest to (0, 0).
    best = fronts.knee(front, goals, trials)
    assert best is not None
    assert best.number == 1
    assert fronts.knee([], goals, []) is None
    assert fronts.knee(front[:1], goals, front[:1]) == front[0]


def test_a_hair_of_delay_is_not_worth_a_third_of_the_throughput() -> None:
    """Fair queues keep a ping short with any parameters, so the width of the front is noise."""
    goals = problem().objectives
    trials = [found(0, 40.57, 13.2), found(1, 40.58, 17.0), found(2, 40.60, 19.3), found(3, 640.0, 19.3)]
    best = fronts.knee(fronts.front(trials, goals), goals, trials)
    assert best is not None
    assert best.number == 2


def test_trials_that_the_engine_refuses_fail_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tune.Problem.runs

    def refuses(self: tune.Problem, point: Any) -> Any:
        if isinstance(point["dumbbell.queue"].get("limit"), str) and point["dumbbell.queue"]["limit"] != "1000p":
            raise ParameterError("no")
        return runs(self, point)

    monkeypatch.setattr(tune.Problem, "runs", refuses)
    outcome = tune.tune(problem(), Path("f"), 10, RunSettings(jobs=1))
    assert outcome.failed > 0
    assert len(outcome.trials) + outcome.failed == 10
    assert outcome.knee is not None


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("SALib", ["sensitivity", "small.toml", "--vary", "dumbbell.rate=1Mbit/s..9Mbit/s", "--vary", "dumbbell.rtt=1ms..9ms",
                   "--metric", "network.power"]),
        ("optuna", ["tune", "small.toml"]),
    ],
)  # fmt: skip
def test_a_missing_extra_is_one_line(
    package: str,
    arguments: list[str],
    file: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert command(arguments) == 2
    assert capsys.readouterr().err == f"bloatlab: this needs {package}: pip install 'bloatlab[analysis]'\n"
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("flow", "metric"),
    [
        ({"name": "ping", "count": 1}, "probe.ping.p95_rtt"),
        ({"name": "ping", "count": 3}, "probe.ping*.p95_rtt"),
        ({"count": 1}, "probe.*.p95_rtt"),
    ],
)
def test_the_delay_of_a_ping_is_what_is_made_small(flow: dict[str, Any], metric: str) -> None:
    document = {"flows": [{"count": 4, "traffic": {"kind": "greedy"}}, {**flow, "traffic": {"kind": "ping"}}]}
    named = [objective.reading.text for objective in tune.objectives_of(document, number)]
    assert named == [metric, "network.agg_throughput"]


def test_without_a_ping_it_is_the_sojourn_time() -> None:
    document = {"flows": [{"count": 1, "traffic": {"kind": "greedy"}}]}
    assert tune.objectives_of(document, number)[0].reading.text == "flow.p95_sojourn_l4"
