"""A plugin is only imported if the user allows it: reading, listing and dry runs never run code that a document
names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bloatlab as bl
from bloatlab import cli
from bloatlab.engines import registry
from bloatlab.errors import ParameterError, StoreError
from bloatlab.loading import AllowedPlugins, load, resolve
from bloatlab.registry import Registry
from bloatlab.store import Keep, Store
from bloatlab.sweeps import ScenarioSource, execute, plan
from bloatlab.sweeps.document import Plan, read_plan
from conftest import REAL

pytestmark = pytest.mark.usefixtures("fake")

REFERENCE = "users_plugin:Mine"
MODULE = """
from pathlib import Path
import bloatlab

with Path("imported").open("a") as file:
    file.write("x")

class Mine(bloatlab.CongestionControl):
    def on_ack(self, window, ack):
        window.cwnd += window.mss * ack.acked // window.cwnd

    def on_congestion(self, window, signal, ack):
        window.ssthresh = max(window.cwnd // 2, 2 * window.mss)
"""
SCENARIO = f"""
duration = "1s"
dumbbell = {{ rate = "1Mbit/s", rtt = "10ms", queue = "fifo" }}
flows = [{{ cca = "{REFERENCE}" }}]
"""
DOCUMENT = {
    "duration": "1s",
    "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms", "queue": "fifo"},
    "flows": [{"cca": REFERENCE}],
}
METRIC = ["--metric", "link.mean_sojourn"]


@pytest.fixture(autouse=True)
def _module(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "users_plugin.py").write_text(MODULE)
    (tmp_path / "mine.toml").write_text(SCENARIO)
    yield
    sys.modules.pop("users_plugin", None)


def imported() -> bool:
    return Path("imported").exists()


def forget() -> None:
    """As in a new process."""
    sys.modules.pop("users_plugin", None)
    Path("imported").unlink(missing_ok=True)


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str) -> tuple[int, str, str]:
        code = cli.command(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def refused(said: tuple[int, str, str], key: str = "flows.0.cca") -> None:
    """One line that names the key, the class and the flag; nothing was imported."""
    code, out, err = said
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert f"{key}: names the plugin `{REFERENCE}`" in err
    assert "--allow-plugins" in err
    assert not imported()


def test_a_scenario_file_that_names_a_plugin_needs_the_user_s_word(run: Run) -> None:
    refused(run("simulate", "mine.toml"))
    assert not Path("results").exists()
    assert run("simulate", "mine.toml", "--allow-plugins")[0] == 0
    assert imported()
    forget()
    assert run("simulate", "mine.toml", "--set", f"flows.0.cca={REFERENCE}", "--out", "named")[0] == 0
    assert imported()


@pytest.mark.parametrize(
    "value", [f'"{REFERENCE}"', f'{{ kind = "python", class = "{REFERENCE}" }}'], ids=["text", "table"]
)
@pytest.mark.parametrize(
    "plan_text",
    [
        'experiment = "deep-buffers"\nset = {{ cca = {value} }}\n',
        'experiment = "deep-buffers"\naxes = {{ cca = ["cubic", {value}] }}\n',
        'experiment = "deep-buffers"\npoints = [{{ cca = {value} }}]\n',
        'scenario = {{ duration = "1s", flows = [{{ cca = {value} }}], '
        'dumbbell = {{ rate = "1Mbit/s", rtt = "10ms" }} }}\n',
        'scenario = "mine.toml"\nset = {{ "flows.0.count" = 2 }}\n#{value}\n',
    ],
    ids=["set", "axes", "points", "scenario", "file"],
)
def test_a_plan_that_names_a_plugin_needs_the_user_s_word(run: Run, plan_text: str, value: str) -> None:
    Path("plan.toml").write_text(plan_text.format(value=value))
    refused(run("sweep", "plan.toml"))
    code, out, _ = run("sweep", "plan.toml", "--dry-run")
    assert code == 0
    assert ("2 runs" if "axes" in plan_text else "1 run,") in out
    assert not imported()
    assert run("sweep", "plan.toml", "--allow-plugins", "--json")[0] == 0
    assert imported()


def test_the_user_s_word_is_for_the_class_that_was_named(run: Run) -> None:
    Path("mine.toml").write_text(SCENARIO.replace("}]", '}, { cca = "cubic" }]'))
    Path("plan.toml").write_text('scenario = "mine.toml"\n')
    refused(run("sweep", "plan.toml", "--set", "flows.1.cca=users_plugin:Other"))
    Path("users.toml").write_text('experiment = "deep-buffers"\naxes = { qlen = ["20p", "40p"] }\n')
    assert run("sweep", "users.toml", "--set", f"cca={REFERENCE}")[0] == 0
    assert imported()


def test_a_plan_in_python_is_a_program(run: Run) -> None:
    Path("plan.py").write_text(
        "from pathlib import Path\nimport bloatlab\nPath('executed').touch()\n"
        f"plan = bloatlab.Plan(experiment='deep-buffers', axes={{'cca': ['cubic', '{REFERENCE}']}})\n"
    )
    code, out, err = run("sweep", "plan.py", "--dry-run")
    assert (code, out) == (2, "")
    assert "plan.py: --dry-run would execute this Python file" in err
    assert "--allow-plugins" in err
    assert not Path("executed").exists()
    assert run("sweep", "plan.py", "--dry-run", "--allow-plugins")[0] == 0
    assert Path("executed").exists()
    assert not imported()
    assert run("sweep", "plan.py")[0] == 0
    assert imported()


@pytest.mark.parametrize(
    "arguments",
    [
        ["tune", "mine.toml", "--queue", "fifo,codel", "--trials", "1"],
        ["sensitivity", "mine.toml", *METRIC, "--vary", "dumbbell.rtt=1ms..9ms", "--vary", "flows.0.count=1..3"],
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_searches_need_the_user_s_word(run: Run, arguments: list[str]) -> None:
    pytest.importorskip("SALib")
    refused(run(*arguments))


def test_tc_reads_a_scenario_without_importing_what_it_names(run: Run) -> None:
    assert run("tc", "mine.toml", "--set", "dumbbell.queue=codel")[0] == 0
    assert not imported()


def test_python_calls_need_the_user_s_word_for_documents_alone() -> None:
    for call in (
        lambda: bl.run(DOCUMENT),
        lambda: bl.simulate("mine.toml"),
        lambda: bl.sweep(DOCUMENT, {"flows.0.count": [1]}),
        lambda: bl.sweep(Plan(scenario=DOCUMENT)),
    ):
        with pytest.raises(ParameterError, match=r"flows\.0\.cca: names the plugin .* allow_plugins=True"):
            call()
    assert not imported()
    assert bl.run(DOCUMENT, allow_plugins=True).flow_metrics
    assert bl.simulate("mine.toml", allow_plugins=True).flow_metrics
    assert bl.sweep(DOCUMENT, allow_plugins=True, out="a").runs().height == 1
    assert bl.sweep(Plan(scenario=DOCUMENT), allow_plugins=True, out="b").runs().height == 1
    forget()
    assert bl.run(DOCUMENT, **{"flows.0.cca": REFERENCE}).flow_metrics
    assert bl.run("deep-buffers", cca=load(REFERENCE)).flow_metrics
    assert bl.sweep("deep-buffers", {"cca": [REFERENCE, "cubic"]}, out="c").runs().height == 2


def store_with_a_plugin(keep: Keep) -> Store:
    source = ScenarioSource(DOCUMENT, "small", AllowedPlugins(all=True))
    execute(plan(source, axes={"dumbbell.rate": ["1Mbit/s", "2Mbit/s"]}, replications=2, keep=keep), "r")
    forget()
    return Store("r")


@pytest.mark.parametrize("keep", [Keep.METRICS, Keep.TABLES, Keep.PACKETS])
def test_a_stored_run_is_read_without_its_plugin(run: Run, keep: Keep) -> None:
    store = store_with_a_plugin(keep)
    result = store.run(store.runs()["run_id"][0])
    assert result.flow_metrics
    assert result.scenario["flows"][0]["cca"]["class"] == REFERENCE
    for arguments in (
        ["report", "r"],
        ["figure", "r", "comparison", "-o", "x.svg"],
        ["export", "r", "--csv"],
        ["export", "r", "--parquet", "--summary"],
        ["compare", "r", "--by", "dumbbell.rate=1Mbit/s,2Mbit/s"],
    ):
        code, _, err = run(*arguments)
        # A page that takes long says so, which is no error.
        assert code == 0, (arguments, err)
        assert "plugin" not in err
    assert not imported()
    if keep >= Keep.TABLES:
        assert result.flow_series.to_polars().height == 10
    else:
        with pytest.raises(StoreError, match=r"what was not kept is simulated again: flows\.0\.cca: names the plugin"):
            _ = result.flow_series
        refused(run("figure", "r", "time_series", "-o", "x.svg"))
    # A pcap has more in it than the stored packets have.
    refused(run("export", "r", "--pcap", result.run_id))
    assert not imported()
    assert run("export", "r", "--pcap", result.run_id, "--allow-plugins")[0] == 0
    assert imported()
    assert result.allow_plugins().flow_series.to_polars().height == 10


@pytest.mark.skipif(not REAL, reason="the engine is not built")
def test_the_simulator_s_stored_runs_are_read_without_their_plugins(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ENGINES", Registry("engine", registry.BUILT_IN, registry.read))
    store = store_with_a_plugin(Keep.METRICS)
    Path("plan.toml").write_text('scenario = "mine.toml"\n')
    refused(run("figure", "r", "time_series", "-o", "x.svg"))
    for arguments in (["report", "r"], ["sweep", "plan.toml", "--dry-run"], ["tc", "mine.toml"]):
        code, _, err = run(*arguments)
        assert (code, err) == (0, ""), arguments
    assert not imported()
    assert run("figure", "r", "time_series", "-o", "x.svg", "--allow-plugins")[0] == 0
    assert store.runs()["status"].unique().to_list() == ["done"]


def test_a_call_may_run_again_what_it_ran_and_no_more(tmp_path: Path) -> None:
    result = bl.run(DOCUMENT, out="r", **{"flows.0.cca": REFERENCE})
    result.write_pcap("x.pcap")
    assert Path("x.pcap").is_file()
    (tmp_path / "strange.py").write_text(MODULE.replace("imported", "strange"))
    result.scenario["flows"][0]["cca"]["class"] = "strange:Mine"
    # What is made again is what the store holds.
    result.write_pcap("x.pcap")
    assert not Path("strange").exists()
    with pytest.raises(StoreError, match="names the plugin `users_plugin:Mine`"):
        Store("r").run(result.run_id).write_pcap("x.pcap")


def test_a_plan_cannot_name_a_scheduler() -> None:
    Path("plan.toml").write_text('experiment = "deep-buffers"\nscheduler = "tcp://example.org:8786"\n')
    with pytest.raises(ParameterError, match="unknown key `scheduler`"):
        read_plan("plan.toml")


def test_the_path_is_as_it_was(tmp_path: Path) -> None:
    before = list(sys.path)
    load(REFERENCE)
    assert sys.path == before
    (tmp_path / "breaks.py").write_text("raise RuntimeError('on purpose')\n")
    with pytest.raises(ParameterError, match="on purpose"):
        load("breaks:Mine")
    assert sys.path == before
    sys.path.insert(0, str(tmp_path))
    try:
        load(REFERENCE)
        assert sys.path == [str(tmp_path), *before]
    finally:
        sys.path.remove(str(tmp_path))


def test_a_file_beside_a_plugin_shadows_no_library(tmp_path: Path) -> None:
    for library in ("json", "polars", "secrets", "altair"):
        (tmp_path / f"{library}.py").write_text(f"open('shadowed-{library}', 'w')\n")
    code = (
        "import sys\n"
        "sys.path.remove('')\n"
        "from bloatlab.loading import load\n"
        f"load({REFERENCE!r})\n"
        "import altair, json, polars, secrets\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(found())})
    assert not list(tmp_path.glob("shadowed-*"))


def test_the_command_line_as_a_module_takes_nothing_from_the_working_directory(tmp_path: Path) -> None:
    for library in ("cyclopts", "rich", "secrets", "sqlite3"):
        (tmp_path / f"{library}.py").write_text(f"open('shadowed-{library}', 'w')\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(found())}
    command = [sys.executable, "-m", "bloatlab"]
    done = subprocess.run([*command, "list"], check=True, env=env, capture_output=True, text=True)
    assert "deep-buffers" in done.stdout
    assert not list(tmp_path.glob("shadowed-*"))
    done = subprocess.run([*command, "simulate", "mine.toml"], check=False, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert not imported()


def found() -> list[str]:
    """Where this package is."""
    return [str(Path(bl.__file__).parent.parent)]


def test_what_is_allowed() -> None:
    allowed = AllowedPlugins.named_in(["cca=a:B,c.d:E.F", "queue=codel limit 5"], {"x": [{"class": "g:H"}]}, None, 3)
    assert allowed.names == {"a:B", "c.d:E.F", "g:H"}
    assert "a:B" in allowed
    assert "a:C" not in allowed
    assert "a:C" in AllowedPlugins(all=True)
    with pytest.raises(ParameterError, match=r"dumbbell\.queue: names the plugin `a:C`"):
        resolve({"dumbbell": {"queue": {"kind": "python", "class": "a:C"}}}, allowed)
    with pytest.raises(ParameterError, match=r"flows\.1\.cca: names"):
        resolve(json.loads('{"flows": [{"cca": "cubic"}, {"cca": "a:C"}]}'), allowed)
