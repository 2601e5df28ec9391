"""The experiments after Flent's tests: their traffic, their columns and their answer."""

import json
import re
from pathlib import Path

import pytest

import bloatlab as bl
from bloatlab import cli
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.flent.answers import rtts
from bloatlab.sweeps import ExperimentSource, plan

NAMES = ("rrul", "rrul_be", "tcp_nup", "tcp_ndown")
SHORT = {"length": "8s", "idle": "2s"}


def flows(name, **given):
    experiment = get(name)
    return experiment.scenario(experiment.resolve(given))["flows"]


def test_rrul_has_a_flow_of_each_mark_in_each_direction():
    found = flows("rrul", n=2)
    load = {(one["name"], one["dscp"], one["direction"], one["count"]) for one in found if "cca" in one}
    marks = (("be", "CS0"), ("bk", "CS1"), ("cs5", "CS5"), ("ef", "EF"))
    assert load == {
        (f"{side}_{label}", dscp, direction, 2)
        for side, direction in (("down", "forward"), ("up", "reverse"))
        for label, dscp in marks
    }
    pings = {one["name"]: one["dscp"] for one in found if "traffic" in one}
    assert pings == {"ping": "CS0", "ping_be": "CS0", "ping_bk": "CS1", "ping_ef": "EF"}


@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("rrul_be", {"down": ("forward", 4), "up": ("reverse", 4)}),
        ("tcp_nup", {"up": ("reverse", 4)}),
        ("tcp_ndown", {"down": ("forward", 4)}),
    ],
)
def test_the_others_are_best_effort(name, load):
    found = flows(name)
    assert {one["name"]: (one["direction"], one["count"]) for one in found if "cca" in one} == load
    assert {one["dscp"] for one in found} == {"CS0"}
    assert [one["name"] for one in found if "traffic" in one] == ["ping"]


def test_load_is_between_idle_times():
    experiment = get("rrul")
    scenario = experiment.scenario(experiment.resolve({}))
    assert scenario["duration"] == "70s"
    assert {(one["start"], one["stop"]) for one in scenario["flows"] if "cca" in one} == {("5s", "65s")}
    assert not any("start" in one for one in scenario["flows"] if "traffic" in one)


def test_parameters_reach_the_link():
    experiment = get("tcp_nup")
    given = {
        "rate": "50Mbit/s",
        "up": "10Mbit/s",
        "rtt": "10ms",
        "queue": "codel",
        "qlen": "70p",
        "ecn": "on",
        "cca": "bbr",
    }
    scenario = experiment.scenario(experiment.resolve(given))
    queue = {"kind": "codel", "limit": "70p", "ecn": True}
    assert scenario["dumbbell"] == {
        "rate": "50Mbit/s",
        "reverse_rate": "10Mbit/s",
        "rtt": "10ms",
        "queue": queue,
        "reverse_queue": queue,
    }
    assert (scenario["flows"][0]["cca"], scenario["flows"][0]["tcp"]["ecn"]) == ("bbr", True)
    with pytest.raises(ParameterError, match="n: `0` is not a whole number from 1"):
        experiment.resolve({"n": 0})


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_takes_every_point_of_the_own_axes(name):
    experiment = get(name)
    assert get(name.replace("_", "-")) is experiment
    assert len(plan(ExperimentSource(experiment), {}, experiment.all_axes({}, {}))) == 3
    run = bl.run(name, queue="fq_codel", length="3s", idle="1s")
    assert set(run.experiment_metrics) == set(experiment.measures)
    goodput = sum(of["mean_throughput_l7"] for flow, of in run.flow_metrics.items() if flow.startswith("up"))
    assert run.experiment_metrics.get("up_goodput", 0) == pytest.approx(goodput)
    assert run.experiment_metrics["ping_p95"] == run.probe_metrics["ping"]["p95_rtt"]
    assert run.experiment_metrics["rpm"] == run.verdict.judges["rpm"].value


def test_a_queue_that_sorts_by_marks_sorts_the_pings():
    run = bl.run("rrul", queue="cake", **SHORT)
    (finding,) = get("rrul").answers([run])
    increase = {row[1]: float(row[5]) for row in finding.rows}
    idle, loaded = rtts(run, "ping_bk")
    assert increase["ping_bk"] == pytest.approx(sum(loaded) / len(loaded) - sum(idle) / len(idle), abs=0.06)
    assert len(idle) == 10
    assert max(idle) < 32
    assert increase["ping_bk"] > 2 * increase["ping"]
    # One run has no other to be compared with.
    assert re.fullmatch(
        r"Under load, the unmarked ping takes [\d.]+ ms longer with cake \(grade [^)]+\)\. "
        r"Marks make the largest difference with cake: [\d.]+ ms for `ping(_be)?`, [\d.]+ ms for `ping_bk`\.",
        finding.ours,
    )


def test_a_plain_queue_does_not(capsys):
    words = [
        "run",
        "rrul",
        "--set",
        "length=8s",
        "--set",
        "idle=2s",
        "--set",
        "qlen=200p",
        "--sweep",
        "queue=fifo,fq_codel",
    ]
    assert cli.command([*words, "--out", "r"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert not re.search(r"up_goodput|qoo_conference", said)
    for word in ("goodput,", "upload", "Responsiveness"):
        assert word in said
    store = bl.open("r")
    runs = [store.run(run_id) for run_id in store.runs()["run_id"]]
    (finding,) = get("rrul").answers(runs)
    increase = {(row[0], row[1]): float(row[5]) for row in finding.rows}
    assert increase["fifo", "ping_ef"] == pytest.approx(increase["fifo", "ping_bk"], rel=0.1)
    assert increase["fq_codel", "ping"] < 10 < increase["fifo", "ping"]
    assert "with fq_codel (grade A" in finding.ours
    assert increase["fifo", "ping"] > 100
    assert re.search(r" \d+ ms longer with fifo", finding.ours)
    assert "longer with fifo (grade " in finding.ours
    assert finding.ours.endswith("Marks make no difference.")
    assert [row[0] for row in finding.rows] == ["fq_codel"] * 4 + ["fifo"] * 4
    page = Path("r/report.html").read_text()
    assert "How much longer does a ping take under load?" in page
    assert "goodput, upload (Mbit/s)" in page


def test_a_run_without_idle_replies_has_no_answer():
    assert get("tcp_nup").answers([bl.run("tcp_nup", queue="fifo", length="1s", idle="0s")]) == []


def test_json_has_the_columns(capsys):
    words = [
        "run",
        "tcp_ndown",
        "--set",
        "length=2s",
        "--set",
        "idle=1s",
        "--set",
        "queue=fifo",
        "--sweep",
        "n=1,4",
        "--json",
    ]
    assert cli.command(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert [set(run["experiment_metrics"]) for run in found["runs"]] == [set(get("tcp_ndown").measures)] * 2
    assert [len(run["flow_metrics"]) for run in found["runs"]] == [1, 4]
