from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import bloatlab
from bloatlab import cli
from bloatlab.errors import ParameterError
from bloatlab.store import Keep, Store
from bloatlab.sweeps.conditions import condition
from bloatlab.sweeps.document import Plan, read_plan

pytestmark = pytest.mark.usefixtures("fake")

POINT = {"cap": "4Mbit/s", "buf": "100p", "wld": 5, "queue": "red", "rtt": "10ms", "flows.0.cca": "bbr", "none": None}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("cap > '1Mbit/s'", True),
        ("cap == '4Mbps'", True),
        ("cap == '4000kbit/s'", True),
        ("cap < '1000kbit/s'", False),
        ("buf >= 100", True),
        ("buf in (100, 200)", True),
        ("buf not in ('200p', '300p')", True),
        ("rtt <= '0.01s'", True),
        ("wld == 5 and queue != 'red'", False),
        ("not (wld == 5 and queue != 'red')", True),
        ("1 <= wld < 5 or queue in ['red']", True),
        ("queue in 'red'", True),
        ("`flows.0.cca` == 'bbr'", True),
        ("wld > -1", True),
        ("none == None", True),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    assert condition(text)(POINT) is holds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("buff > 1", "unknown parameter `buff`.*did you mean `buf`"),
        ("queue > 3", "`red` and `3` have no order"),
        ("cap >", "cannot be read"),
        ("__import__('os').system('x')", "holds what is not allowed"),
        ("wld is 5", "holds what is not allowed"),
        ("[x for x in queue]", "holds what is not allowed"),
        ("wld + 1 > 2", "holds what is not allowed"),
    ],
)
def test_conditions_that_are_none(text: str, why: str) -> None:
    with pytest.raises(ParameterError, match=why) as error:
        condition(text)(POINT)
    assert "\n" not in str(error.value)


@given(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["<", "<=", "==", "!=", ">", ">="]))
def test_comparisons_are_python_s(left: int, right: int, op: str) -> None:
    assert condition(f"a {op} {right}")({"a": left}) is eval(f"{left} {op} {right}")
    assert condition(f"a {op} '{right}ms'")({"a": f"{1000 * left}us"}) is eval(f"{left} {op} {right}")


def test_product_list_and_both() -> None:
    axes = {"qlen": ["20p", "80p"], "cca": ["cubic", "bbr"]}
    points = [{"bw": "1Mbit/s", "rtt": "10ms"}, {"bw": "2Mbit/s", "rtt": "20ms"}]
    product = [
        (run.parameters["qlen"], run.parameters["cca"]) for run in Plan(experiment="deep-buffers", axes=axes).runs()
    ]
    assert product == list(itertools.product(*axes.values()))
    listed = [
        (run.parameters["bw"], run.parameters["rtt"]) for run in Plan(experiment="deep-buffers", points=points).runs()
    ]
    assert listed == [("1Mbit/s", "10ms"), ("2Mbit/s", "20ms")]
    both = Plan(experiment="deep-buffers", points=points, axes=axes, replications=3, fixed={"stop": "2s"}).runs()
    assert len(both) == 2 * 4 * 3
    assert {run.parameters["stop"] for run in both} == {"2s"}


def test_conditions_choose_points() -> None:
    axes: dict[str, Any] = {"qlen": ["20p", "80p", "320p"], "cca": ["cubic", "bbr"]}
    where = ["qlen > 20 or cca == 'bbr'", lambda point: point["qlen"] != "320p"]
    runs = Plan(experiment="deep-buffers", axes=axes, where=where).runs()
    assert [(run.parameters["qlen"], run.parameters["cca"]) for run in runs] == [
        ("20p", "bbr"), ("80p", "cubic"), ("80p", "bbr"),
    ]  # fmt: skip
    with pytest.raises(ParameterError, match="no point of the plan meets"):
        Plan(experiment="deep-buffers", axes=axes, where="qlen > 1000").runs()


PLAN = """
experiment = "deep-buffers"
replications = 2
seeds = "independent"
keep = "metrics"
where = "qlen != '20p' or cca != 'cubic'"

[set]
stop = "2s"

[axes]
cca = ["cubic", "bbr"]
qlen = ["20p", 80]
"""


def test_a_plan_in_toml_and_in_python(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "plan.py").write_text(
        "import bloatlab\n"
        "plan = bloatlab.Plan(experiment='deep-buffers', replications=2, seeds='independent', keep='metrics',\n"
        "    where=[lambda point: (point['qlen'], point['cca']) != ('20p', 'cubic')], fixed={'stop': '2s'},\n"
        "    axes={'cca': ['cubic', 'bbr'], 'qlen': ['20p', '80p']})\n"
    )
    toml, python = read_plan(tmp_path / "plan.toml").runs(), read_plan(tmp_path / "plan.py").runs()
    assert [run.run_id for run in toml] == [run.run_id for run in python]
    assert len({run.seed for run in toml}) == len(toml) == 6
    assert {run.keep for run in toml} == {Keep.METRICS}
    store = bloatlab.sweep(read_plan(tmp_path / "plan.toml"), out=tmp_path / "r")
    assert store.runs().height == 6
    assert store.table("flow_series").is_empty()
    for own in ({"replications": 3}, {"seed": 7}, {"packets": True}, {"qlen": "20p"}):
        with pytest.raises(ParameterError, match="says itself"):
            bloatlab.sweep(read_plan(tmp_path / "plan.toml"), **own)


def test_a_plan_of_a_scenario_beside_it(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'duration = "1s"\ndumbbell = { rate = "1Mbit/s", rtt = "10ms" }\nflows = [{ count = 1 }]\n'
    )
    (tmp_path / "plan.toml").write_text('scenario = "mine.toml"\naxes = { "flows.0.count" = [1, 2] }\n')
    runs = read_plan(tmp_path / "plan.toml").runs()
    assert [run.parameters for run in runs] == [{"flows.0.count": 1}, {"flows.0.count": 2}]
    assert {run.experiment for run in runs} == {"mine"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("experiment = 'deep-buffers'\naxis = {}", "unknown key `axis` (known: experiment, scenario, set, axes"),
        ("replications = 1", "names one of `experiment` and `scenario`"),
        ("experiment = 'deep-bufers'", "did you mean `deep-buffers`"),
        ("experiment = 'cc-benchmark'", "sweeps by itself"),
        ("experiment = 'deep-buffers'\nreplications = 'two'", "replications: input should be a valid integer"),
        ("experiment = 'deep-buffers'\nreplications = 0", "replications: must be at least 1"),
        ("experiment = 'deep-buffers'\nseeds = 'any'", "seeds: input should be 'common' or 'independent'"),
        ("experiment = 'deep-buffers'\nkeep = 'much'", "keep: must be one of measures, metrics, tables, packets"),
        ("experiment = 'deep-buffers'\nkeep = 'measures'", "deep-buffers defines no measures, so"),
        ("experiment = 'deep-buffers'\naxes = { qlen = [] }", "qlen: no values to sweep"),
        ("experiment = 'deep-buffers'\nset = { qlen = 1 }\naxes = { qlen = [1] }", "qlen: is both set and swept"),
        (
            "experiment = 'deep-buffers'\npoints = [{ qlen = 1 }]\naxes = { qlen = [1] }",
            "points.0.qlen: is on an axis, too",
        ),
        ("experiment = 'deep-buffers'\nwhere = 'qlem > 3'", "unknown parameter `qlem`"),
        ("experiment = ", "is not TOML: "),
    ],
)
def test_bad_plans_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, why: str) -> None:
    (tmp_path / "plan.toml").write_text(text)
    assert cli.command(["sweep", str(tmp_path / "plan.toml")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"bloatlab: {tmp_path / 'plan.toml'}: ")
    assert why in said
    assert said.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_files_that_are_no_plan(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no such file"):
        read_plan(tmp_path / "nothing.toml")
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(ParameterError, match="defines no `plan"):
        read_plan(tmp_path / "empty.py")
    with pytest.raises(ValidationError, match="axis"):
        Plan(axis={})  # type: ignore[call-arg]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    assert cli.command(["sweep", "plan.toml", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "deep-buffers: 6 runs, 3 points; metrics are kept of each run" in said
    assert "cca=cubic, qlen=80p" in said
    assert not Path("results").exists()
    assert cli.command(["sweep", "plan.toml", "--set", "qlen=80p", "--replications", "1", "--json"]) == 0
    assert Store("results/deep-buffers").runs().height == 2
    capsys.readouterr()
    assert cli.command(["sweep", "plan.toml", "--out", "other", "--keep", "tables"]) == 0
    assert "6 simulated" in capsys.readouterr().out
    assert Store("other").table("flow_series").height == 60
