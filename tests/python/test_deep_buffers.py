"""Deep buffers: its claims about our run of ns-3, what the fitted inputs decide, and the words of CCPerf."""

from __future__ import annotations

import contextlib
import csv
import re
import sqlite3
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

import bloatlab as bl
from bloatlab.cli import command
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.claim import Verdict
from bloatlab.metrics import for_people
from bloatlab.report import verdict
from conftest import REAL

real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")

PARITY = Path(__file__).parents[1] / "parity"
DOCS = Path(__file__).parents[2] / "docs"
COLUMNS = {
    "mean_throughput_l4": "goodput_total_mbps",
    "mean_srtt_l4": "srtt_ms",
    "mean_cwnd_l4": "cwnd_seg",
    "mean_in_flight_l4": "inflight_seg",
    "mean_recovery_time_l4": "mean_recovery_ms",
    "total_recoveries_l4": "mean_recoveries",
    "total_retransmissions_l4": "retx",
    "total_rtos_l4": "rtos",
    "cov_in_flight_l4": "mean_cov_inflight",
    "utilization": "util",
    "mean_queue_length": "qlen_mean_pkts",
    "mean_sojourn": "soj_mean_ms",
}
COV = "cov_in_flight_l4 (ns-3)"


def again() -> dict[str, Any]:
    return {claim.name: claim for claim in get("deep-buffers").claims if claim.kind == "re-run"}


def samples(name: str) -> list[float]:
    """A column of our run of ns-3, from the first segment in flight on."""
    with (PARITY / "ns3_deep_buffers_samples.csv").open(newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file) if row["in_flight"] != "0"]


def judged(**params: Any) -> dict[str, Verdict]:
    run = bl.run("deep-buffers", **params)
    experiment = get("deep-buffers")
    metrics = {
        "flow_metrics": run.flow_metrics,
        "link_metrics": run.link_metrics,
        "readings": experiment.readings(run),
    }
    return {one.claim.name: one for one in experiment.verdicts({"": metrics})}


def misses(verdicts: dict[str, Verdict]) -> set[str]:
    return {name for name, one in verdicts.items() if one.holds is False}


def test_the_claims_of_ns3_are_those_of_its_run() -> None:
    with (PARITY / "ns3_deep_buffers.csv").open(newline="") as file:
        (row,) = (
            row
            for row in csv.DictReader(file)
            if (row["version"], row["cca"], row["qlen"], row["delack"]) == ("3.37-opt", "TcpNewReno", "80", "1")
        )
    expected = {f"{name} (ns-3)": float(row[column]) for name, column in COLUMNS.items()}
    expected["mean_idt_ewma_l4 (ns-3)"] = round(fmean(samples("idt_ewma_ms")), 4)
    assert {name: claim.published for name, claim in again().items()} == expected


def test_coarse_samples_of_ns3_give_the_published_variation_and_fine_ones_do_not() -> None:
    in_flight = samples("in_flight")

    def variation(interval_ms: int) -> float:
        step = interval_ms // 10
        # The first sample, at 10 ms, is before the first segment.
        taken = in_flight[step - 2 :: step]
        return pstdev(taken) / fmean(taken)

    assert [round(variation(interval), 3) for interval in (20, 50, 100)] == [0.222, 0.22, 0.221]
    assert [round(variation(interval), 3) for interval in (250, 500, 1000)] == [0.204, 0.205, 0.208]


@real
def test_every_miss_has_its_cause() -> None:
    assert misses(judged()) == {COV}
    # ns-3 halves the pipe, and its ACKs cross a slow link, so that one more packet fits into its path.
    halves = judged(cca={"kind": "newreno", "flight_size": "pipe"})
    assert halves[COV].holds
    both = judged(cca={"kind": "newreno", "flight_size": "pipe"}, rtt="15.03ms")
    assert both["total_retransmissions_l4 (ns-3)"].measured == 108
    assert both["mean_recovery_time_l4 (ns-3)"].measured == pytest.approx(101.879, rel=1e-3)
    assert both["mean_in_flight_l4 (ns-3)"].measured == pytest.approx(79.19, rel=2e-3)
    assert not misses({name: one for name, one in both.items() if name in again()})


@real
def test_what_the_fitted_inputs_decide() -> None:
    without = {f"{name}{by}" for name in ("mean_cwnd_l4", "mean_in_flight_l4") for by in ("", " (ns-3)")}
    assert without <= misses(judged(device_packets=0))
    # Neither the published sRTT, window nor retransmissions need the overhead; queue and sojourn time of ns-3 do.
    of_ns3 = {"mean_queue_length (ns-3)", "mean_sojourn (ns-3)"}
    assert misses(judged(overhead=0, device_packets=0)) == {COV, "mean_utility_mpdf_l4", *of_ns3}
    assert of_ns3 <= misses(judged(overhead=0))
    assert {"total_retransmissions_l4", "cov_in_flight_l4"} <= misses(judged(ack_every=2))


@real
def test_the_variation_of_the_samples_is_shown_beside_that_over_time() -> None:
    one = judged()["cov_in_flight_l4 (samples)"]
    in_flight = bl.run("deep-buffers").flow_series.to_polars()["in_flight"].to_list()
    assert one.measured == pstdev(in_flight) / fmean(in_flight)
    assert one.holds is None


def test_recoveries_are_not_judged_where_the_engine_does_not_report_them() -> None:
    experiment = get("deep-buffers")

    def unjudged(flow: dict[str, float]) -> set[str]:
        verdicts = experiment.verdicts({"": {"flow_metrics": {"flow_1": flow}}})
        return {one.claim.name for one in verdicts if one.why}

    recoveries = ["mean_recovery_time_l4", "mean_recovery_time_l4 (ns-3)", "total_recoveries_l4 (ns-3)"]
    assert unjudged({"mean_srtt_l4": 59.0}) == set(recoveries)
    assert unjudged({"total_recoveries_l4": 0}) == set()


def test_newreno_in_algs_is_reno_on_linux() -> None:
    experiment = get("deep-buffers").for_engine("linux")
    flows = experiment.scenario(experiment.resolve({"k": 2, "algs": "TcpCubic,TcpNewReno"}))["flows"]
    assert [flow["cca"] for flow in flows] == ["cubic", "reno"]
    assert experiment.resolve({"algs": "TcpNewReno"})["cca"] == "reno"
    assert get("deep-buffers").resolve({"algs": "TcpNewReno"})["cca"] == "newreno"


def test_the_prefix_of_ns3_is_accepted() -> None:
    values = get("deep-buffers").resolve({
        "k": 2,
        "algs": "ns3::TcpCubic,ns3::TcpBbr",
        "recovery": "ns3::TcpClassicRecovery",
        "protocols": "ns3::TcpSocketFactory",
    })  # fmt: skip
    assert (values["algs"], values["recovery"], values["protocols"]) == (["cubic", "bbr"], "classic", ["tcp"])
    assert get("deep-buffers").resolve({"cca": "ns3::TcpCubic"})["cca"] == "cubic"


def test_a_list_of_one_number() -> None:
    assert get("deep-buffers").resolve({"start_times": 1})["start_times"] == ["1s"]
    with pytest.raises(ParameterError, match=r"rtts: value 1: no unit .*`15` is not a duration such as `15ms`"):
        get("deep-buffers").resolve({"rtts": 15})
    with pytest.raises(ParameterError, match="rtts: `True` is not a list"):
        get("deep-buffers").resolve({"rtts": True})


@pytest.mark.parametrize("name", ["mean_utilization_bdp_l4", "mean_utilization_bdp_measured_l4"])
def test_a_multiple_of_the_bdp_is_a_ratio(name: str) -> None:
    assert for_people(name, "") == (1.0, "")


@real
def test_the_throughput_of_a_transfer_is_told_to_be_during_it(tmp_path: Path) -> None:
    from bloatlab.figures import source
    from bloatlab.store import Store

    run = bl.run("deep-buffers", traffic_models="Greedy(bytes=2000000)", out=tmp_path)
    store = Store(tmp_path)
    found = verdict.of_run(source.of_run(store, run.run_id), store.metrics())
    assert found.sentence.endswith("of the bottleneck's 16 Mbit/s, during its transfer of 1.07 s.")
    assert "link utilization at bottleneck over the whole run" in dict(found.numbers)


@real
def test_the_queries_of_the_documentation_give_its_numbers(tmp_path: Path) -> None:
    axes = {"cca": ["newreno", "cubic", "bbr"], "qlen": ["20p", "80p", "320p"]}
    bl.sweep("deep-buffers", axes, replications=2, out=tmp_path / "r")
    file = tmp_path / "r.sqlite"
    assert command(["export", str(tmp_path / "r"), "--sqlite", str(file)]) == 0
    text = (DOCS / "import-export.md").read_text(encoding="utf-8")
    examples = re.findall(r"```sql\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 3
    with contextlib.closing(sqlite3.connect(file)) as database:
        for query, printed in examples:
            rows = ["|".join(map(str, row)) for row in database.execute(query)]
            assert rows == printed.splitlines()
