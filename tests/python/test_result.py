"""The Python interface, and the libraries that read the tables."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bloatlab as bl
import fake_core

pytestmark = pytest.mark.usefixtures("fake")


def test_run_by_name() -> None:
    result = bl.run("deep-buffers", qlen="80p", cca="cubic")
    assert result.parameters["cca"] == "cubic"
    assert result.seed == 42
    assert result.flow_metrics["flow_1"]["mean_srtt_l4"] == 58.0
    assert result.link_metrics["bottleneck"]["mean_sojourn"] == 10.0
    assert result.network_metrics["agg_throughput_l4"] == 15.0
    assert result.probe_metrics == {}
    assert result.scenario["dumbbell"]["queue"]["limit"] == "80p"
    assert len(result.digest) == 64
    assert "deep-buffers" in repr(result)
    with pytest.raises(bl.StoreError, match="has no table `packets`"):
        _ = result.packets.column_names


def test_a_scenario_built_in_python() -> None:
    document = bl.scenario.document(
        bl.scenario.dumbbell("16Mbit/s", "15ms", queue={"kind": "codel"}, loss=0.01),
        [bl.scenario.flow(cca="cubic", count=2, mss=1448, ecn=True), bl.scenario.flow(traffic="ping")],
        duration="2s",
    )
    assert document["flows"][0] == {"count": 2, "cca": "cubic", "tcp": {"mss": 1448, "ecn": True}}
    result = bl.run(document, seed=3)
    assert set(result.flow_metrics) == {"flow_1", "flow_2"}
    assert result.seed == 3
    assert bl.run(document, seed=3, **{"dumbbell.loss": 0.02}).digest != result.digest


def test_parking_lot_and_boxes() -> None:
    lot = bl.scenario.parking_lot(3, "10Mbit/s", "5ms", queue="fifo")
    assert lot == {"parking_lot": {"hops": 3, "rate": "10Mbit/s", "hop_delay": "5ms", "queue": "fifo"}}
    box = {"kind": "delay", "name": "d", "delay": "1ms"}
    document = bl.scenario.document(
        bl.scenario.boxes(box), [bl.scenario.flow(path=["d"], hops=(1, 2))], duration="1s", warmup="0s"
    )
    assert document["boxes"] == [box]
    assert document["flows"][0]["hops"] == [1, 2]


def test_stored_and_fresh_results_are_alike(tmp_path: Path) -> None:
    fresh = bl.run("deep-buffers")
    stored = bl.run("deep-buffers", out=tmp_path)
    again = bl.run("deep-buffers", out=tmp_path)
    for result in (stored, again, bl.open(tmp_path).run(fresh.run_id)):
        assert result.digest == fresh.digest
        assert result.flow_metrics == fresh.flow_metrics
        assert result.parameters == fresh.parameters
        assert result.scenario == fresh.scenario
        assert result.flow_series.to_polars().equals(fresh.flow_series.to_polars())


def test_sweep_from_python(tmp_path: Path) -> None:
    store = bl.sweep("deep-buffers", {"qlen": [20, 40]}, replications=2, out=tmp_path, jobs=2, cca="cubic")
    assert store.runs().height == 4
    assert store.metrics("flow", "mean_srtt_l4").height == 4


def test_simulate_a_file(tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text(
        'duration = "1s"\ndumbbell = { rate = "1Mbit/s", rtt = "10ms" }\nflows = [{}]\n'
    )
    assert bl.simulate(tmp_path / "home.toml").experiment == "home"
    with pytest.raises(bl.ParameterError, match="no such file"):
        bl.simulate(tmp_path / "nowhere.toml")


def test_errors_from_python() -> None:
    with pytest.raises(bl.ParameterError, match="did you mean `qlen`"):
        bl.run("deep-buffers", qlem=5)
    with pytest.raises(bl.ParameterError, match="neither an experiment"):
        bl.run(5)  # type: ignore[arg-type]
    with pytest.raises(bl.ScenarioError, match="duration: is required"):
        bl.run({"flows": [{}]})
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        _ = bl.rum


def test_users_classes_run(tmp_path: Path) -> None:
    class Mine(bl.CongestionControl):
        """Does nothing."""

    # A class within a function has no importable name, but can be used.
    assert bl.run("deep-buffers", cca=Mine).parameters["cca"].endswith("Mine")


def test_arrow_capsules_are_taken_by_everyone() -> None:
    table = flow_series = bl.run("deep-buffers").flow_series
    assert flow_series.column_names == ["time_s", "flow", "srtt_ms"]
    assert len(table) == 10
    assert pa.table(table).num_rows == 10
    assert pl.DataFrame(table).height == 10
    assert pl.from_arrow(pa.table(table)).equals(table.to_polars())  # type: ignore[arg-type]
    assert duckdb.sql("SELECT count(*), max(srtt_ms) > 50 FROM flow_series").fetchall() == [(10, True)]
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["srtt_ms"].isna().sum() == 1
    assert frame["srtt_ms"].dtype == float
    assert "flow" in repr(table)


def test_pcap_of_a_fresh_and_of_a_stored_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bl.run("deep-buffers", packets=True).write_pcap(tmp_path / "fresh.pcap")
    stored = bl.run("deep-buffers", out=tmp_path / "r")
    stored.write_pcap(tmp_path / "stored.pcap")
    assert (tmp_path / "fresh.pcap").read_bytes() == (tmp_path / "stored.pcap").read_bytes()
    monkeypatch.setattr(fake_core, "engine_version", lambda: "fake-2")
    with pytest.raises(bl.StoreError, match="engine fake-1 made it, and this is fake-2"):
        stored.write_pcap(tmp_path / "x.pcap")


def test_metrics_are_defined_once() -> None:
    definition = bl.metrics.definitions()["flow", "mean_srtt_l4"]
    assert (definition.unit, definition.better) == ("ms", "lower")
    assert bl.metrics.units()["link", "mean_sojourn"] == "ms"
