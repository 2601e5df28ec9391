"""A second engine beside the simulator: command line, store, page and comparison; engines that are not reproducible."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

import bloatlab as bl
import bloatlab.registry
import fluid_engine
from bloatlab import cli, engines
from bloatlab.loading import AllowedPlugins
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store, run_id
from bloatlab.sweeps import ScenarioSource, Standing, execute, plan, threads
from bloatlab.sweeps.again import planned_again
from bloatlab.sweeps.document import Plan

FLUID = "fluid_engine:Fluid"
DOCUMENT = {
    "name": "two-flows",
    "duration": "2s",
    "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "queue": {"kind": "fifo", "limit": "50p"}},
    "flows": [{"count": 2, "cca": "newreno"}],
}
SCENARIO = """
name = "two-flows"
duration = "2s"
dumbbell = { rate = "10Mbit/s", rtt = "20ms", queue = { kind = "fifo", limit = "50p" } }
flows = [{ count = 2, cca = "newreno" }]
"""


@pytest.fixture(autouse=True)
def _scenario() -> None:
    Path("two.toml").write_text(SCENARIO)
    fluid_engine.Live.doubts = None
    fluid_engine.Live.running = fluid_engine.Live.most = fluid_engine.Live.made = 0


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.command(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


def source(engine: engines.Engine, **more: Any) -> ScenarioSource:
    return ScenarioSource({**DOCUMENT, **more}, engine=engine)


def test_two_engines_in_one_directory(capsys: pytest.CaptureFixture[str]) -> None:
    simulate = ("simulate", "two.toml", "--replications", "3", "--out", "r", "--json")
    made = {}
    for name in ("sim", FLUID):
        code, out, err = run(capsys, *simulate, "--engine", name)
        assert (code, err) == (0, "")
        made[name] = json.loads(out)["runs"]
    assert [one["engine"] for one in made[FLUID]] == ["fluid"] * 3
    runs = Store("r").runs()
    assert runs["engine"].to_list() == ["sim"] * 3 + ["fluid"] * 3
    assert runs["point"].n_unique() == 1
    listed = json.loads(run(capsys, "runs", "r", "--json")[1])["runs"]
    assert {one["engine"] for one in listed} == {"sim", "fluid"}

    code, out, _ = run(capsys, "compare", "r", "--by", "engine=sim,fluid", "--json")
    assert code == 0
    compared = json.loads(out)
    assert compared["compared"]["engine"] == {"a": "sim", "b": "fluid"}
    assert compared["matched"] == 1
    assert {"mean_srtt_l4", "mean_sojourn", "agg_throughput"} <= {row["metric"] for row in compared["metrics"]}

    assert run(capsys, *simulate, "--engine", FLUID)[0] == 0
    assert Store("r").runs().height == 6
    code, out, _ = run(capsys, "report", "r")
    page = Path(out.strip()).read_text()
    assert f"sim {engines.find('sim').version()}, fluid 1" in page
    assert '<td data-sort="fluid">fluid</td>' in page or ">fluid</td>" in page
    for name in ("time_series", "delay_throughput"):
        assert run(capsys, "figure", "r", name, "-o", f"{name}.svg", "--run", made[FLUID][0]["run_id"])[0] == 0
    assert run(capsys, "export", "r", "--csv", "--summary")[0] == 0


def test_the_engines_agree_on_a_standing_queue() -> None:
    fluid = bl.run(DOCUMENT, engine=fluid_engine.Fluid())
    simulated = bl.run(DOCUMENT)
    assert (fluid.engine, simulated.engine) == ("fluid", "sim")
    ours, theirs = (result.network_metrics["agg_throughput"] for result in (fluid, simulated))
    assert ours == pytest.approx(theirs, rel=0.1)
    assert fluid.link_series.to_polars()["queue_packets"].max() <= 50


def test_what_an_engine_cannot_run_is_named_by_its_key(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--set", "flows.0.cca=bbr", "--set", "dumbbell.queue.kind=codel"]
    code, _, err = run(capsys, "simulate", "two.toml", "--engine", FLUID, *given)
    assert code == 2
    why = "dumbbell.queue.kind: must be fifo; flows.0.cca.kind: must be one of newreno, reno"
    assert err == f"bloatlab: engine fluid: {why}\n"
    assert run(capsys, "run", "deep-buffers", "--engine", "fluit")[2].startswith("bloatlab: unknown engine `fluit`")
    code, _, err = run(capsys, "run", "deep-buffers", "--engine", "json:JSONDecoder")
    assert (code, err) == (
        2,
        "bloatlab: `json:JSONDecoder`: is not an engine, it has no `version`\n",
    )


def test_an_engine_cannot_pass_for_the_simulator() -> None:
    class Disguised(fluid_engine.Fluid):
        name = "sim"

    with pytest.raises(bl.EngineError, match="is the name of a built-in engine"):
        bl.run(DOCUMENT, engine=Disguised())


def test_an_engine_that_cannot_run_here_says_why() -> None:
    class Absent(fluid_engine.Fluid):
        def available(self) -> str | None:
            return "needs a wind tunnel"

    with pytest.raises(bl.EngineError, match=r"engine fluid: cannot run on this machine \(needs a wind tunnel\)"):
        bl.run(DOCUMENT, engine=Absent())


def test_identities_of_the_simulator_stay_as_they_were() -> None:
    def hashed(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    assert run_id("{}", 1, "v") == hashed("{}\n1\nv")
    apart = {run_id("{}", 1, "v", engine, repetition) for engine in ("sim", "fluid", "live") for repetition in range(3)}
    assert len(apart) == 9


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An engine in a module that says when it is imported."""
    text = "from pathlib import Path\nimport fluid_engine\nPath('imported').touch()\nclass Mine(fluid_engine.Fluid):\n"
    (tmp_path / "engine_elsewhere.py").write_text(text + "    name = 'mine'\n")
    monkeypatch.delitem(sys.modules, "engine_elsewhere", raising=False)
    return "engine_elsewhere:Mine"


def test_a_plan_that_names_an_engine_imports_nothing(capsys: pytest.CaptureFixture[str], elsewhere: str) -> None:
    Path("plan.toml").write_text(f'scenario = "two.toml"\nengine = "{elsewhere}"\nkeep = "metrics"\nout = "r"\n')
    code, _, err = run(capsys, "sweep", "plan.toml")
    assert code == 2
    assert f"importing the engine `{elsewhere}` would run its code; allow that with --allow-plugins" in err
    assert run(capsys, "sweep", "plan.toml", "--dry-run")[0] == 0
    assert not Path("imported").exists()
    assert run(capsys, "sweep", "plan.toml", "--engine", elsewhere, "--json")[0] == 0
    assert Path("imported").exists()
    assert Store("r").runs()["engine"].to_list() == ["mine"]
    assert run(capsys, "sweep", "plan.toml", "--allow-plugins", "--json")[0] == 0
    assert Store("r").runs().height == 1


def test_what_was_not_kept_is_run_again_by_the_engine_that_the_user_names(capsys: pytest.CaptureFixture[str]) -> None:
    execute(plan(source(fluid_engine.Fluid()), keep=Keep.METRICS), "r")
    assert run(capsys, "report", "r")[0] == 0
    code, _, err = run(capsys, "figure", "r", "time_series", "-o", "x.svg")
    assert code == 2
    assert "what was not kept is simulated again: unknown engine `fluid`" in err
    assert run(capsys, "figure", "r", "time_series", "-o", "x.svg", "--engine", FLUID)[0] == 0
    assert run(capsys, "export", "r", "--pcap", Store("r").runs()["run_id"][0], "--engine", FLUID)[0] == 0


def test_an_installed_engine_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = EntryPoints([EntryPoint("fluid", FLUID, "bloatlab.engines")])
    monkeypatch.setattr(bloatlab.registry, "entry_points", installed.select)
    assert bl.run(DOCUMENT, engine="fluid").engine == "fluid"
    with pytest.raises(bl.ParameterError, match="importing the engine `fluid` would run its code"):
        Plan(scenario=DOCUMENT, engine="fluid").runs()
    # A stored run names an installed engine: it is imported if the user allows it.
    execute(plan(source(fluid_engine.Fluid()), keep=Keep.METRICS), "r")
    result = Store("r").run(Store("r").runs()["run_id"][0])
    with pytest.raises(bl.StoreError, match="importing the engine `fluid` would run"):
        _ = result.flow_series
    assert len(result.allow_plugins().flow_series) == 40


def test_a_run_that_never_repeats_is_stored_as_another_repetition(capsys: pytest.CaptureFixture[str]) -> None:
    live = ("simulate", "two.toml", "--engine", "fluid_engine:Live", "--replications", "2", "--out", "r", "--json")
    for repetition in range(3):
        runs = json.loads(run(capsys, *live)[1])["runs"]
        assert [(one["seed"], one["repetition"]) for one in runs] == [(42, repetition), (43, repetition)]
    stored = Store("r").runs()
    assert stored["run_id"].n_unique() == stored["digest"].n_unique() == 6
    assert stored["point"].n_unique() == 1
    simulate = ("simulate", "two.toml", "--replications", "2", "--out", "r", "--json")
    assert run(capsys, *simulate)[0] == 0
    compared = json.loads(run(capsys, "compare", "r", "--by", "engine=sim,live", "--json")[1])
    assert compared["replications"] == {"a": 2, "b": 6}
    assert not compared["paired"]
    assert "(repetition 2)" in run(capsys, "runs", "r")[1]


def test_a_killed_sweep_of_repetitions_goes_on_with_what_is_missing() -> None:
    live = fluid_engine.Live()
    runs = plan(source(live, duration="30s"), replications=4)

    def stop(standing: Standing) -> None:
        if standing.done >= 1:
            raise KeyboardInterrupt

    first = execute(runs, "r", progress=stop)
    assert first.interrupted
    kept = Store("r").runs()
    assert 1 <= kept.height < 4
    second = execute(runs, "r")
    assert (second.read, second.done) == (kept.height, 4 - kept.height)
    assert Store("r").runs()["repetition"].to_list() == [0] * 4
    assert [planned.run_id for planned in second.runs] == [planned.run_id for planned in runs]
    assert {planned.repetition for planned in execute(runs, "r").runs} == {1}
    # Runs that fewer repetitions were made of come first; the others are read.
    more = execute(plan(source(live, duration="30s"), replications=5), "r")
    assert (more.read, more.done) == (4, 1)
    assert fluid_engine.Live.most == 1


def test_a_run_that_never_repeats_is_not_made_in_place_of_another(capsys: pytest.CaptureFixture[str]) -> None:
    live = fluid_engine.Live()
    execute(plan(source(live), keep=Keep.METRICS), "r")
    store = Store("r")
    result = store.run(store.runs()["run_id"][0]).with_engine(live)
    with pytest.raises(bl.StoreError, match="engine live made it, which gives other results in each run"):
        _ = result.flow_series
    with pytest.raises(bl.StoreError, match="its packets were not recorded"):
        bl.run(DOCUMENT, engine=live).write_pcap("x.pcap")
    planned, refused = planned_again(store, [result.run_id], AllowedPlugins(all=True), live)
    assert (planned, list(refused)) == ([], [result.run_id])
    made = fluid_engine.Live.made
    # The same plan that keeps more adds a repetition; it does not replace the run that keeps less.
    assert execute(plan(source(live), keep=Keep.TABLES), "r").runs[0].repetition == 1
    assert (fluid_engine.Live.made, Store("r").runs()["kept"].to_list()) == (made + 1, [Keep.METRICS, Keep.TABLES])
    code, _, err = run(capsys, "tune", "two.toml", "--engine", "fluid_engine:Live", "--trials", "4")
    assert (code, "gives other results in each run, so it cannot tune" in err) == (2, True)


def test_a_suspect_run_is_kept_shown_and_made_again(capsys: pytest.CaptureFixture[str]) -> None:
    live = ("simulate", "two.toml", "--engine", "fluid_engine:Live", "--replications", "2", "--out", "r")
    fluid_engine.Live.doubts = "3 packets left\nmore than 1 ms late"
    code, out, err = run(capsys, *live)
    assert (code, out) == (1, "")
    assert "is suspect: 3 packets left more than 1 ms late" in err
    assert "2 of 2 runs are suspect" in err
    stored = Store("r")
    assert stored.runs()["status"].to_list() == ["suspect"] * 2
    result = stored.run(stored.runs()["run_id"][0])
    assert result.suspect == "3 packets left more than 1 ms late"
    assert result.flow_metrics["flow_1"]["mean_srtt_l4"] > 20
    assert len(result.flow_series) == 40
    assert "suspect: 3 packets left" in run(capsys, "runs", "r")[1]
    page = Path(run(capsys, "report", "r")[1].strip()).read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "Suspect runs" in page
    assert "3 packets left more than 1 ms late" in page
    assert run(capsys, "compare", "r", "r")[0] == 2
    fluid_engine.Live.doubts = None
    assert run(capsys, *live)[::2] == (0, "")
    runs = Store("r").runs()
    assert (runs["status"].to_list(), runs["repetition"].to_list()) == (["done"] * 2, [0, 0])


class Slow(fluid_engine.Fluid):
    """Its runs end `teardown_s` after they are cancelled, as if processes had to be ended."""

    name = "slow"
    teardown_s = 0.2

    def __init__(self) -> None:
        self.started = threading.Event()
        self.ended = threading.Event()

    def run(self, scenario_json: str, seed: int, *, control: Any = None, **_: Any) -> Any:
        self.started.set()
        while not control.cancelled:
            time.sleep(0.005)
        time.sleep(self.teardown_s)
        self.ended.set()
        raise OSError("its processes have ended")


def interrupt(engine: Slow) -> None:
    def stop(_: Standing) -> None:
        assert engine.started.wait(10)
        raise KeyboardInterrupt

    assert execute(plan(source(engine)), "r", progress=stop).interrupted
    assert Store("r").runs().is_empty()


def test_an_interrupt_waits_until_the_engine_has_ended_its_processes() -> None:
    engine = Slow()
    interrupt(engine)
    assert engine.ended.is_set()


def test_an_engine_that_does_not_return_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "TEARDOWN_S", 0.05)
    engine = Slow()
    engine.teardown_s = 1.0
    with pytest.warns(RuntimeWarning, match="1 cancelled runs have not ended"):
        interrupt(engine)
    assert not engine.ended.is_set()
    assert engine.ended.wait(10)


def test_an_engine_with_a_limit_is_not_for_a_cluster() -> None:
    with pytest.raises(bl.EngineError, match="makes at most 1 runs at once"):
        execute(plan(source(fluid_engine.Live())), "r", RunSettings(scheduler="tcp://127.0.0.1:9"))
