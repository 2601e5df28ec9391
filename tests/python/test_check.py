"""Expectations: `[[expect]]` in scenarios and plans, and `bloatlab check`."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import bloatlab as bl
from bloatlab import cli, language
from bloatlab.cli import lab_app
from bloatlab.errors import ParameterError
from bloatlab.expectations import Checked, Judged, judge, prepare, read
from bloatlab.expectations.junit import document as junit_document
from bloatlab.expectations.wording import number
from bloatlab.settings import RunSettings
from bloatlab.store import Store
from bloatlab.sweeps import PlannedRun, ScenarioSource, Summary, plan
from conftest import DOCUMENT, REAL

needs_engine = pytest.mark.skipif(not REAL, reason="needs the engine")
SCENARIO = """
duration = "2s"
warmup = "500ms"
dumbbell = { rate = "10Mbit/s", rtt = "20ms", queue = "fq_codel" }

[[flows]]
name = "bulk"
count = 2

[[flows]]
name = "ping"
traffic = { kind = "ping", interval = "50ms" }
"""
PAGE = Path(__file__).parents[2] / "docs" / "check.md"
EXAMPLE = Path(__file__).parents[2] / "examples" / "home-link.toml"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.command(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def file_with(expect: str, scenario: str = SCENARIO, name: str = "mine.toml") -> Path:
    file = Path(name)
    file.write_text(scenario + expect)
    return file


def one(**keys: Any) -> Any:
    (found,) = read([keys])
    return found


@pytest.mark.parametrize(
    ("keys", "low", "high", "allowed"),
    [
        ({"metric": "probe.ping.p95_rtt", "at_most": "30ms"}, -math.inf, 30.0, "at most 30ms"),
        ({"metric": "probe.ping.p95_rtt", "at_most": "0.03 s"}, -math.inf, 30.0, "at most 0.03 s"),
        ({"metric": "flow.flow_completion_time_l4", "at_most": "1500ms"}, -math.inf, 1.5, "at most 1500ms"),
        ({"metric": "flow.mean_throughput_l4", "at_least": "9500kbit/s"}, 9.5, math.inf, "at least 9500kbit/s"),
        ({"metric": "link.max_queue_bytes", "at_most": "150kB"}, -math.inf, 150_000.0, "at most 150kB"),
        ({"metric": "link.mean_queue_length", "at_most": 2.5}, -math.inf, 2.5, "at most 2.5"),
        ({"metric": "network.jain_index", "at_least": 0.8, "at_most": 1}, 0.8, 1.0, "0.8 to 1"),
        ({"metric": "link.drops", "equals": 0}, 0.0, 0.0, "equals 0"),
        ({"metric": "link.mean_sojourn", "equals": "5ms", "tolerance": "1ms"}, 4.0, 6.0, "equals 5ms ± 1ms"),
        ({"metric": "link.mean_sojourn", "equals": "5ms", "tolerance": "20%"}, 4.0, 6.0, "equals 5ms ± 20%"),
    ],
)
def test_bounds_are_read_with_their_units(keys: dict[str, Any], low: float, high: float, allowed: str) -> None:
    found = one(**keys)
    assert (found.low, found.high, found.allowed) == (low, high, allowed)


RTT = {"metric": "probe.ping.p95_rtt"}
JAIN = {"metric": "network.jain_index"}


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("p95_rtt", "expect[1]: must be a table"),
        ({"at_most": "30ms"}, "expect[1].metric: is missing"),
        ({**RTT, "atmost": "30ms"}, "expect[1].atmost: unknown key `atmost` (did you mean `at_most`?)"),
        ({"metric": "probe.ping.p95_rt", "at_most": "1ms"}, "expect[1].metric: unknown metric `p95_rt` (did you mean"),
        ({"metric": "prob.ping.p95_rtt", "at_most": "1ms"}, "expect[1].metric: unknown scope of a metric `prob`"),
        ({"metric": "probe.ping.*", "at_most": "1ms"}, "expect[1].metric: probe.ping.*: must name one metric"),
        ({"metric": "loss_rate_l4 ", "at_most": "1%"}, "expect[1].at_most: must be a finite number without quotes"),
        ({"metric": 3, "at_most": "1ms"}, "expect[1].metric: must be a text, not 3"),
        (RTT, "expect[1]: needs a bound"),
        ({**RTT, "at_most": 30}, 'expect[1].at_most: `30` has no unit; write it such as "30ms"'),
        ({**RTT, "at_most": "30Mbit/s"}, "expect[1].at_most: unknown unit `Mbit/s`"),
        ({**RTT, "at_most": "30ms", "equals": "3ms"}, "expect[1].equals: cannot be combined"),
        ({**RTT, "at_most": "3ms", "at_least": "30ms"}, "expect[1].at_least: 30ms is above at_most, 3ms"),
        ({**RTT, "at_most": "3ms", "tolerance": "30ms"}, "expect[1].tolerance: needs `equals`"),
        ({**JAIN, "at_least": True}, "expect[1].at_least: must be a finite number"),
        ({**JAIN, "at_least": math.nan}, "expect[1].at_least: must be a finite number"),
        ({**JAIN, "equals": 1, "tolerance": "-5%"}, "expect[1].tolerance: must not be negative"),
        ({**JAIN, "equals": 1, "tolerance": "x%"}, "expect[1].tolerance: `x%` is not a percentage"),
        ({**JAIN, "equals": 1, "tolerance": -1}, "expect[1].tolerance: must not be negative"),
        ({**JAIN, "equals": 1, "statistic": "median"}, "expect[1].statistic: unknown statistic `median`"),
        ({**JAIN, "equals": 1, "where": "x =="}, "expect[1].where: `x ==` cannot be read"),
        ({**JAIN, "equals": 1, "name": ""}, "expect[1].name: must be a text"),
    ],
)  # fmt: skip
def test_a_bad_expectation_names_its_place(table: Any, why: str) -> None:
    with pytest.raises(ParameterError) as caught:
        read([{**JAIN, "at_least": 0}, table])
    assert str(caught.value).startswith(why)
    assert "\n" not in str(caught.value)


def runs_of(replications: int = 2) -> list[PlannedRun]:
    return plan(ScenarioSource(DOCUMENT), {}, {"dumbbell.rtt": ["10ms", "20ms"]}, replications=replications)


def metrics_of(runs: list[PlannedRun], *values: dict[str, float]) -> dict[str, Any]:
    """The delay of flows, for each run a table."""
    return {
        planned.run_id: {"flow_metrics": {flow: {"mean_srtt_l4": value} for flow, value in of.items()}}
        for planned, of in zip(runs, values, strict=True)
    }


def judged(expectation: Any, replications: int = 2, *values: dict[str, float]) -> Judged:
    runs = runs_of(replications)
    points = [list(group) for _, group in itertools.groupby(runs, lambda of: of.scenario)]
    return judge(expectation, points, metrics_of(runs, *values), {})


DELAYS = ({"a": 10, "b": 21}, {"a": 17, "b": 11}, {"a": 12, "b": 12}, {"a": 12, "b": 25})


@pytest.mark.parametrize(
    ("bound", "worst", "fails"),
    [
        ({"at_most": "20ms"}, [21, 25], 2),
        ({"at_most": "21ms"}, [21, 25], 1),
        ({"at_most": "25ms"}, [21, 25], 0),
        ({"at_least": "11ms"}, [10, 12], 1),
        ({"at_least": "10ms", "at_most": "24ms"}, [10, 25], 1),
        ({"equals": "15ms", "tolerance": "5ms"}, [21, 25], 2),
    ],
)
@needs_engine
def test_the_worst_flow_of_the_worst_replication_counts(bound: dict[str, str], worst: list[float], fails: int) -> None:
    found = judged(one(metric="flow.mean_srtt_l4", **bound), 2, *DELAYS)
    assert [point.measured.value for point in found.points if point.measured] == worst
    assert sum(not point.holds for point in found.points) == fails
    assert found.holds is (fails == 0)
    assert found.worst.excess == max(point.excess for point in found.points)


@needs_engine
def test_patterns_means_and_combinations() -> None:
    only = judged(one(metric="flow.a*.mean_srtt_l4", at_most="17ms"), 2, *DELAYS)
    assert only.holds
    mean = judged(one(metric="flow.mean_srtt_l4", at_most="18ms", statistic="mean"), 2, *DELAYS)
    assert [point.measured.value for point in mean.points if point.measured] == [16, 18.5]
    assert [point.holds for point in mean.points] == [True, False]
    total = judged(one(metric="sum:flow.mean_srtt_l4", at_most="31ms"), 2, *DELAYS)
    assert [point.measured.value for point in total.points if point.measured] == [31, 37]
    assert total.worst.measured is not None
    assert total.worst.measured.entity == ""


@needs_engine
def test_a_run_without_a_valid_result_fails_its_point() -> None:
    runs = runs_of(1)
    metrics = metrics_of(runs[:1], {"a": 10})
    found = judge(
        one(metric="flow.mean_srtt_l4", at_most="1s"), [[of] for of in runs], metrics, {runs[1].run_id: "why"}
    )
    assert [point.holds for point in found.points] == [True, False]
    assert found.worst.failure.endswith("has no valid result: why")


@needs_engine
def test_check_prints_a_table_and_exits_with_0_1_or_2(capsys: pytest.CaptureFixture[str]) -> None:
    expect = '[[expect]]\nname = "short ping"\nmetric = "probe.ping.p95_rtt"\nat_most = "40ms"\n'
    file = file_with(expect)
    code, out, err = run(capsys, "check", str(file))
    assert (code, err) == (0, "")
    assert "short ping" in out
    assert "1 of 1 expectations hold; 1 run in results/mine" in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = run(capsys, "check", str(file), "--set", "dumbbell.queue=fifo", "--replications", "2", "-j", "1")
    assert code == 1
    assert "expect[0]: short ping: probe.ping.p95_rtt is " in out
    assert run(capsys, "check", str(file), "--set", "expect.0.at_most=1s")[0] == 2
    assert run(capsys, "check", str(file_with("", name="none.toml")))[2].startswith(
        "bloatlab: none.toml: has no [[expect]]"
    )
    assert run(capsys, "check", "missing.toml")[0] == 2


@needs_engine
def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    first = file_with('[[expect]]\nmetric = "link.*.mean_sojourn"\nat_most = "20ms"\n')
    second = file_with('[[expect]]\nmetric = "network.jain_index"\nat_least = 2\n', name="other.toml")
    code, out, err = run(capsys, "check", str(first), str(second), "--json")
    assert (code, err) == (1, "")
    document = json.loads(out)
    assert document["holds"] is False
    assert [of["holds"] for of in document["files"]] == [True, False]
    (expectation,) = document["files"][0]["expectations"]
    (point,) = expectation["points"]
    assert expectation["unit"] == "ms"
    assert point["of"] == "bottleneck"
    measured = bl.simulate(first).link_metrics["bottleneck"]["mean_sojourn"]
    assert point["value"] == pytest.approx(measured, abs=1e-12)


@needs_engine
@pytest.mark.parametrize(
    ("expect", "why"),
    [
        ('metric = "probe.pong.p95_rtt"\nat_most = "1s"', "expect[0].metric: probe.pong.p95_rtt: unknown probe `pong`"),
        ('metric = "link.up.drops"\nat_most = 1', "expect[0].metric: link.up.drops: unknown link `up`"),
        ('metric = "probe.bulk_1.p95_rtt"\nat_most = "1s"', "expect[0].metric: run "),
        ('metric = "link.drops"\nat_most = 1\nwhere = "rate == 3"', "expect[0].where: `rate == 3`: unknown parameter"),
    ],
)
def test_what_a_run_does_not_have_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], expect: str, why: str
) -> None:
    code, _, err = run(capsys, "check", str(file_with(f"[[expect]]\n{expect}\n")))
    assert code == 2
    assert err.startswith(f"bloatlab: mine.toml: {why}")
    assert err.count("\n") == 1


@needs_engine
def test_an_expectation_changes_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    plain = file_with("")
    assert run(capsys, "simulate", str(plain), "--json")[0] == 0
    before = Store("results/mine").runs()["run_id"].to_list()
    file = file_with('[[expect]]\nmetric = "link.drops"\nat_least = 0\n')
    code, out, _ = run(capsys, "check", str(file))
    assert code == 0
    assert "1 run (1 read from the store)" in out
    assert Store("results/mine").runs()["run_id"].to_list() == before
    assert json.loads(run(capsys, "simulate", str(file), "--json")[1])["runs"][0]["run_id"] == before[0]


@needs_engine
def test_every_reader_of_a_scenario_accepts_expectations(capsys: pytest.CaptureFixture[str]) -> None:
    expect = '[[expect]]\nmetric = "link.drops"\nat_least = 0\n'
    file, plain = file_with(expect), file_with("", name="plain.toml")
    assert run(capsys, "tc", str(file)) == run(capsys, "tc", str(plain))
    Path("plan.toml").write_text('scenario = "mine.toml"\n[axes]\n"dumbbell.rtt" = ["10ms", "20ms"]\n' + expect)
    assert run(capsys, "sweep", "plan.toml", "--json")[0] == 0
    opened, seed = lab_app._scenario(file, None, 1)
    assert (language.EXPECT in opened, seed) == (False, 1)
    assert bl.simulate(file).digest == bl.simulate(plain).digest
    document = {**DOCUMENT, "expect": [{"metric": "link.drops", "at_least": 0}]}
    assert bl.run(document).digest == bl.run(DOCUMENT).digest
    assert language.plan(document) == language.plan(DOCUMENT)


@needs_engine
def test_plans_check_their_own_expectations_and_those_of_their_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    file_with('[[expect]]\nname = "of the scenario"\nmetric = "network.jain_index"\nat_least = 2\n')
    plan_file = Path("plan.toml")
    plan_file.write_text(
        'scenario = "mine.toml"\nreplications = 2\n[axes]\n"dumbbell.queue" = ["fifo", "fq_codel"]\n'
        '[[expect]]\nname = "of the plan"\nmetric = "probe.ping.p95_rtt"\nat_most = "40ms"\n'
        "where = \"dumbbell.queue == 'fq_codel'\"\n"
    )
    code, out, err = run(capsys, "check", str(plan_file), "--json")
    assert (code, err) == (1, "")
    of_plan, of_scenario = json.loads(out)["files"][0]["expectations"]
    assert (of_plan["place"], of_plan["holds"], len(of_plan["points"])) == ("expect[0]", True, 1)
    assert (of_scenario["place"], of_scenario["holds"], len(of_scenario["points"])) == ("scenario.expect[0]", False, 2)
    assert all(len(point["run_ids"]) == 2 for point in of_scenario["points"])
    lines = run(capsys, "check", str(plan_file))[1].splitlines()
    assert max(map(len, lines[:-1])) <= 80
    assert lines[-1].startswith("scenario.expect[0]: of the scenario: network.jain_index is ")


@needs_engine
def test_a_plan_of_an_experiment_may_name_its_criteria(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text(
        'experiment = "rfc7928-bulk"\nkeep = "metrics"\n[set]\nqueue = "codel"\nstop = "5s"\nwarmup = "1s"\n'
        '[[expect]]\nmetric = "bulk_delay_p95"\nat_most = "1s"\n'
    )
    code, out, err = run(capsys, "check", "plan.toml", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["files"][0]["expectations"][0]["unit"] == "ms"


def _require_junit(root: ElementTree.Element) -> None:
    """The structure of `junit-10.xsd` of Jenkins' xUnit plugin, as far as we use it."""
    attributes = {
        "testsuites": ({"name", "time", "tests", "failures", "errors"}, set()),
        "testsuite": (
            {"name", "tests", "failures", "errors", "skipped", "time"},
            {"name", "tests", "failures", "errors"},
        ),
        "testcase": ({"name", "classname", "time"}, {"name"}),
        "failure": ({"message", "type"}, set()),
        "error": ({"message", "type"}, set()),
        "system-out": (set(), set()),
    }
    children = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}, "testcase": {"failure", "error", "system-out"}}
    for element in root.iter():
        known, required = attributes[element.tag]
        assert required <= set(element.attrib) <= known
        assert {child.tag for child in element} <= children.get(element.tag, set())
    for suite in root.iter("testsuite"):
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))
    for count in ("tests", "failures", "errors"):
        assert int(root.attrib[count]) == sum(int(suite.attrib[count]) for suite in root)


@needs_engine
def test_junit_has_a_case_for_each_expectation_and_point(capsys: pytest.CaptureFixture[str]) -> None:
    file_with(
        '[[expect]]\nname = "<ping> & \\"link\\" \\u0001"\nmetric = "probe.ping.p95_rtt"\nat_most = "40ms"\n'
        '[[expect]]\nmetric = "link.drops"\nat_least = 0\n'
    )
    Path("plan.toml").write_text('scenario = "mine.toml"\n[axes]\n"dumbbell.queue" = ["fifo", "fq_codel"]\n')
    assert run(capsys, "check", "plan.toml", "mine.toml", "--junit", "junit.xml")[0] == 1
    root = ElementTree.parse("junit.xml").getroot()
    _require_junit(root)
    assert [suite.get("name") for suite in root] == ["plan.toml", "mine.toml"]
    names = [case.get("name") for case in root.iter("testcase")]
    assert names == [
        '<ping> & "link" \\x01 (queue=fifo)',
        '<ping> & "link" \\x01 (queue=fq_codel)',
        "link.drops at least 0 (queue=fifo)",
        "link.drops at least 0 (queue=fq_codel)",
        '<ping> & "link" \\x01',
        "link.drops at least 0",
    ]
    (failure,) = root.iter("failure")
    assert "allowed: at most 40ms" in failure.get("message", "")
    assert run(capsys, "check", "mine.toml", "--junit", "no/where.xml")[2].startswith("bloatlab: no/where.xml: ")


@pytest.mark.usefixtures("fake")
def test_failed_runs_are_errors_of_junit_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    file = file_with(
        '[[expect]]\nmetric = "link.drops"\nat_least = 0\n',
        'name = "fails"\nduration = "1s"\ndumbbell = { rate = "1Mbit/s", rtt = "10ms" }\nflows = [{}]\n',
    )
    code, out, err = run(capsys, "check", str(file), "--replications", "2", "--junit", "junit.xml", "--json")
    assert code == 1
    assert "PluginError: odd seeds fail" in err
    assert json.loads(out)["files"][0]["expectations"][0]["points"][0]["value"] is None
    root = ElementTree.parse("junit.xml").getroot()
    _require_junit(root)
    (error,) = root.iter("error")
    assert "odd seeds fail" in error.get("message", "")


def test_junit_without_files_is_a_document() -> None:
    empty = Checked(Path("a.toml"), Path("results"), Summary([]), [])
    _require_junit(ElementTree.fromstring(junit_document([empty])))


@needs_engine
def test_an_interrupted_check_does_not_hold(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bloatlab.sweeps.threads.Threads.run", interrupt)
    file = file_with('[[expect]]\nmetric = "link.drops"\nat_least = 0\n')
    assert not prepare(file, RunSettings()).check(RunSettings()).holds
    code, _, err = run(capsys, "check", str(file))
    assert code == 130
    assert "Resume with: " in err


@needs_engine
def test_a_scenario_of_builders_has_expectations() -> None:
    network = bl.scenario.dumbbell("1Mbit/s", "10ms")
    built = bl.scenario.document(
        network, [bl.scenario.flow()], duration="1s", expect=[{"metric": "link.drops", "at_least": 0}]
    )
    assert [of.title for of in read(built["expect"])] == ["link.drops at least 0"]
    assert bl.run(built).digest == bl.run(bl.scenario.document(network, [bl.scenario.flow()], duration="1s")).digest


@needs_engine
def test_a_plan_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.py").write_text(
        f"import bloatlab\nplan = bloatlab.Plan(scenario={DOCUMENT!r}, keep='measures', "
        "expect=[{'metric': 'link.drops', 'at_least': 0}])\n"
    )
    code, out, err = run(capsys, "check", "plan.py", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["files"][0]["expectations"][0]["metric"] == "link.drops"


def test_numbers_have_four_digits() -> None:
    assert [number(value, "ms") for value in (0.0, 2.0, 27.3149, 0.0123456, 12345.6)] == [
        "0 ms", "2 ms", "27.31 ms", "0.01235 ms", "12346 ms",
    ]  # fmt: skip


@needs_engine
def test_the_example_file_holds() -> None:
    prepared = prepare(EXAMPLE, RunSettings())
    assert len(prepared.expectations) >= 3
    checked = prepared.check(RunSettings())
    assert [of.expectation.title for of in checked.judged if not of.holds] == []
    fifo = prepare(EXAMPLE, RunSettings(), given={"dumbbell.queue": "fifo"}).check(RunSettings())
    assert not fifo.holds


@needs_engine
def test_the_page_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for kind, text in blocks:
        if kind == "toml":
            Path(text.partition("\n")[0].removeprefix("# ")).write_text(text)
    commands = [line.partition("#")[0].split() for kind, text in blocks if kind == "sh" for line in text.splitlines()]
    codes = [run(capsys, *words[1:])[0] for words in commands]
    assert codes == [0, 1, 0]
    assert run(capsys, "check", "grid.toml", "--replications", "1")[0] in (0, 1)
    (python,) = (text for kind, text in blocks if kind == "python")
    exec(compile(python, str(PAGE), "exec"), {})
    assert "a ping stays short behind downloads" in capsys.readouterr().out
    _require_junit(ElementTree.parse("check.xml").getroot())


@needs_engine
def test_the_schema_and_the_models_have_expectations() -> None:
    from bloatlab.scenario.models import Expectation, Scenario

    schema = json.loads(language.schema())
    assert schema["properties"]["expect"]["items"] == {"$ref": "#/$defs/Expectation"}
    assert set(schema["$defs"]["Expectation"]["properties"]) == set(Expectation.model_fields)
    expect = [Expectation(metric="link.drops", at_least=0)]
    scenario = Scenario.model_validate({**DOCUMENT, "expect": [of.model_dump(exclude_none=True) for of in expect]})
    assert bl.run(scenario).digest == bl.run(DOCUMENT).digest
