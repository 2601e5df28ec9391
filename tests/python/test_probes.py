"""A ping that was asked for is answered: in its figure, in the table of a sweep, and in the comparison."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import bloatlab
from bloatlab import figures
from bloatlab.figures import registry, sweep
from bloatlab.report import make_report
from specification import titles, units

PING = [10.0 + reply for reply in range(200)]


@pytest.fixture
def tables() -> dict[str, pl.DataFrame]:
    ping = pl.DataFrame({"time_s": [reply / 10 for reply in range(200)], "probe": "ping", "rtt_ms": PING})
    web = pl.DataFrame({"time_s": [1.0, 2.0, 3.0], "probe": "web", "rtt_ms": [900.0, 1100.0, 1000.0]})
    probes = pl.DataFrame({"probe": ["ping", "web"], "interval_ms": [100.0, 1000.0], "size": [64, 500_000]})
    return {"probe_series": pl.concat([ping, web]), "probes": probes}


def test_each_probe_has_its_own_panels(tables: dict[str, pl.DataFrame]) -> None:
    spec = figures.draw("probe_rtt", tables).to_dict(validate=True)
    assert len(units(spec)) == 4
    assert {"ping: RTT (ms)", "web: fetch time (ms)", "share of replies"} <= titles(spec)
    narrow = figures.draw("probe_rtt", tables, width=360).to_dict(validate=True)
    assert all("vconcat" in row for row in narrow["vconcat"])


def test_the_distribution_is_that_of_the_replies(tables: dict[str, pl.DataFrame]) -> None:
    spec = figures.draw("probe_rtt", tables).to_dict()
    curves = [data for data in spec["datasets"].values() if "share" in data[0]]
    ping, web = sorted(curves, key=lambda curve: curve[0]["value"])
    assert (ping[0]["value"], ping[-1]["value"], ping[-1]["share"]) == (10.0, 209.0, 1.0)
    median = next(row["value"] for row in ping if row["share"] >= 0.5)
    assert median == pytest.approx(109.5, abs=1.5)
    assert [row["value"] for row in web] == [900.0, 1000.0, 1100.0]
    assert [row["share"] for row in web] == pytest.approx([1 / 3, 2 / 3, 1], abs=1e-3)


def test_many_probes_are_counted(tables: dict[str, pl.DataFrame]) -> None:
    many = pl.DataFrame({"time_s": [1.0] * 6, "probe": [f"p{index}" for index in range(6)], "rtt_ms": [5.0] * 6})
    assert "4 probes are shown; 2 more" in registry.find("probe_rtt").note({"probe_series": many})
    assert registry.find("probe_rtt").note(tables) == ""


def test_without_replies_there_is_no_figure(tables: dict[str, pl.DataFrame]) -> None:
    assert not registry.find("probe_rtt").applicable({"probe_series": tables["probe_series"].clear()})
    lost = tables["probe_series"].with_columns(rtt_ms=pl.lit(None, pl.Float64))
    assert not registry.find("probe_rtt").applicable({"probe_series": lost})


def test_a_sweep_has_the_rtt_of_the_ping_and_not_the_time_of_fetches() -> None:
    rows = [
        ("a", "probe", "ping", "p95_rtt", 42.0),
        ("a", "probe", "far", "p95_rtt", 77.0),
        ("a", "probe", "web", "p95_rtt", 900.0),
        ("a", "probe", "web", "syn_retransmissions", 0.0),
        ("b", "probe", "web", "p95_rtt", 900.0),
        ("b", "probe", "web", "syn_retransmissions", 0.0),
    ]
    metrics = pl.DataFrame(rows, schema=["run_id", "scope", "entity", "metric", "value"], orient="row")
    found = dict(sweep.metrics_by_run(metrics).select("run_id", "ping_p95_ms").iter_rows())
    assert found == {"a": 77.0, "b": None}


def test_a_run_with_a_ping_and_a_web_client_has_the_rtt_of_the_ping(tmp_path: Path) -> None:
    store = bloatlab.sweep(
        "aqm-comparison", {"queue": ["fifo", "fq_codel"]}, stop="6s", warmup="2s", out=tmp_path / "out"
    )
    metrics = store.metrics()
    ping = metrics.filter(scope="probe", entity="ping", metric="p95_rtt").select("run_id", "value").sort("run_id")
    assert ping.height == 2
    assert sweep.metrics_by_run(metrics).select("run_id", value="ping_p95_ms").sort("run_id").equals(ping)
    assert "ping RTT p95 (ms)" in make_report(tmp_path / "out").read_text(encoding="utf-8")
