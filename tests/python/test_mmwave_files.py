"""The files of mmwave-aqm: as the authors' programs print them, and as the authors' commands convert them."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

import raw_files
from bloatlab.experiments import get
from bloatlab.experiments.mmwave import files, readings, samples
from bloatlab.experiments.prints import EPOCH
from bloatlab.figures import of_runs
from bloatlab.figures.charts.srtt_grid import placed
from bloatlab.report import make_report
from bloatlab.result import Result
from bloatlab.store import Store
from bloatlab.sweeps import ExperimentSource, execute, plan_all
from bloatlab.tables import Table
from conftest import REAL

real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def test_names_of_files_are_the_authors() -> None:
    assert files.name("sl", "largefifo", 1, "") == "sl-largefifo-1"
    assert files.name("lb", {"kind": "codel", "target": "2ms"}, 42, "a1b2c3") == "lb-codel-a1b2c3-42"
    assert files.name("lb", "mine:MyQueue", 7, "a1b2c3") == "lb-MyQueue-a1b2c3-7"
    assert files.name("sb", "fq_codel limit 5000", "7r1", "linux-a1b2c3") == "sb-fq_codel-linux-a1b2c3-7r1"


@pytest.mark.parametrize(
    ("flows", "numbers"),
    [
        (["iperf", "ping"], {"iperf": 5}),
        (["iperf_1", "iperf_2", "ping"], {"iperf_1": 5, "iperf_2": 7}),
        (["web_1", "web_2", "video", "ping"], {"web_1": 5, "web_2": 7, "video": 9}),
    ],
)
def test_file_descriptors_as_in_iperf3(flows: list[str], numbers: dict[str, int]) -> None:
    assert samples.descriptors(_made(flows=pl.DataFrame({"flow": flows}))) == numbers


def _made(**tables: pl.DataFrame) -> Result:
    """A result with these tables."""
    metrics: dict[str, dict[str, dict[str, float]]] = {
        "flow_metrics": {}, "probe_metrics": {}, "network_metrics": {},
        "link_metrics": {"bottleneck": {"arrivals": 10.0, "drops": 5.0, "backlog_packets": 2.0}},
    }  # fmt: skip
    made = SimpleNamespace(**metrics, **{name: Table(table) for name, table in tables.items()})
    made.parameters = {"traffic": "bulk"}
    made.scenario = {"dumbbell": {"queue": {"kind": "fifo", "limit": "7500000B", "segments_per_buffer": 1}}}
    return cast("Result", made)


@real
def test_files_by_hand() -> None:
    link = pl.DataFrame(
        {
            "time_s": [0.1, 0.2, 0.1], "link": ["bottleneck", "bottleneck", "reverse"], "drops": [2.0, 3.0, 9.0],
            "queue_bytes": [1514.0, 3028.0, 0.0], "queue_packets": [1.0, 2.0, 0.0], "marks": [0.0] * 3,
            "throughput_mbps": [0.24224, 0.12112, 9.0],
        }
    )  # fmt: skip
    series = pl.DataFrame(
        {
            "time_s": [0.1, 0.1, 0.1, 0.2, 0.2, 0.3], "flow": ["iperf_1", "iperf_2", "ping", "iperf_1", "iperf_2", "iperf_1"],
            "cwnd": [10.2, 0.0, None, 20.0, 12.0, 14.0], "srtt_ms": [4.0, None, None, 5.12345, 4.5, 6.0],
            "throughput_mbps": [100.0, 80.0, 1.0, 200.0, 80.04, 50.0], "retransmissions": [1.0, 0.0, None, 1.0, 2.0, 4.0],
            "ssthresh": [None, None, None, 15.0, None, 7.0], "in_flight": [9.0, 0.0, None, 20.0, 12.0, 14.0],
            "delivery_rate_mbps": [90.0, None, None, 210.0, 81.0, 51.0],
        }
    )  # fmt: skip
    flows = pl.DataFrame({"flow": ["iperf_1", "iperf_2"], "mss": [1448, 1448], "cca": ["cubic", "cubic"]})
    run = _made(link_series=link, flow_series=series, flows=flows)
    # 3028 and 1514 bytes were sent: three packets of 1514 bytes.
    assert [row["htb"] for row in raw_files.tc("\n".join(files.queue_text(run)))] == [
        (3028, 2, 2, 0, 0),
        (4542, 3, 5, 0, 0),
    ]
    assert list(files.queue_csv(run)) == [f"{EPOCH}.100000,2,1514,1", f"{EPOCH}.200000,5,3028,2"]
    assert list(files.ss_csv(run)) == [
        f"{EPOCH}.100000,5,10,4", f"{EPOCH}.200000,5,20,5.12345", f"{EPOCH}.200000,7,12,4.5", f"{EPOCH}.300000,5,14,6",
    ]  # fmt: skip
    assert list(files.iperf_csv(run)) == [
        "5,0.00,0.10,100,1", "7,0.00,0.10,80.0,0", "5,0.10,0.20,200,0", "7,0.10,0.20,80.0,2", "5,0.20,0.30,50.0,3",
    ]  # fmt: skip


def _as_the_authors_read_them(text: Mapping[str, str]) -> None:
    """The tables of a run are those that the authors' commands make from what the programs printed."""
    queue = [",".join((row["time"], *row["words"])) for row in raw_files.tc(text["queue.txt"])]
    assert text["queue.csv"].splitlines() == queue
    connections = [",".join(map(str, row)) for row in raw_files.ss(text["ss.txt"])]
    assert text["ss.csv"].splitlines() == connections
    streams = [
        f"{row['stream']},{row['start']},{row['end']},{row['rate']},{row['again']}"
        for row in raw_files.iperf(text["iperf.txt"]) if row["cwnd"] is not None and row["stream"] != "SUM"
    ]  # fmt: skip
    assert text["iperf.csv"].splitlines() == streams
    assert all(len(lines.splitlines()) > 5 for lines in text.values())


@real
def test_a_short_run_leaves_its_files_and_a_page(tmp_path: Path) -> None:
    source = ExperimentSource(get("mmwave-aqm"))

    def run() -> None:
        runs, _ = plan_all(source, {"stop": "1500ms", "scenario": "mobb"}, {"queue": ["smallfifo", "pie"]})
        assert not execute(runs, tmp_path, command="bloatlab run mmwave-aqm").failed

    run()
    left = sorted((tmp_path / "files").iterdir())
    # `stop` is not the source's, so a part of the run's identity is in the name.
    assert {path.name.split("-")[1] for path in left} == {"smallfifo", "pie"}
    kinds = {"ping.txt", "ss.txt", "queue.txt", "iperf.txt", "queue.csv", "ss.csv", "iperf.csv"}
    assert {path.name.split("-")[-1] for path in left} == kinds
    assert len(left) == 2 * len(kinds)
    text = {path.name.split("-")[-1]: path.read_text() for path in left if "-smallfifo-" in path.name}
    _as_the_authors_read_them(text)
    rows = raw_files.tc(text["queue.txt"])
    assert (len(rows), rows[0]["kind"], rows[0]["options"]) == (15, "bfifo", "limit 1875000b")
    assert max(row["backlog"][0] for row in rows) <= 1_875_000
    assert {row["stream"] for row in raw_files.iperf(text["iperf.txt"])} == {str(fd) for fd in range(5, 24, 2)} | {
        "SUM"
    }
    answers, (sent, received) = raw_files.ping(text["ping.txt"])
    assert (sent, received, [number for number, _ in answers]) == (15, 15, list(range(1, 16)))

    # What is there stays, what is missing is made again.
    stamps = {path: path.stat().st_mtime_ns for path in left}
    left[0].unlink()
    run()
    assert left[0].exists()
    assert all(path.stat().st_mtime_ns == stamps[path] for path in left[1:])

    page = make_report(tmp_path).read_text()
    assert f'href="files/{left[0].name}"' in page
    assert "sRTT over time by queue and link scenario" in page
    tables = of_runs(Store(tmp_path))
    assert placed(tables)["row"].to_list() == ["smallfifo", "pie"]


def _printed(script: list[str], path: Path) -> list[list[str]]:
    """What a script of a reader prints about a file, as words."""
    done = subprocess.run([*script, str(path)], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


@real
@pytest.mark.skipif(shutil.which("awk") is None or shutil.which("sed") is None, reason="awk or sed is not installed")
def test_scripts_of_a_reader_find_in_the_files_what_the_run_measured(tmp_path: Path) -> None:
    given = {"scenario": "sl", "queue": "largefifo", "stop": "3s"}
    (run,), _ = plan_all(ExperimentSource(get("mmwave-aqm")), given, {}, seed=1)
    execute([run], tmp_path)
    result = Store(tmp_path).run(run.run_id)
    (expid,) = {path.name.removesuffix("-ping.txt") for path in (tmp_path / "files").glob("sl-largefifo-*-1-ping.txt")}
    left = {path.name.removeprefix(f"{expid}-"): path for path in (tmp_path / "files").iterdir()}

    # The longest backlog, and the drops of the whole run.
    longest = "$3 > most {most = $3} END {print NR, most, $2}"
    ((rows, most, drops),) = _printed(["awk", "-F,", longest], left["queue.csv"])
    link = result.link_series.to_polars().filter(pl.col("link").cast(pl.String) == "bottleneck")
    assert (int(rows), int(drops)) == (30, round(link["drops"].sum()))
    assert float(most) == pytest.approx(link["queue_bytes"].max(), abs=0.5)
    assert 7_000_000 < float(most) <= 7_500_000

    # The same numbers from what tc printed.
    number = r"\([0-9]*\)"
    words = rf"s/^\([0-9.]*\) .* pkt (dropped {number},.* backlog {number}b {number}p .*/\1 \2 \3 \4/p"
    assert _printed(["sed", "-n", words], left["queue.txt"]) == [
        line.split(",") for line in left["queue.csv"].read_text().splitlines()
    ]

    # The pings.
    answered = _printed(["sed", "-n", r"s/.*icmp_seq=\([0-9]*\) .*time=\([0-9.]*\) ms$/\1 \2/p"], left["ping.txt"])
    pings = result.probe_series.to_polars().sort("time_s")["rtt_ms"].to_list()
    assert [int(number) for number, _ in answered] == list(range(1, len(pings) + 1))
    assert [float(rtt) for _, rtt in answered] == pytest.approx(pings, rel=0.05)

    # sRTT and window of ten flows each 0.1 s.
    with left["ss.csv"].open(newline="") as file:
        rows_of = [(float(time), int(flow), int(cwnd), float(srtt)) for time, flow, cwnd, srtt in csv.reader(file)]
    assert {flow for _, flow, _, _ in rows_of} == set(range(5, 24, 2))
    times = sorted({time for time, *_ in rows_of})
    assert {round(after - before, 6) for before, after in pairwise(times)} == {0.1}
    settled = [srtt for time, _, _, srtt in rows_of if time > EPOCH + 2]
    assert median(settled) == pytest.approx(readings.of_run(result)["srtt_median"], rel=1e-4)

    # Throughput of all flows in each interval.
    sums = '{rate[$2 " " $3] += $4; again += $5} END {for (one in rate) print one, rate[one], again}'
    found = _printed(["awk", "-F,", sums], left["iperf.csv"])
    # 30 intervals of 0.1 s; iperf3 prints three digits of each flow.
    assert len(found) == 30
    assert all(float(end) - float(start) == pytest.approx(0.1) for start, end, *_ in found)
    goodput = sum(of["mean_throughput_l7"] for flow, of in result.flow_metrics.items() if flow != "ping")
    assert fmean(float(rate) for _, _, rate, _ in found) == pytest.approx(goodput, rel=0.02)
    again = sum(of["total_retransmissions_l4"] for flow, of in result.flow_metrics.items() if flow != "ping")
    assert {int(count) for *_, count in found} == {again}


@real
def test_clients_leave_their_fetches_instead_of_what_iperf3_prints(tmp_path: Path) -> None:
    given = {"scenario": "sl", "queue": "fq_codel", "stop": "2s", "traffic": "mixed"}
    (run,), _ = plan_all(ExperimentSource(get("mmwave-aqm")), given, {})
    execute([run], tmp_path)
    left = {path.name.rpartition("-")[2]: path for path in (tmp_path / "files").iterdir()}
    assert set(left) == {"ping.txt", "ss.txt", "queue.txt", "queue.csv", "ss.csv", "fetch.csv"}
    rows = [line.split(",") for line in left["fetch.csv"].read_text().splitlines()]
    assert {client.rpartition("_")[0] for client, *_ in rows} == {"web", "video", "download"}
    assert all(float(end) - float(start) == pytest.approx(float(took) / 1e3, abs=2e-6) for _, start, end, took in rows)
    # Four clients load pages, three each play a video and download. ss sees a short connection if it is open at a sample.
    connections = {line.split(",")[1] for line in left["ss.csv"].read_text().splitlines()}
    assert {"13", "15", "17"} <= connections <= {str(fd) for fd in range(5, 24, 2)}
    assert "iperf3" not in left["ss.txt"].read_text()
    answers, _ = raw_files.ping(left["ping.txt"].read_text())
    assert len(answers) == 20


@real
def test_equal_runs_leave_equal_files(tmp_path: Path) -> None:
    left = []
    for directory in (tmp_path / "first", tmp_path / "second"):
        given = {"stop": "300ms", "scenario": "lb", "queue": "fq_codel"}
        execute(plan_all(ExperimentSource(get("mmwave-aqm")), given, {})[0], directory)
        left.append({path.name: path.read_bytes() for path in (directory / "files").iterdir()})
    assert left[0] == left[1]
    assert len(left[0]) == 7
