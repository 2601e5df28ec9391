"""`bloatlab shell` round its runtime, which is a fake: the simulator makes the run, and a greedy flow is the program."""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import bloatlab as bl
from bloatlab import cli, language
from bloatlab.engines import find
from bloatlab.engines.linux import native, probe
from bloatlab.scenario.revise import cut
from bloatlab.store import Store
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")

REPORT = {"runs": True, "why": None, "advice": None, "kernel": "6.18.1"}
FILE = """
name = "home"
duration = "5s"
warmup = "4s"
dumbbell = { rate = "2Mbit/s", rtt = "10ms", reverse_rate = "1Mbit/s", queue = "codel" }

[[flows]]
name = "shell"
stop = "1s"

[[flows]]
start = "3s"

[[timeline]]
at = "500ms"
key = "dumbbell.rate"
value = "4Mbit/s"

[[timeline]]
at = "700ms"
key = "flows[2]"
value = { traffic = "ping" }

[[timeline]]
at = "2s"
key = "flows[2].stop"
value = "4s"
"""


@dataclass
class FakeShell:
    """Stands in for `bloatlab.engines.linux.shell`."""

    seconds: float = 1.5
    exit_code: int = 0
    suspect: str | None = None
    output: bytes = b""
    asked: dict[str, Any] | None = None
    scenario: dict[str, Any] | None = None
    flow: str = ""

    def __call__(self, scenario_json: str, flow: str, seed: int, **asked: Any) -> Any:
        self.asked, self.scenario, self.flow = asked, json.loads(scenario_json), flow
        document = json.loads(scenario_json)
        (program,) = (one for one in document["flows"] if one.get("name") == flow)
        assert program["traffic"]["kind"] == "command"
        program["traffic"] = {"kind": "greedy"}
        document = cut(document, round(self.seconds * 1e9))
        made = find("sim").run(language.normalise(json.dumps(document)), seed, record_packets=asked["record_packets"])
        if asked["on_output"]:
            asked["on_output"](self.output)
        if asked["on_sample"]:
            series = bl.Table(made.tables()["link_series"]).to_polars()
            for _, rows in series.group_by("time_s", maintain_order=True):
                asked["on_sample"](rows.to_dicts())
        suspect = self.suspect

        class Outcome:
            def __getattr__(self, name: str) -> Any:
                return suspect if name == "suspect" else getattr(made, name)

        return types.SimpleNamespace(outcome=Outcome(), exit_code=self.exit_code, seconds=self.seconds)

    @property
    def client(self) -> list[str]:
        assert self.scenario is not None
        (own,) = (one for one in self.scenario["flows"] if one.get("name") == self.flow)
        client: list[str] = own["traffic"]["client"]
        return client


@pytest.fixture(autouse=True)
def shell(monkeypatch: pytest.MonkeyPatch) -> Any:
    fake = FakeShell()
    monkeypatch.setitem(sys.modules, "bloatlab.engines.linux.shell", types.SimpleNamespace(shell=fake))  # type: ignore[misc]
    monkeypatch.setattr(native, "built", lambda: True)
    monkeypatch.setattr(native, "probe", lambda: json.dumps(REPORT))
    monkeypatch.setattr(native, "refusals", lambda scenario, *, kernel_link: [])
    Path("mine.toml").write_text(FILE)
    probe.probe.cache_clear()
    yield fake
    probe.probe.cache_clear()


Run = Callable[..., tuple[int, str, list[str]]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, list[str]]:
        code = cli.command(["shell", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err.splitlines()

    return run


def stored(directory: str) -> list[dict[str, Any]]:
    return [Store(directory).find(run_id) for run_id in Store(directory).runs()["run_id"]]


def test_a_program_behind_a_rate(shell: FakeShell, run: Run) -> None:
    code, out, err = run(
        "--rate", "2Mbit/s", "--queue", "codel target 10ms", "--no-report", "--", "sh", "-c", "exit 3", "--", "-o"
    )
    assert (code, out) == (0, "")
    assert shell.client == ["sh", "-c", "exit 3", "--", "-o"]
    assert shell.scenario is not None
    network = shell.scenario["dumbbell"]
    assert (network["rate"], network["rtt"], network["queue"]["kind"]) == ("2Mbit/s", "40ms", "codel")
    assert network["queue"]["target"] == "10ms"
    assert shell.scenario["duration"] == "24h" or language.plan(shell.scenario).duration_ns == 24 * 3600 * 10**9
    assert shell.scenario["flows"][0]["traffic"]["server"] == [
        "$BLOATLAB_PYTHON", "-P", "-m", "bloatlab.engines.linux.servers",
    ]  # fmt: skip
    assert shell.asked == {
        "kernel_link": False, "record_packets": False, "internet": False, "inherits_terminal": True,
        "is_interactive": False,
        "on_output": None, "on_sample": None,
    }  # fmt: skip
    (one,) = stored("results/shell")
    assert (one["engine"], one["status"], one["experiment"]) == ("linux", "done", "shell")
    result = Store("results/shell").run(one["run_id"])
    assert result.scenario["duration"] == "1500ms"
    assert result.parameters["command"] == "sh -c 'exit 3' -- -o"
    assert (result.parameters["dumbbell.rate"], result.parameters["duration"]) == ("2Mbit/s", "1.500s")
    assert err[0] == "bloatlab: the program ran 1.5 s"
    assert err[1].startswith("bloatlab: bottleneck: throughput 1.")
    assert "ms (median), " in err[1]
    assert err[1].endswith(" drops")
    assert err[2:] == ["bloatlab: results in results/shell"]


def test_the_exit_code_is_that_of_the_program(shell: FakeShell, run: Run) -> None:
    shell.exit_code = 137
    assert run("--rate", "2Mbit/s", "--no-report", "--", "sh")[0] == 137
    shell.suspect = "3 frames left more than 1 ms late"
    code, _, err = run("--rate", "2Mbit/s", "--no-report", "--", "sh")
    assert code == 137
    assert "bloatlab: the run is suspect: 3 frames left more than 1 ms late" in err
    assert sorted(one["status"] for one in stored("results/shell")) == ["done", "suspect"]


def test_shells_of_one_directory_and_their_page(shell: FakeShell, run: Run) -> None:
    for seconds in (1.5, 1.5, 0.9):
        shell.seconds = seconds
        code, _, err = run("--rate", "2Mbit/s", "--", "sh")
        assert code == 0
        page = err[-1].partition("report: ")[2]
        assert Path(page).is_file()
    runs = sorted((one["repetition"], one["wall_s"]) for one in stored("results/shell"))
    assert runs == [(0, 0.9), (0, 1.5), (1, 1.5)]


def test_a_scenario_runs_beside_the_program(shell: FakeShell, run: Run) -> None:
    code, _, err = run(
        "mine.toml",
        "--set",
        "dumbbell.rtt=20ms",
        "--time-limit",
        "10min",
        "--link",
        "kernel",
        "--no-report",
        "--",
        "sh",
    )
    assert code == 0
    assert shell.flow == "shell_2"
    assert shell.scenario is not None
    compiled = language.plan(shell.scenario)
    assert (compiled.duration_ns, compiled.warmup_ns) == (600 * 10**9, 0)
    assert [(one.name, one.stop_ns) for one in compiled.flows] == [
        ("shell", 10**9), ("flow_2", 600 * 10**9), ("shell_2", 600 * 10**9),
    ]  # fmt: skip
    assert [change.effects[0].name for change in compiled.timeline] == ["bottleneck", "flow_4", "flow_4"]
    assert shell.asked is not None
    assert shell.asked["kernel_link"]
    (one,) = stored("results/mine-shell")
    assert (one["engine"], one["experiment"]) == ("linux-kernel", "home")
    compiled = language.plan(Store("results/mine-shell").run(one["run_id"]).scenario)
    # What lies behind the end is gone: a flow and a change.
    assert [one.name for one in compiled.flows] == ["shell", "shell_2"]
    assert [change.effects[0].name for change in compiled.timeline] == ["bottleneck", "flow_4"]
    assert [line.partition(":")[2].split(":")[0].strip() for line in err[1:3]] == ["bottleneck", "reverse"]


@pytest.mark.parametrize(
    "other",
    [
        {"client": ["true"], "server": ["sh", "-c", "echo mine"]},
        {"client": ["true"]},
        {"client": "true"},
        {"client": 5},
    ],
)
def test_the_own_program_allows_no_other_of_the_scenario(other: dict[str, Any], shell: FakeShell, run: Run) -> None:
    flows = [{"traffic": {"kind": "command", **other}}]
    Path("theirs.json").write_text(json.dumps({"dumbbell": {"rate": "1Mbit/s", "rtt": "1ms"}, "flows": flows}))
    code, _, err = run("theirs.json", "--no-report", "--", "true")
    assert code == 2
    (line,) = err
    assert "flows.0.traffic: starts the program `" in line
    assert shell.asked is None


def test_programs_of_the_scenario_need_permission(shell: FakeShell, run: Run) -> None:
    flows = [{"stop": "1ms", "traffic": {"kind": "command", "client": ["true"]}}]
    Path("theirs.json").write_text(json.dumps({"dumbbell": {"rate": "1Mbit/s", "rtt": "1ms"}, "flows": flows}))
    code, _, err = run("theirs.json", "--allow-plugins", "--no-report", "--", "sh")
    # The fake is the simulator, which refuses programs.
    (line,) = err
    assert (code, "which only an engine in real time runs" in line) == (2, True)
    assert shell.client == ["sh"]


def test_packets_on_request(shell: FakeShell, run: Run) -> None:
    assert run("--rate", "2Mbit/s", "--pcap", "x.pcap", "--no-report", "--", "sh")[0] == 0
    assert Path("x.pcap").stat().st_size > 1000
    assert shell.asked is not None
    assert shell.asked["record_packets"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "shell: give a scenario file or --rate, such as `bloatlab shell --rate 20Mbit/s -- COMMAND`"),
        (["--rtt", "1ms", "--", "sh"], "shell: give a scenario file or --rate"),
        (["mine.toml", "--rate", "1Mbit/s", "--", "sh"], "--rate: is for a shell without a scenario file; change mine.toml"),
        (["mine.toml", "--reverse-rate", "1Mbit/s"], "--reverse-rate: is for a shell without a scenario file"),
        (["--rate", "1Mbit/s", "sh", "x"], "put the command behind `--`, such as `-- sh x`"),
        (["sh"], "shell: put the command behind `--`, such as `-- sh`"),
        (["none.toml", "--", "sh"], "none.toml: no such file or directory"),
        (["--rate", "fast", "--", "sh"], "dumbbell.rate: "),
        (["--rate", "1Mbit/s", "--queue", "coddel", "--", "sh"], "did you mean `codel`?"),
        (["--rate", "1Mbit/s", "--queue", "cake", "--limit", "80p", "--", "sh"], "limit: the queue `cake` has no limit"),
        (["--rate", "1Mbit/s", "--limit", "many", "--", "sh"], "limit"),
        (["--rate", "1Mbit/s", "--loss", "2", "--", "sh"], "dumbbell.loss: "),
        (["--rate", "1Mbit/s", "--time-limit", "long", "--", "sh"], "--time-limit: "),
        (["--rate", "1Mbit/s", "--time-limit", "25h", "--", "sh"], "duration: must be above 0s and at most 24h, not 25h"),
        (["--rate", "1Mbit/s", "--pcap", "no/x.pcap", "--", "sh"], "--pcap no/x.pcap: cannot be written"),
        (["--rate", "1Mbit/s", "--out", "full", "--", "sh"], "full: is neither empty nor a results directory"),
        (["--rate", "1Mbit/s"], "shell: without a command your shell runs, which needs a terminal; give a command"),
        (["--rate", "1Mbit/s", "--live"], "--live: a shell needs the terminal for itself; give a command"),
        (["--rate", "1Mbit/s", "--seed", "-1", "--", "sh"], "seed: must be from 0 to "),
        (["bad.toml", "--", "sh"], "flows: must be a list of tables"),
        (["boxes.toml", "--", "sh"], "flows: in a network of boxes, the program takes the path of the first flow; add a flow"),
    ],
)  # fmt: skip
def test_wrong_input_starts_nothing(arguments: list[str], said: str, shell: FakeShell, run: Run) -> None:
    Path("full").mkdir()
    Path("full/mine.txt").touch()
    Path("bad.toml").write_text('flows = 3\n[dumbbell]\nrate = "1Mbit/s"\nrtt = "1ms"\n')
    Path("boxes.toml").write_text('[[boxes]]\nkind = "link"\nname = "a"\nrate = "1Mbit/s"\n')
    code, out, err = run(*arguments)
    assert (code, out, len(err)) == (2, "", 1)
    assert said in err[0]
    assert shell.asked is None
    assert not Path("results").exists()


def test_a_program_that_is_not_there(shell: FakeShell, run: Run) -> None:
    assert run("--rate", "1Mbit/s", "--", "no-such-program") == (
        127, "", ["bloatlab: no-such-program: there is no such program"],
    )  # fmt: skip
    assert shell.asked is None


def test_a_machine_or_an_engine_that_refuses(shell: FakeShell, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        native, "refusals", lambda scenario, *, kernel_link: [("dumbbell.queue", "the kernel has no it")]
    )
    assert run("--rate", "1Mbit/s", "--", "sh")[::2] == (
        2, ["bloatlab: engine linux: dumbbell.queue: the kernel has no it"],
    )  # fmt: skip
    probe.probe.cache_clear()
    monkeypatch.setattr(native, "probe", lambda: json.dumps({**REPORT, "runs": False, "why": "no namespaces"}))
    assert run("--rate", "1Mbit/s", "--", "sh")[2] == [
        "bloatlab: engine linux: cannot run on this machine (no namespaces)"
    ]
    assert shell.asked is None


def test_without_a_command_the_own_shell_runs(shell: FakeShell, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(getattr(sys, stream), "isatty", lambda: True)
    monkeypatch.setenv("SHELL", sys.executable)
    for arguments in ([], ["--"]):
        assert run("--rate", "1Mbit/s", "--no-report", *arguments)[0] == 0
        assert shell.client == [sys.executable]
    monkeypatch.delenv("SHELL")
    assert run("--rate", "1Mbit/s", "--no-report")[0] == 0
    assert shell.client == ["/bin/sh"]


def test_boxes_cells_and_parking_lots(shell: FakeShell, run: Run) -> None:
    Path("boxes.toml").write_text(
        """
        [[boxes]]
        kind = "link"
        name = "up"
        rate = "1Mbit/s"
        [[boxes]]
        kind = "link"
        name = "down"
        rate = "2Mbit/s"
        delay = "5ms"
        [[flows]]
        path = ["down"]
        return_path = ["up"]
        """
    )
    Path("lot.toml").write_text('parking_lot = { hops = 2, rate = "2Mbit/s", hop_delay = "2ms" }\n')
    assert run("boxes.toml", "--no-report", "--", "sh")[0] == 0
    assert shell.scenario is not None
    own = language.plan(shell.scenario).flows[-1]
    assert (own.name, own.forward, own.reverse) == ("shell", ("down",), ("up",))
    err = run("lot.toml", "--no-report", "--", "sh")[2]
    assert [line.split()[1] for line in err[1:3]] == ["hop_1:", "hop_2:"]


def test_a_line_per_second_without_a_terminal(shell: FakeShell, run: Run) -> None:
    shell.seconds = 3.2
    code, _, err = run("--rate", "2Mbit/s", "--reverse-rate", "1Mbit/s", "--live", "--no-report", "--", "sh")
    assert code == 0
    assert shell.asked is not None
    assert shell.asked["inherits_terminal"]
    lines = [line for line in err if " s: bottleneck " in line]
    assert [line.split()[1] for line in lines] == ["1", "2", "3"]
    assert "; reverse 0 packets" in lines[0]
    assert " of 2 Mbit/s" in lines[0]


def test_output_goes_to_a_file_unchanged(shell: FakeShell, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> None:
    shell.output = bytes(range(256))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert cli.command(["shell", "--rate", "2Mbit/s", "--live", "--no-report", "--", "sh"]) == 0
    assert capfdbinary.readouterr().out == shell.output
    assert shell.asked is not None
    assert not shell.asked["inherits_terminal"]


def test_help_names_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    cli.command(["shell", "--help"])
    out = capsys.readouterr().out
    assert out.startswith("Usage: bloatlab shell [SCENARIO] [OPTIONS] [-- COMMAND...]")
    assert out.count("\\$BLOATLAB_SERVER") >= 2
    assert "--words" not in out
    assert os.linesep in out
