"""What a user of Python meets: results that show themselves, figures by name, frames, sweeps and comparisons."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import bloatlab as bl
from bloatlab.errors import ParameterError
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="the extension module is not built")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> bl.Store:
    out = tmp_path_factory.mktemp("api") / "runs"
    return bl.sweep("deep-buffers", cca=["cubic", "reno"], qlen=("20p", "80p"), stop="3s", replications=2, out=out)


@pytest.fixture(scope="module")
def result() -> bl.Result:
    return bl.run("home-router", time="4s")


def test_a_list_is_an_axis(store: bl.Store) -> None:
    frame = store.to_polars(wide=True)
    assert frame.height == 8
    assert set(frame["cca"]) == {"cubic", "reno"}
    assert set(frame["qlen"]) == {"20p", "80p"}
    assert frame["ack_every"].dtype == pl.Int64
    assert frame["ecn"].dtype == pl.Boolean
    with pytest.raises(ParameterError, match="cca: no values to sweep"):
        bl.sweep("deep-buffers", cca=[], out=store.directory)


def test_a_value_that_is_a_list_is_given_inside_a_list(tmp_path: Path) -> None:
    flows = [{"cca": "cubic"}, {"traffic": "ping"}]
    document = {"duration": "1s", "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms"}, "flows": [{"cca": "reno"}]}
    store = bl.sweep(document, flows=[flows], out=tmp_path / "runs")
    (run_id,) = store.runs()["run_id"]
    assert len(store.run(run_id).scenario["flows"]) == 2


def test_parameters_are_beside_the_metrics(store: bl.Store) -> None:
    rows = store.to_polars("flow", "mean_srtt_l4")
    assert rows.height == 8
    assert rows.columns[:4] == ["run_id", "experiment", "engine", "seed"]
    assert rows.columns[-5:] == ["scope", "entity", "metric", "value", "unit"]
    wide = store.to_polars("flow", "mean_srtt_l4", wide=True)
    by_run = dict(wide.select("run_id", "flow_1.mean_srtt_l4").iter_rows())
    assert by_run == dict(rows.select("run_id", "value").iter_rows())
    deep = wide.filter(cca="cubic").group_by("qlen").agg(pl.col("flow_1.mean_srtt_l4").mean()).sort("qlen")
    assert deep["flow_1.mean_srtt_l4"].is_sorted()


def test_a_run_shows_its_verdict_and_its_flows(result: bl.Result) -> None:
    lines = repr(result).splitlines()
    assert lines[0] == f"home-router, run {result.run_id}, seed 42, engine sim"
    assert lines[1] == result.verdict.sentence
    assert any(line.startswith("ping") and "p95 (ms)" in line for line in lines[2:])


def test_a_notebook_shows_the_verdict_and_a_figure(result: bl.Result, store: bl.Store) -> None:
    html = result._repr_html_()
    assert "<svg" in html
    assert "home-router, run" in html
    html = store._repr_html_()
    assert "<svg" in html
    assert ">qlen<" in html
    assert "<script" not in html


def test_names_of_a_document_are_text_in_a_notebook() -> None:
    document = {
        "name": "<b>x</b>",
        "duration": "1s",
        "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms"},
        "flows": [{"name": "<script>alert(1)</script>", "cca": "cubic"}],
    }
    html = bl.run(document)._repr_html_()
    assert "<script" not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html


def test_a_results_directory_shows_what_was_swept(store: bl.Store) -> None:
    head, columns, *rows = repr(store).splitlines()
    assert head.endswith("deep-buffers; 8 done")
    assert columns.split()[:2] == ["qlen", "cca"] or columns.split()[:2] == ["cca", "qlen"]
    assert len(rows) == 4


def test_figures_are_drawn_by_name_and_completed(result: bl.Result, store: bl.Store) -> None:
    assert {"time_series", "queue"} <= set(dir(result.plot))
    assert "comparison" not in dir(result.plot)
    assert "comparison" in dir(store.plot)
    assert result.plot("time_series").to_dict() == result.plot.time_series().to_dict()
    assert repr(store.plot).startswith("figures: ")
    with pytest.raises(ParameterError, match=r"unknown figure `tim_series` \(did you mean `time_series`\?\)"):
        result.plot("tim_series")
    with pytest.raises(AttributeError):
        result.plot.tim_series  # noqa: B018
    with pytest.raises(ParameterError, match="cannot be drawn"):
        result.plot("comparison")


def test_every_figure_that_is_offered_can_be_drawn(result: bl.Result, store: bl.Store) -> None:
    for plot in (result.plot, store.plot):
        for name in plot.names():
            assert plot(name).to_dict()


def test_summary_and_compare_take_a_store_or_its_path(store: bl.Store) -> None:
    table = bl.summary(store, "flow", "mean_srtt_l4")
    assert table.equals(bl.summary(store.directory, "flow", "mean_srtt_l4"))
    assert table["n"].to_list() == [2, 2, 2, 2]
    found = bl.compare(store, by={"cca": ["cubic", "reno"]}, metrics=["flow.mean_srtt_l4"])
    assert found.to_polars()["metric"].to_list() == ["mean_srtt_l4"] * 2
    assert "Comparison of" in repr(found)
    assert found.to_polars().equals(bl.compare(store, by="cca", metrics=["flow.mean_srtt_l4"]).to_polars())
    assert bl.compare(store, store.directory).identical
    for wrong in ({}, {"b": store, "by": "cca"}):
        with pytest.raises(ParameterError, match="give two results directories"):
            bl.compare(store, **wrong)
    with pytest.raises(ParameterError, match="one parameter"):
        bl.compare(store, by={"cca": ["a", "b"], "qlen": ["c", "d"]})


HOME = {
    "name": "home",
    "duration": "4s",
    "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms"},
    "flows": [{"cca": "cubic"}, {"name": "ping", "traffic": "ping"}],
}


def test_tune_recommends_a_queue_and_says_why(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    found = bl.tune(HOME, queues=["fifo", "codel"], trials=6, replications=2, out=tmp_path / "t")
    assert found.queue["kind"] in ("fifo", "codel")
    assert repr(found).startswith("Recommended: ")
    assert any(line.startswith("tc qdisc replace") for line in found.tc)
    table = found.to_polars()
    assert table["recommended"].sum() == 1
    assert {"trial", "queue", "recommended", "front"} < set(table.columns)
    assert "Recommended" in found._repr_html_()
    again = bl.tune(HOME, queues=["fifo", "codel"], trials=6, replications=2, out=tmp_path / "t")
    assert again.to_polars().equals(table)
    run = bl.run(HOME, **{"dumbbell.queue": found.queue})
    assert run.flow_metrics
    with pytest.raises(ParameterError, match="is not a range of numbers"):
        bl.tune(HOME, vary={"dumbbell.rtt": "short..long"}, trials=1, out=tmp_path / "u")
