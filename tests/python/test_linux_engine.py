"""The engine `linux` round its native part: the worker, the lock, refusals, suspect runs, `bloatlab engines`."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bloatlab as bl
from bloatlab import cli
from bloatlab.engines import Cancelled, find
from bloatlab.engines.linux import driver, engine, native, probe, turn
from bloatlab.store import Store
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")

COMMAND = driver.COMMAND
REPORT: dict[str, Any] = {
    "runs": True,
    "why": None,
    "advice": None,
    "kernel": "6.18.1",
    "congestion_controls": ["reno", "cubic", "bbr"],
    "queues": ["pfifo", "bfifo"],
    "scheduling": {"fifo": True, "cpus": 2},
    "tools": {"iperf3": "3.16", "curl": None},
}
SCENARIO = """
name = "small"
duration = "1s"
dumbbell = { rate = "1Mbit/s", rtt = "10ms" }
flows = [{ cca = "cubic" }]
"""


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The native part is a fake, and the lock is the test's own."""
    monkeypatch.setattr(native, "built", lambda: True)
    monkeypatch.setattr(native, "probe", lambda: json.dumps(REPORT))
    monkeypatch.setattr(native, "refusals", lambda scenario, *, kernel_link: [])
    monkeypatch.setattr(driver, "COMMAND", (sys.executable, str(Path(__file__).with_name("fake_linux_worker.py"))))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    Path("small.toml").write_text(SCENARIO)
    probe.probe.cache_clear()
    yield
    probe.probe.cache_clear()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.command(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


def scenario() -> str:
    from bloatlab import language

    document = {"name": "small", "duration": "1s", "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"}, "flows": [{}]}
    return language.normalise(json.dumps(document))


def left_behind() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"*/{turn.RUN}*"))


def test_a_run_gives_what_its_worker_measured() -> None:
    outcome = find("linux").run(scenario(), 42)
    simulated = find("sim").run(scenario(), 42)
    assert (outcome.digest, outcome.events, outcome.suspect) == (simulated.digest, simulated.events, None)
    assert json.loads(outcome.metrics_json()) == json.loads(simulated.metrics_json())
    tables = simulated.tables()
    assert outcome.tables().keys() == tables.keys()
    for name, table in outcome.tables().items():
        assert bl.Table(table).to_polars().equals(bl.Table(tables[name]).to_polars()), name
    assert not left_behind()
    with pytest.raises(bl.EngineError, match="did not record its packets"):
        outcome.write_pcap("x.pcap")


def test_packets_are_kept_on_request() -> None:
    result = bl.simulate("small.toml", engine="linux", packets=True)
    assert len(result.packets) > 10
    result.write_pcap("real.pcap")
    bl.simulate("small.toml", packets=True).write_pcap("simulated.pcap")
    assert Path("real.pcap").read_bytes() == Path("simulated.pcap").read_bytes()
    with pytest.raises(bl.EngineError, match="keep only the packets at the senders"):
        result.write_pcap("x.pcap", "bottleneck")


def test_simulator_and_linux_in_one_directory(capsys: pytest.CaptureFixture[str]) -> None:
    small = ("simulate", "small.toml", "--replications", "2", "--out", "r", "--json")
    for _ in range(2):
        assert run(capsys, *small)[0] == 0
        assert run(capsys, *small, "--engine", "linux")[0] == 0
    assert run(capsys, *small, "--engine", "linux", "--link", "kernel")[0] == 0
    runs = Store("r").runs()
    assert sorted(zip(runs["engine"], runs["repetition"], strict=True)) == [
        *[("linux", 0)] * 2, *[("linux", 1)] * 2, *[("linux-kernel", 0)] * 2, *[("sim", 0)] * 2,
    ]  # fmt: skip
    assert runs["point"].n_unique() == 1
    assert "on Linux" in runs.filter(engine="linux")["engine_version"][0]


def test_the_link_is_for_linux(capsys: pytest.CaptureFixture[str]) -> None:
    for given in ([], ["--engine", "sim"], ["--engine", "linux-kernel"]):
        code, _, err = run(capsys, "simulate", "small.toml", "--link", "kernel", *given)
        assert (code, err) == (2, "bloatlab: --link kernel: needs --engine linux\n")
    assert run(capsys, "simulate", "small.toml", "--engine", "linux", "--link", "userspace", "--json")[0] == 0


def test_what_cannot_run_is_refused_by_its_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refusals(scenario_json: str, *, kernel_link: bool) -> list[tuple[str, str]]:
        asked.append(kernel_link)
        return [("flows.0.cca", f"the kernel has no `{json.loads(scenario_json)['flows'][0]['cca']['kind']}`")]

    monkeypatch.setattr(native, "refusals", refusals)
    for command in (["simulate", "small.toml"], ["run", "deep-buffers"], ["reproduce", "deep-buffers"]):
        code, _, err = run(capsys, *command, "--engine", "linux", "--out", "r")
        assert code == 2
        assert err.startswith("bloatlab: engine linux: flows.0.cca: the kernel has no `")
    Path("plan.toml").write_text('scenario = "small.toml"\nengine = "linux-kernel"\n')
    assert "engine linux-kernel: flows.0.cca: the kernel has no `cubic`" in run(capsys, "sweep", "plan.toml")[2]
    assert asked == [False, False, False, True]
    assert not Path("r").exists()
    given = ("--set", "flows.0.cca=fake_plugin:Mine")
    Path("fake_plugin.py").write_text("import bloatlab\nclass Mine(bloatlab.CongestionControl):\n    pass\n")
    code, _, err = run(capsys, "simulate", "small.toml", "--engine", "linux", *given)
    assert (code, err) == (
        2,
        "bloatlab: engine linux: flows.0.cca: is a Python class, which only the engine sim runs\n",
    )


def test_a_machine_that_forbids_it_says_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = {**REPORT, "runs": False, "why": "no user namespaces", "advice": "run it as root"}
    monkeypatch.setattr(native, "probe", lambda: json.dumps(report))
    code, _, err = run(capsys, "simulate", "small.toml", "--engine", "linux")
    why = "engine linux: cannot run on this machine (no user namespaces; run it as root)"
    assert (code, err) == (2, f"bloatlab: {why}\n")
    code, out, _ = run(capsys, "engines")
    assert "linux and linux-kernel do not run here: no user namespaces; run it as root" in out
    assert max(map(len, out.splitlines())) <= 80
    (sim, linux, *_) = json.loads(run(capsys, "engines", "--json")[1])["engines"]
    assert (sim["runs"], sim["why"], linux["runs"], linux["why"]) == (
        True, None, False, "no user namespaces; run it as root",
    )  # fmt: skip


def test_engines_says_what_the_machine_offers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Without a kernel in virtual time, whatever this machine has.
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path))
    code, out, _ = run(capsys, "engines")
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    for name in ("sim", "linux", "linux-kernel"):
        assert any(name in line and "yes" in line for line in lines)
    assert lines[-6:] == [
        "linux and linux-kernel on this machine:",
        "  kernel: 6.18.1",
        "  congestion controls: reno, cubic, bbr",
        "  queues: pfifo, bfifo",
        "  scheduling: fifo yes, cpus 2",
        "  tools: iperf3 3.16, curl no",
    ]
    described = json.loads(run(capsys, "engines", "--json")[1])["engines"]
    assert [one["name"] for one in described] == ["sim", "linux", "linux-kernel", "linux-virtual"]
    assert described[1]["details"]["queues"] == ["pfifo", "bfifo"]


def test_a_build_without_the_native_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(native, "built", lambda: False)
    probe.probe.cache_clear()
    with pytest.raises(bl.EngineError, match="this build of bloatlab cannot run in real time"):
        find("linux")


def test_a_suspect_run_is_told_everywhere(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LIVE", "doubts")
    why = "3 frames left more than 1 ms late"
    code, _, err = run(capsys, "simulate", "small.toml", "--engine", "linux", "--out", "r")
    assert code == 1
    assert f"is suspect: {why}" in err
    assert f"suspect: {why}" in run(capsys, "runs", "r")[1]
    page = Path(run(capsys, "report", "r")[1].strip()).read_text()
    assert why in page.replace("\N{NO-BREAK SPACE}", " ")
    Path("plan.toml").write_text('scenario = "small.toml"\nengine = "linux"\nout = "s"\n')
    for command in (["sweep", "plan.toml"], ["reproduce", "deep-buffers", "--engine", "linux"]):
        code, _, err = run(capsys, *command)
        assert (code, f"is suspect: {why}" in err) == (1, True)
    monkeypatch.setenv("FAKE_LIVE", "")
    assert run(capsys, "simulate", "small.toml", "--engine", "linux", "--out", "r", "--json")[0] == 0
    assert Store("r").runs()["status"].to_list() == ["done"]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("fails", "EngineError: engine linux: veth: Operation not permitted"),
        ("dies", "was ended by SIGKILL before the run was done: the link thread is gone | no device left"),
    ],
)
def test_a_worker_that_fails_is_a_failed_run(
    how: str, why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_LIVE", how)
    code, _, err = run(capsys, "simulate", "small.toml", "--engine", "linux", "--out", "r")
    assert code == 1
    assert why in err
    assert Store("r").runs()["status"].to_list() == ["failed"]
    assert not left_behind()


def test_a_worker_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "COMMAND", ("/nowhere/python",))
    with pytest.raises(bl.EngineError, match="engine linux: its worker cannot be started"):
        find("linux").run(scenario(), 42)
    # It ends without reading its request, which is larger than a pipe.
    monkeypatch.setattr(driver, "COMMAND", (sys.executable, "-c", "raise SystemExit('no such module')"))
    padded = json.dumps({**json.loads(scenario()), "note": "x" * 200_000})
    with pytest.raises(
        bl.EngineError, match="its worker ended with exit code 1 before the run was done: no such module"
    ):
        find("linux").run(padded, 42)


def _pids() -> list[int]:
    end = time.monotonic() + 20
    while not Path("pids").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    return [int(pid) for pid in Path("pids").read_text().split()]


def _gone(pid: int) -> bool:
    # What is reaped by nobody in a container stays as a zombie.
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def _all_gone(pids: list[int]) -> bool:
    end = time.monotonic() + 10
    while not all(map(_gone, pids)) and time.monotonic() < end:
        time.sleep(0.01)
    return all(map(_gone, pids))


def test_cancelling_ends_the_worker_and_what_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LIVE", "hangs")
    linux = engine.Linux()
    control = linux.control()
    ended: list[BaseException] = []

    def make() -> None:
        try:
            linux.run(scenario(), 42, control=control)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    pids = _pids()
    control.cancel()
    thread.join(10)
    assert [type(error) for error in ended] == [Cancelled]
    assert _all_gone(pids)
    assert not left_behind()


def test_a_run_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LIVE", "hangs")
    for name in ("START_UP_S", "GRACE_S"):
        monkeypatch.setattr(engine, name, 1.0)
    with pytest.raises(bl.EngineError, match="has not ended after 3 s, and was stopped"):
        engine.Linux().run(scenario(), 42)
    assert _all_gone(_pids())


def test_progress_comes_from_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LIVE", "slow")
    told: list[float] = []
    linux = engine.Linux()
    control = linux.control()
    monkeypatch.setattr(control, "tell", told.append)
    linux.run(scenario(), 42, control=control)
    assert told
    assert all(0 <= progress <= 1 for progress in told)


def test_runs_take_turns(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    entered = threading.Event()
    asked = threading.Event()
    order: list[str] = []

    def second() -> None:
        def wait() -> None:
            asked.set()
            time.sleep(0.01)

        with turn.turn(wait):
            order.append("second")

    with caplog.at_level(logging.WARNING, "bloatlab"), turn.turn(entered.set) as directory:
        thread = threading.Thread(target=second)
        thread.start()
        assert asked.wait(10)
        assert directory.is_dir()
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert not entered.is_set()
    assert caplog.messages == [f"bloatlab: waits for another run in real time (of process {os.getpid()})"]
    # A run that waits can be cancelled.
    control = engine.Linux().control()
    with turn.turn(control.wait):
        control.cancel()
        with pytest.raises(Cancelled), turn.turn(control.wait):
            raise AssertionError
    with pytest.raises(Cancelled):
        engine.Linux().run(scenario(), 42, control=control)


def test_what_a_killed_driver_left_is_removed_by_the_next_run() -> None:
    with turn.turn(lambda: None) as directory:
        home = directory.parent
    (home / f"{turn.RUN}left").mkdir()
    (home / f"{turn.RUN}left" / "flows.arrow").touch()
    code = "import os\nfrom bloatlab.engines.linux import turn\n"
    code += f"import tempfile; tempfile.tempdir = {str(home.parent)!r}\n"
    code += "with turn.turn(lambda: None):\n    os.kill(os.getpid(), 9)\n"
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(left_behind()) == 1
    with turn.turn(lambda: None):
        assert len(left_behind()) == 1
    assert not left_behind()


def test_who_makes_many_runs_lets_others_go_first() -> None:
    waits = threading.Event()
    order: list[str] = []

    def other() -> None:
        with turn.turn(lambda: (waits.set(), time.sleep(0.001))[1]):
            order.append("other")

    with turn.turn(lambda: None):
        thread = threading.Thread(target=other)
        thread.start()
        assert waits.wait(10)
    with turn.turn(lambda: time.sleep(0.001)):
        order.append("the same again")
    thread.join()
    assert order == ["other", "the same again"]


def test_what_a_killed_shell_left_is_removed_by_the_next_one() -> None:
    with turn.beside() as directory:
        (directory / "outcome.json").touch()
        home = directory.parent
        with turn.beside() as other:
            assert {directory, other} <= set(home.iterdir())
    assert not list(home.glob(f"{turn.SHELL}*"))
    left = home / f"{turn.SHELL}0123456789abcdef"
    left.mkdir()
    left.with_suffix(turn.LOCK_END).touch()
    with turn.beside():
        assert not left.exists()
    assert not list(home.glob(f"{turn.SHELL}*"))


def test_a_name_that_others_have_taken_is_left_alone(tmp_path: Path) -> None:
    with turn.turn(lambda: None) as directory:
        home = directory.parent
    for lock in (turn.LOCK, turn.NEXT):
        (home / lock).unlink()
    home.rmdir()
    (tmp_path / "elsewhere").mkdir()
    home.symlink_to(tmp_path / "elsewhere")
    with turn.turn(lambda: None) as directory:
        assert directory.parent == home.with_name(f"{home.name}-1")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_worker_answers_what_is_no_request() -> None:
    ended = subprocess.run(COMMAND, input=b"no request", capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, b"")
    assert "Expecting value" in json.loads(ended.stdout)["error"]


def test_the_worker_imports_little() -> None:
    code = "import sys, bloatlab.engines.linux.worker\nprint(*(name for name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"polars", "importlib.metadata", "pydantic", "cyclopts", "logging", "subprocess"} & set(loaded)


def test_claims_of_several_engines_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("reproduce", "deep-buffers", "--out", "r", "--json")
    # One claim about our run of ns-3 does not hold.
    assert run(capsys, *given)[0] == 1
    for _ in range(2):
        # Whether the claims hold is another matter: on Linux they are judged with other parameters.
        assert json.loads(run(capsys, *given, "--engine", "linux")[1])["claims"]
    page = Path(run(capsys, "report", "r")[1].strip()).read_text()
    (name, *_) = (claim["name"] for claim in json.loads(run(capsys, *given)[1])["claims"])
    assert "Also made by the engine linux (" in page
    assert "Engines side by side" in page
    assert page.count(f">{name} (sim)<") == page.count(f">{name} (linux)<") == 1
