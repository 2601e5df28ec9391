"""The experiments that compare queues: their axes follow the registry, and the engine takes every scenario they make."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

import bloatlab
from bloatlab import cli, language
from bloatlab.errors import ParameterError
from bloatlab.experiments import CATALOGUE, get
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.headings import headings
from bloatlab.experiments.queues import bdp_packets, comparable, with_ecn, with_limit
from bloatlab.experiments.rfc7928.base import flows_at
from bloatlab.sweeps import ExperimentSource, plan
from conftest import REAL

RANKED = [experiment for experiment in CATALOGUE.values() if experiment.criteria]
COMPARING = [experiment for experiment in RANKED if "queue" in experiment.axes()] if REAL else []
NAMES = [name for name in CATALOGUE if name == "aqm-comparison" or name.startswith("rfc7928-")]
real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry with one of each: bounded, in bytes, in packets as a number, a wrapper, one that bounds nothing."""
    limits = {"fifo": "limit", "bfifo": "bytes", "counted": "integer"}
    queues = [
        {"kind": kind, "parameters": [{"name": "limit", "type": of}, {"name": "ecn", "type": "boolean"}]}
        for kind, of in limits.items()
    ]
    own_limit = {"name": "limit", "type": "limit"}
    queues += [
        {"kind": "shared", "parameters": [{"name": "memory_limit", "type": "bytes"}]},
        {"kind": "wrapper", "parameters": [own_limit, {"name": "queue", "type": "queue"}]},
        {"kind": "bands", "parameters": [own_limit, {"name": "queues", "type": "list of queue"}]},
        {"kind": "infinite", "parameters": []},
    ]
    described = json.dumps({"queues": queues, "congestion_controls": []})
    monkeypatch.setattr(language, "algorithms", lambda: described)
    monkeypatch.setattr(
        language, "queue", lambda text: json.dumps({"kind": json.loads(text)} if text[0] == '"' else json.loads(text))
    )
    monkeypatch.setattr(language, "version", lambda: "registry")


@pytest.mark.usefixtures("registry")
def test_wrappers_and_unbounded_queues_are_not_compared() -> None:
    assert comparable() == ["fifo", "bfifo", "counted", "shared"]


@pytest.mark.usefixtures("registry")
def test_a_limit_is_given_in_the_queue_s_unit() -> None:
    assert with_limit("fifo", "80p") == {"kind": "fifo", "limit": "80p"}
    assert with_limit("bfifo", "80p") == {"kind": "bfifo", "limit": "120000B"}
    assert with_limit("bfifo", "9kB") == {"kind": "bfifo", "limit": "9kB"}
    assert with_limit("counted", "80p") == {"kind": "counted", "limit": 80}
    assert with_limit("shared", "80p") == {"kind": "shared"}
    assert with_limit({"kind": "fifo", "limit": "9p"}, "80p") == {"kind": "fifo", "limit": "9p"}


@pytest.mark.usefixtures("registry")
def test_marking_is_switched_where_there_is_a_switch() -> None:
    assert with_ecn("fifo", "auto") == "fifo"
    assert with_ecn("fifo", "on") == {"kind": "fifo", "ecn": True}
    assert with_ecn({"kind": "fifo", "ecn": False}, "on") == {"kind": "fifo", "ecn": False}
    assert with_ecn("shared", "on") == "shared"
    assert with_ecn("mine:Queue", "on") == "mine:Queue"


def test_a_bandwidth_delay_product_is_rounded_up() -> None:
    # 10 Mbit/s for 100 ms are 125,000 bytes: 83.3 packets.
    assert bdp_packets("10Mbit/s", "100ms") == 84
    assert bdp_packets("12Mbit/s", "100ms") == 100
    assert bdp_packets("1kbit/s", "1ms") == 1


def test_flows_of_a_level_of_congestion() -> None:
    # RFC 7928 section 8.2.1: S = 100 + 100, N = S sqrt(l / 0.76): 7.25, 16.22, 22.94.
    params = {"rate": "12Mbit/s", "rtt": "100ms", "qlen": "100p"}
    assert [flows_at(level, params) for level in ("mild", "medium", "heavy")] == [7, 16, 23]
    assert flows_at("mild", {**params, "qlen": "150kB"}) == 7


@pytest.mark.usefixtures("fake")
def test_own_axes_give_way_to_the_user_s() -> None:
    experiment = get("rfc7928-bulk")
    own = experiment.all_axes({}, {})
    assert own == {"queue": comparable(), "congestion": ["mild", "medium", "heavy"]}
    assert list(experiment.all_axes({"congestion": "mild"}, {})) == ["queue"]
    assert experiment.all_axes({"congestion": "mild"}, {"queue": ["codel"]}) == {"queue": ["codel"]}
    assert list(experiment.all_axes({}, {"rate": ["1Mbit/s"]})) == ["queue", "congestion", "rate"]
    assert get("deep-buffers").all_axes({}, {}) == {}


@pytest.mark.usefixtures("fake")
def test_python_sweeps_the_own_axes_too() -> None:
    store = bloatlab.sweep("aqm-comparison", out="here")
    queues = store.parameters().filter(name="queue")["value"].to_list()
    assert sorted(queues) == sorted(map(json.dumps, comparable()))
    assert bloatlab.sweep("aqm-comparison", {"ecn": ["on"]}, queue="fifo", out="there").runs().height == 1


@pytest.mark.usefixtures("fake")
def test_ecn_reaches_flows_and_queue() -> None:
    experiment = get("aqm-comparison")
    for mode, asked in (("auto", False), ("on", True), ("off", False)):
        scenario = experiment.scenario(experiment.resolve({"ecn": mode}))
        assert {flow["tcp"]["ecn"] for flow in scenario["flows"] if "tcp" in flow} == {asked}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("fake")
def test_every_entry_says_what_it_is(name: str) -> None:
    experiment = get(name)
    assert experiment.criteria
    assert experiment.figures
    criteria = [criterion.name for criterion in experiment.criteria]
    assert len(criteria) == len(set(criteria))
    if name.startswith("rfc7928-"):
        assert experiment.source.startswith("RFC 7928 section")
    known = {parameter.name for parameter in experiment.parameters}
    assert set(experiment.axes()) <= known


@real
@pytest.mark.parametrize("experiment", COMPARING, ids=lambda experiment: experiment.name)
def test_the_engine_takes_every_point_of_the_own_axes(experiment: Experiment) -> None:
    runs = plan(ExperimentSource(experiment), {}, experiment.all_axes({}, {}))
    points = list(itertools.product(*experiment.axes().values()))
    assert len(runs) == len(points)


@real
@pytest.mark.parametrize("experiment", COMPARING, ids=lambda experiment: experiment.name)
def test_every_criterion_has_a_value_at_some_point(experiment: Experiment) -> None:
    short = {"stop": "24s", "warmup": "2s", "queue": "fifo"}
    if "rate" not in experiment.axes():
        short["rate"] = "2Mbit/s"
    if "low_rate" in {parameter.name for parameter in experiment.parameters}:
        short |= {"low_rate": "1Mbit/s", "flows": "3"}
    axes = experiment.all_axes(short, {})
    results = [
        bloatlab.run(experiment.name, **short, **dict(zip(axes, point, strict=True)))
        for point in itertools.product(*axes.values())
    ]
    found = [
        {f"{scope}_metrics": getattr(one, f"{scope}_metrics") for scope in ("flow", "link", "probe")} for one in results
    ]
    missing = [one.name for one in experiment.criteria if all(one.read(metrics) is None for metrics in found)]
    assert missing == []


@real
def test_tc_s_words_are_kept_and_the_rest_is_given() -> None:
    given = with_limit(with_ecn("pie target 20ms", "on"), "90p")
    assert (given["limit"], given["target"], given["ecn"]) == ("90p", "20ms", True)
    assert with_limit("pie limit 70", "90p") == "pie limit 70"
    assert with_limit(with_ecn("fq_codel limit 70 noecn", "on"), "90p") == "fq_codel limit 70 noecn"


@real
def test_a_rate_step_above_the_link_is_refused() -> None:
    experiment = get("rfc7928-varying-bandwidth")
    with pytest.raises(ParameterError, match="low_rate: 200Mbit/s is above"):
        experiment.scenario(experiment.resolve({"low_rate": "200Mbit/s"}))
    with pytest.raises(ParameterError, match="period: 1us gives more than"):
        experiment.scenario(experiment.resolve({"period": "1us"}))


@real
def test_the_ranking_reaches_the_terminal_json_and_page(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "aqm-comparison", "--set", "stop=8s", "--set", "warmup=2s", "--sweep", "queue=fifo,fq_codel"]
    assert cli.command(words) == 0
    out = capsys.readouterr().out
    assert "score" in out
    assert "fq_codel" in out
    assert cli.command([*words, "--json"]) == 0
    printed = capsys.readouterr().out
    ranking = json.loads(printed)["ranking"]
    assert ranking["contenders"][0]["name"] == "fq_codel"
    runs = json.loads(printed)["runs"]
    for run in runs:
        assert set(run["experiment_metrics"]) == set(get("aqm-comparison").measures)
        assert all(value == run["judges"][name]["value"] for name, value in run["experiment_metrics"].items())
    assert ranking["contenders"][0]["values"]["voip_delay_p99"] < ranking["contenders"][1]["values"]["voip_delay_p99"]
    text = Path("results/aqm-comparison/report.html").read_text(encoding="utf-8")
    for word in (
        "Ranking by score",
        "Pareto",
        "Values by criterion",
        "the first of the ranking",
        "VoIP one-way delay p99",
        "Responsiveness (RPM)",
        "throughput (Mbit/s)",
    ):
        assert word in text
    titles = re.findall(r'role="region" aria-label="([^"]+)"', text)
    assert len(titles) == len(set(titles))
    assert "Scores of fifo" in titles


@real
def test_a_page_with_weights_is_not_taken_for_the_one_without(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "aqm-comparison", "--set", "stop=8s", "--set", "warmup=2s", "--sweep", "queue=fifo,fq_codel"]
    assert cli.command([*words, "--weigh", "bulk-delay=3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranking"]["weights"]["bulk delay"] == 3.0
    page = Path("results/aqm-comparison/report.html")
    for options, said in (([], "equally weighted"), (["--weigh", "loss=0"], "without loss"), ([], "equally weighted")):
        assert cli.command(["report", "results/aqm-comparison", *options]) == 0
        assert said in page.read_text(encoding="utf-8")
    capsys.readouterr()
    assert cli.command(["report", "results/aqm-comparison", "--weigh", "fun=2"]) == 2
    assert "--weigh fun: is no group of criteria" in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name, one in CATALOGUE.items() if one.measures])
def test_headings_of_own_metrics_are_words_and_unique(name):
    experiment = CATALOGUE[name]
    found = list(headings(experiment, experiment.measures).values())
    assert not [heading for heading in found if "_" in heading]
    # The table of runs has a column `grade`.
    assert len({*found, "grade"}) == len(found) + 1
    assert set(experiment.measure_titles) >= set(experiment.measures)


def test_a_metric_without_a_title_has_its_name_in_words():
    assert headings(None, {"bulk_share": "%", "runs": ""}) == {"bulk_share": "bulk share (%)", "runs": "runs"}
