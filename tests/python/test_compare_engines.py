"""The simulator against an engine in real time: the comparison, the figure of their time series, and the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

import fluid_engine
from bloatlab import cli, figures
from bloatlab.figures import engines, registry, source
from bloatlab.figures.charts import engine_series
from bloatlab.lab import single
from bloatlab.store import Keep, Store
from bloatlab.sweeps import ScenarioSource, execute, plan
from conftest import REAL
from fluid_engine import LIVE, TWO_FLOWS
from specification import colours, rows, titles

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


@pytest.fixture(autouse=True)
def _scenario() -> None:
    Path("two.toml").write_text(TWO_FLOWS)
    fluid_engine.Live.doubts = None


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.command(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


def make(capsys: pytest.CaptureFixture[str], *given: str, engines: tuple[str, ...] = (LIVE, "sim")) -> None:
    for engine in engines:
        assert run(capsys, "simulate", "two.toml", "--out", "r", "--json", "--engine", engine, *given)[0] == 0


def test_engines_are_compared_without_naming_them(capsys: pytest.CaptureFixture[str]) -> None:
    make(capsys, "--replications", "3")
    code, out, err = run(capsys, "compare", "r", "--by", "engine")
    assert (code, err) == (0, "")
    assert "engine: sim in A, live in B" in out
    assert "95 % interval" in out
    path = Path(out.splitlines()[-1].removeprefix("page: "))
    assert path == Path("r/compare.html")
    page = path.read_text(encoding="utf-8")
    assert "<h1>sim and live</h1>" in page
    # How many differ depends on the draws of the engine: it is like one in real time.
    assert "differ by more than noise" in page
    assert '<div class="verdict"><p>From sim to live, the ' in page
    assert page.index("Metrics that differ") < page.index("Time series")
    assert page.count('<div class="drawing') == 2
    assert "Number of runs: sim: 3, live: 3." in page
    assert "bottleneck mean_sojourn" in page
    assert not re.search(r'href="(?!#|report\.html)', page)
    # The page of the results shows the figure too, and links to the comparison from now on.
    report = Path(run(capsys, "report", "r")[1].strip()).read_text(encoding="utf-8")
    assert "Engines over time" in report
    assert '<a href="compare.html">Comparison of engines</a>' in report
    run(capsys, "compare", "r", "--by", "engine")
    assert '<a href="report.html">report</a>' in path.read_text(encoding="utf-8")


def test_json_makes_no_page(capsys: pytest.CaptureFixture[str]) -> None:
    make(capsys)
    found = json.loads(run(capsys, "compare", "r", "--by", "engine", "--json")[1])
    assert (found["a"], found["b"], found["suspect"]) == ("sim", "live", [])
    assert not Path("r/compare.html").exists()
    assert "one replication cannot tell" in run(capsys, "compare", "r", "--by", "engine")[1]
    assert "one replication cannot tell" in Path("r/compare.html").read_text(encoding="utf-8")


def test_suspect_runs_are_left_out_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    make(capsys, "--replications", "2")
    fluid_engine.Live.doubts = "3 frames left more than 1 ms late"
    assert run(capsys, "simulate", "two.toml", "--out", "r", "--engine", LIVE, "--replications", "2")[0] == 1
    code, out, _ = run(capsys, "compare", "r", "--by", "engine")
    assert code == 0
    suspect = Store("r").runs().filter(status="suspect")["run_id"].to_list()
    for seed, run_id in zip((42, 43), suspect, strict=True):
        assert f"left out: run {run_id} (live, seed {seed}) is suspect: 3 frames left more than 1 ms late" in " ".join(
            out.split()
        )
    page = Path("r/compare.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert "Suspect runs, left out" in page
    assert page.count("3 frames left more than 1 ms late") == 2
    found = json.loads(run(capsys, "compare", "r", "--by", "engine", "--json")[1])
    assert [run["run_id"] for run in found["suspect"]] == suspect
    assert found["suspect"][0]["engine"] == "live"
    assert found["replications"] == {"a": 2, "b": 2}


def test_where_all_runs_are_suspect_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    make(capsys, engines=("sim",))
    fluid_engine.Live.doubts = "the machine was busy"
    run(capsys, "simulate", "two.toml", "--out", "r", "--engine", LIVE)
    run(capsys, "simulate", "two.toml", "--out", "s", "--engine", LIVE)
    code, _, err = run(capsys, "compare", "r", "--by", "engine=sim,live")
    assert (code, err) == (2, "bloatlab: --by engine: all runs with live are suspect (the machine was busy)\n")
    assert "needs two values" in run(capsys, "compare", "r", "--by", "engine")[2]
    code, _, err = run(capsys, "compare", "r", "s")
    assert (code, err) == (2, "bloatlab: s: holds no finished run, only suspect ones (the machine was busy)\n")


def test_the_figure_lays_engines_over_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    make(capsys, "--replications", "2")
    tables = source.of_runs(Store("r"))
    found = tables["engine_series"]
    assert found["engine"].unique(maintain_order=True).to_list() == ["sim", "live"]
    assert set(found["quantity"]) == set(engine_series.QUANTITIES) - {"rtt"}
    for width in (900, 360):
        spec = figures.draw("engine_series", tables, width=width).to_dict(validate=True)
        assert list(colours(spec)) == ["sim", "live"]
        # There is no probe.
        assert {*engine_series.QUANTITIES.values(), "time (s)"} - titles(spec) == {engine_series.QUANTITIES["rtt"]}
        assert rows(spec) < 12_000
    assert run(capsys, "figure", "r", "engine_series", "-o", "e.svg")[0] == 0
    note = registry.find("engine_series").note(tables)
    assert note == "Number of runs: sim: 2, live: 2."


def test_each_point_has_its_own_figure_and_opens_in_the_lab(capsys: pytest.CaptureFixture[str], lab_file: Path) -> None:
    lab_file.write_bytes(single.MARK)
    make(capsys, "--sweep", "dumbbell.rtt=20ms,40ms")
    store = Store("r")
    assert len(engines.points_of_engines(store.runs())) == 2
    assert run(capsys, "compare", "r", "--by", "engine")[0] == 0
    page = Path("r/compare.html").read_text(encoding="utf-8")
    assert "<h3>an RTT of 20 ms</h3>" in page
    assert "<h3>an RTT of 40 ms</h3>" in page
    assert page.count('<div class="drawing') == 4
    assert len(re.findall(r'<a href="lab\.html#[^"]+">Open the scenario of these runs in the lab', page)) == 2


def test_without_series_the_page_has_only_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    document = {
        "name": "two",
        "duration": "1s",
        "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "queue": {"kind": "fifo", "limit": "50p"}},
        "flows": [{"cca": "newreno"}],
    }
    for engine in (fluid_engine.Live(), fluid_engine.Fluid()):
        execute(plan(ScenarioSource(document, engine=engine), keep=Keep.METRICS), "r")
    assert run(capsys, "compare", "r", "--by", "engine")[0] == 0
    assert "<svg" not in Path("r/compare.html").read_text(encoding="utf-8")
    assert "engine_series" not in source.of_runs(Store("r"))


def test_runs_are_thin_and_their_mean_is_thick() -> None:
    series = pl.DataFrame(
        {
            "engine": ["sim"] * 2 + ["linux"] * 4,
            "run_id": ["a", "a", "b", "b", "c", "c"],
            "time_s": [0.5, 1.0] * 3,
            "value": [1.0, 2.0, 3.0, 4.0, 5.0, 8.0],
        }
    )
    runs, means = engine_series.averaged(series, 1.0)
    assert runs["run_id"].unique(maintain_order=True).to_list() == ["b", "c"]
    assert means.filter(engine="linux")["value"].to_list() == [4.0, 6.0]
    assert means.filter(engine="sim")["value"].to_list() == [1.0, 2.0]
