"""FIFO, PIE and FQ-CoDel on a 60 GHz link: the set-up, the files, the readings that claims rest on, and a short run."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import bloatlab
from bloatlab import cli, language
from bloatlab.analysis.claims import plan_published, published_runs
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.answering import Run, Runs
from bloatlab.experiments.claim import judge
from bloatlab.experiments.mmwave import readings
from bloatlab.experiments.mmwave.claims import CLAIMS, COMPARISON, of_dip, of_figure, of_peak
from bloatlab.experiments.mmwave.setup import FEW_SEEDS, SEEDS
from bloatlab.report import make_report
from bloatlab.store import Store
from bloatlab.sweeps import ExperimentSource, execute, plan, plan_all
from conftest import REAL

real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def authors() -> Path | None:
    """The authors' traces: in `BLOATLAB_TRACES`, or in `shared/traces` beside the repository."""
    named = os.environ.get("BLOATLAB_TRACES")
    folders = [Path(named)] if named else [above / "shared" / "traces" for above in Path(__file__).resolve().parents]
    return next((folder / "nyu60ghz" for folder in folders if (folder / "nyu60ghz").is_dir()), None)


TRACES = authors()
measured = pytest.mark.skipif(TRACES is None, reason="the authors' traces are not at hand (BLOATLAB_TRACES)")


# The set-up.


@pytest.mark.usefixtures("fake")
def test_sixteen_cases_of_the_source() -> None:
    experiment = get("mmwave-aqm")
    runs, axes = plan_all(ExperimentSource(experiment), {"stop": "1s"}, {})
    assert {name: len(values) for name, values in axes.items()} == {"scenario": 4, "queue": 4}
    assert len(runs) == 16
    assert tuple(experiment.published_runs()) == tuple(experiment.cases)
    # Besides, PIE and FQ-CoDel without offload, the runs that are compared with real Linux, those with the Linux of today, and
    # those with more samples.
    assert len(experiment.cases) == 5 * len(runs) + 3 * 2 * 3 + 4 * 2 * 3 + 7 * 3 + 2 * 3
    assert {experiment.seed_of(case) for case in experiment.cases} == {42, 43, 44, 45, 46}


def test_peaks_are_the_median_of_the_runs_and_what_must_always_hold_the_worst() -> None:
    cases = _cases(srtt_max=30.0, saturated_apart=0.01, goodput_share=0.99)
    for seed, (peak, apart, share) in {42: (41.0, 0.02, 0.97), 43: (39.0, 0.09, 0.9), 44: (38.0, 0.03, 0.98)}.items():
        found = {"srtt_max": peak, "saturated_apart": apart, "goodput_share": share}
        cases[f"mobb-smallfifo, seed {seed}"] = {"readings": found}
    read = {claim.name: claim.metric for claim in CLAIMS if callable(claim.metric)}
    assert read["(d) mobb, smallfifo: largest sRTT"](cases) == 38.0
    assert read["(a) mobb, smallfifo: saturated RTT, largest distance from base + 8L/C"](cases) == 0.09
    assert read["(e) every scenario and queue: goodput of all flows / mean rate"](cases) == 0.9


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("offload", "segmentation", "receive"), [("both", True, True), ("receive", False, True), ("none", False, False)]
)
def test_offload_of_the_hosts(offload: str, segmentation: bool, receive: bool) -> None:
    experiment = get("mmwave-aqm")
    tcp = experiment.scenario(experiment.resolve({"offload": offload}))["flows"][0]["tcp"]
    assert (tcp.get("segmentation_offload", False), tcp.get("receive_offload", False)) == (segmentation, receive)
    with pytest.raises(ParameterError, match="offload"):
        experiment.resolve({"offload": "half"})


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("queue", "built"),
    [
        ("largefifo", {"kind": "fifo", "limit": "7500000B"}),
        ("smallfifo", {"kind": "fifo", "limit": "1875000B"}),
        ("pie", {"kind": "pie", "limit": "5000p", "target": "10ms"}),
        ("fq_codel", {"kind": "fq_codel", "limit": "5000p", "target": "10ms"}),
        ("codel", "codel"),
        ({"kind": "codel", "target": "2ms"}, {"kind": "codel", "target": "2ms"}),
    ],
)
def test_queues_of_the_source_and_any_other(queue: object, built: object) -> None:
    experiment = get("mmwave-aqm")
    scenario = experiment.scenario(experiment.resolve({"queue": queue, "scenario": "lb"}))
    assert scenario["dumbbell"]["queue"] == built
    assert scenario["dumbbell"]["header"] == 14
    assert (scenario["duration"], scenario["sample_interval"]) == ("120s", "100ms")
    bulk, ping = scenario["flows"]
    assert (bulk["count"], bulk["cca"]["variant"]) == (10, "linux")
    assert ping["traffic"] == {"kind": "ping", "interval": "100ms"}


@pytest.mark.usefixtures("fake")
def test_the_rate_is_generated_or_the_authors() -> None:
    experiment = get("mmwave-aqm")

    def rate(**given: object) -> dict[str, object]:
        return experiment.scenario(experiment.resolve({"scenario": "mobb", **given}))["dumbbell"]["vary"]["rate"]

    quirks = {"zero_keeps_rate": True, "interval_loses_digit": True, "skips_unfinished_line": True}
    assert rate() == {"kind": "mmwave", "preset": "mobb", "zero_keeps_rate": True}
    assert rate(player="exact") == {"kind": "mmwave", "preset": "mobb", "zero_keeps_rate": False}
    played = rate(traces="there/")
    assert played == {"kind": "file", "file": "there/mobb-tput.csv", "format": "rate_interval", **quirks}
    assert {rate(traces="there", player="exact")[quirk] for quirk in quirks} == {False}


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("scenario", "sx", "scenario: unknown choice `sx` .did you mean `sb`|did you mean `sl`"),
        ("queue", "largefif", "queue: unknown queue"),
        ("player", "autors", "player: .*did you mean `authors`"),
        ("flows", 0, "flows: `0` is not a whole number from 1 to 1000"),
    ],
)
def test_what_is_refused(name: str, value: object, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        get("mmwave-aqm").resolve({name: value})


# Users instead of long flows.


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("kind", "count", "clients"),
    [
        ("bulk", 10, {"iperf": 10}),
        ("web", 7, {"web": 7}),
        ("video", 2, {"video": 2}),
        ("downloads", 1, {"download": 1}),
        ("mixed", 10, {"web": 4, "video": 3, "download": 3}),
        ("mixed", 2, {"web": 1, "video": 1}),
    ],
)
def test_traffic_of_users(kind: str, count: int, clients: dict[str, int]) -> None:
    experiment = get("mmwave-aqm")
    built = experiment.scenario(experiment.resolve({"traffic": kind, "flows": count, "cca": "bbr"}))["flows"]
    *flows, ping = built
    assert {flow["name"]: flow["count"] for flow in flows} == clients
    assert ping["name"] == "ping"
    assert all(flow["cca"] == "bbr" and flow["tcp"]["receive_offload"] for flow in flows)
    assert all(flow["traffic"]["kind"] == "fetch" for flow in flows if kind != "bulk")
    with pytest.raises(ParameterError, match=r"traffic: .*did you mean `video`"):
        experiment.resolve({"traffic": "vidoe"})


def _mixed(queue: str, page: float, segment: float, worst: float, file: float) -> Run:
    probes = {
        "web_1": {"p50_rtt": page / 2, "p95_rtt": page}, "video": {"p95_rtt": segment, "max_rtt": worst},
        "download": {"p50_rtt": file, "p95_rtt": 2 * file}, "ping": {"p95_rtt": page / 10},
    }  # fmt: skip
    return Run({"queue": queue, "traffic": "mixed"}, {"probe_metrics": probes})


def test_what_users_see_by_hand() -> None:
    experiment = get("mmwave-aqm")
    # 25 MB in 0.4 s are 500 Mbit/s. A segment plays for a second.
    assert experiment.measure(_mixed("pie", 60.0, 400.0, 1250.0, 800.0).metrics) == {
        "page_p50": 30.0, "page_p95": 60.0, "video_rate": pytest.approx(500.0), "video_stall": 250.0,
        "download_p50": 800.0, "download_p95": 1600.0,
    }  # fmt: skip
    assert experiment.measure(_mixed("pie", 60.0, 400.0, 900.0, 800.0).metrics)["video_stall"] == 0.0
    assert experiment.measure({"flow_metrics": {}, "probe_metrics": {"ping": {"p95_rtt": 1.0}}}) == {}
    assert set(experiment.measures) == set(experiment.measure_titles)


def test_the_answer_tells_what_users_see() -> None:
    runs = [_mixed("pie", 60.0, 400.0, 1250.0, 800.0), _mixed("fq_codel", 30.0, 200.0, 900.0, 1600.0)]
    pages, rate, stall, downloads, ping = get("mmwave-aqm").answer(Runs(runs))
    assert "page load time is shorter with fq_codel (30 ms) than with pie (60 ms)" in pages
    assert "lower with pie (500 Mbit/s) than with fq_codel (1,000 Mbit/s)" in rate
    assert "longest stall of a video with one segment in its buffer is shorter with fq_codel (0 ms)" in stall
    assert "shorter with pie (800 ms) than with fq_codel (1,600 ms)" in downloads
    assert "RTT of the ping" in ping
    both = [*runs, Run({"queue": "pie", "traffic": "bulk"}, {"flow_metrics": {"iperf_1": {"p95_rtt_l4": 12.0}}})]
    told = get("mmwave-aqm").answer(Runs(both))
    assert any(line.startswith("With traffic mixed: ") for line in told)
    assert any(line.startswith("With traffic bulk: ") and "RTT of the TCP flows" in line for line in told)


# What is read from the samples.

STEADY = [3000.0] * 6


def test_a_ping_is_saturated_where_the_fifo_is_full_and_the_rate_stands_still() -> None:
    full = [1.0] * 6

    def found(rates: list[float], backlog: list[float], left: float, rtt: float) -> list[tuple[float, float]]:
        return list(readings.saturated(rates, backlog, iter([(left + rtt / 1e3, rtt)])))

    assert found(STEADY, full, 0.3, 20.0) == [(3000.0, 20.0)]
    # The sample that ends at 0.3 s is the third.
    assert found(STEADY, [1, 1, 0.9, 1, 1, 1], 0.3, 20.0) == []
    # The rate changes while it is under way.
    assert found([3000, 3000, 3000, 2000, 1000, 1000], full, 0.3, 20.0) == []
    assert found([3000, 3000, 3000, 3000, 2000, 1000], full, 0.3, 120.0) == []
    assert found([3000, 3000, 3000, 3000, 3000, 1000], full, 0.3, 120.0) == [(3000.0, 120.0)]
    # It changed 40 or 60 ms before: the sample has 40 or 60 % of the new rate.
    assert found([3000, 3000, 2200, 1000, 1000, 1000], full, 0.3, 20.0) == []
    assert found([3000, 3000, 1800, 1000, 1000, 1000], full, 0.3, 20.0) == [(1000.0, 20.0)]
    # An outage, and what no samples enclose.
    assert found([0.0] * 6, full, 0.3, 20.0) == []
    assert found(STEADY, full, 0.1, 20.0) == []
    assert found(STEADY, full, 0.6, 20.0) == []


def test_falls_of_the_rate_below_the_threshold() -> None:
    # To 1000 in the middle of the third sample; up to 1500 with the sixth; to 500 in the eighth; to 0 with the tenth.
    rates = [3000, 3000, 2000, 1000, 1000, 1500, 1500, 800, 500, 0, 0, 0]
    assert list(readings.falls(rates)) == [(2, 5, 3000, 1000), (7, 9, 1500, 500)]
    # Not below it, and upwards.
    assert list(readings.falls([3000, 3000, 2500, 2310, 2310, 2900, 2900])) == []
    assert list(readings.falls(STEADY)) == []


def test_the_excess_of_a_dip_by_hand() -> None:
    rates = [3000.0, 3000.0, 1000.0, 1000.0, 3000.0, 3000.0]
    highest = [10.5, 12.5, 30.0, 39.5, 20.0, 10.5]
    # 12 ms of queue become 36 at a third of the rate.
    (dip,) = readings.dips(rates, highest, 0.5)
    assert (dip.time, dip.before, dip.after, dip.queue, dip.peak) == (pytest.approx(0.2), 3000, 1000, 12.0, 39.5)
    assert dip.excess() == pytest.approx(39.5 - 36.0)
    # With the run's median, a queue that is shorter counts as the median one.
    assert dip.excess(13.0) == pytest.approx(39.5 - 39.0)
    assert list(readings.dips(rates, [None] * 6, 0.5)) == []


def test_a_fifo_drains_as_the_source_tells() -> None:
    published = {
        3850: 15.6,
        3080: 19.5,
        2310: 26.0,
        1925: 31.2,
        1540: 39.0,
        1155: 51.9,
        962: 62.4,
        770: 77.9,
        385: 155.8,
    }
    for rate, large in published.items():
        assert readings.drain_ms(7_500_000, rate) == pytest.approx(large, abs=0.06)
    assert readings.drain_ms(1_875_000, 770) == pytest.approx(19.5, abs=0.06)


# Claims.

OF_A_RUN = (
    "srtt_median", "srtt_max", "srtt_mean_max", "srtt_flow_max", "dip_excess", "dip_excess_median", "dip_usual", "seen_least",
    "seen_most", *(f"{which}_{name}" for which in ("dip", "highest") for name in ("time", "before", "after", "queue", "peak")),
)  # fmt: skip
"""Readings that the reasons use."""


def _cases(**readings_: float) -> dict[str, dict[str, object]]:
    return {case: {"readings": readings_} for case in get("mmwave-aqm").cases}


@pytest.mark.usefixtures("fake")
def test_claims_that_need_the_traces_are_not_judged_without() -> None:
    experiment = get("mmwave-aqm")
    names = [claim.name for claim in (*CLAIMS, *COMPARISON)]
    assert len(names) == len(set(names))
    found = dict.fromkeys(("saturated_apart", "goodput_share", *OF_A_RUN), 1.0)
    without = experiment.verdicts(_cases(**found), {"traces": None})
    unjudged = [verdict for verdict in without if verdict.why]
    assert Counter(verdict.claim.kind for verdict in unjudged) == {"read off": 24 + 8, "derived": 8, "check": 17}
    assert all(verdict.holds is None and "--set traces=" in verdict.why for verdict in unjudged)
    judged = {verdict.claim.name: verdict.holds for verdict in without if verdict.holds is not None}
    assert judged["(c) sb, pie: peak above q_before C_before / C_dip"] is True
    assert judged["(b) sl, pie: median sRTT, 9 to 12 ms"] is False
    given = experiment.verdicts(_cases(**found), {"traces": "there"})
    assert not any(verdict.why for verdict in given)
    held = {verdict.claim.name: verdict.holds for verdict in given}
    assert held["(d) lb, pie: largest sRTT"] is True
    assert held["(d) lb, largefifo: largest sRTT, 130 to 160 ms"] is False
    # What was not met at all does not hold.
    assert held["smallfifo at 385 Mbit/s: saturated RTT, 8L/C"] is False


def test_claims_by_what_they_rest_on() -> None:
    # The large FIFO's and the small FIFO's table of 8L/C has nine rates; the large one's 385 Mbit/s is only shown.
    assert Counter(claim.kind for claim in CLAIMS) == {
        "stated": 3 * 2, "read off": 24 + 2 + 8, "derived": 6 + 1 + 8, "check": 8 + 17,
    }  # fmt: skip
    assert get("mmwave-aqm").fitted


def test_values_of_the_figure_are_judged_within_the_accuracy_of_the_reading() -> None:
    claims = [claim for claim in CLAIMS if claim.name.endswith((": median sRTT", ": largest sRTT")) and claim.absolute]
    assert len(claims) == 24
    for claim in claims:
        assert claim.absolute == (1.3 if "largefifo" in claim.name else 0.4)
    largest = next(claim for claim in claims if claim.name == "sb, pie: largest sRTT")
    for ours, holds in ((32.4, True), (32.5, False), (31.6, True), (31.5, False)):
        assert judge(largest, _cases(srtt_max=ours), {"traces": "there"}).holds is holds


def test_the_values_of_the_figure_that_agree_are_counted_apart() -> None:
    (count,) = [claim for claim in COMPARISON if claim.name.startswith("the figure alone")]
    # The medians of the small FIFO on `lb` and `sb`.
    verdict = judge(count, _cases(srtt_median=5.5, srtt_max=1.0))
    assert (verdict.measured, verdict.holds, count.published) == (2, None, 24)


def test_the_bound_of_a_dip_is_judged_with_the_queue_just_before_it() -> None:
    cases = _cases(dip_excess=3.5, dip_excess_median=1.0)
    verdicts = {
        claim.name: judge(claim, cases) for claim in (*CLAIMS, *COMPARISON) if claim.name.startswith("(c) lb, pie")
    }
    assert [(verdict.measured, verdict.holds) for verdict in verdicts.values()] == [(3.5, False), (1.0, None)]


def test_a_claim_that_does_not_hold_says_why_from_the_runs() -> None:
    cases = _cases(**dict.fromkeys(OF_A_RUN, 1.0))
    dip = {
        "dip_excess": 4.0,
        "dip_time": 9.0,
        "dip_before": 3000.0,
        "dip_after": 1000.0,
        "dip_queue": 5.0,
        "dip_peak": 19.0,
    }
    peak = {
        "srtt_max": 33.0,
        "highest_time": 9.0,
        "highest_before": 3000.0,
        "highest_after": 1000.0,
        "highest_queue": 11.0,
    }
    for seed in SEEDS:
        cases[f"lb-fq_codel, seed {seed}"] = {"readings": dict.fromkeys(OF_A_RUN, 2.0) | dip}
        cases[f"mobb-pie, seed {seed}"] = {"readings": dict.fromkeys(OF_A_RUN, 5.0) | dip | peak | {"srtt_max": 41.0}}
    for seed in FEW_SEEDS:
        seen = {"seen_least": 22.4, "seen_most": 27.9}
        cases[f"lb-fq_codel, a sample every 10ms, seed {seed}"] = {"readings": seen}
    notes = {
        verdict.claim.name: verdict.claim.note for verdict in get("mmwave-aqm").verdicts(cases, {"traces": "there"})
    }
    falls = "In 5 of 5 runs this is at 9.0 s, where the rate falls from 3000 to 1000 Mbit/s: the queue was at 5.0 ms"
    returns, tail = notes[of_dip("lb", "fq_codel")], notes[of_dip("mobb", "pie")]
    assert falls in returns
    assert returns.endswith("the largest distance is 2.0 ms")
    assert falls in tail
    assert tail.endswith("FQ-CoDel drops at the head: its distance is 1.0 ms")
    assert "A queue of 11.0 ms then takes 33 ms" in notes[of_peak("mobb", "pie")]
    largest = notes[of_figure("lb", "fq_codel", "largest")]
    assert "Flow by flow, the largest sRTT of the 5 runs is 2.0 ms" in largest
    assert "samples 120 ms apart have 22.4 to 27.9 ms" in largest
    # Only PIE drops at the tail.
    long = dict.fromkeys(OF_A_RUN, 5.0) | dip
    cases |= {f"sb-{queue}, seed {seed}": {"readings": long} for queue in ("pie", "fq_codel") for seed in SEEDS}
    again = {one.claim.name: one.claim.note for one in get("mmwave-aqm").verdicts(cases, {"traces": "there"})}
    assert "drops at the tail" in again[of_dip("sb", "pie")]
    assert again[of_dip("sb", "fq_codel")].endswith("and the RTT rises to 19.0 ms")
    # A claim that holds has no reason.
    assert "this is at" not in notes[of_dip("sb", "pie")]


def test_samples_that_are_further_apart_see_less_of_a_peak() -> None:
    times = [round(0.01 * place, 2) for place in range(1, 49)]
    srtt = [30.0 if time == 0.2 else 10.0 + time for time in times]
    flows = pl.DataFrame({"time_s": times, "srtt_ms": srtt, "flow": ["iperf"] * len(times)})
    assert readings.seen(flows) == {"seen_least": pytest.approx(10.37), "seen_most": 30.0}


def test_fq_codel_is_compared_with_pie_with_and_without_offload() -> None:
    claims = {claim.name: claim for claim in CLAIMS if claim.kind == "stated"}
    cases = _cases(srtt_median=10.0)
    for case in cases:
        if "sb-fq_codel without offload" in case:
            cases[case] = {"readings": {"srtt_median": 10.1}}
        elif "sb-fq_codel, " in case:
            cases[case] = {"readings": {"srtt_median": 9.9}}
    verdicts = {name: judge(claim, cases) for name, claim in claims.items() if name.startswith("sb")}
    found = {name.partition(":")[0]: (verdict.measured, verdict.holds) for name, verdict in verdicts.items()}
    assert found == {
        "sb, with offload": (pytest.approx(-0.1), True), "sb, without offload": (pytest.approx(0.1), False),
    }  # fmt: skip


def test_the_comparison_with_real_linux_uses_its_set_up() -> None:
    experiment = get("mmwave-aqm")
    runs = experiment.published_runs({"traces": "there", "player": "authors"})
    own = runs["sl-pie as on Linux without offload, seed 43"]
    assert (own["rtt"], own["stop"], own["player"]) == ("600us", "24.9s", "exact")
    assert (own["offload"], own["traces"]) == ("none", "there")
    (claim,) = [claim for claim in CLAIMS if claim.name == "sl, pie without offload: median sRTT on real Linux"]
    assert judge(claim, _cases(srtt_median=11.13), {"traces": "there"}).holds is True
    assert judge(claim, _cases(srtt_median=11.14), {"traces": "there"}).holds is False
    assert judge(claim, _cases(srtt_median=11.0)).holds is None


def test_waits_at_a_level_are_pooled_over_the_scenarios() -> None:
    claim = next(claim for claim in CLAIMS if claim.name.startswith("smallfifo at 770 "))
    assert callable(claim.metric)
    cases = _cases()
    assert claim.metric(cases) is None
    cases["lb-smallfifo, seed 42"] = {"readings": {"wait_sum_770": 40.0, "wait_count_770": 2.0}}
    cases["mobb-smallfifo, seed 44"] = {"readings": {"wait_sum_770": 17.0, "wait_count_770": 1.0}}
    assert claim.metric(cases) == pytest.approx(19.0)


@pytest.mark.usefixtures("fake")
def test_the_published_runs_are_found_with_their_data(monkeypatch: pytest.MonkeyPatch) -> None:
    # There are no traces to read.
    monkeypatch.setattr(language, "normalise", lambda text: text)
    experiment = get("mmwave-aqm")
    generated, given = plan_published(experiment), plan_published(experiment, {"traces": "there"})
    for runs, traces in ((generated, None), (given, "there"), ([*given, *generated[1:]], "there")):
        found = published_runs(experiment, runs)
        assert set(found) == set(experiment.cases)
        assert {run.parameters["traces"] for run in found.values()} == {traces}
        assert len({run.run_id for run in found.values()}) == len(found)
    assert published_runs(experiment, [*given[1:], *generated[1:]]) == {}
    assert published_runs(experiment, plan(ExperimentSource(experiment), {}, experiment.axes(), replications=5)) == {}


@pytest.mark.usefixtures("fake")
def test_reproduce_takes_data_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.command(["reproduce", "mmwave-aqm", "--set", "flows=2"]) == 2
    assert "flows: is fixed to its published value (can be set: traces, player)" in capsys.readouterr().err
    assert cli.command(["reproduce", "deep-buffers", "--traces", "there"]) == 2
    assert "traces: is fixed to its published value (can be set: nothing)" in capsys.readouterr().err
    assert cli.command(["run", "mmwave-aqm", "--traces", "there", "--set", "traces=here"]) == 2
    assert "traces: is given twice" in " ".join(capsys.readouterr().err.split())


# Runs.


@real
def test_readings_of_a_run(tmp_path: Path) -> None:
    experiment = get("mmwave-aqm")
    runs, _ = plan_all(ExperimentSource(experiment), {"stop": "3s", "scenario": "sl", "queue": "largefifo"}, {})
    execute(runs, tmp_path)
    found = experiment.readings(Store(tmp_path).run(runs[0].run_id))
    # The FIFO is all but full; 1448 of 1514 bytes are payload.
    assert 14 < found["srtt_median"] < found["srtt_mean_max"] < found["srtt_max"] < 30
    assert 0.94 < found["goodput_share"] < 1448 / 1514
    assert 0 <= found["saturated_apart"] < 0.08
    other, _ = plan_all(ExperimentSource(experiment), {"stop": "1s", "scenario": "sl", "queue": {"kind": "codel"}}, {})
    execute(other, tmp_path)
    assert "saturated_apart" not in experiment.readings(Store(tmp_path).run(other[0].run_id))


@real
def test_the_start_of_the_flows_is_no_peak_of_the_figure(tmp_path: Path) -> None:
    experiment = get("mmwave-aqm")
    runs, _ = plan_all(ExperimentSource(experiment), {"stop": "4s", "scenario": "sl", "queue": "pie"}, {})
    execute(runs, tmp_path)
    run = Store(tmp_path).run(runs[0].run_id)
    srtt = run.flow_series.to_polars().drop_nulls("srtt_ms").select("time_s", "srtt_ms")
    begun, later = (max(rtt for time, rtt in srtt.iter_rows() if (time > 2) is after) for after in (False, True))
    # Ten flows that start at once fill the queue before PIE has a drop probability.
    assert begun > later
    assert experiment.readings(run)["srtt_max"] == pytest.approx(later)


@real
def test_a_parameter_may_be_called_as_an_argument_of_the_interface() -> None:
    assert bloatlab.run("mmwave-aqm", scenario="lb", stop="200ms").parameters["scenario"] == "lb"
    assert bloatlab.sweep("mmwave-aqm", scenario="lb", stop="200ms", out="there").runs().height == 4


@real
@pytest.mark.parametrize(("kind", "users", "flows"), [("bulk", False, True), ("web", True, False)])
def test_tables_have_only_columns_with_values(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    users: bool,
    flows: bool,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    words = [
        "--set",
        "stop=1500ms",
        "--set",
        "scenario=sl",
        "--set",
        f"traffic={kind}",
        "--sweep",
        "queue=pie,smallfifo",
    ]
    assert cli.command(["run", "mmwave-aqm", *words, "--out", str(tmp_path)]) == 0
    table = " ".join(capsys.readouterr().out.split())
    assert ("page load p50 (ms)" in table, "throughput (Mbit/s)" in table) == (users, flows)
    assert "longest stall" not in table
    page = make_report(tmp_path).read_text()
    assert ("page load p50" in page, "longest stall" in page) == (users, False)


@real
def test_a_narrow_terminal_shows_the_source_s_quantity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ["--set", "stop=500ms", "--set", "scenario=sl", "--sweep", "queue=pie,smallfifo"]
    assert cli.command(["run", "mmwave-aqm", *words, "--out", str(tmp_path)]) == 0
    assert "sRTT (ms)" in capsys.readouterr().out


@real
def test_a_missing_trace_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.command(["run", "mmwave-aqm", "--traces", "nowhere", "--set", "stop=1s"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "nowhere/sl-tput.csv" in line


@real
@measured
def test_the_authors_trace_is_played_with_their_quirks(tmp_path: Path) -> None:
    assert TRACES is not None
    lines = (TRACES / "mobb-tput.csv").read_text().split()
    rates = [float(line.split(",")[0]) for line in lines]
    source = ExperimentSource(get("mmwave-aqm"))
    base = {"traces": str(TRACES), "scenario": "mobb", "queue": "smallfifo", "stop": "10s"}
    played, exact = (plan(source, {**base, **more})[0] for more in ({}, {"player": "exact"}))
    execute([played, exact], tmp_path)
    store = Store(tmp_path)
    # 0.26 s are 0.2 s, so that 10 s hold 50 lines instead of 40; the first second is at the first rate either way.
    series = store.run(played.run_id).link_series.to_polars()["rate_mbps"]
    assert rates[:4] == [2310.0] * 4
    assert series[0] == pytest.approx(2310.0)
    until = [rate for rate in rates[:50] if rate > 0]
    assert (series.min(), series.max()) == (pytest.approx(min(until)), pytest.approx(max(until)))
    slower = store.run(exact.run_id).link_series.to_polars()["rate_mbps"]
    assert series.to_list() != slower.to_list()
    found = get("mmwave-aqm").readings(store.run(played.run_id))
    # 8L/C at 385 Mbit/s is 39 ms, and here it is reached.
    assert 35 < found["srtt_max"] < 42
    assert language.version() == played.engine_version
