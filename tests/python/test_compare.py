"""Comparisons of real runs, and replications as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab.analysis.aggregate import summary
from bloatlab.analysis.readings import number, reading
from bloatlab.cli import command
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.statistics.intervals import summarise
from bloatlab.store import Store
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")

DOCUMENT = {
    "name": "small",
    "duration": "2s",
    "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "queue": "fifo"},
    "flows": [{"name": "bulk", "cca": "cubic", "start_jitter": "500ms"}],
}


def sweep(out: str, axes: Mapping[str, Sequence[Any]], replications: int = 5, seed: int = 42, **paths: Any) -> Store:
    return bloatlab.sweep(DOCUMENT, axes, replications=replications, seed=seed, out=out, jobs=2, **paths)


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert command(["compare", *arguments, "--json"]) in (0, 1)
    return json.loads(capsys.readouterr().out)


def test_two_queues_within_a_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sweep("both", {"dumbbell.queue": ["fifo", "codel"]})
    found = compared(capsys, "both", "--by", "dumbbell.queue=fifo,codel")
    assert (found["matched"], found["paired"], found["replications"]) == (1, True, {"a": 5, "b": 5})
    assert found["compared"]["dumbbell.queue"] == {"a": "fifo", "b": "codel"}
    assert not found["identical"]
    rows = {(row["entity"], row["metric"]): row for row in found["metrics"]}
    sojourn = rows["bottleneck", "mean_sojourn"]
    assert sojourn["differs"] is True
    assert sojourn["difference"] < 0
    assert sojourn["mean_b"] - sojourn["mean_a"] == pytest.approx(sojourn["difference"])
    assert sojourn["p"] <= sojourn["p_adjusted"] <= 0.05
    assert sojourn["effect"]["interval"]["high"] < 0
    # Nothing asks for ECN: no marks in either, which is not beyond noise.
    assert rows["bulk", "marks_l4"]["identical"]
    assert rows["bulk", "marks_l4"]["differs"] is False
    # Sorted by the size of the effect: first the metrics that noise does not explain, and identical ones last.
    sizes = [abs(row["effect"]["value"]) for row in found["metrics"] if row["effect"]["value"] is not None]
    assert sizes == sorted(sizes, reverse=True)
    assert all(row["identical"] for row in found["metrics"][-3:])

    assert command(["compare", "both", "--by", "dumbbell.queue=fifo,codel", "--fail-on-difference"]) == 1
    assert (
        command(
            ["compare", "both", "--by", "dumbbell.queue=fifo,codel", "--metric", "marks_l4", "--fail-on-difference"]
        )
        == 0
    )
    capsys.readouterr()
    assert command(["compare", "both", "--by", "dumbbell.queue=fifo,codel", "--figure", "compare.svg"]) == 0
    said = capsys.readouterr().out
    sentence = " ".join(said.partition("\n\n")[0].split())
    assert sentence.startswith(
        "From fifo to codel, the 95th percentile of the sojourn time at the bottleneck falls from "
    )
    assert sentence.endswith("by more than noise.")
    assert "do not differ by more than noise (p at most 0.05, adjusted after Benjamini-Hochberg)" in " ".join(
        said.split()
    )
    assert (tmp_path / "compare.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_only_two_values_need_not_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    sweep("both", {"dumbbell.queue": ["fifo", "codel"]}, replications=2)
    named = compared(capsys, "both", "--by", "dumbbell.queue=fifo,codel")
    assert compared(capsys, "both", "--by", "dumbbell.queue") == named


def test_the_table_has_what_differs_and_with_all_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    sweep("both", {"dumbbell.queue": ["fifo", "codel"]})
    words = ["both", "--by", "dumbbell.queue=fifo,codel"]
    rows = compared(capsys, *words)["metrics"]
    apart = sum(row["differs"] for row in rows)
    assert 0 < apart < len(rows)
    assert command(["compare", *words]) == 0
    few = capsys.readouterr().out
    assert command(["compare", *words, "--all"]) == 0
    whole = capsys.readouterr().out
    count = f"{len(rows) - apart} of {len(rows)} metrics do not differ by more than noise"
    assert count in " ".join(few.split())
    assert "--all shows them" in " ".join(few.split())
    assert "--all" not in whole
    assert "marks_l4" not in few
    assert "bulk marks_l4" in whole
    assert all(len(line) <= 80 for line in (*few.splitlines(), *whole.splitlines()))


def test_the_same_runs_are_identical(capsys: pytest.CaptureFixture[str]) -> None:
    sweep("a", {"dumbbell.rtt": ["10ms", "20ms"]}, replications=2)
    sweep("b", {"dumbbell.rtt": ["10ms", "20ms"]}, replications=2)
    found = compared(capsys, "a", "b", "--fail-on-difference")
    assert (found["identical"], found["matched"], found["compared"]) == (True, 2, {})
    assert command(["compare", "a", "b", "--fail-on-difference"]) == 0
    said = capsys.readouterr().out.split("\n\n")
    assert said[0].startswith("Nothing differs: all ")
    assert len(said) == 2


def test_other_seeds_are_noise_and_not_paired(capsys: pytest.CaptureFixture[str]) -> None:
    sweep("a", {}, replications=6, seed=1)
    sweep("b", {}, replications=6, seed=101)
    found = compared(capsys, "a", "b")
    assert not found["paired"]
    assert not found["identical"]
    assert sum(bool(row["differs"]) for row in found["metrics"]) == 0
    assert command(["compare", "a", "b"]) == 0
    assert capsys.readouterr().out.startswith(
        "No metric differs by more than noise between a and b; the largest effect"
    )


def test_scenarios_without_chance_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    fixed = {**DOCUMENT, "flows": [{"name": "bulk", "cca": "cubic"}]}
    for name, rtt in (("old/a", "10ms"), ("new/b", "20ms")):
        bloatlab.sweep(fixed, {"dumbbell.rtt": [rtt]}, replications=3, out=name, jobs=2)
    assert command(["compare", "old/a", "new/b"]) == 0
    assert "All replications of a side are equal" in " ".join(capsys.readouterr().out.split())
    page = Path("new/b/compare-a.html").read_text(encoding="utf-8")
    assert "<h1>a and b</h1>" in page
    assert "The difference is b minus a." in page


def test_points_without_a_partner_and_one_replication(capsys: pytest.CaptureFixture[str]) -> None:
    sweep("a", {"dumbbell.rtt": ["10ms", "20ms"]}, replications=1)
    sweep("b", {"dumbbell.rtt": ["20ms", "40ms"]}, replications=1, **{"flows.0.cca": "newreno"})
    found = compared(capsys, "a", "b")
    assert (found["alone_a"], found["alone_b"]) == (["dumbbell.rtt=10ms"], ["dumbbell.rtt=40ms"])
    assert (found["matched"], found["compared"]) == (1, {"flows.0.cca": {"a": "default", "b": "newreno"}})
    assert {row["differs"] for row in found["metrics"]} == {None}
    assert {row["p"] for row in found["metrics"]} == {None}
    assert command(["compare", "a", "b"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "one replication cannot tell whether this is more than noise." in said
    assert said.endswith("To judge noise, run both with --replications 5. page: b/compare-a.html")
    page = Path("b/compare-a.html").read_text(encoding="utf-8")
    assert "<b>Both over time.</b>" in page
    assert all(f"<dt>{name}</dt>" in page for name in ("flows.0.cca", "replications"))
    Path("b/compare-a.html").unlink()
    assert command(["compare", "a", "b", "--no-report"]) == 0
    assert "page:" not in capsys.readouterr().out
    assert not Path("b/compare-a.html").exists()
    assert "only in A: dumbbell.rtt=10ms" in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["a"], "compare: give two results directories, or one and --by NAME=A,B"),
        (["a", "a", "--by", "dumbbell.rtt=10ms,20ms"], "compare: give two results directories"),
        (["a", "nowhere"], "nowhere: holds no results"),
        (
            ["a", "--by", "experiment"],
            "--by experiment: needs two values, such as queue=fifo,codel (finished runs have small)",
        ),
        (["a", "--by", "dumbbell.rtt=10ms"], "--by dumbbell.rtt: needs two values"),
        (["a", "--by", "dumbbell.rtt=10ms,30ms"], "unknown value of dumbbell.rtt `30ms`"),
        (["a", "--by", "dumbbell.rt=10ms,20ms"], "unknown parameter `dumbbell.rt` (did you mean `dumbbell.rtt`?)"),
        (["a", "a", "--metric", "mean_sojurn"], "unknown metric `mean_sojurn` (did you mean `mean_sojourn`?)"),
        (["a", "a", "--metric", "probe.ping.p95_rtt"], "no run of both sides has such a metric"),
        (["a", "a", "--confidence", "95"], "confidence: must be between 0 and 1"),
        (["a", "a", "--figure", "x.svg"], "--figure: no metric has an effect size"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    sweep("a", {"dumbbell.rtt": ["10ms", "20ms"]}, replications=1)
    assert command(["compare", *arguments]) == 2
    assert why in capsys.readouterr().err.splitlines()[-1]


def test_points_that_cannot_be_matched(capsys: pytest.CaptureFixture[str]) -> None:
    for out, rates in {"a": ("5Mbit/s", "6Mbit/s"), "b": ("6Mbit/s", "5Mbit/s")}.items():
        for rtt, rate in zip(("10ms", "20ms"), rates, strict=True):
            sweep(out, {"dumbbell.rtt": [rtt], "dumbbell.rate": [rate]}, replications=1)
    sweep("c", {"dumbbell.rtt": ["10ms"], "dumbbell.rate": ["7Mbit/s", "8Mbit/s"]}, replications=1)
    assert command(["compare", "a", "b"]) == 2
    assert "no point of a matches a point of b: a has dumbbell.rate=" in capsys.readouterr().err
    assert command(["compare", "a", "c"]) == 2
    assert "c: several of its points differ only in dumbbell.rate, so they cannot be matched" in capsys.readouterr().err


def test_replications_become_a_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store = sweep("rows", {"dumbbell.queue": ["fifo", "codel"]}, replications=4)
    frame = summary(store, "link", "mean_sojourn", bootstrap=True)
    assert frame["dumbbell.queue"].to_list() == ["fifo", "codel"]
    metrics = store.metrics("link", "mean_sojourn").join(store.runs().select("run_id", "point"), on="run_id")
    by_point = [part["value"].to_list() for part in metrics.partition_by("point", maintain_order=True)]
    by_mean = {round(row["mean"], 9): row for row in frame.iter_rows(named=True)}
    for values in by_point:
        one = summarise(values, bootstrap=True)
        row = by_mean[round(one.mean, 9)]
        assert one.t is not None
        assert one.bootstrap is not None
        assert (row["n"], row["sd"]) == (4, pytest.approx(one.sd))
        assert (row["low"], row["high"]) == (pytest.approx(one.t.low), pytest.approx(one.t.high))
        assert (row["bootstrap_low"], row["bootstrap_high"]) == pytest.approx((one.bootstrap.low, one.bootstrap.high))
    assert command(["export", "rows", "--parquet", "--summary"]) == 0
    assert (tmp_path / "rows-parquet" / "summary.parquet").exists()
    assert command(["report", "rows"]) == 0
    assert "Means over replications" in (tmp_path / "rows" / "report.html").read_text(encoding="utf-8")


def test_one_replication_has_no_interval() -> None:
    frame = summary(sweep("single", {}, replications=1), "link", bootstrap=True)
    assert frame["n"].unique().to_list() == [1]
    for name in ("sd", "low", "high", "bootstrap_low", "bootstrap_high"):
        assert frame[name].null_count() == frame.height


def test_what_a_reading_names() -> None:
    metrics = {
        "flow_metrics": {
            "bulk_1": {"mean_throughput_l7": 3.0},
            "bulk_2": {"mean_throughput_l7": 5.0},
            "web": {"x": 1.0},
        },
        "link_metrics": {"bottleneck": {"mean_sojourn": 7.0}},
        "network_metrics": {"agg_throughput": 8.0},
        "probe_metrics": {},
    }
    for text, value in {
        "mean_throughput_l7": 4.0,
        "sum:flow.*.mean_throughput_l7": 8.0,
        "max:flow_metrics.bulk_*.mean_throughput_l7": 5.0,
        "flow.bulk_1.mean_throughput_l7": 3.0,
        "link.mean_sojourn": 7.0,
        "network_metrics.agg_throughput": 8.0,
        "probe.ping.p95_rtt": None,
    }.items():
        assert number(text).of(metrics) == value
    criteria = get("aqm-comparison").criteria
    assert number("bulk_goodput", criteria).of({"flow_metrics": {"bulk_1": {"mean_throughput_l7": 3.0}}}) == 3.0
    assert number("x", (), {"x": "ms"}).of({"experiment_metrics": {"x": 2.0}}) == 2.0
    for text, why in {
        "mean_rtt_l9": "unknown metric",
        "host.a.mean_sojourn": "unknown scope",
        "all:mean_sojourn": "unknown way to combine",
        "loss_rate*": "must name one metric",
        "throughput": "several scopes have this metric",
    }.items():
        with pytest.raises(ParameterError, match=why):
            number(text)
    assert reading("flow.bulk_*.*").matches("flow", "bulk_7", "mean_srtt_l4")
