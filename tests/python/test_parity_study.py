"""`bloatlab parity`: judgements, modes, the study, its page and its command."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bloatlab import cli
from bloatlab.engines import find
from bloatlab.errors import ParameterError
from bloatlab.language import normalise
from bloatlab.parity import AIMS, Cached, Cell, Judged, Parity, Request, grid, judge, study
from bloatlab.parity.cached import COLUMNS, OPTIONAL
from bloatlab.parity.modes import modes
from bloatlab.parity.words import label, modes_text, ratio_text
from bloatlab.settings import RunSettings
from bloatlab.sweeps import Standing
from conftest import REAL

SOJOURN = next(aim for aim in AIMS if aim.name == "sojourn")
DROPS = next(aim for aim in AIMS if aim.name == "drops")
GRID = ("--queue", "fq_codel", "--rtt", "20ms", "--flows", "1,2", "--duration", "3s", "--seeds", "4")
real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def judged(ours: list[float], theirs: list[float]) -> Judged:
    return Judged(Cell({}, [], []), SOJOURN, ours, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        ([10.9], [10.0], "agrees"),  # 1 ms, although it is 9 %
        ([109.0], [100.0], "agrees"),  # 10 %
        ([112.0], [100.0], "too few seeds"),
        ([112.0, 113.0, 111.0], [100.0, 101.0, 99.0], "too few seeds"),
        ([112.0, 113.0, 111.0, 112.5], [100.0, 101.0, 99.0, 100.5], "differs"),
        ([90.0, 140.0, 95.0, 160.0], [80.0, 150.0, 85.0, 90.0], "chance"),
    ],
)
def test_what_is_outside_its_aim_is_chance_or_cause(ours: list[float], theirs: list[float], word: str) -> None:
    assert judged(ours, theirs).word == word


def test_ratios_of_a_column_have_as_many_digits() -> None:
    assert [ratio_text(of) for of in (1.0, 0.99857, 1.0231, None)] == ["1.000", "0.9986", "1.023", "–"]


def test_equal_distributions_rarely_differ() -> None:
    # 200 pairs of samples with a fixed seed: with p < 0.05, about ten are judged wrongly.
    draw = random.Random(1)
    pairs = [[[draw.gauss(100, 40) for _ in range(10)] for _ in range(2)] for _ in range(200)]
    wrong = sum(judged(ours, theirs).p < 0.05 for ours, theirs in pairs)  # type: ignore[operator]
    assert 2 <= wrong <= 20


def test_an_aim_of_counts_allows_a_few() -> None:
    zero = Judged(Cell({}, [], []), DROPS, [3.0], [0.0])
    assert (zero.within, zero.ratio) == (True, None)
    assert not Judged(zero.cell, DROPS, [4.0], [0.0]).within


def test_modes_tell_how_often_each_state_comes() -> None:
    found = modes([477.0, 478.0, 550.0], [476.0, 549.0, 551.0, 552.0], SOJOURN)
    assert [(of.low, of.high, of.ours, of.theirs) for of in found] == [(476.0, 478.0, 2, 1), (549.0, 552.0, 1, 3)]
    said = modes_text(judged([477.0, 478.0, 550.0], [476.0, 549.0, 551.0, 552.0]))
    assert said == "476 to 478 ms: 2 in sim, 1 in the kernel; 549 to 552 ms: 1 in sim, 3 in the kernel"


def test_values_that_are_spread_have_no_modes() -> None:
    assert modes([10.0, 20.0, 30.0], [12.0, 20.0, 40.0], SOJOURN) == []


def test_two_sides_without_a_common_mode_have_none() -> None:
    assert modes([10.0, 20.0], [50.0, 51.0], SOJOURN) == []


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=12), st.lists(st.floats(0, 1e6), min_size=1, max_size=12))
def test_modes_have_every_run_once(ours: list[float], theirs: list[float]) -> None:
    if found := modes(ours, theirs, SOJOURN):
        assert (sum(of.ours for of in found), sum(of.theirs for of in found)) == (len(ours), len(theirs))
        assert all(before.high < after.low for before, after in pairwise(found))


def test_marks_are_compared_only_where_there_are_any() -> None:
    run = {"drops": 1.0, "marks": 0.0}
    assert [one.aim.name for one in judge(Cell({}, [run], [run]), AIMS)] == ["drops"]
    assert [one.aim.name for one in judge(Cell({}, [run], [{**run, "marks": 2.0}]), AIMS)] == ["drops", "marks"]


def test_the_simulator_has_the_shaper_of_the_kernel() -> None:
    given = Parity().resolve({"rate": "10Mbit/s", "queue": "pie", "ecn": "on", "cca": "cubic"})
    ours, theirs = (Parity().for_engine(name).scenario(given)["dumbbell"] for name in ("sim", "linux-virtual"))
    assert theirs["queue"] == {"kind": "pie", "ecn": True}
    assert (theirs["rate"], ours["queue"]["rate"]) == ("10Mbit/s", "10Mbit/s")
    assert ours["queue"]["queue"] == theirs["queue"]


@real
def test_a_packet_that_the_shaper_lets_go_does_not_wait_for_the_link() -> None:
    parity = Parity().for_engine("sim")
    given = {**parity.scenario(parity.resolve({"flows": 1, "queue": "sfb", "duration": "1s"})), "sample_interval": "1s"}
    outcome = find("sim").run(normalise(json.dumps(given)), 1, record_packets=True)
    packets = pl.DataFrame(outcome.tables()["packets"])
    queue = packets.filter((pl.col("box") == "bottleneck") & (pl.col("flow") == "flow_1") & (pl.col("size") == 1500))
    first = queue.filter(pl.col("event") == "enqueue")["time_ns"][0]
    # Ten segments arrive at once. HTB, whose bucket holds more than one of them, lets two go before the third arrives.
    burst = queue.filter(pl.col("time_ns") == first)["event"].to_list()
    assert burst == ["enqueue", "dequeue"] * 2 + ["enqueue"] * 8


@real
def test_losses_copies_and_jitter_act_behind_the_queue() -> None:
    parity = Parity()
    plain = parity.scenario(parity.resolve({}))["dumbbell"]
    assert not {"loss", "impair"} & set(plain)
    given = parity.resolve({"loss": "0.01", "duplicate": 0.02, "jitter": "2ms"})
    found = parity.scenario(given)["dumbbell"]
    assert found["loss"] == 0.01
    assert found["impair"]["duplicate"] == 0.02
    assert found["impair"]["jitter"] == {"size": "2ms", "distribution": "normal", "reorder": True}
    for name, value in (("loss", 0.9), ("jitter", "3s")):
        with pytest.raises(ParameterError, match=name):
            parity.resolve({name: value})


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"queue": "pie", "ecn": "off", "loss": "0", "jitter": "0s"}, "pie"),
        ({"queue": "pie", "rtt": "20ms", "ecn": "on", "loss": "0.01"}, "pie, RTT 20ms, ECN on, loss 0.01"),
        # Where nothing else tells cells apart, what is off is named.
        ({"jitter": "0s"}, "jitter 0s"),
    ],
)
def test_a_cell_is_named_by_what_is_special_in_it(parameters: dict[str, str], text: str) -> None:
    assert label(Cell(parameters, [], [], ([], []))) == text


def test_a_file_of_results_may_lack_newer_parameters() -> None:
    row = dict.fromkeys(COLUMNS, "") | {"engine": "Linux", "seed": "1", "utilization": "0.9"}
    row |= {
        "queue": "pie",
        "cca": "cubic",
        "rate": "1Mbit/s",
        "rtt": "20ms",
        "flows": "1",
        "ecn": "off",
        "duration": "9s",
    }
    older = {name: value for name, value in row.items() if name not in OPTIONAL}
    newer = older | {"loss": "0", "duplicate": "0", "jitter": "0s"}
    points = [Cached([one], "file").points for one in (older, newer)]
    assert points[0] == points[1]
    assert points[0][0]["loss"] == 0


def test_a_twin_agrees_and_a_longer_path_does_not() -> None:
    points = grid({"queue": "fq_codel", "rtt": "20ms", "flows": 2, "duration": "3s"}, {})
    _, twin = study(Path("twin"), Request(points, 4, kernel="twin_engine:Twin"))
    _, slow = study(Path("slow"), Request(points, 4, kernel="twin_engine:Slow"))
    assert twin is not None
    assert slow is not None
    words = [{one.aim.name: one.word for one in found.judged} for found in (twin, slow)]
    assert (words[0]["srtt"], words[1]["srtt"]) == ("agrees", "differs")
    (utilization,) = (one for one in twin.judged if one.aim.name == "utilization")
    assert all(0.5 < value <= 1.01 for value in (*utilization.ours, *utilization.theirs))


@real
def test_the_simulator_is_not_compared_with_itself() -> None:
    with pytest.raises(ParameterError, match="name another engine"):
        study(Path("r"), Request(grid({}, {}), kernel="sim"))


@real
def test_the_command_prints_shares_and_makes_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["parity", *GRID, "--engine", "twin_engine:Slow", "-o", "r", "--markdown", "r.md"]
    assert cli.command(arguments) == 0
    said = capsys.readouterr().out
    assert "over 2 cells with 4 seeds on each side" in " ".join(said.split())
    assert "outside the aims" in said
    assert max(map(len, said.splitlines())) <= 80
    page = Path("r/parity.html").read_text(encoding="utf-8")
    assert "The simulator beside a Linux kernel" in page
    assert "Time series" in page
    assert "| sRTT (ms) | 5 % |" in Path("r.md").read_text(encoding="utf-8")
    # The same command reads the runs again, and can judge by its exit code.
    assert cli.command([*arguments, "--json", "--fail-on-difference"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [cell["parameters"] for cell in told["cells"]] == [{"flows": "1"}, {"flows": "2"}]
    assert told["parameters"]["rtt"] == "20ms"
    srtt = next(metric for metric in told["cells"][0]["metrics"] if metric["metric"] == "srtt")
    assert srtt["judgement"] == "differs"
    assert len(srtt["sim"]["values"]) == len(srtt["kernel"]["values"]) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--queue", "fq_codle"), "queue"),
        (("--flows", "0"), "flows"),
        (("--seeds", "0"), "--seeds 0: must be at least 1"),
        (("--ecn", "maybe"), "ecn"),
    ],
)
@real
def test_bad_values_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], given: tuple[str, str], said: str
) -> None:
    assert cli.command(["parity", *given, "--engine", "twin_engine:Twin"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not Path("results").exists()


@real
def test_saved_results_take_the_place_of_the_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    twin = ["parity", *GRID, "--engine", "twin_engine:Twin", "--no-report", "--json"]
    assert cli.command([*twin, "-o", "r", "--save", "twin.csv"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert cli.command(["parity", "--cached", "twin.csv", "--seeds", "4", "-o", "again", "--no-report", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    kept, made = ([one["kernel"]["values"] for cell in of["cells"] for one in cell["metrics"]] for of in (again, first))
    assert kept == [pytest.approx(values, rel=1e-5) for values in made]
    # A part of the cells, by the values of their parameters.
    some = ["parity", "--cached", "twin.csv", "--flows", "2", "--seeds", "4", "-o", "again", "--no-report", "--json"]
    assert cli.command(some) == 0
    assert len(json.loads(capsys.readouterr().out)["cells"]) == 1


@real
def test_an_interrupt_keeps_runs_and_gives_no_comparison() -> None:
    def interrupt(standing: Standing) -> None:
        if standing.done >= 2:
            raise KeyboardInterrupt

    request = Request(
        grid({"queue": "fq_codel", "rtt": "20ms", "flows": 1, "duration": "1s"}, {}), 4, kernel="twin_engine:Twin"
    )
    summary, found = study(Path("r"), request, RunSettings(jobs=1), progress=interrupt)
    assert summary.interrupted
    assert found is None
    summary, found = study(Path("r"), request)
    assert summary.read >= 2
    assert found is not None


@real
def test_a_file_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["parity", *GRID, "--engine", "twin_engine:Twin", "--no-report", "-q", "--markdown", "nowhere/p.md"]
    assert cli.command(arguments) == 2
    error = capsys.readouterr().err
    assert "nowhere/p.md" in error
    assert error.count("\n") == 1


def test_the_name_of_a_queue_stands_for_all_of_its_settings() -> None:
    cached = Cached.read("references")
    found = {point["queue"] for point in cached.matching({"queue": ["fq_codel"]})}
    assert found == {"fq_codel ecn", "fq_codel noecn"}
    assert {point["queue"] for point in cached.matching({"queue": ["fq_codel ecn"]})} == {"fq_codel ecn"}


@real
def test_cells_come_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cells.csv").write_text("queue,flows,duration\npfifo limit 50,1,2s\nfq_codel,2,2s\n")
    arguments = [
        "parity",
        "--cells",
        "cells.csv",
        "--engine",
        "twin_engine:Twin",
        "--seeds",
        "1",
        "--no-report",
        "--json",
    ]
    assert cli.command(arguments) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["parameters"] for cell in cells] == [
        {"queue": "pfifo limit 50", "flows": "1"},
        {"queue": "fq_codel", "flows": "2"},
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("queue,flows\n", "has no result"),
        ("queue,flows\nfq_codel,1\n", "has no column"),
        ("engine,queue,cca,rate,rtt,flows,ecn,duration,seed\nx,fq_codel,cubic,fast,20ms,1,off,3s,1\n", "line 2: rate"),
        ('engine,queue\n"x', "cannot be read as CSV"),
        ("queue,flows\nfq_codel,1,2\n", "line 2: has more or fewer values"),
        ("queue,flows\nfq_codel\n", "line 2: has more or fewer values"),
    ],
)
def test_what_is_no_file_of_results_is_refused(text: str, said: str) -> None:
    Path("bad.csv").write_text(text)
    with pytest.raises(ParameterError, match=said):
        Cached.read("bad.csv")


@real
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--cached", "nowhere.csv"), "nowhere.csv: is no file"),
        (("--cells", "nowhere.csv", "--flows", "1"), "has no place"),
        (("--cached", "twin.csv", "--save", "other.csv"), "--save"),
        (("--cached", "twin.csv", "--rate", "1Gbit/s"), "has no cell with these values"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    capsys: pytest.CaptureFixture[str], given: tuple[str, ...], said: str
) -> None:
    metrics = ",".join(aim.name for aim in AIMS)
    header = f"engine,queue,cca,rate,rtt,flows,ecn,duration,seed,{metrics}"
    Path("twin.csv").write_text(f"{header}\nx,fq_codel,cubic,10Mbit/s,20ms,1,off,3s,1{',1' * len(AIMS)}\n")
    assert cli.command(["parity", *given]) == 2
    assert said in capsys.readouterr().err
