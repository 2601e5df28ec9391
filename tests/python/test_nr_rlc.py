"""Bufferbloat in a 5G RLC buffer: the set-up, what is refused, the files, the findings, and rows to the packet."""

from __future__ import annotations

import json
import struct
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import bloatlab
from bloatlab import cli
from bloatlab.analysis.claims import findings_of_store, plan_published, published_runs
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.claim import judge
from bloatlab.experiments.nr_rlc import files, setup
from bloatlab.experiments.nr_rlc.cases import CASES, load
from bloatlab.experiments.nr_rlc.claims import CLAIMS, CONCLUSION, ROWS
from bloatlab.experiments.nr_rlc.offsets import of_row
from bloatlab.experiments.nr_rlc.tuning import Setting, front
from bloatlab.report import make_report
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store
from bloatlab.sweeps import ExperimentSource, execute, plan, plan_all
from conftest import REAL

real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def scenario(**given: Any) -> dict[str, Any]:
    experiment = get("nr-rlc")
    return experiment.scenario(experiment.resolve(given))


# The set-up.


@pytest.mark.parametrize(
    ("packets", "apart"), [(1, 1_000_000_000), (15_000, 66_667), (20_000, 50_000), (30_000, 33_333)]
)
def test_packets_are_whole_nanoseconds_apart_as_in_ns3(packets: float, apart: int) -> None:
    assert setup.interval(packets) == apart
    # A rate is whole bits a second, and packets of 12,000 bits at it are as far apart, to the nanosecond.
    rate = int(setup.rate(packets, 1500).removesuffix("bit/s"))
    assert round(12_000e9 / rate) == apart


@real
def test_the_published_scenario() -> None:
    found = scenario(**{"lambda": 30_000})
    assert found["duration"] == "10s"
    network = found["cell"]
    assert (network["queue"], network["buffer"]) == ("infinite", "999999999B")
    assert network["wire"] == {"rate": "10Gbit/s", "delay": "5ms", "overhead": 2}
    radio = network["radio"]
    assert (radio["frequency"], radio["bandwidth"], radio["numerology"], radio["rule"]) == ("6GHz", "50MHz", 1, "lena")
    assert radio["rlc"] == {"mode": "um", "framing": "lena"}
    assert radio["pdcp"] == {"sn_bits": 12, "sdap_header": False, "out_of_order": True}
    mice, elephant = found["flows"]
    assert mice["traffic"] == {"kind": "cbr", "rate": "12000bit/s", "packet": "1500B"}
    assert elephant["traffic"]["rate"] == "360003600bit/s"
    assert {flow["start"] for flow in found["flows"]} == {"400ms"}


@real
def test_every_input_that_the_source_lets_one_edit_reaches_the_scenario() -> None:
    found = scenario(
        mice_rate=5, packet="500B", wire_rate="1Gbit/s", wire_delay="1ms", backhaul_rate="2Gbit/s", backhaul_delay="3ms",
        frequency="28GHz", bandwidth="100MHz", numerology=2, pattern="dddsu", power=30, amc="error_model", position="3,4",
        gnb_height=25, ue_height=2, gnb_antenna="8X8", ue_antenna="1x2", surroundings="umi", condition="nlos", shadowing=True,
        scheduler="proportional_fair", access="ofdma",
    )  # fmt: skip
    assert [flow["traffic"]["rate"] for flow in found["flows"]] == ["20000bit/s", "80000000bit/s"]
    assert {flow["traffic"]["packet"] for flow in found["flows"]} == {"500B"}
    network = found["cell"]
    assert (network["wire"]["rate"], network["wire"]["delay"]) == ("1Gbit/s", "1ms")
    assert (network["backhaul"]["rate"], network["backhaul"]["delay"]) == ("2Gbit/s", "3ms")
    radio = network["radio"]
    names = ("frequency", "bandwidth", "numerology", "pattern", "gnb_power", "amc")
    assert [radio[name] for name in names] == ["28GHz", "100MHz", 2, "DDDSU", 30, "error_model"]
    assert (radio["scheduler"], radio["access"]) == ("proportional_fair", "ofdma")
    assert radio["ues"] == [
        {
            "kind": "scenario", "scenario": "umi", "condition": "nlos", "shadowing": True, "position_m": [3.0, 4.0],
            "gnb_height_m": 25, "ue_height_m": 2, "gnb_antennas": 64, "ue_antennas": 2,
        }
    ]  # fmt: skip


@real
@pytest.mark.parametrize(
    ("given", "rate"),
    [
        # 5G-LENA, 30 dBm: 66.7 Mbit/s at 6 km with its error model, MCS 13.
        ({"amc": "error_model", "power": 30, "position": [0, 6000]}, 66.7),
        # Every second slot, with 13 data symbols instead of 12.
        ({"pattern": "DU"}, 194.42 / 2 * 13 / 12),
        # 60 resource blocks instead of 133.
        ({"bandwidth": "22.5MHz"}, 194.42 * 60 / 133),
    ],
)
def test_inputs_change_the_rate_of_the_cell(given: dict[str, Any], rate: float) -> None:
    run = bloatlab.run("nr-rlc", stop="3s", **given)
    assert run.flow_metrics["elephant"]["throughput"] == pytest.approx(rate, rel=0.01)


@real
@pytest.mark.parametrize(
    ("queue", "built"),
    [
        ("tail", "infinite"),
        ("vanilla", "infinite"),
        ("codel", {"kind": "codel", "limit": "10000000B"}),
        ("rlc_codel_2022", {"kind": "rlc_codel_2022", "limit": "10000000B"}),
        ("fq_codel", {"kind": "fq_codel", "limit": "10000000B", "memory_limit": "10000000B"}),
        ({"kind": "pie", "limit": "50p"}, {"kind": "pie", "limit": "50p"}),
        ("priority", {"kind": "priority"}),
        ("fq_codel limit 50", "fq_codel limit 50"),
    ],
)
def test_queues_are_bounded_by_the_buffer_unless_they_say(queue: object, built: object) -> None:
    assert scenario(queue=queue, buffer="10MB")["cell"]["queue"] == built


@real
def test_tcp_and_the_mixed_workload() -> None:
    _, elephant = scenario(cca="bbr")["flows"]
    assert (elephant["cca"], elephant["traffic"]) == ("bbr", "greedy")
    assert [flow["traffic"] for flow in scenario(cca="bbr", mice="tcp")["flows"]] == ["greedy", "greedy"]
    assert elephant["tcp"] == {"send_buffer": "64MB"}
    assert scenario(cca="bbr", send_buffer="4MB")["flows"][1]["tcp"] == {"send_buffer": "4MB"}
    mixed = scenario(workload="mixed", start_jitter="1ms")["flows"]
    assert [flow["name"] for flow in mixed] == ["mice", "elephant", "web", "ping", "voip"]
    assert mixed[1]["cca"] == "cubic"
    assert {flow["start_jitter"] for flow in mixed} == {"1ms"}
    assert get("nr-rlc").resolve({"cca": "cubic", "lambda": 15_000})["lambda"] is None


@real
def test_the_standard_s_framing_has_the_standard_s_pdcp() -> None:
    radio = scenario(framing="nr", rlc="am", rule="3gpp", sounding_offset=7)["cell"]["radio"]
    assert (radio["rlc"], radio["pdcp"]) == ({"mode": "am", "framing": "nr"}, {})
    assert (radio["rule"], radio["sounding_offset"]) == ("3gpp", 7)


@real
def test_loads_and_queues_are_swept_and_over_tcp_queues_alone() -> None:
    source = ExperimentSource(get("nr-rlc"))
    runs, axes = plan_all(source, {}, {})
    assert {name: len(values) for name, values in axes.items()} == {"lambda": 7, "queue": 5}
    assert len(runs) == 35
    assert list(plan_all(source, {"cca": "cubic"}, {})[1]) == ["queue"]
    assert list(plan_all(source, {}, {"buffer": ["10MB", "30MB"], "rlc": ["um", "am"]})[1]) == [
        "lambda", "queue", "buffer", "rlc",
    ]  # fmt: skip


@real
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"lambda": 0}, "lambda: `0` is not a number from 1 to 1e.06"),
        ({"buffer": "10 packets"}, "buffer: .*packets"),
        ({"queue": "tial"}, "queue: unknown queue"),
        ({"rlc": "tm"}, "rlc: unknown choice `tm`"),
        ({"cca": "cubik"}, "cca: unknown congestion control"),
        ({"sounding_offset": 80}, "sounding_offset: `80` is not a whole number from 0 to 79"),
        ({"workload": "web"}, "workload: unknown choice"),
        ({"position": "0"}, "position: `0` is not two numbers of metres such as 0,10"),
        ({"position": [0, 1e9]}, "position: .* is more than 100000 m from the base station"),
        ({"gnb_antenna": "32"}, "gnb_antenna: `32` is not rows x columns such as 4x8"),
        ({"ue_antenna": "64x64"}, "ue_antenna: .* with 1 to 1024 elements"),
        ({"bandwidth": "5GHz"}, "bandwidth: `5GHz` is not between 1MHz and 2GHz"),
        ({"bandwidth": "50"}, "bandwidth: no unit"),
        ({"numerology": 5}, "numerology: `5` is not a whole number from 0 to 4"),
        ({"power": "43dBm"}, "power: `43dBm` is not a number from -30 to 80"),
        ({"amc": "ideal"}, "amc: unknown choice"),
        ({"packet": "3kB"}, "packet: `3kB` is not between 64B and 2017B"),
        ({"wire_delay": "1h"}, "wire_delay: `1h` is not between 0s and 10s"),
        ({"backhaul_rate": "1kbit/s"}, "backhaul_rate: `1kbit/s` is not between 1Mbit/s and 1Tbit/s"),
        ({"mice_rate": 0}, "mice_rate: `0` is not a number from 1"),
        ({"pattern": "DXU"}, "pattern: `DXU` is not a pattern of D, U, F and S"),
        ({"mice": "tcp"}, "mice: tcp needs a congestion control; set `cca`"),
        ({"mcs": 29}, "mcs: `29` is not a whole number from 0 to 28"),
        ({"mcs": "fast"}, "mcs: `fast` is not a whole number from 0 to 28"),
        ({"ues": 0}, "ues: `0` is not a whole number from 1 to 256"),
        ({"gnbs": 65}, "gnbs: `65` is not a whole number from 1 to 64"),
        ({"gnb_distance": 0}, "gnb_distance: `0` is not a number from 1 to 10000"),
        ({"interference_load": 2}, "interference_load: `2` is not a number from 0 to 1"),
        ({"interference_gain": "loud"}, "interference_gain: `loud` is not a number from -60 to 60"),
        ({"lamda": 1}, "lamda.*did you mean `lambda`"),
    ],
)
def test_what_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        get("nr-rlc").resolve(given)


# Options that all published runs have off.


@real
def test_options_that_are_off_leave_the_scenario_as_it_was() -> None:
    found = scenario()
    assert {"mcs", "interferers"}.isdisjoint(found["cell"]["radio"])
    assert len(found["cell"]["radio"]["ues"]) == 1
    assert [flow["name"] for flow in found["flows"]] == ["mice", "elephant"]
    assert all("ue" not in flow for flow in found["flows"])
    assert scenario(mcs="none") == found


@real
def test_every_ue_has_its_own_flows_at_the_same_place() -> None:
    found = scenario(ues=3, position="0,30", workload="mixed")
    ues = found["cell"]["radio"]["ues"]
    assert len(ues) == 3
    assert [ue["position_m"] for ue in ues] == [[0.0, 30.0]] * 3
    names = ["mice", "elephant", "web", "ping", "voip"]
    assert [(flow["name"], flow["ue"]) for flow in found["flows"]] == [
        (f"{name}_{ue}", ue) for ue in (1, 2, 3) for name in names
    ]


@real
def test_other_base_stations_stand_in_a_row_on_both_sides() -> None:
    others = scenario(gnbs=4, gnb_distance=500, interference_load=0.5, interference_gain=3)["cell"]["radio"][
        "interferers"
    ]
    assert [one["position_m"] for one in others] == [[0, 500], [0, -500], [0, 1000]]
    assert {(one["load"], one["gain_db"]) for one in others} == {(0.5, 3)}


@real
def test_a_fixed_scheme_sets_the_rate_and_fails_beyond_its_snr() -> None:
    def rate(**given: Any) -> float:
        return float(bloatlab.run("nr-rlc", stop="3s", **given).flow_metrics["elephant"]["throughput"])

    best = rate()
    # 4204 and 12,212 bytes per slot of 12 symbols.
    assert rate(mcs=13) == pytest.approx(best * 4204 / 12_212, rel=0.01)
    # Without link adaptation, the first six blocks do not have MCS 0.
    assert best < rate(mcs=28) < best * 1.002
    # 9.2 dB at 6 km with 30 dBm: MCS 13 needs 8.59 dB, MCS 28 23.77 dB.
    far = {"power": 30, "position": "0,6000"}
    assert rate(mcs=13, **far) == pytest.approx(rate(amc="error_model", **far), rel=0.02)
    assert bloatlab.run("nr-rlc", stop="3s", mcs=28, **far).flow_metrics["elephant"]["rx_packets"] == 0


@real
def test_ues_share_the_cell_equally_and_each_has_its_own_buffer() -> None:
    run = bloatlab.run("nr-rlc", stop="3s", ues=4, **{"lambda": 20_000})
    one = bloatlab.run("nr-rlc", stop="3s", **{"lambda": 20_000})
    rates = [run.flow_metrics[f"elephant_{ue}"]["throughput"] for ue in (1, 2, 3, 4)]
    assert max(rates) == pytest.approx(min(rates), rel=0.01)
    assert sum(rates) == pytest.approx(one.flow_metrics["elephant"]["throughput"], rel=0.02)
    assert {name for name in run.link_metrics if name.startswith("ue_")} >= {f"ue_{ue}" for ue in (1, 2, 3, 4)}


@real
def test_interference_lowers_the_rate_at_the_edge_but_not_beside_the_base_station() -> None:
    def rate(**given: Any) -> float:
        return float(bloatlab.run("nr-rlc", stop="3s", **given).flow_metrics["elephant"]["throughput"])

    assert rate(gnbs=3) == rate()
    rates = [rate(gnbs=gnbs, position="0,30") for gnbs in (1, 2, 3, 5)]
    # The third base station is 90 m away, and takes half a dB.
    assert rates[0] > rates[1] >= rates[2] > rates[3]
    # As far from both: 24.08 dB, the gain of 32 x 8 elements, so MCS 26 with 11,161 of 12,212 bytes.
    assert rates[1] / rates[0] == pytest.approx(11_161 / 12_212, rel=0.005)
    assert rate(gnbs=2, position="0,30", interference_load=0) == rates[0]


@real
def test_one_line_and_code_2_for_bad_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for given, why in (("mcs=40", "mcs: `40`"), ("ues=none", "ues: `none`"), ("gnbs=-1", "gnbs: `-1`")):
        assert cli.command(["run", "nr-rlc", "--set", given, "--out", str(tmp_path / "out")]) == 2
        shown = capsys.readouterr()
        assert why in shown.err
        assert len(shown.err.strip().splitlines()) == 1


@real
def test_files_of_several_ues(tmp_path: Path) -> None:
    source = ExperimentSource(get("nr-rlc"))
    execute(plan(source, {"stop": "500ms", "ues": 2, "cca": "cubic"}, keep=Keep.PACKETS), tmp_path / "tcp")
    execute(plan(source, {"stop": "500ms", "ues": 2}, keep=Keep.PACKETS), tmp_path / "udp")
    names = sorted(path.name.rpartition("-")[2] for path in (tmp_path / "udp" / "files").iterdir())
    assert names == ["flowmon.txt", "rlc.log", "ue_1.pcap", "ue_2.pcap"]

    def text(end: str) -> str:
        (path,) = (tmp_path / "udp" / "files").glob(f"*-{end}")
        return path.read_text()

    assert [line for line in text("flowmon.txt").splitlines() if line.startswith("Flow ")] == [
        f"Flow {flow} (1.0.0.2:{49_152 + flow} -> 7.0.0.{ue + 1}:1234) proto UDP"
        for flow, ue in ((1, 1), (2, 1), (3, 2), (4, 2))
    ]
    calls = Counter(line.split(", ")[1] for line in text("rlc.log").splitlines() if "DoTransmit" in line)
    assert set(calls) == {"1", "2"}
    assert calls["1"] == pytest.approx(calls["2"], abs=2)
    for kind, ue in (("udp", 1), ("udp", 2), ("tcp", 2)):
        (path,) = (tmp_path / kind / "files").glob(f"*-ue_{ue}.pcap")
        data = path.read_bytes()
        assert bytes((7, 0, 0, ue + 1)) in data
        assert bytes((7, 0, 0, 4 - ue)) not in data


def test_the_rlc_s_log_keeps_the_buffers_of_ues_apart() -> None:
    lines = log_of(
        event(1_000_000, "enqueue", 1), event(2_000_000, "enqueue", 1, "ue_2"), event(3_000_000, "enqueue", 2)
    )
    second = [
        CALL.replace(f"{files.ENTITY:#x}, 1,", f"{files.ENTITY + files.ENTITY_BYTES:#x}, 2,"),
        *entered(1, 1530)[1:],
    ]
    assert lines == [*entered(1, 1530), *second, *entered(2, 3060, 2)]


# Claims.


@real
def test_every_row_is_a_run_of_its_own_with_its_seed() -> None:
    experiment = get("nr-rlc")
    assert set(ROWS) <= set(CASES)
    runs = plan_published(experiment)
    # No two cases are the same run.
    assert len(runs) == len(CASES)
    found = published_runs(experiment, runs)
    assert tuple(found) == tuple(CASES)
    assert found["tail, 20k"].parameters["sounding_offset"] == 0
    usual = {run.parameters["sounding_offset"] for case, run in found.items() if ", sounding " not in case}
    assert usual == {0, 50}
    assert {run.seed for case, run in found.items() if "start" not in case} == {42}
    # Over TCP and in the grid, every case has random starts.
    grid = [run for case, run in found.items() if "cubic" in case or "/" in case]
    assert {(run.parameters["start_jitter"], run.seed) for run in grid} == {("1ms", seed) for seed in range(43, 48)}
    assert len({run.seed for case, run in found.items() if case.startswith("codel, 20k, start")}) == 10
    assert published_runs(experiment, runs[1:]) == {}


def row(case: str, **off: float) -> dict[str, Any]:
    """The metrics of the row, with the values in `off` replaced."""
    mice, mice_delay, elephant, elephant_delay, drops, _ = ROWS[case]
    values = {"mice": mice, "mice_delay": mice_delay, "elephant": elephant, "elephant_delay": elephant_delay, **off}
    return {
        "flow_metrics": {
            "mice": {"rx_packets": values["mice"], "mean_delay": values["mice_delay"], "dropped_aqm": 1.0},
            "elephant": {
                "rx_packets": values["elephant"], "mean_delay": values["elephant_delay"], "throughput": 194.415,
                "dropped_aqm": (drops or 1) - 1.0,
            },
        }
    }  # fmt: skip


def test_counts_are_exact_and_delays_have_their_tolerance() -> None:
    case = load("rlc_codel_2022", 20)
    claims = of_row(case)
    assert len(claims) == 6

    def failing(**off: float) -> list[str]:
        metrics = {case: row(case, **off)}
        return [claim.name.removeprefix(f"{case}: ") for claim in claims if not judge(claim, metrics).holds]

    assert failing() == []
    assert failing(mice_delay=515.764 + 0.06, elephant_delay=964.63 - 0.02) == []
    assert failing(mice=6) == ["mice received"]
    assert failing(elephant=152_680, elephant_delay=964.651) == ["elephant received", "elephant, mean delay"]
    assert failing(mice_delay=515.825) == ["mice, mean delay"]


def test_each_claim_says_what_it_rests_on() -> None:
    kinds = {claim.name: claim.kind for claim in CLAIMS}
    assert kinds["tail, 30k, 20 MB: mice, mean jitter"] == "stated"
    assert kinds["tail, 16k: elephant received"] == "re-run"
    assert kinds["tail, 40k: mice lost"] == "read off"
    # Arithmetic from the set-up.
    assert kinds["tail, 30k: elephant sent"] == "check"
    assert Counter(kinds.values()) == {"stated": 97, "re-run": 31, "read off": 6, "check": 2}
    assert "sounding_offset, 50 in all runs but tail, 20k with 0" in get("nr-rlc").fitted


@pytest.mark.parametrize(
    ("codel_mice", "codel_elephant", "failing"),
    [
        (5, 152_681, ["elephant lost in excess of tail drop"]),
        (5, 152_600, []),
        (8, 152_600, ["mice lost in excess of tail drop"]),
    ],
)
def test_the_conclusion_about_loss_is_judged_for_each_flow(
    codel_mice: int, codel_elephant: int, failing: list[str]
) -> None:
    def run(mice: int, elephant: int, delay: float) -> dict[str, Any]:
        flows = {"mice": mice, "elephant": elephant}
        return {"flow_metrics": {flow: {"rx_packets": got, "mean_delay": delay} for flow, got in flows.items()}}

    cases = {load("tail", 20): run(8, 152_679, 900), load("rlc_codel_2022", 20): run(codel_mice, codel_elephant, 500)}
    claims = [claim for claim in CLAIMS if claim.source == CONCLUSION and ", 20k" in claim.name]
    assert len(claims) == 4
    found = [claim.name.partition(": ")[2] for claim in claims if not judge(claim, cases).holds]
    assert found == failing


def test_a_setting_is_on_the_front_if_none_beats_it() -> None:
    def setting(name: str, delay: float, rate: float) -> Setting:
        return Setting(name, "", "", delay, rate)

    settings = [
        setting("tail", 150, 182.3), setting("slower", 150, 180), setting("low", 3, 178), setting("between", 9, 181.9),
        setting("beaten", 10, 181), setting("starved", 2.9, 1.2), setting("as good as low", 3.01, 178.5),
    ]  # fmt: skip
    # 0.2 % of throughput does not make up for 141 ms, and 0.3 % neither separates `low` from its neighbour.
    assert [one.queue for one in front(settings)] == ["starved", "low", "as good as low", "between"]


@real
def test_the_send_buffer_does_not_bind_the_queue() -> None:
    def longest(size: str) -> float:
        run = bloatlab.run("nr-rlc", cca="cubic", stop="4s", send_buffer=size)
        return float(run.link_metrics["ue_1"]["max_sojourn"])

    assert longest("64MB") == longest("16MB") > longest("4MB")


def test_what_differs_in_one_row_is_said() -> None:
    notes = {claim.name.partition(":")[0] for claim in CLAIMS if "sounding_offset" in claim.note}
    assert notes == {"tail, 20k"}


# Files.


def test_files_are_named_by_what_is_usual_to_vary() -> None:
    own = {"lambda": 20_000.0, "queue": "tail", "buffer": "999999999B", "rlc": "um", "cca": "udp"}
    assert files.name(own, 42, "") == "tail-20000-999999999B-um-42"
    tcp = {**own, "lambda": None, "cca": {"kind": "bbr"}, "queue": {"kind": "codel", "target": "1ms"}}
    assert files.name(tcp, 7, "a1b2c3") == "codel-bbr-999999999B-um-a1b2c3-7"
    assert files.name({**own, "queue": "my.module:Queue"}, 1, "") == "Queue-20000-999999999B-um-1"


def flow_monitor_of(**metrics: dict[str, float]) -> str:
    """The text for flows that start after 0.4 s of ten."""
    flow = {"start": "400ms", "traffic": {"kind": "cbr", "packet": "1500B"}}
    run = SimpleNamespace(
        scenario={
            "duration": "10s",
            "flows": [
                *({"name": name, **flow} for name in metrics),
                {**flow, "name": "tcp", "traffic": {"kind": "greedy"}},
            ],
        },
        flow_metrics={**metrics, "tcp": {"tx_packets": 5.0, "rx_packets": 5.0}},
    )
    return files.flow_monitor(run)  # type: ignore[arg-type]


MICE_AT_50_MB = {
    "tx_packets": 10.0, "rx_packets": 8.0, "mean_delay": 1623.501781, "mean_jitter": 256.3125 * 8 / 7, "throughput": 0.010793,
}  # fmt: skip
ELEPHANT_AT_50_MB = {
    "tx_packets": 288_003.0, "rx_packets": 152_678.0, "mean_delay": 1594.049523, "throughput": 194.418811,
    "mean_jitter": 0.103805 * 152_678 / 152_677,
}  # fmt: skip


def test_the_flow_monitor_s_text() -> None:
    # The published block of 50 MB, line by line.
    assert flow_monitor_of(mice=MICE_AT_50_MB, elephant=ELEPHANT_AT_50_MB).splitlines() == [
        "Flow 1 (1.0.0.2:49153 -> 7.0.0.2:1234) proto UDP",
        "  Tx Packets: 10",
        "  Tx Bytes:   15280",
        "  TxOffered:  0.012733 Mbps",
        "  Rx Bytes:   12224",
        "  Throughput: 0.010793 Mbps",
        "  Mean delay:  1623.501781 ms",
        # Seven differences over eight packets.
        "  Mean jitter:  256.312500 ms",
        "  Rx Packets: 8",
        "Flow 2 (1.0.0.2:49154 -> 7.0.0.2:1234) proto UDP",
        "  Tx Packets: 288003",
        "  Tx Bytes:   440068584",
        "  TxOffered:  366.723820 Mbps",
        "  Rx Bytes:   233291984",
        "  Throughput: 194.418811 Mbps",
        "  Mean delay:  1594.049523 ms",
        "  Mean jitter:  0.103805 ms",
        "  Rx Packets: 152678",
        "",
        "",
        "  Mean flow throughput: 97.214802",
        "  Mean flow delay: 1608.775652",
        "",
        " ----------------------------xx----------------------------------------xx---------------------",
        "",
    ]


def test_a_flow_that_delivers_nothing_has_the_source_s_zeros() -> None:
    lines = flow_monitor_of(mice={"tx_packets": 1.0, "rx_packets": 0.0}).splitlines()
    assert lines[4:10] == [
        "  Rx Bytes:   0",
        "  Throughput:  0 Mbps",
        "  Mean delay:  0 ms",
        "  Mean upt:  0  Mbps ",
        "  Mean jitter: 0 ms",
        "  Rx Packets: 0",
    ]


def event(at: int, what: str, seq: int, box: str = "ue_1", size: int = 1528) -> dict[str, object]:
    """A row of the table of packets."""
    return {
        "time_ns": at, "event": what, "box": box, "flow": "mice", "direction": 0, "seq": seq, "length": 1500, "size": size,
    }  # fmt: skip


def log_of(*events: dict[str, object], most: int = 999_999_999) -> list[str]:
    return [line.rstrip("\n") for line in files.rlc_log(pl.DataFrame(events), most)]


CALL = f"LteRlcUm:DoTransmitPdcpPdu({files.ENTITY:#x}, 1, 4, 1530)"


def entered(buffers: int, held: int, waited: int = 0) -> list[str]:
    """The six lines of a packet after which this waits."""
    return [
        CALL,
        f"head of line delay in MS:{waited}",
        "Tx Buffer: New packet added",
        f"NumOfBuffers = {buffers}",
        f"txBufferSize = {held}",
        f"Send ReportBufferStatus = {held + 2 * buffers}, {waited}",
    ]


def test_a_packet_in_the_rlc_s_log_has_six_lines() -> None:
    lines = log_of(
        event(1_000_000, "enqueue", 1), event(1_500_000, "enqueue", 9, "wire"), event(9_900_000, "enqueue", 2),
    )  # fmt: skip
    assert lines == [*entered(1, 1530), *entered(2, 3060, 8)]


def test_the_rlc_s_log_counts_the_rest_of_a_packet_that_was_sent_in_part() -> None:
    lines = log_of(
        event(1_000_000, "enqueue", 1), event(2_000_000, "enqueue", 2), event(2_500_000, "dequeue", 1),
        event(2_500_000, "dequeue", 2), event(2_500_000, "part", 2, size=400),
        # The head is the rest of the packet that came at 2 ms.
        event(5_000_000, "enqueue", 3), event(6_000_000, "part", 2, size=0), event(7_000_000, "enqueue", 4),
    )  # fmt: skip
    assert lines[12:] == [*entered(2, 1930, 3), *entered(2, 3060, 2)]


def test_the_rlc_s_log_tells_a_full_buffer_from_an_algorithm_s_drop() -> None:
    lines = log_of(
        event(1_000_000, "enqueue", 1), event(2_000_000, "enqueue", 2), event(2_000_000, "drop", 2),
        event(3_000_000, "enqueue", 3), event(4_000_000, "enqueue", 4), event(4_000_000, "drop", 4),
        # Dropped at the head, then one that is lost on air after it had left.
        event(5_000_000, "drop", 1), event(5_500_000, "drop", 1), event(6_000_000, "enqueue", 5), most=4000,
    )  # fmt: skip
    assert lines == [
        *entered(1, 1530),
        CALL,
        *entered(2, 3060, 2),
        CALL,
        "TxBuffer is full. RLC SDU discarded",
        "MaxTxBufferSize = 4000",
        "txBufferSize    = 3060",
        "packet size     = 1530",
        "Send ReportBufferStatus = 3064, 3",
        *entered(2, 3060, 3),
    ]


# Runs.


@real
@pytest.mark.parametrize(
    "case", ["tail, 15k", "tail, 20k", "rlc_codel_2022, 30k", "tail, 30k, 10 MB", "tail, 30k, 90 MB"]
)
def test_a_row_to_the_packet(case: str) -> None:
    run = bloatlab.run("nr-rlc", **CASES[case].parameters)
    metrics = {case: {"flow_metrics": run.flow_metrics}}
    verdicts = [judge(claim, metrics) for claim in of_row(case)]
    assert len(verdicts) >= 4
    assert [verdict.claim.name for verdict in verdicts if not verdict.holds] == []


@real
def test_another_slot_of_the_sounding_gives_another_count() -> None:
    run = bloatlab.run("nr-rlc", **{**CASES["tail, 20k"].parameters, "sounding_offset": 50})
    assert run.flow_metrics["elephant"]["rx_packets"] == 152_678


@real
def test_only_where_packets_can_wait_counts_in_the_sojourn() -> None:
    run = bloatlab.run("nr-rlc", stop="1s", **{"lambda": 20_000})
    elephant = run.flow_metrics["elephant"]
    # One way: 7.00135 ms to the RLC, and from the transport block's first symbol to the end of decoding.
    assert 7.0 < elephant["mean_delay"] - elephant["mean_sojourn_l4"] < 9.5
    series = run.flow_series.to_polars().filter(pl.col("flow").cast(pl.String) == "elephant").drop_nulls("sojourn_ms")
    waits = series["sojourn_ms"].to_list()
    assert waits == sorted(waits)
    assert waits[-1] > 100


@real
def test_what_a_run_leaves(tmp_path: Path) -> None:
    source = ExperimentSource(get("nr-rlc"))
    runs = plan(source, {"stop": "600ms", "lambda": 20_000, "buffer": "1MB"}, keep=Keep.PACKETS)
    execute(runs, tmp_path)
    names = sorted(path.name for path in (tmp_path / "files").iterdir())
    assert [name.rpartition("-")[2] for name in names] == ["flowmon.txt", "rlc.log", "ue.pcap"]
    run = Store(tmp_path).run(runs[0].run_id)
    lines = (tmp_path / "files" / names[1]).read_text().splitlines()
    drops = sum(flow["dropped_overflow"] for flow in run.flow_metrics.values())
    assert drops > 100
    assert lines.count("Tx Buffer: New packet added") == run.link_metrics["ue_1"]["arrivals"] - drops
    assert lines.count("TxBuffer is full. RLC SDU discarded") == drops
    # Each block of a transmitter's slot leaves a part of a packet, which counts.
    sizes = [int(line.partition(" = ")[2]) for line in lines if line.startswith("txBufferSize = ")]
    assert 1_000_000 - 1530 < max(sizes) <= 1_000_000
    assert sum(size % 1530 > 0 for size in sizes) > len(sizes) / 2


@real
def test_the_pcap_at_a_bearer_is_the_ue_s(tmp_path: Path) -> None:
    run = bloatlab.run("nr-rlc", cca="cubic", stop="600ms", packets=True)
    run.write_pcap(tmp_path / "ue.pcap", "ue_1")
    data = (tmp_path / "ue.pcap").read_bytes()
    at, seen = 24, {"down": 0, "up": 0}
    while at < len(data):
        _, _, kept, _ = struct.unpack_from(">IIII" if data[0] == 0xA1 else "<IIII", data, at)
        # 10.1.x.y sends the data.
        seen["down" if data[at + 16 + 13] == 1 else "up"] += 1
        at += 16 + kept
    received = sum(flow["rx_packets"] for flow in run.flow_metrics.values())
    packets = run.packets.to_polars()
    sent = packets.filter((pl.col("event").cast(pl.String) == "send") & (pl.col("direction") == 1)).height
    assert seen == {"down": received, "up": sent}
    assert sent > 100


@real
def test_findings_are_computed_from_the_published_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = get("nr-rlc")
    # The published runs, but shorter, so the text has other numbers.
    short = {name: {**experiment.resolve(case.parameters), "stop": "1s"} for name, case in CASES.items()}
    monkeypatch.setattr(type(experiment), "published_runs", lambda self, data=None: short)
    runs = plan_published(experiment)
    execute(runs[1:], tmp_path, RunSettings(jobs=1))
    assert findings_of_store(Store(tmp_path), experiment) == []
    execute(runs, tmp_path, RunSettings(jobs=1))
    found = findings_of_store(Store(tmp_path), experiment)
    assert len(found) == 7
    metrics = Store(tmp_path).run_metrics([run.run_id for run in runs])
    by_case = published_runs(experiment, runs)
    tail = metrics[by_case["tail, 20k"].run_id]["flow_metrics"]["elephant"]
    assert f"{tail['rx_packets']:,.0f}" in found[0].ours
    assert found[0].rows[0][1:4] == ("8", "907.4", "152,679")
    assert found[1].rows[3][3] == f"{tail['rx_packets']:,.0f}"
    assert "cubic" in found[2].ours
    assert found[2].published == '"we get a better delay even though there is some packet loss".'
    # Two kinds of traffic, two queues, five thresholds, and tail drop.
    assert len(found[3].rows) == 22
    assert {len(line) for line in found[3].rows} == {len(found[3].columns)}
    assert any("*" in cell for line in found[3].rows for cell in line)
    assert [line[0] for line in found[6].rows] == list(ROWS)
    # Of a shorter run no count agrees with any slot.
    assert {line[-1] for line in found[6].rows} == {"0 of 8"}
    page = make_report(tmp_path).read_text(encoding="utf-8")
    assert "Findings on published conclusions" in page
    assert "Delay is proportional to the buffer, not inversely" in page


@real
def test_show_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.command(["show", "nr-rlc"]) == 0
    assert "sounding_offset" in capsys.readouterr().out


@real
def test_json_of_a_sweep(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["run", "nr-rlc", "--set", "stop=2s", "--set", "lambda=20000", "--sweep", "queue=tail,codel", "--json"]
    assert cli.command([*words, "--out", str(tmp_path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [run["parameters"]["queue"] for run in document["runs"]] == ["tail", "codel"]
    wanted = {
        "tx_packets",
        "rx_packets",
        "throughput",
        "mean_delay",
        "mean_jitter",
        "dropped_aqm",
        "dropped_overflow",
        "residue",
    }
    assert all(wanted <= set(flow) for run in document["runs"] for flow in run["flow_metrics"].values())


@real
def test_parts_fill_the_transport_blocks_to_the_byte() -> None:
    run = bloatlab.run("nr-rlc", stop="600ms", packets=True, **{"lambda": 30_000})
    events = run.packets.to_polars().filter(pl.col("box").cast(pl.String) == "ue_1")
    sent = events.filter(pl.col("event").cast(pl.String).is_in(["dequeue", "part"]))
    rest, whole, used = 0, 0, []
    for at, what, size in sent.select("time_ns", "event", "size").iter_rows():
        # The UE has a slot of half a millisecond.
        assert at % 500_000 == 0
        if what == "dequeue":
            whole += 1
            continue
        pieces = whole + (rest > 0)
        # MAC 3 B, RLC 2 B, and a length indicator of 2, 1, 2, 1... B for each piece but the last.
        headers = 5 + sum(2 - place % 2 for place in range(pieces - 1))
        used.append((at // 500_000, rest + 1530 * whole - size + headers))
        rest, whole = size, 0
    # The first six blocks have MCS 0. A block is on air two slots later, and the UE sounds the channel in slot 50 of 80.
    sounded = {slot for slot, _ in used if (slot + 2) % 80 == 50}
    assert len(sounded) == 5
    assert used[:6] == [(slot, 523) for slot in range(815, 821)]
    assert used[6:] == [(slot, 11_194 if slot in sounded else 12_212) for slot in range(821, 1200)]


@real
@pytest.mark.parametrize(("given", "is_there"), [({"lambda": 20_000}, False), ({"workload": "mixed"}, True)])
def test_mice_are_no_call(given: dict[str, Any], is_there: bool) -> None:
    run = bloatlab.run("nr-rlc", stop="3s", **given)
    assert ("voice_mos" in run.verdict.numbers) is is_there
