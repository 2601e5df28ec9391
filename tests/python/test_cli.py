from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from bloatlab import cli
from bloatlab.store import Store

pytestmark = pytest.mark.usefixtures("fake")
SCENARIO = """
name = "mine"
duration = "1s"
dumbbell = { rate = "1Mbit/s", rtt = "10ms", queue = "fifo" }
flows = [{ cca = "cubic" }, {}]
"""


@pytest.fixture(autouse=True)
def _scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.command(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_help_and_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert "reproduce" in run(capsys, "--help")[1]
    assert "deep-buffers" in run(capsys, "list")[1]
    assert json.loads(run(capsys, "schema")[1])["title"] == "Scenario"


def test_show_tells_defaults_units_and_published_values(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", "deep-buffers")
    assert code == 0
    for word in ("qlen", "16Mbit/s", "send_buffer", "15.39", "1 %", "exact", "none stated", "segments"):
        assert word in out


def test_algorithms(capsys: pytest.CaptureFixture[str]) -> None:
    listed = run(capsys, "algorithms")[1]
    assert "TcpNewReno" in listed
    assert "memory_limit" not in listed
    assert "queues" in json.loads(run(capsys, "algorithms", "--json")[1])


def test_algorithms_by_name_show_their_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = run(capsys, "algorithms", "codel", "TcpNewReno")
    assert code == 0
    assert "target" in shown
    assert "newreno" in shown
    assert "cubic" not in shown
    only = json.loads(run(capsys, "algorithms", "codel", "--json")[1])
    assert [queue["kind"] for queue in only["queues"]] == ["codel"]
    assert only["congestion_controls"] == []
    code, _, complaint = run(capsys, "algorithms", "codle")
    assert code == 2
    assert "did you mean `codel`" in complaint


def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "run", "deep-buffers", "--json")
    assert (code, err) == (0, "")
    described = json.loads(out)
    assert set(described) == {"experiment", "runs", "claims"}
    (only,) = described["runs"]
    assert set(only) == {
        "run_id", "engine", "parameters", "seed", "repetition", "flow_metrics", "link_metrics", "network_metrics",
        "probe_metrics", "judges",
    }  # fmt: skip
    assert only["parameters"]["qlen"] == "80p"
    assert only["seed"] == 42
    assert only["flow_metrics"]["flow_1"]["mean_srtt_l4"] == 58.0
    assert only["network_metrics"] == {"agg_throughput_l4": 15.0}
    assert set(described["claims"][0]) == {"name", "kind", "bound", "published", "measured", "tolerance", "holds"}


def test_claims_belong_to_the_published_run_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(run(capsys, "run", "deep-buffers", "--set", "qlen=20", "--json")[1])["claims"] == []
    swept = json.loads(run(capsys, "run", "deep-buffers", "--sweep", "qlen=20,80", "--json")[1])
    assert len(swept["claims"]) == 35
    claims = Store("results/deep-buffers").claims()
    assert claims.height == 37
    # Two have no tolerance, and this engine does not report the metrics of three others.
    assert claims["holds"].null_count() == 5


def _made_up_throughput(capsys: pytest.CaptureFixture[str]) -> float:
    """The fake engine computes it from the text of the scenario."""
    [made] = json.loads(run(capsys, "run", "deep-buffers", "--json")[1])["runs"]
    return made["flow_metrics"]["flow_1"]["mean_throughput_l4"]


def test_run_prints_a_summary_and_stores(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "run", "deep-buffers")
    assert code == 0
    assert f"throughput {_made_up_throughput(capsys):.2f} Mbit/s" in out
    assert "1 simulated" in out
    assert "report" in out
    assert "mean_srtt_l4" in run(capsys, "run", "deep-buffers", "--all")[1]
    out = run(capsys, "run", "deep-buffers", "--sweep", "cca=cubic,newreno", "--replications", "2")[1]
    assert "3 simulated, 1 read from the store" in out
    assert Store("results/deep-buffers").runs().height == 4


def test_a_long_table_says_what_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    values = ",".join(map(str, range(10, 35)))
    sweep = ("run", "deep-buffers", "--sweep", f"qlen={values}", "--no-report")
    short = run(capsys, *sweep)[1]
    assert "5 more rows: --all prints them" in short
    assert "--all prints every row" in short
    whole = run(capsys, *sweep, "--all")[1]
    assert "more rows" not in whole
    for qlen in range(10, 35):
        assert re.search(rf"^{qlen}p ", whole, re.MULTILINE)


def test_quiet_prints_only_the_result_and_verbose_also_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "run", "deep-buffers", "--quiet", "--no-report")
    assert (code, err) == (0, "")
    assert f"throughput {_made_up_throughput(capsys):.2f} Mbit/s" in out
    assert not any(word in out for word in ("simulated", "next:", "report"))
    code, out, err = run(capsys, "run", "deep-buffers", "--seed", "43", "--verbose", "--no-report")
    assert re.fullmatch(r"bloatlab: run \w+ \(seed 43\): \d+\.\d\d s, [\d,]+ events\n", err)
    assert "engine sim, version" in out
    assert str(Path("results/deep-buffers").resolve()) in out.replace("\n", "")
    assert run(capsys, "run", "deep-buffers", "-q", "-v")[0] == 2


@pytest.mark.parametrize("made", [("run", "deep-buffers"), ("simulate", "mine.toml"), ("reproduce", "deep-buffers")])
def test_no_report_makes_no_page(capsys: pytest.CaptureFixture[str], made: tuple[str, ...]) -> None:
    out = run(capsys, *made, "--out", "r", "--no-report")[1]
    assert "report" not in out
    assert not list(Path("r").glob("*.html"))
    assert "report: r/report.html" in run(capsys, *made, "--out", "r")[1]


def test_a_figure_that_cannot_be_drawn_names_those_that_can(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "run", "deep-buffers", "--no-report")
    assert run(capsys, "figure", "results/deep-buffers", "delay_throughput", "-o", "x.json")[0] == 0
    assert Path("x.json").exists()
    code, out, err = run(capsys, "figure", "results/deep-buffers", "fetch_times", "-o", "y.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "needs probe_series, which these runs do not have; figures that can be drawn: time_series" in err
    assert "delay_throughput" in err
    assert "fetch_times" not in err.partition("can be drawn")[2]
    assert not Path("y.json").exists()


def test_runs_are_listed_with_the_parameters_that_differ(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "run", "deep-buffers", "--sweep", "qlen=20,80", "--no-report")
    lines = run(capsys, "runs", "results/deep-buffers")[1].splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "deep-buffers: 2 runs"
    assert {line.split()[-1] for line in lines[3:5]} == {"qlen=20p", "qlen=80p"}
    shared = " ".join(lines[5:]).split()
    assert shared[0] == "all:"
    assert {"cca=newreno", "bw=16Mbit/s"} <= set(shared)
    assert not any(word.startswith("qlen=") for word in shared)


def test_a_run_beside_another_experiment_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "also holds" not in run(capsys, "run", "deep-buffers", "--replications", "2", "--out", "both")[1]
    out = run(capsys, "simulate", "mine.toml", "--out", "both")[1]
    assert "both also holds 2 runs of deep-buffers; another --out keeps them apart" in out


def test_simulate_with_paths(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mine.toml", "--set", "dumbbell.queue.kind=codel", "--sweep", "flows.0.cca=bbr,cubic", "--json"]
    code, out, _ = run(capsys, "simulate", *arguments)
    assert code == 0
    described = json.loads(out)
    assert described["experiment"] == "mine"
    assert described["claims"] == []
    assert [one["parameters"]["flows.0.cca"] for one in described["runs"]] == ["bbr", "cubic"]
    result = Store("results/mine").run(described["runs"][0]["run_id"])
    assert result.scenario["dumbbell"]["queue"]["kind"] == "codel"
    assert result.scenario["flows"][0]["cca"]["kind"] == "bbr"


def test_reproduce_fails_with_1_when_a_claim_fails(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "reproduce", "deep-buffers")
    assert code == 1
    # The stand-in draws its metrics from the document's digest, so one of the claims may hold by chance.
    held = re.search(r"(\d+) of (\d+) claims hold: .*; (\d) of 1 check passed", " ".join(out.split()))
    assert held is not None
    assert int(held[1]) < int(held[2])
    code, out, _ = run(capsys, "reproduce", "deep-buffers", "--json")
    assert code == 1
    claims = json.loads(out)["claims"]
    assert sum(claim["holds"] is True for claim in claims) == int(held[1]) + int(held[3])


def test_a_failed_run_is_exit_code_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "fails.toml").write_text(SCENARIO.replace("mine", "fails"))
    code, out, err = run(capsys, "simulate", "fails.toml", "--replications", "4", "--json")
    assert code == 1
    assert len(json.loads(out)["runs"]) == 2
    assert "PluginError: odd seeds fail" in err
    assert "2 of 4 runs failed" in err


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_export_of_tables(capsys: pytest.CaptureFixture[str], form: str) -> None:
    run(capsys, "run", "deep-buffers", "--sweep", "qlen=20,40")
    code, out, _ = run(capsys, "export", "results/deep-buffers", f"--{form}")
    assert code == 0
    paths = [Path(line) for line in out.splitlines()]
    assert {path.stem for path in paths} >= {"runs", "parameters", "metrics", "flow_series", "link_series"}
    assert all(path.is_file() for path in paths)
    series = next(path for path in paths if path.stem == "flow_series")
    if form == "csv":
        assert len(list(csv.DictReader(series.open()))) == 20
    else:
        assert pl.read_parquet(series).height == 20


def test_export_of_packets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    identity = json.loads(run(capsys, "run", "deep-buffers", "--json")[1])["runs"][0]["run_id"]
    code, out, _ = run(capsys, "export", "results/deep-buffers", "--pcap", identity[:8], "-o", "x.pcap")
    assert (code, out) == (0, "x.pcap\n")
    assert (tmp_path / "x.pcap").read_bytes().startswith(b"\xd4\xc3\xb2\xa1")
    code, out, err = run(capsys, "export", "results/deep-buffers", "--pcap", identity, "--link", "no", "-o", "y.pcap")
    assert (code, out) == (2, "")
    assert err == f"bloatlab: --link no: run {identity} has no such link (links: bottleneck)\n"
    assert not (tmp_path / "y.pcap").exists()
    assert run(capsys, "export", "results/deep-buffers", "--csv", "--link", "bottleneck")[0] == 2


BAD = [
    (["run", "deep-bufers"], "did you mean `deep-buffers`"),
    (["run", "deep-buffers", "--set", "qlem=5"], "did you mean `qlen`"),
    (["run", "deep-buffers", "--set", "bw=15furlong"], "bw: unknown unit `furlong`"),
    (["run", "deep-buffers", "--set", "bw=16"], "bw:"),
    (["run", "deep-buffers", "--set", "rtt=-1ms"], "rtt: must not be negative"),
    (["run", "deep-buffers", "--set", "k"], "must be key=value"),
    (["run", "deep-buffers", "--set", "queue={kind"], "queue"),
    (["run", "deep-buffers", "--set", "cca=nowhere:Class"], "cannot be imported"),
    (["run", "deep-buffers", "--sweep", "qlen=1,,2"], "empty value"),
    (["run", "deep-buffers", "--set", "qlen=5", "--sweep", "qlen=1,2"], "both set and swept"),
    (["run", "deep-buffers", "--jobs", "0"], "jobs: must be at least 1"),
    (["run", "deep-buffers", "--jobs", "many"], "--jobs"),
    (["run", "deep-buffers", "--replications", "0"], "replications"),
    (["run", "deep-buffers", "--seed", "-5"], "seed"),
    (["run", "deep-buffers", "--out", "/proc/nowhere"], "/proc/nowhere"),
    (["run", "deep-buffers", "--out", "mine.toml"], "is a file, not a results directory"),
    (["run", "deep-buffers", "--outt", "x"], "--outt"),
    (["run"], "requires an argument"),
    (["runn"], "runn"),
    (["show", "deep"], "deep"),
    (["simulate", "nowhere.toml"], "nowhere.toml: no such file"),
    (["simulate", "."], "is a directory"),
    (["simulate", "mine.toml", "--set", "dumbbell.rat=1Mbit/s"], "dumbbell.rat: unknown key"),
    (["simulate", "mine.toml", "--set", "flows.7.cca=bbr"], "allowed: 0 to 1"),
    (["simulate", "mine.toml", "--set", "flows.0.count=many"], "flows[0].count"),
    (["simulate", "bad.toml"], "bad.toml: "),
    (["simulate", "latin.toml"], "is not UTF-8"),
    (["simulate", "list.json"], "must be a table"),
    (["report", "nowhere"], "holds no results"),
    (["report", "mine.toml"], "is a file"),
    (["figure", "nowhere", "queue", "-o", "x.pdf"], "holds no results"),
    (["export", "nowhere", "--csv"], "holds no results"),
    (["export", "nowhere"], "give one of"),
    (["export", "nowhere", "--csv", "--parquet"], "give one of"),
    (["export", "broken", "--csv"], "damaged, or not a bloatlab store"),
]


@pytest.mark.parametrize(("arguments", "why"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], why: str
) -> None:
    (tmp_path / "bad.toml").write_text('duration = "1s\n')
    (tmp_path / "latin.toml").write_bytes('name = "gr\xfc\xdfe"'.encode("latin-1"))
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "results.sqlite").write_bytes(b"garbage " * 1000)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert why in err
    assert err.startswith("bloatlab: ")
    assert err.count("\n") == 1


def test_an_internal_error_is_one_line_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("ouch")

    monkeypatch.setattr("bloatlab.cli.show.show_catalogue", broken)
    code, _, err = run(capsys, "list")
    assert code == 1
    assert "ZeroDivisionError: ouch" in err


def test_help_does_not_load_what_it_does_not_need() -> None:
    check = (
        "import sys, bloatlab.cli\n"
        "try:\n    sys.argv = ['bloatlab', '--help']; bloatlab.cli.main()\n"
        "except SystemExit: pass\n"
        "heavy = {'polars', 'altair', 'pydantic', 'pandas', 'pyarrow', 'sqlite3'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", check], check=True, stdout=subprocess.DEVNULL)


def test_standard_output_on_a_full_disk_is_one_line() -> None:
    script = Path(__file__).with_name("fake_cli.py")
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, str(script), "algorithms", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "bloatlab: cannot write: No space left on device\n"


def test_a_closed_pipe_is_quiet() -> None:
    script = Path(__file__).with_name("fake_cli.py")
    line = f"{sys.executable} {script} algorithms --json | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_tc_prints_commands_for_a_queue_a_scenario_or_an_experiment(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "mine.toml")
    box = ["--box", "bottleneck"]
    for arguments, command in [
        (["--queue", "codel target 10ms"], "tc qdisc replace dev eth0 root codel target 10ms"),
        ([*box, file, "--dev", "wan"], "tc qdisc replace dev wan root pfifo limit 1000"),
        ([*box, file, "--set", "dumbbell.queue=codel limit 5"], "tc qdisc replace dev eth0 root codel limit 5"),
        ([*box, "deep-buffers", "--set", "queue=codel"], "tc qdisc replace dev eth0 root codel limit 80"),
    ]:
        assert run(capsys, "tc", *arguments) == (0, command + "\n", "")
    for arguments, complaint in [
        ([], "tc: give either"),
        ([file, "--queue", "codel"], "tc: give either"),
        (["--queue", "codel", "--box", "x"], "tc: --set, --box, --as and --sysctl need a scenario"),
        ([file, "--box", "bottelneck"], "unknown box with a queue `bottelneck` (did you mean `bottleneck`?)"),
        (["--queue", "codel foo"], "tc's `codel` has no option `foo`"),
    ]:
        code, out, err = run(capsys, "tc", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"bloatlab: {complaint}")
        assert err.count("\n") == 1


def test_tc_prints_sysctls_for_the_flows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "flows.json"

    def tc(*flows: object) -> tuple[int, str, str]:
        dumbbell = {"rate": "10Mbit/s", "rtt": "20ms", "queue": "codel"}
        file.write_text(json.dumps({"duration": "5s", "dumbbell": dumbbell, "flows": flows}))
        return run(capsys, "tc", str(file), "--box", "bottleneck", "--dev", "lan", "--sysctl")

    cubic = {"cca": {"kind": "cubic", "beta": 0.5}, "tcp": {"ecn": True, "loss_detection": "dupack", "mss": 1348}}
    udp = {"traffic": {"kind": "cbr", "rate": "1Mbit/s"}}
    code, out, _ = tc({"name": "a", **cubic}, {"name": "b", **cubic}, udp, {"traffic": "ping"}, {"cca": "reno"})
    lines = out.splitlines()
    assert code == 0
    assert [line for line in lines if line.startswith("#")] == ["# a, b", "# flows[4]"]
    for line in [
        "echo 512 > /sys/module/tcp_cubic/parameters/beta",
        "sysctl -w net.ipv4.tcp_congestion_control=cubic",
        "sysctl -w net.ipv4.tcp_ecn=1",
        "sysctl -w net.ipv4.tcp_recovery=0",
        "sysctl -w net.ipv4.tcp_congestion_control=reno",
        "ip link set dev lan mtu 1400",
        "ethtool -K lan tso off gso off gro off",
    ]:
        assert line in lines
    for flow, complaint in [
        ({"cca": "copa"}, "flows[0].cca.kind: Linux has no `copa`"),
        ({"tcp": {"recovery": "classic"}}, "flows[0].tcp.recovery: Linux always uses PRR"),
        ({"tcp": {"initial_rto": "3s"}}, "flows[0].tcp.initial_rto: it is fixed in Linux; use 1s"),
    ]:
        code, out, err = tc(flow)
        assert (code, out) == (2, "")
        assert err.startswith(f"bloatlab: {complaint}")


def test_a_queue_in_tcs_words_is_set_and_swept(capsys: pytest.CaptureFixture[str]) -> None:
    sweep = ["--sweep", "queue=codel,codel limit 50 target 10ms"]
    code, out, _ = run(capsys, "run", "deep-buffers", *sweep, "--json")
    assert code == 0
    queues = [run_["parameters"]["queue"] for run_ in json.loads(out)["runs"]]
    assert queues == ["codel", "codel limit 50 target 10ms"]
    code, out, err = run(capsys, "run", "deep-buffers", "--set", "queue=codel limit", "--json")
    assert (code, out) == (2, "")
    assert err.startswith("bloatlab: queue: limit: tc's `codel` requires a value after it")
