"""The verdict: what the page and the terminal say of a run."""

import re

import polars as pl
import pytest

import bloatlab as bl
import synthetic
from bloatlab import cli
from bloatlab.figures import source
from bloatlab.report import verdict
from bloatlab.store import Store


@pytest.fixture(scope="module")
def tables():
    return synthetic.run_tables()


@pytest.mark.parametrize(
    ("increase", "grade"),
    [(0, "A+"), (4.99, "A+"), (5, "A"), (30, "B"), (59.9, "B"), (60, "C"), (200, "D"), (400, "F"), (None, "")],
)
def test_grades(increase, grade):
    assert verdict.grade(increase) == grade


def test_throughputs_of_flows_that_did_not_meet_do_not_add_up():
    flows = pl.DataFrame({"flow": ["a", "b"], "start_s": [0.0, 5.0], "stop_s": [5.0, 10.0]})
    rows = {"scope": "flow", "entity": ["a", "b"], "metric": "mean_throughput_l4", "value": [10.0, 20.0], "unit": ""}
    assert verdict.carried_mbps(pl.DataFrame(rows), flows) == pytest.approx(15)


def test_a_run_without_an_rtt_says_so(tables):
    metrics = tables["metrics"].filter(pl.col("metric") == "mean_sojourn")
    metrics = metrics.insert_column(0, pl.Series("run_id", ["a"]))
    judged = verdict.of_run(tables, metrics)
    assert judged.grade == ""
    assert "no long flow measured an RTT" in judged.sentence
    assert "No RTT" in verdict.of_run(tables, metrics.clear()).sentence


def test_a_verdict_is_about_one_direction(tmp_path):
    document = {
        "name": "both-ways",
        "duration": "5s",
        "dumbbell": {"rate": "20Mbit/s", "reverse_rate": "5Mbit/s", "rtt": "20ms"},
        "flows": [
            {"name": "down", "count": 4},
            {"name": "up", "count": 2, "direction": "reverse"},
            {"name": "call", "direction": "reverse", "traffic": {"kind": "cbr", "rate": "100kbit/s"}},
        ],
    }
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    tables = source.of_run(store, run.run_id)
    assert tables["flows"]["links"].to_list() == [["bottleneck"]] * 4 + [["reverse"]] * 3
    judged = verdict.of_run(tables, store.metrics())
    # The slower link is the bottleneck.
    up, down = judged.sentence.split(" In the other direction, ")
    share = float(re.search(r"([\d.]+) % of the bottleneck's 5 Mbit/s", up)[1])
    assert 80 < share <= 100
    assert "the mean sRTT of 2 cubic flows is" in up
    assert "2 cubic flows and one UDP flow carry" in up
    assert down.startswith("4 cubic flows carry")
    # The numbers are about the same link, and about the same flows as the metrics of the network.
    named = dict(judged.numbers)
    link, network = run.link_metrics["reverse"], run.network_metrics
    assert named["sojourn of all packets at reverse, 95th percentile"] == f"{link['p95_sojourn']:.3g} ms"
    assert named["throughput"] == f"{network['agg_throughput']:.3f} Mbit/s"
    assert share == pytest.approx(100 * network["capacity_share"], abs=0.1)


def test_the_ues_of_a_cell_share_one_bottleneck(tmp_path):
    fixed = {"kind": "fixed", "snr_db": 20.0}
    document = {
        "name": "cell",
        "duration": "2s",
        "cell": {"radio": {"ues": [fixed, fixed, fixed]}},
        "flows": [{"ue": 1}, {"ue": 2}, {"ue": 3}, {"ue": 1, "direction": "reverse", "stop": "1s"}],
    }
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    judged = verdict.of_run(source.of_run(store, run.run_id), store.metrics())
    assert "the mean sRTT of 3 cubic flows is" in judged.sentence
    assert "In the other direction, one cubic flow carries" in judged.sentence
    assert dict(judged.numbers)["throughput"] == f"{run.network_metrics['agg_throughput']:.2f} Mbit/s"


def test_flows_on_other_links_are_not_called_the_other_direction(tmp_path):
    document = {
        "name": "lot",
        "duration": "3s",
        "parking_lot": {"hops": 2, "rate": "10Mbit/s", "hop_delay": "5ms"},
        "flows": [{"name": "long"}, {"name": "first", "hops": [1, 1]}, {"name": "second", "hops": [2, 2]}],
    }
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    judged = verdict.of_run(source.of_run(store, run.run_id), store.metrics())
    assert "They carry" in judged.sentence
    assert "On other links, one cubic flow carries" in judged.sentence
    assert run.network_metrics["capacity_share"] <= 1
    shares = [values["goodput_share"] for name, values in run.link_metrics.items() if name.startswith("hop_")]
    assert max(shares) == pytest.approx(run.network_metrics["capacity_share"])


def test_the_bottleneck_is_a_link_that_data_crosses(tmp_path):
    document = {
        "name": "slow-acks",
        "duration": "3s",
        "dumbbell": {"rate": "20Mbit/s", "reverse_rate": "2Mbit/s", "rtt": "20ms"},
        "flows": [{"name": "down"}],
    }
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    judged = verdict.of_run(source.of_run(store, run.run_id), store.metrics())
    assert "% of the bottleneck's 20 Mbit/s" in judged.sentence


def test_a_single_run_is_told_in_a_few_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.command(["run", "deep-buffers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("grade B: A standing queue of 43.7 ms")
    assert "throughput 15.39 Mbit/s" in lines[1]
    assert len(lines) == 5
    assert cli.command(["run", "deep-buffers", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 60
