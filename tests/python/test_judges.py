"""The judges: each score against values of its source, their inputs from a run, and where they are shown."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import bloatlab as bl
from bloatlab import cli
from bloatlab.analysis.judged import verdicts
from bloatlab.figures import source
from bloatlab.judges import JUDGES, Call, Evidence, Exchanges, Ping, collect, judge, line_of, through_bottleneck
from bloatlab.judges.base import LoadedPing
from bloatlab.judges.evidence import percentile
from bloatlab.judges.grade import EDGES, WORST, grade
from bloatlab.judges.loaded import under_load
from bloatlab.judges.qoo import PROFILES, Profile, Requirement, qoo
from bloatlab.judges.responsiveness import category, is_stable, rpm, trimmed_mean
from bloatlab.judges.voice import CONCEALED, ROBUSTNESS, mos
from bloatlab.report import verdict as of_page
from bloatlab.store import Keep, Store
from bloatlab.sweeps import ScenarioSource, execute, plan

LAB = Path(__file__).resolve().parents[2] / "web/src/model/verdict.ts"
NAMES = ["grade", "rpm", "qoo_web", "qoo_conference", "qoo_gaming", "qoo_streaming", "voice_mos"]
DOCUMENT = {
    "name": "judged",
    "duration": "10s",
    "warmup": "1s",
    "dumbbell": {"rate": "20Mbit/s", "rtt": "20ms", "queue": {"kind": "fifo", "limit": "200p"}},
    "flows": [
        {"name": "down", "count": 2},
        {"name": "voip", "traffic": {"kind": "cbr", "rate": "64kbit/s", "packet": "160B"}},
        {"name": "ping", "traffic": {"kind": "ping", "interval": "100ms"}},
        {"name": "web", "traffic": {"kind": "fetch", "response": "50kB", "interval": "500ms"}},
    ],
}

TOML = """name = "judged"
duration = "5s"
dumbbell = { rate = "20Mbit/s", rtt = "20ms", queue = "codel" }

[[flows]]
name = "down"

[[flows]]
name = "voip"
traffic = { kind = "cbr", rate = "64kbit/s", packet = "160B" }

[[flows]]
name = "ping"
traffic = { kind = "ping", interval = "100ms" }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return bl.run(DOCUMENT, out=tmp_path_factory.mktemp("judged") / "r")


def test_the_lab_and_the_package_have_the_same_edges():
    body = re.search(r"export function grade\(.*?\n\}", LAB.read_text(), re.DOTALL)[0]
    edges = [
        (float(edge), letter) for edge, letter in re.findall(r'if \(increase < ([\d.]+)\) return "([^"]+)";', body)
    ]
    assert tuple(edges) == EDGES
    assert re.search(r'\n  return "([^"]+)";', body)[1] == WORST
    assert of_page.grade is grade


def test_responsiveness_averages_rates_not_times():
    # Drafts before version 05 averaged the times: 545.
    assert rpm(20, None, 20, 200) == pytest.approx(1650)
    assert rpm(20, 20, 20, 200) == pytest.approx(1650)
    # TLS has a term of its own: (10 + 40 + 10) / 3 = 20.
    assert rpm(10, 40, 10, 200) == pytest.approx(1650)
    assert rpm(60, None, 20, 40) == pytest.approx(1500)
    with pytest.raises(ValueError, match="longer than 0 ms"):
        rpm(0, None, 20, 200)


def test_a_trimmed_mean_leaves_out_the_slowest():
    assert trimmed_mean([*[10.0] * 19, 1000.0]) == 10
    assert trimmed_mean([1.0, 3.0]) == 2
    assert trimmed_mean([7.0]) == 7
    with pytest.raises(ValueError, match="no times"):
        trimmed_mean([])


def test_stable_values_deviate_by_less_than_five_percent_of_the_latest():
    assert not is_stable([10.0, 10.0, 10.0])
    assert is_stable([1.0, 10.0, 10.0, 10.0, 10.0])
    # Population standard deviations of 0.49 and 0.51.
    assert is_stable([10 - 0.98, 10.0, 10 - 0.98, 10.0])
    assert not is_stable([10 - 1.02, 10.0, 10 - 1.02, 10.0])


@pytest.mark.parametrize(
    ("found", "name"),
    [(299, "poor"), (300, "acceptable"), (999, "acceptable"), (1000, "good"), (5999, "good"), (6000, "excellent")],
)
def test_classes_of_responsiveness(found, name):
    assert category(found) == name


def test_quality_of_outcome():
    profile = Profile("p", "p", {99: Requirement(50, 100)}, Requirement(1, 3), throughput_mbps=4)
    assert qoo(profile, {99: 75}, 0) == pytest.approx(50)
    assert qoo(profile, {99: 20}, 0) == 100
    assert qoo(profile, {99: 400}, 0) == 0
    # The worst counts: 2 % loss are 50, 60 ms are 80.
    assert qoo(profile, {99: 60}, 2) == pytest.approx(50)
    assert qoo(profile, {99: 20}, 0, 4) == 100
    assert qoo(profile, {99: 20}, 0, 3.9) == 0
    with pytest.raises(KeyError):
        qoo(profile, {95: 20}, 0)


def test_profiles_of_applications():
    edges = {
        profile.name: (
            *((at, of.optimal, of.unacceptable) for at, of in profile.latency_ms.items()),
            (profile.loss_percent.optimal, profile.loss_percent.unacceptable),
        )
        for profile in PROFILES
    }
    assert edges == {
        "web": ((90, 50, 150), (0.5, 1)),
        "conference": ((95, 50, 100), (0.1, 0.5)),
        "gaming": ((95, 50, 100), (0.5, 1)),
        "streaming": ((95, 50, 100), (0.1, 1)),
    }


@pytest.mark.parametrize(
    ("delay", "score"), [(5, 4.41), (50, 4.38), (150, 4.33), (200, 4.23), (300, 3.71), (400, 3.05), (600, 1.71)]
)
def test_voice_by_delay(delay, score):
    assert mos(delay) == pytest.approx(score, abs=0.005)


@pytest.mark.parametrize(("loss", "plain", "concealed"), [(1, 3.78, 4.30), (3, 2.73, 4.09)])
def test_voice_by_loss(loss, plain, concealed):
    assert mos(50, loss, robustness=ROBUSTNESS) == pytest.approx(plain, abs=0.005)
    assert mos(50, loss, robustness=CONCEALED) == pytest.approx(concealed, abs=0.005)
    # With the same loss in longer bursts, the call is worse.
    assert mos(50, loss, burst=2) < mos(50, loss)


def test_the_worst_call_has_a_score_of_one():
    assert mos(2000, 50) == 1
    scores = [mos(delay) for delay in range(0, 2000, 5)]
    assert scores == sorted(scores, reverse=True)


def a_run(random_numbers):
    """Evidence with random values."""
    draw = random_numbers.uniform
    ordered = sorted(draw(1, 300) for _ in range(4))
    ping = Ping("ping", draw(1, 300), dict(zip((50, 90, 95, 99), ordered, strict=True)), draw(0, 0.02), 500)
    probes = Exchanges(
        draw(1, 300), random_numbers.choice([None, draw(1, 300)]), draw(1, 300), draw(1, 300), 0, 20, True
    )
    return Evidence(draw(0, 500), ("a",), ping, Call(("call",), draw(1, 600), draw(0, 0.05)), probes)


def worse(random_numbers, run):
    """The same run with one delay or one loss higher."""
    more = random_numbers.choice([1e-6, 0.1, 1, 10, 100, 1000])
    loss = min(1.0, more / 100)
    ping, call, probes = run.ping, run.call, run.exchanges
    at = random_numbers.choice(list(ping.percentiles_ms))
    changed = [
        replace(run, increase_ms=run.increase_ms + more),
        replace(run, ping=replace(ping, mean_ms=ping.mean_ms + more)),
        replace(run, ping=replace(ping, percentiles_ms={**ping.percentiles_ms, at: ping.percentiles_ms[at] + more})),
        replace(run, ping=replace(ping, loss=min(1.0, ping.loss + loss))),
        replace(run, call=replace(call, delay_p99_ms=call.delay_p99_ms + more)),
        replace(run, call=replace(call, loss=min(1.0, call.loss + loss))),
        *(
            replace(run, exchanges=replace(probes, **{name: value + more}))
            for name in ("tcp_ms", "tls_ms", "http_ms", "loaded_ms")
            if (value := getattr(probes, name)) is not None
        ),
    ]
    return random_numbers.choice(changed)


@pytest.mark.parametrize("estimated", [False, True])
def test_no_score_rises_when_a_delay_or_a_loss_rises(estimated):
    random_numbers = random.Random(27)
    letters = [letter for _, letter in EDGES] + [WORST]
    fell = set()
    for _ in range(3000):
        before = a_run(random_numbers)
        after = worse(random_numbers, before)
        if estimated:
            before, after = replace(before, exchanges=None), replace(after, exchanges=None)
        first, second = judge(before), judge(after)
        assert letters.index(second.grade) >= letters.index(first.grade)
        for name in NAMES[1:]:
            assert second.judges[name].value <= first.judges[name].value, (name, before, after)
            if second.judges[name].value < first.judges[name].value:
                fell.add(name)
    # The changes reach every judge, so that the assertion above means something.
    assert fell == set(NAMES[1:])


def test_a_judge_without_its_input_says_what_it_needs():
    verdict = judge(Evidence())
    assert list(verdict.judges) == NAMES
    for one in verdict.judges.values():
        assert one.value is None
        assert one.shown == "no score"
        assert one.from_what.startswith("needs a ")
        assert "needs" in one.described()
    assert (verdict.grade, verdict.numbers, line_of(verdict)) == ("", {}, "")
    assert verdict.sentence == "No grade, because no long flow measured an RTT."
    ping = Ping("ping", 20, {50: 20, 95: 30, 99: 40}, None, 10)
    assert "interval of the ping" in judge(Evidence(ping=ping)).judges["qoo_web"].needs
    known = judge(Evidence(ping=replace(ping, loss=0.0))).judges
    assert known["qoo_conference"].value == 100
    assert "P90 of the RTT, which is in the table `histograms`" in known["qoo_web"].needs


def test_responsiveness_says_where_it_comes_from():
    ping = Ping("up", 50, {95: 60}, 0.0, 10, several=3)
    estimated = judge(Evidence(ping=ping)).judges["rpm"]
    assert estimated.value == 1200
    assert estimated.version.startswith("estimate after draft-ietf-ippm-responsiveness-")
    assert "estimated from the ping `up`, one of 3 pings: one round trip per exchange" in estimated.from_what
    tested = judge(Evidence(ping=ping, exchanges=Exchanges(20, None, 20, 200, 10, 30, False))).judges["rpm"]
    assert tested.value == pytest.approx(1650)
    assert tested.version == "draft-ietf-ippm-responsiveness-09"
    assert "10 s to 30 s, without TLS; not yet stable" in tested.from_what


def test_requests_under_way_at_the_end_are_not_lost():
    of = {"transactions": 98.0, "lost": 2.0, "mean_rtt": 100.0, "p95_rtt": 120.0, "max_rtt": 130.0}
    metrics = {"probe_metrics": {"ping": of}}
    assert collect(metrics).ping.loss is None
    assert collect(metrics, intervals_ms={"ping": 100.0}).ping.loss == 0
    assert collect(metrics, intervals_ms={"ping": 200.0}).ping.loss == pytest.approx(1 / 99)


def test_which_ping_and_which_calls_count():
    def ping(p95):
        return {"transactions": 10.0, "mean_rtt": 1.0, "p95_rtt": p95, "max_rtt": p95}

    def datagrams(rate, delay):
        return {"mean_sending_rate_l4": rate, "p99_one_way_delay_l4": delay, "loss_rate_l4": 0.0}

    probes = {"fast": ping(1.0), "slow": ping(9.0), "web": ping(99.0)}
    metrics = {
        "probe_metrics": probes,
        "flow_metrics": {"web": {}, "a": datagrams(0.064, 10.0), "b": datagrams(0.1, 20.0)},
    }
    metrics["flow_metrics"]["video"] = datagrams(3.0, 500.0)
    found = collect(metrics)
    assert (found.ping.name, found.ping.several) == ("slow", 2)
    assert collect({**metrics, "probe_metrics": {**probes, "ping": ping(2.0)}}).ping.name == "ping"
    assert (found.call.names, found.call.delay_p99_ms) == (("a", "b"), 15.0)


def test_a_percentile_of_a_histogram():
    bins = [(10.0, 20.0, 5.0), (0.0, 10.0, 5.0)]
    assert [percentile(bins, at) for at in (0, 25, 50, 90, 100)] == [0, 5, 10, 18, 20]


def test_a_run_is_judged_by_what_it_measured(run):
    verdict = run.verdict
    judges = verdict.judges
    ping, call = run.probe_metrics["ping"], run.flow_metrics["voip"]
    waits = [run.flow_metrics[name]["mean_est_qdelay_l4"] for name in ("down_1", "down_2")]
    assert "mean_est_qdelay_l4" in run.flow_metrics["web"]
    assert judges["grade"].value == pytest.approx(sum(waits) / len(waits))
    assert verdict.grade == grade(judges["grade"].value) == "C"
    assert judges["rpm"].value == pytest.approx(60000 / ping["mean_rtt"])
    assert judges["qoo_conference"].inputs[0].value == ping["p95_rtt"]
    # Nothing was lost but what was under way at the end.
    assert judges["qoo_gaming"].inputs[1].value == 0 < ping["lost"]
    assert ping["p50_rtt"] < judges["qoo_web"].inputs[0].value < ping["p95_rtt"]
    late = 1 - (1 - call["loss_rate_l4"]) * 0.99
    assert judges["voice_mos"].value == pytest.approx(mos(call["p99_one_way_delay_l4"] + 20, 100 * late))
    assert set(verdict.numbers) == set(NAMES)
    assert verdict.sentence.startswith("Grade C: under load, a round trip takes ")
    assert line_of(verdict) in verdict.sentence


def test_a_percentile_that_no_metric_has_fits_those_of_the_engine(run):
    bins = [
        (lower, upper, weight)
        for scope, name, quantity, lower, upper, weight in run.histograms.to_polars().iter_rows()
        if (scope, name, quantity) == ("probe", "ping", "rtt")
    ]
    # The engine counts whole nanoseconds.
    for at in (50, 95, 99):
        assert percentile(bins, at) == pytest.approx(run.probe_metrics["ping"][f"p{at}_rtt"], abs=1e-6)


def test_the_page_and_the_judges_give_the_same_grade(tmp_path):
    flows = [{"name": "down", "count": 2}, {"name": "up", "count": 2, "direction": "reverse"}]
    dumbbell = {"rate": "20Mbit/s", "reverse_rate": "5Mbit/s", "rtt": "20ms"}
    run = bl.run({**DOCUMENT, "duration": "4s", "dumbbell": dumbbell, "flows": flows}, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    verdict = of_page.of_run(source.of_run(store, run.run_id), store.metrics())
    found = run.verdict
    # The slower link is the bottleneck, and only uploads cross it.
    assert found.evidence.flows == ("up_1", "up_2")
    assert found.grade == verdict.grade
    of_uploads = store.metrics().filter(pl.col("entity").is_in(["up_1", "up_2"]))
    assert found.judges["grade"].value == pytest.approx(of_page.standing_queue(of_uploads))


def test_without_a_plan_all_flows_count():
    assert through_bottleneck(None, {}) is None


def test_a_run_of_which_only_metrics_are_kept_is_judged_too(tmp_path):
    runs = plan(ScenarioSource(DOCUMENT), keep=Keep.METRICS)
    execute(runs, tmp_path / "r")
    store = Store(tmp_path / "r")
    ids = [one.run_id for one in runs]
    (found,) = verdicts(store, ids, store.run_metrics(ids)).values()
    assert found.judges["rpm"].value is not None
    assert "needs the interval of the ping, which is in the table `probes`" in found.judges["qoo_web"].from_what
    # A result makes the tables again.
    assert store.run(ids[0]).verdict.judges["qoo_web"].value is not None


def test_shown_in_terminal_json_and_page(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    Path("judged.toml").write_text(TOML)
    assert cli.command(["simulate", "judged.toml", "--out", "r"]) == 0
    assert re.search(
        r"\d+ RPM \(\w+\); QoO of 100: web \d+, conference \d+, gaming \d+, streaming \d+; MOS ",
        " ".join(capsys.readouterr().out.split()),
    )
    assert cli.command(["simulate", "judged.toml", "--out", "r", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["runs"]
    result = Store("r").run(one["run_id"])
    assert one["judges"] == json.loads(json.dumps(result.verdict.described()))
    assert all(judgement["version"] and judgement["inputs"] for judgement in one["judges"].values())
    page = Path("r/report.html").read_text().replace("\u00a0", " ")
    for judge_ in JUDGES:
        assert judge_.title in page
        assert result.verdict.judges[judge_.name].text in page


def test_a_ping_under_load_is_compared_with_the_idle_path():
    idle, loaded = [(1.02, 20.0), (1.54, 40.0)], [(2.5, 400.0), (3.0, 300.0)]
    flows = [(2.0, 4.0), (2.5, 6.0), (0.0, 0.0), (None, None)]
    found = under_load("p", [*idle, *loaded], flows)
    assert found == LoadedPing("p", 350.0, 30.0, "before the load")
    assert found.increase_ms == 320.0
    # A request before the load whose reply comes during it is neither, and one after the load does not count.
    assert under_load("p", [*idle, *loaded, (2.1, 900.0), (9.0, 900.0)], flows) == found
    # Flows from the beginning on, without a known end.
    steady = [(0.0, None)]
    assert under_load("p", [*idle, *loaded], steady) == LoadedPing("p", 190.0, 20.0, "at its shortest")
    assert under_load("p", [*idle, *loaded], steady, 15.0) == LoadedPing("p", 190.0, 15.0, "by propagation alone")
    assert under_load("p", [*idle, *loaded], flows, 15.0) == found
    assert under_load("p", idle, flows) is None
    assert under_load("p", idle, []) is None


def test_without_an_rtt_of_a_flow_the_grade_is_from_the_ping():
    ping = Ping("p", 200.0, {95: 500.0}, None, 10)
    by_ping = judge(Evidence(ping=ping, loaded=LoadedPing("p", 350.0, 30.0, "before the load")))
    assert by_ping.grade == "D"
    assert by_ping.numbers["grade"] == 320.0
    assert by_ping.sentence.startswith("Grade D: under load, a round trip takes 320 ms longer (from the ping `p`);")
    assert [one.value for one in by_ping.judges["grade"].inputs] == [350.0, 30.0]
    # Flows come first.
    both = judge(Evidence(12.0, ("a",), ping=ping, loaded=LoadedPing("p", 350.0, 30.0, "before the load")))
    assert both.grade == "A"
    assert "the flow `a`" in both.judges["grade"].basis
    assert "a ping beside flows" in judge(Evidence(ping=ping)).judges["grade"].needs


def test_datagrams_beside_a_ping_have_the_same_grade_in_a_run_and_in_a_sweep(tmp_path):
    flood = {"kind": "cbr", "rate": "30Mbit/s"}
    flows = [{"name": "flood", "start": "2s", "traffic": flood}, {"name": "ping", "traffic": "ping"}]
    document = {
        **{key: DOCUMENT[key] for key in ("name", "dumbbell")},
        "duration": "6s",
        "warmup": "3s",
        "flows": flows,
    }
    run = bl.run(document, out=tmp_path / "r")
    loaded = run.verdict.evidence.loaded
    # The series begins after the warm-up, under load.
    assert loaded.mean_ms == pytest.approx(run.probe_metrics["ping"]["mean_rtt"])
    assert (loaded.base_ms, loaded.base) == (20.0, "by propagation alone")
    assert loaded.increase_ms > 60
    store = Store(tmp_path / "r")
    metrics = store.run_metrics([run.run_id])
    assert verdicts(store, [run.run_id], metrics)[run.run_id] == run.verdict
    page = of_page.of_run(source.of_run(store, run.run_id), store.metrics(), run.verdict.evidence)
    assert page.grade == run.verdict.grade
    assert "Packets wait" in page.sentence
    assert "Under load, the mean RTT of the ping is" in page.sentence
