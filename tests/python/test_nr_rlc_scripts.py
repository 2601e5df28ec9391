"""Scripts as readers of the 5G source write them, run on our files unchanged: what awk, sed and grep find is what the run has."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bloatlab.experiments import get
from bloatlab.result import Result
from bloatlab.store import Keep, Store
from bloatlab.sweeps import ExperimentSource, execute, plan
from conftest import REAL

pytestmark = [
    pytest.mark.skipif(not REAL, reason="bloatlab._core is not built"),
    pytest.mark.skipif(
        not all(map(shutil.which, ("awk", "sed", "grep", "sort"))), reason="needs awk, sed, grep and sort"
    ),
]


@dataclass
class Left:
    """A run and the files that it left: `log`, `monitor` and `pcap`."""

    run: Result
    files: dict[str, Path]

    def shell(self, script: str) -> str:
        """What a script prints, with the files as the variables that it names."""
        done = subprocess.run(
            ["sh", "-c", script], env={"PATH": "/usr/bin:/bin", **{name: str(path) for name, path in self.files.items()}},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def flow(self, name: str, metric: str) -> float:
        return float(self.run.flow_metrics[name][metric])


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Left]:
    made: dict[str, Left] = {}

    def of(buffer: str) -> Left:
        if buffer not in made:
            directory = tmp_path_factory.mktemp("nr-rlc")
            runs = plan(
                ExperimentSource(get("nr-rlc")), {"stop": "700ms", "lambda": 20_000, "buffer": buffer, "mice_rate": 10},
                keep=Keep.PACKETS,
            )  # fmt: skip
            execute(runs, directory)
            kinds = {"flowmon.txt": "monitor", "rlc.log": "log", "ue.pcap": "pcap"}
            files = {kinds[path.name.rpartition("-")[2]]: path for path in (directory / "files").iterdir()}
            made[buffer] = Left(Store(directory).run(runs[0].run_id), files)
        return made[buffer]

    return of


INFINITE, SMALL = "999999999B", "1MB"


def test_six_lines_a_packet(left: Callable[..., Left]) -> None:
    found = left(INFINITE)
    arrivals = found.run.link_metrics["ue_1"]["arrivals"]
    assert int(found.shell('wc -l < "$log"')) == 6 * arrivals
    # The fourth and fifth line of each six.
    assert found.shell("""awk 'NR % 6 == 4 { print $1 }' "$log" | sort -u""") == "NumOfBuffers"
    assert found.shell("""awk 'NR % 6 == 5 { print $1 }' "$log" | sort -u""") == "txBufferSize"


def test_packets_and_bytes_of_each_logical_channel(left: Callable[..., Left]) -> None:
    found = left(INFINITE)
    script = r"""
        sed -n 's/^LteRlcUm:DoTransmitPdcpPdu(\(.*\))$/\1/p' "$log" |
        awk -F', ' '{ packets[$3]++; bytes[$3] += $4 } END { for (lcid in packets) print lcid, packets[lcid], bytes[lcid] }'
    """
    arrivals = int(found.run.link_metrics["ue_1"]["arrivals"])
    assert found.shell(script) == f"4 {arrivals} {1530 * arrivals}"


def test_the_longest_queue(left: Callable[..., Left]) -> None:
    found = left(SMALL)
    buffers = int(found.shell("""awk '/^NumOfBuffers = / { if ($3 > most) most = $3 } END { print most }' "$log" """))
    held = int(found.shell(r"""sed -n 's/^txBufferSize = //p' "$log" | sort -n | sed -n '$p'"""))
    # 1 MB holds 653 packets of 1530 B, or less of one that was sent in part.
    assert 652 <= buffers <= 654
    assert 1_000_000 - 1530 < held <= 1_000_000


def test_reports_are_the_buffer_and_two_bytes_a_packet(left: Callable[..., Left]) -> None:
    found = left(INFINITE)
    script = """
        awk '/^NumOfBuffers/ { packets = $3 } /^txBufferSize = / { bytes = $3 }
             /^Send ReportBufferStatus/ { sub(",", "", $4); if ($4 != bytes + 2 * packets) bad++; seen++ }
             END { print seen, bad + 0 }' "$log"
    """
    assert found.shell(script) == f"{int(found.run.link_metrics['ue_1']['arrivals'])} 0"
    # The waiting time of the head grows while the cell is overloaded.
    waits = [
        int(line) for line in found.shell("""awk -F', ' '/^Send ReportBufferStatus/ { print $2 }' "$log" """).split()
    ]
    assert waits[0] == 0
    assert (
        0.9 * found.run.link_metrics["ue_1"]["max_sojourn"]
        < max(waits)
        <= found.run.link_metrics["ue_1"]["max_sojourn"] + 1
    )


def test_discards_of_a_full_buffer(left: Callable[..., Left]) -> None:
    found = left(SMALL)
    dropped = found.flow("mice", "dropped_overflow") + found.flow("elephant", "dropped_overflow")
    assert dropped > 100
    assert int(found.shell("""grep -c 'TxBuffer is full. RLC SDU discarded' "$log" """)) == dropped
    assert found.shell(r"""sed -n 's/^MaxTxBufferSize = //p' "$log" | sort -u""") == "1000000"


def test_the_flow_monitor_by_flow(left: Callable[..., Left]) -> None:
    found = left(SMALL)
    script = """awk '/^Flow/ { flow = $2 } /Rx Packets:/ { print flow, $3 }' "$monitor" """
    received = dict(line.split() for line in found.shell(script).splitlines())
    assert received == {
        "1": f"{found.flow('mice', 'rx_packets'):.0f}", "2": f"{found.flow('elephant', 'rx_packets'):.0f}",
    }  # fmt: skip
    delays = found.shell(r"""sed -n 's/^  Mean delay:  \([0-9.]*\) ms$/\1/p' "$monitor" """).split()
    assert delays == [f"{found.flow(flow, 'mean_delay'):f}" for flow in ("mice", "elephant")]
    assert (
        found.shell(r"""sed -n 's/^Flow 2 (\(.*\)) proto UDP$/\1/p' "$monitor" """) == "1.0.0.2:49154 -> 7.0.0.2:1234"
    )


def test_several_runs_in_one_file_have_the_period_of_the_source_s(left: Callable[..., Left]) -> None:
    one, other = left(SMALL), left(INFINITE)
    both = Left(one.run, {"first": one.files["monitor"], "second": other.files["monitor"]})
    # The source appends each run to one file.
    script = """cat "$first" "$second" | awk 'NR % 25 == 16 { print $3 }'"""
    assert both.shell(script).split() == [f"{run.flow('elephant', 'mean_delay'):f}" for run in (one, other)]


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not there")
def test_the_capture_at_the_ue(left: Callable[..., Left]) -> None:
    found = left(SMALL)
    script = """
        tshark -r "$pcap" -o ip.check_checksum:TRUE -o udp.check_checksum:FALSE -T fields \
            -e ip.src -e udp.srcport -e ip.dst -e udp.dstport -e ip.len -e ip.checksum.status | sort | uniq -c
    """
    rows = [line.split() for line in found.shell(script).splitlines()]
    assert rows == [
        [f"{found.flow(flow, 'rx_packets'):.0f}", "1.0.0.2", port, "7.0.0.2", "1234", "1528", "1"]
        for flow, port in (("mice", "49153"), ("elephant", "49154"))
    ]
