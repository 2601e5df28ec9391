"""The files of mmwave-aqm: as the authors' programs print them, and as the authors' commands convert them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

import raw_files
from bloatlab.experiments import get
from bloatlab.experiments.mmwave import files, samples
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


def test_file_descriptors_of_iperf3() -> None:
    assert [samples.descriptor(flow) for flow in ("iperf", "iperf_1", "iperf_2", "iperf_10")] == [5, 5, 7, 23]


def _made(**tables: pl.DataFrame) -> Result:
    """A result with these tables."""
    metrics: dict[str, dict[str, dict[str, float]]] = {
        "flow_metrics": {}, "probe_metrics": {}, "network_metrics": {},
        "link_metrics": {"bottleneck": {"arrivals": 10.0, "drops": 5.0, "backlog_packets": 2.0}},
    }  # fmt: skip
    made = SimpleNamespace(**metrics, **{name: Table(table) for name, table in tables.items()})
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


@real
def test_equal_runs_leave_equal_files(tmp_path: Path) -> None:
    left = []
    for directory in (tmp_path / "first", tmp_path / "second"):
        given = {"stop": "300ms", "scenario": "lb", "queue": "fq_codel"}
        execute(plan_all(ExperimentSource(get("mmwave-aqm")), given, {})[0], directory)
        left.append({path.name: path.read_bytes() for path in (directory / "files").iterdir()})
    assert left[0] == left[1]
    assert len(left[0]) == 7
