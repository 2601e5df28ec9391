"""Sensitivity of functions with known indices, and searches that are interrupted and resumed."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from bloatlab import units
from bloatlab.analysis import front as fronts
from bloatlab.analysis import sensitivity, tune
from bloatlab.analysis.advice import advice
from bloatlab.analysis.bottleneck import Bottleneck
from bloatlab.analysis.choice import choose
from bloatlab.analysis.knobs import PRESETS, default_of, knobs, table_of, tc_of
from bloatlab.analysis.objectives import objectives_of
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


HOME = Bottleneck("dumbbell.queue", ("bottleneck",), 50_000_000, 0.04)
SATELLITE = Bottleneck("dumbbell.queue", ("bottleneck",), 20_000_000, 0.6)
UNKNOWN = Bottleneck("dumbbell.queue", ("bottleneck",))
CELL = Bottleneck("cell.queue", ("ue_1",), None, 0.02)
CODEL_LIKE = ("codel", "fq_codel", "cobalt", "gsp")
PIE_LIKE = ("pie", "fq_pie", "dualpi2")


@pytest.mark.parametrize("where", [HOME, SATELLITE, UNKNOWN, CELL])
def test_every_queue_that_stands_by_itself_has_something_to_tune(where: Bottleneck) -> None:
    for kind in comparable():
        assert knobs(kind, where), kind
        for knob in knobs(kind, where):
            default = default_of(knob)
            assert default in knob.values if knob.values else knob.low <= default <= knob.high, knob
    assert [knob.text for knob in knobs("fifo", where)] == ["10p to 1000p, log scale"]


def drawn(kind: str, where: Bottleneck, share: float) -> dict[str, Any]:
    """The table of a queue with every knob at this share of its range."""
    values = {
        knob.name: knob.at(share) if knob.values else knob.low + share * (knob.high - knob.low)
        for knob in knobs(kind, where)
    }
    return table_of(kind, {name: round(v) if kind == "fifo" else v for name, v in values.items()}, where)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.77, 1.0])
@pytest.mark.parametrize("where", [HOME, SATELLITE, UNKNOWN, CELL])
def test_what_is_searched_keeps_the_rules_of_the_field(where: Bottleneck, share: float) -> None:
    for kind in CODEL_LIKE:
        table = drawn(kind, where, share)
        target, interval = units.duration(table["target"]), units.duration(table["interval"])
        # Two digits round the share by a few percent of itself.
        assert 0.045 <= target / interval <= 0.105, table
        assert min(0.1, where.rtt_s or 0.1) * 0.95 <= interval <= max(0.4, 2.1 * where.rtt_s), table
    for kind in PIE_LIKE:
        table = drawn(kind, where, share)
        assert 0.45 <= units.duration(table["tupdate"]) / units.duration(table["target"]) <= 1.7, table
        assert 0.004 <= units.duration(table["target"]) <= 0.0301, table
    cake = drawn("cake", where, share)
    assert cake["rtt"] in PRESETS.values()
    assert cake["rtt"] == "100ms" or where.rtt_s / 2 <= units.duration(cake["rtt"]) <= 10 * where.rtt_s
    assert cake.get("bandwidth") == {50_000_000: "50Mbit/s", 20_000_000: "20Mbit/s", None: None}[where.rate_bps]


def test_the_commands_shape_where_the_rate_is_known() -> None:
    codel = {"kind": "fq_codel", "target": "5.2ms", "interval": "83ms"}
    assert tc_of(codel, HOME).split("; ") == [
        "tc qdisc replace dev eth0 root handle 1: htb default 1",
        "tc class replace dev eth0 parent 1: classid 1:1 htb rate 50mbit",
        "tc qdisc replace dev eth0 parent 1:1 fq_codel target 5200us interval 83ms",
    ]
    assert tc_of(codel, CELL) == "tc qdisc replace dev eth0 root fq_codel target 5200us interval 83ms"
    cake = drawn("cake", HOME, 1.0)
    assert tc_of(cake, HOME) == "tc qdisc replace dev eth0 root cake bandwidth 50mbit rtt 300ms"
    assert tc_of({"kind": "gsp"}, HOME).startswith("no tc command: ")


PATH = Bottleneck("dumbbell.queue", ("bottleneck",), 10_000_000, 0.02)


def problem(**more: Any) -> tune.Problem:
    import tomllib

    source = ScenarioSource({**tomllib.loads(FILE), "name": "small"})
    objectives = [
        fronts.Objective(number("probe.ping.p95_rtt"), True),
        fronts.Objective(number("network.agg_throughput"), False),
    ]
    return tune.Problem(source, {}, PATH, ["fifo", "codel"], [], objectives, **more)


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
    assert [(of["metric"], of["goal"]) for of in found["objectives"]] == [
        ("link.bottleneck.p95_sojourn", "minimize"),
        ("network.agg_throughput", "maximize"),
        ("probe.ping.p95_rtt", "minimize"),
    ]
    delays = [of["values"][0] for of in found["front"]]
    assert delays == sorted(delays)
    assert all(mean <= worst for of in found["front"] for mean, worst in [(of["means"][0], of["values"][0])])
    assert all(mean >= worst for of in found["front"] for mean, worst in [(of["means"][1], of["values"][1])])
    assert found["why"] in ("best", "default is best", "noise")
    assert found["recommended"]["default"] == (found["why"] != "best")
    assert all(len(of["runs"]) == 2 for of in found["front"])
    for of in found["front"]:
        kind = of["queue"]["kind"]
        if kind == "gsp":
            assert of["tc"].startswith("no tc command")
        else:
            assert "htb rate 10mbit; " in of["tc"]
            assert f"parent 1:1 {'pfifo' if kind == 'fifo' else kind}" in of["tc"]
    lab_file.write_bytes(single.MARK)
    assert command(call) == 0
    out = capsys.readouterr().out
    assert "Recommended: " in out
    assert "Worst of 2 replications: 95th percentile of the sojourn time at the bottleneck" in " ".join(out.split())
    page = (tmp_path / "t" / "tune.html").read_text(encoding="utf-8")
    assert found["recommended"]["tc"].replace("'", "&#39;").replace("; ", "\n") in re.sub(r"</?span>", "", page)
    shown = {of["trial"] for of in (*found["front"], found["recommended"], found["default"]) if of}
    assert page.count('<a href="lab.html#') == len(shown)
    assert (tmp_path / "t" / "pareto.svg").exists()
    with pytest.raises(StoreError, match="has another search \\(it differs in"):
        tune.tune(problem(), Path("t"), 10)


def found(number: int, *samples: list[float], kind: str = "fifo", default: bool = False) -> fronts.Found:
    """A trial with the values of its replications; of the objectives of `problem` the first is minimised."""
    worst = [max(samples[0]), min(samples[1])]
    queue = {"kind": kind, "limit": f"{number}p"}
    return fronts.Found(number, kind, f"{kind} {number}", queue, worst, samples, {"dumbbell.queue": queue}, [], default)


def one(number: int, delay: float, rate: float) -> fronts.Found:
    return found(number, [delay], [rate])


def test_the_front_has_what_no_other_trial_dominates() -> None:
    goals = problem().objectives
    trials = [one(0, 10, 5), one(1, 20, 9), one(2, 20, 8), one(3, 90, 10), one(4, 10, 5), one(5, 95, 9.5)]
    assert [of.number for of in fronts.front(trials, goals)] == [0, 1, 3]
    # Scaled to all: (0, 1), (0.12, 0.2), (0.94, 0): the second is the nearest to (0, 0).
    best = choose(trials, goals)
    assert best is not None
    assert best.recommended.number == 1
    assert choose([], goals) is None


def test_a_hair_of_delay_is_not_worth_a_third_of_the_throughput() -> None:
    """Fair queues keep a ping short with any parameters, so the width of the front is noise."""
    best = choose(
        [one(0, 40.57, 13.2), one(1, 40.58, 17.0), one(2, 40.60, 19.3), one(3, 640.0, 19.3)], problem().objectives
    )
    assert best is not None
    assert best.recommended.number == 2


def test_a_hair_of_throughput_is_not_worth_a_third_of_the_delay() -> None:
    """Every trial fills the link, so the range of the throughput is noise."""
    best = choose([one(0, 26.0, 9.67), one(1, 20.0, 9.66), one(2, 46.0, 9.64)], problem().objectives)
    assert best is not None
    assert best.recommended.number == 1


DEFAULT = found(0, [30.0, 31.0, 32.0], [9.0, 9.1, 9.2], default=True)
FAR = found(1, [100.0, 101.0, 99.0], [8.0, 8.1, 8.0], kind="codel", default=True)


def chosen(*trials: fronts.Found) -> tuple[int, str]:
    best = choose(trials, problem().objectives)
    assert best is not None
    return best.recommended.number, best.why


def test_only_what_beats_the_defaults_by_more_than_the_noise_is_recommended() -> None:
    # 10 ms less in every replication, then the same mean with replications that contradict each other.
    clear = found(2, [20.0, 21.0, 22.0], [9.0, 9.1, 9.2])
    assert chosen(DEFAULT, FAR, clear) == (2, "best")
    unclear = found(3, [29.0, 31.5, 31.5], [9.0, 9.1, 9.2])
    assert chosen(DEFAULT, FAR, unclear) == (0, "noise")
    assert chosen(DEFAULT, FAR) == (0, "default is best")
    # Another queue must beat its own default as well as the best default.
    assert chosen(DEFAULT, FAR, found(4, [20.0, 21.0, 22.0], [9.0, 9.1, 9.2], kind="codel")) == (4, "best")
    near = found(5, [20.0, 21.0, 22.5], [9.0, 9.1, 9.2], kind="codel", default=True)
    assert chosen(DEFAULT, near, found(6, [20.5, 20.5, 22.0], [9.0, 9.1, 9.2], kind="codel")) == (5, "noise")


def test_one_replication_shows_no_noise() -> None:
    default = found(0, [30.0], [9.0], default=True)
    assert chosen(default, one(1, 5.0, 9.9)) == (0, "unknown noise")
    # Replications that are all equal do not show any either.
    equal = [found(0, [30.0] * 3, [9.0] * 3, default=True), found(1, [5.0] * 3, [9.9] * 3)]
    assert chosen(*equal) == (0, "unknown noise")


def test_a_trial_counts_with_its_worst_replication() -> None:
    steady, lucky = found(2, [20.0, 20.0, 20.0], [9.0] * 3), found(3, [1.0, 1.0, 40.0], [9.0] * 3)
    assert lucky.means[0] < steady.means[0]
    best = choose([FAR, steady, lucky], problem().objectives)
    assert best is not None
    assert best.best.number == 2


def test_the_advice_states_the_distance_to_the_default() -> None:
    goals = problem(replications=3)
    clear = found(2, [20.0, 21.0, 22.0], [9.0, 9.1, 9.2])
    trials = [DEFAULT, FAR, clear]
    outcome = tune.Outcome(trials, 0, [clear], choose(trials, goals.objectives), 3)
    assert outcome.shown == [clear, DEFAULT]
    said = advice(goals, outcome, lambda value: f"{value:g}")
    assert said[0] == "Recommended: fifo 2."
    assert (
        "95th percentile of the RTT of ping 22 ms (default 32, -31 %), throughput of all flows 9 Mbit/s (default 9, +0 %)"
        in said[1]
    )
    assert said[2] == "Instead of the default: limit 2p instead of 0p."
    assert "shape to the rate of the link, 10 Mbit/s" in said[3]
    noise = tune.Outcome(
        [DEFAULT], 0, [DEFAULT], choose([DEFAULT, found(3, [29.0, 31.5, 31.5], [9.0, 9.1, 9.2])], goals.objectives), 2
    )
    assert "The best trial, fifo 3, beats the defaults by less than the noise over 3 replications" in " ".join(
        advice(goals, noise, str)
    )


CELL_FILE = """
duration = "1s"
[cell]
buffer = "1MB"
[[cell.radio.ues]]
kind = "fixed"
snr_db = 20.0
[[flows]]
name = "bulk"
"""


def test_the_queue_and_the_buffer_of_a_cell_are_tuned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "cell.toml").write_text(CELL_FILE, encoding="utf-8")
    call = ["tune", "cell.toml", "--queue", "fifo,codel", "--trials", "4", "--replications", "1", "--jobs", "2"]
    assert command([*call, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["trials"], result["failed"], result["why"]) == (4, 0, "unknown noise")
    assert result["objectives"][0]["metric"] == "link.ue_1.p95_sojourn"
    # The default trials have the buffer of the scenario.
    assert result["recommended"]["set"]["cell.buffer"] == "1000kB"
    assert "htb" not in result["recommended"]["tc"]


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
    assert outcome.recommended is not None


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
def test_the_delays_of_bulk_flows_and_of_a_ping_are_made_small(flow: dict[str, Any], metric: str) -> None:
    document = {"flows": [{"count": 4, "traffic": {"kind": "greedy"}}, {**flow, "traffic": {"kind": "ping"}}]}
    named = [objective.reading.text for objective in objectives_of(document, HOME, number)]
    assert named == ["link.bottleneck.p95_sojourn", "network.agg_throughput", metric]


def test_without_a_ping_it_is_the_sojourn_time_alone() -> None:
    document = {"flows": [{"count": 1, "traffic": {"kind": "greedy"}}]}
    hops = Bottleneck("parking_lot.queue", ("hop_1", "hop_2"))
    assert [of.reading.text for of in objectives_of(document, hops, number)] == [
        "max:flow.p95_sojourn_l4",
        "network.agg_throughput",
    ]
