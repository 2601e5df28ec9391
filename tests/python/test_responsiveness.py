"""The responsiveness test: its load and probes, and its evaluation by the draft's rule."""

import json

import polars as pl
import pytest

import bloatlab as bl
from bloatlab import cli
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.responsiveness import probes_per_second
from bloatlab.judges.ramp import Interval, evaluate, intervals
from bloatlab.judges.responsiveness import rpm, trimmed_mean
from bloatlab.sweeps import ExperimentSource, plan

SHORT = {"interval": "1s", "connections": 6, "stop": "16s", "qlen": "300p"}


def steady(count, goodput=10.0, loaded=200.0, foreign=40.0):
    return [Interval(goodput, (loaded,) * 4, (foreign,) * 4)] * count


def test_the_test_ends_where_goodput_and_then_responsiveness_are_stable():
    # Goodput is stable after four intervals, and four more give four equal scores.
    found = evaluate(steady(12), 5.0, 0.0)
    assert (found.from_s, found.to_s, found.stable) == (20, 40, True)
    assert (found.tcp_ms, found.tls_ms, found.http_ms, found.loaded_ms) == (20, None, 20, 200)
    assert rpm(found.tcp_ms, found.tls_ms, found.http_ms, found.loaded_ms) == pytest.approx(1650)


def test_a_ramp_delays_the_end():
    # Each of the first eight intervals doubles the goodput, so that no window of them is stable.
    ramp = [Interval(2.0**index, (200.0,), (40.0,)) for index in range(8)]
    found = evaluate([*ramp, *steady(12, 128.0)], 1.0, 0.0)
    assert found.stable
    assert found.to_s > evaluate(steady(12), 1.0, 0.0).to_s + 4


def test_without_stability_the_last_window_counts():
    unsteady = [Interval(10.0, (100.0 * 2**index,), (40.0 * 2**index,)) for index in range(9)]
    found = evaluate(unsteady, 1.0, 0.0)
    assert (found.from_s, found.to_s, found.stable) == (5, 9, False)
    growing = [Interval(2.0**index, (100.0,), (40.0,)) for index in range(6)]
    found = evaluate(growing, 1.0, 0.0)
    assert (found.from_s, found.to_s, found.stable) == (2, 6, False)


def test_too_little_was_measured():
    assert evaluate(steady(3), 1.0, 0.0) is None
    assert evaluate([Interval(10.0, (100.0,), ())] * 12, 1.0, 0.0) is None
    assert evaluate([], 1.0, 0.0) is None


def test_a_self_probe_waits_in_the_send_buffer():
    assert evaluate(steady(12), 5.0, 5.0).loaded_ms == 205


def test_samples_belong_to_intervals():
    load = [
        (0.5, "load_1", 10.0, None),
        (1.0, "load_1", 12.0, 30.0),
        (1.5, "load_1", 4.0, 50.0),
        (1.5, "load_2", 6.0, 70.0),
        (1.5, "foreign_1", 99.0, 99.0),
        (2.5, "load_1", 99.0, 99.0),
    ]
    probes = [(0.2, "foreign_1", 40.0), (1.0, "foreign_2", 42.0), (1.1, "ping", 99.0), (2.2, "foreign_1", 99.0)]
    assert intervals(1.0, 2.9, load, probes) == [
        Interval(11.0, (30.0,), (40.0,)),
        Interval(10.0, (50.0, 70.0), (42.0,)),
    ]


@pytest.mark.parametrize(
    ("given", "pairs"),
    [
        # 5 % of 20 Mbit/s are 125,000 bytes per second; a pair of probes has 6000.
        ({}, 125_000 / 6000),
        ({"rate": "1Gbit/s"}, 100),
        ({"rate": "1Gbit/s", "probes": 10}, 10),
        ({"direction": "up", "rate": "1Gbit/s", "up": "2Mbit/s"}, 12_500 / 6000),
    ],
)
def test_probes_are_bounded_by_number_and_capacity(given, pairs):
    experiment = get("responsiveness")
    params = experiment.resolve(given)
    assert probes_per_second(params) == pytest.approx(pairs)
    clients = experiment.scenario(params)["flows"][1]
    # A client waits after each probe, so together they are at most as fast.
    assert clients["count"] / float(clients["traffic"]["interval"].removesuffix("ms")) == pytest.approx(
        pairs / 1e3, rel=1e-4
    )


def test_connections_join_one_by_one():
    experiment = get("responsiveness")
    load = experiment.scenario(experiment.resolve({}))["flows"][0]
    assert (load["count"], load["start_interval"], load["direction"]) == (16, "5s", "forward")
    assert experiment.resolve({})["stop"] == "100s"
    assert experiment.resolve({"interval": "1s", "connections": 4})["stop"] == "8s"
    assert experiment.scenario(experiment.resolve({"direction": "up"}))["flows"][0]["direction"] == "reverse"
    with pytest.raises(ParameterError, match="interval: `0s` is not longer than 0 s"):
        experiment.resolve({"interval": "0s"})
    assert len(plan(ExperimentSource(experiment), {}, experiment.all_axes({}, {}))) == 3


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return bl.sweep(
        "responsiveness", {"queue": ["fifo", "fq_codel"]}, out=tmp_path_factory.mktemp("rpm") / "r", **SHORT
    )


def test_the_score_follows_from_the_series(store):
    runs = {run.parameters["queue"]: run for run in (store.run(run_id) for run_id in store.runs()["run_id"])}
    for run in runs.values():
        judgement, found = run.verdict.judges["rpm"], run.verdict.evidence.exchanges
        begin, end = found.from_s, found.to_s
        assert end - begin == 4
        series, probes = run.flow_series.to_polars(), run.probe_series.to_polars()
        within = pl.col("time_s").is_between(begin + 1e-9, end + 1e-9)
        srtts = series.filter(within, pl.col("flow").cast(str).str.starts_with("load"))
        fetches = probes.filter(pl.col("time_s") >= begin, pl.col("time_s") < end)["rtt_ms"].to_list()
        loaded = trimmed_mean(srtts["srtt_ms"].drop_nulls().to_list()) + 5
        assert judgement.value == pytest.approx((60_000 / (trimmed_mean(fetches) / 2) + 60_000 / loaded) / 2)
        assert judgement.version == "draft-ietf-ippm-responsiveness-09"
        assert "without TLS" in judgement.basis
    assert 2 * runs["fifo"].verdict.judges["rpm"].value < runs["fq_codel"].verdict.judges["rpm"].value


def test_shown_on_the_page_and_in_json(store, capsys):
    runs = [store.run(run_id) for run_id in store.runs()["run_id"]]
    (finding,) = get("responsiveness").answers(runs)
    scores = {row[0]: row[1] for row in finding.rows}
    assert list(scores) == ["fq_codel, cubic, down", "fifo, cubic, down"]
    assert scores == {
        f"{run.parameters['queue']}, cubic, down": f"{run.verdict.judges['rpm'].value:.0f}" for run in runs
    }
    assert finding.ours.startswith("fq_codel, cubic, down allows ")
    words = [word for name, value in SHORT.items() for word in ("--set", f"{name}={value}")]
    words += ["--sweep", "queue=fifo,fq_codel", "--out", str(store.directory), "--json"]
    assert cli.command(["run", "responsiveness", *words]) == 0
    described = {run["run_id"]: run["judges"]["rpm"] for run in json.loads(capsys.readouterr().out)["runs"]}
    assert described == {run.run_id: json.loads(json.dumps(run.verdict.judges["rpm"].described())) for run in runs}


def test_other_runs_have_no_answer(tmp_path):
    document = {
        "name": "responsiveness",
        "duration": "1s",
        "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"},
        "flows": [{}],
    }
    run = bl.run(document, out=tmp_path / "r")
    assert run.experiment == "responsiveness (own scenario)"
    assert run.verdict.evidence.exchanges is None
    assert get("responsiveness").answers([run]) == []
