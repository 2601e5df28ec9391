"""The survey: its network by mode, its metrics and scores on numbers by hand, its trends at reduced size, its figures."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bloatlab
from bloatlab import cli
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.aqm_survey import cases, claims, margins, ns2, published, reasons, scores, setup, trends
from bloatlab.experiments.aqm_survey.cases import Point
from bloatlab.experiments.aqm_survey.findings import findings, in_ns2, score_text, slides_scores
from bloatlab.experiments.aqm_survey.measures import MEASURES, jain, measure
from bloatlab.store.keep import Keep
from bloatlab.sweeps.document import read_plan
from conftest import REAL

NAME = "aqm-survey"
EXAMPLES = Path(__file__).parents[2] / "examples"
real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def scenario(**given: Any) -> dict[str, Any]:
    experiment = get(NAME)
    return experiment.scenario(experiment.resolve(given))


def queue(**given: Any) -> dict[str, Any]:
    found: dict[str, Any] = scenario(**given)["dumbbell"]["queue"]
    return found


def flow(received: int, sent: int, early: int = 0, full: int = 0) -> dict[str, float]:
    return {"rx_packets": received, "tx_packets": sent, "dropped_aqm": early, "dropped_overflow": full}


METRICS = {
    "link_metrics": {"bottleneck": {"utilization": 0.98, "mean_queue_length": 3.9, "drops": 60, "arrivals": 1200}},
    "flow_metrics": {
        "tcp_1": flow(600, 640, early=20, full=12), "tcp_2": flow(200, 210, early=10), "ccp_1": flow(100, 110, early=3),
        "ccp_2": flow(100, 114, full=15),
    },
}  # fmt: skip


def test_metrics_of_a_run_by_hand() -> None:
    found = measure(METRICS)
    assert list(found) == list(MEASURES)
    assert found["leff"] == pytest.approx(98)
    assert found["tcp_share"] == 80
    assert found["qlen"] == 3.9
    # (600 + 200 + 100 + 100)^2 / (4 (360000 + 40000 + 10000 + 10000)); 800^2 / (2 * 400000).
    assert found["fair"] == pytest.approx(100 * 1e6 / 1.68e6)
    assert found["fair_tcp"] == pytest.approx(80)
    assert found["fair_ccp"] == 100
    assert found["drop"] == 5
    assert found["drop_tcp"] == pytest.approx(100 * 42 / 850)
    assert found["drop_ccp"] == pytest.approx(100 * 18 / 224)


def test_a_class_without_flows_has_no_metrics() -> None:
    alone = {**METRICS, "flow_metrics": {"tcp": flow(10, 12, early=1)}}
    assert set(MEASURES) - set(measure(alone)) == {"fair_ccp", "drop_ccp"}
    nothing = {
        "link_metrics": {"bottleneck": {"utilization": 0.0, "mean_queue_length": 0.0, "drops": 0, "arrivals": 0}},
        "flow_metrics": {"tcp": flow(0, 0), "ccp": flow(0, 0)},
    }
    assert measure(nothing) == {"leff": 0, "qlen": 0}


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=10))
def test_jain_is_from_one_nth_to_one(rates: list[int]) -> None:
    found = jain(rates)
    if found is None:
        assert not any(rates)
    else:
        assert 100 / len(rates) - 1e-9 <= found <= 100 + 1e-9


def test_the_published_places_follow_from_the_published_values() -> None:
    found = scores.scores({name: published.SLIDE_15[name] for name in claims.AQMS})
    assert {name: score.ranks for name, score in found.items()} == dict(published.RANKS)
    assert {name: score.total for name, score in found.items()} == {
        "red": 8,
        "choke": 8,
        "drr": 10,
        "sfq": 5,
        "codel": 7,
    }


def test_queues_without_drops_share_the_first_place() -> None:
    of = {"tcp_share": 60.0, "fair_tcp": 99.0, "fair_ccp": 99.0}
    found = scores.scores(
        {
            "a": {**of, "drop_tcp": 2.0, "drop_ccp": 0.0},
            "b": {**of, "drop_tcp": 1.0, "drop_ccp": 0.0},
            "c": {**of, "drop_tcp": 0.0, "drop_ccp": 3.0},
            "d": {**of, "drop_tcp": 0.0, "drop_ccp": 0.0},
        }
    )
    assert [found[name].ranks[2] for name in "abcd"] == [1, 1, 4, 3]
    assert math.isinf(found["a"].values[2])
    assert {score.ranks[:2] for score in found.values()} == {(1, 1)}


def test_spearman_by_hand() -> None:
    assert trends.spearman([1, 2, 3, 4], [1, 4, 9, 16]) == 1
    assert trends.spearman([1, 2, 3, 4], [9, 7, 7.5, 1]) == pytest.approx(-0.8)
    # Ranks 1.5 1.5 3: 1.5 / sqrt(2 * 1.5).
    assert trends.spearman([1, 2, 3], [5, 5, 6]) == pytest.approx(1.5 / math.sqrt(3))
    assert trends.spearman([1, 2, 3], [5, 5, 5]) == 0


@real
def test_each_queue_has_ns_2_s_parameters_as_published_and_buf_with_equal_limits() -> None:
    assert queue(queue="DropTail", buf=100) == {"kind": "fifo", "limit": "99p"}
    assert queue(queue="DropTail", buf=100, mode="equal-limits") == {"kind": "fifo", "limit": "100p"}
    for mode in ("as-published", "equal-limits"):
        assert queue(queue="RED", buf=100, mode=mode) == {"kind": "red", "limit": "100p", "avpkt": "500B"}
        assert queue(queue="CoDel", buf="200p", mode=mode) == {"kind": "codel", "limit": "200p"}
    drr = {"kind": "drr", "buckets": 9, "quantum": "250B", "classifier": "exact"}
    assert queue(queue="DRR", buf=100) == {**drr, "limit": "25000B"}
    assert queue(queue="DRR", buf=100, mode="equal-limits") == {**drr, "limit": "100p"}
    sfq = {"kind": "sfq", "divisor": 16, "service": "packets", "overflow": "share", "classifier": "exact"}
    assert queue(queue="SFQ", buf=100) == {**sfq, "limit": "40p"}
    assert queue(queue="SFQ", buf=100, mode="equal-limits") == {**sfq, "limit": "100p"}
    choke = queue(queue="CHOKe", cap="2Mbit/s")
    assert (choke["min"], choke["max"], choke["limit"], choke["bandwidth"]) == ("6p", "18p", "400p", "2Mbit/s")


@real
def test_other_queues_hold_buf_unless_they_say_otherwise() -> None:
    assert queue(queue="pie", buf=150) == {"kind": "pie", "limit": "150p"}
    assert queue(queue={"kind": "sfq"}, buf=150) == {"kind": "sfq", "limit": "150p"}
    assert queue(queue={"kind": "red", "limit": "30p"}, buf=150) == {"kind": "red", "limit": "30p"}


@real
def test_ten_flows_of_two_classes() -> None:
    first, second = scenario(wld=3)["flows"]
    assert (first["name"], first["count"], first["cca"]) == ("tcp", 3, setup.OWN_CCPS["reno"])
    assert (second["name"], second["count"], second["cca"]) == ("ccp", 7, setup.LEDBAT)
    assert [one["name"] for one in scenario(wld=10)["flows"]] == ["tcp"]
    assert scenario(ccp={"kind": "ledbat"})["flows"][1]["cca"] == {"kind": "ledbat"}
    assert scenario(ccp={"kind": "reno"})["flows"][1]["cca"] == setup.OWN_CCPS["reno"]
    assert scenario(ccp="TCP-NICE")["flows"][1]["cca"] == "nice"
    fair = scenario(wld=5, delays="fair")["flows"]
    assert [one["rtt"] for one in fair] == ["44ms", "48ms", "52ms", "56ms", "60ms"] * 2
    assert [one["name"] for one in fair] == [f"tcp_{n}" for n in range(1, 6)] + [f"ccp_{n}" for n in range(6, 11)]
    assert scenario()["dumbbell"]["rtt"] == "52ms"
    assert [one.get("start") for one in scenario()["flows"]] == [None, "5s"]
    assert {one["start_jitter"] for one in scenario(start_jitter="0s")["flows"]} == {"0s"}


@real
@pytest.mark.parametrize("ccp", ["reno", {"kind": "reno"}])
def test_flows_are_alike_if_all_are_reno(ccp: Any) -> None:
    tcp, low = scenario(ccp=ccp)["flows"]
    assert low["start"] == "0s"
    assert {name: low[name] for name in ("start_jitter", "tcp")} == {
        name: tcp[name] for name in ("start_jitter", "tcp")
    }
    assert scenario(ccp=ccp, ccp_start="2s")["flows"][1]["start"] == "2s"
    shares = [
        bloatlab.run(NAME, seed=seed, ccp=ccp, queue="SFQ").experiment_metrics["tcp_share"] for seed in range(1, 4)
    ]
    assert sum(shares) / 3 == pytest.approx(50, abs=1)


@real
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"queue": "droptale"}, "queue"),
        ({"ccp": "ledbatt"}, "ledbat"),
        ({"wld": 11}, "wld: `11` is not a whole number from 0 to 10"),
        ({"buf": 1}, "buf: `1` is not a whole number from 2 to 100000"),
        ({"cap": "4"}, "cap: no unit"),
        ({"cap": "0Mbit/s"}, "cap: `0Mbit/s` is not a rate of at least 1bit/s"),
        ({"mode": "equal"}, "equal-limits"),
        ({"delays": "fixed"}, "fix, fair"),
        ({"capp": "4Mbit/s"}, "did you mean `cap`"),
    ],
)
def test_bad_input_is_refused_in_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=r"^[^\n]*$") as error:
        get(NAME).resolve(given)
    assert said in str(error.value)


@real
def test_low_priority_flows_join_before_the_end() -> None:
    with pytest.raises(ParameterError, match=r"^ccp_start: 5s is not before the end of the run \(time: 5s\)$"):
        scenario(time="5s")
    assert scenario(time="5s", wld=10)["duration"] == "5s"


@real
def test_a_point_is_the_same_however_it_is_written() -> None:
    experiment = get(NAME)
    assert experiment.resolve(
        {"cap": "4000kbit/s", "buf": "400p", "queue": "codel", "ccp": "TCP-LP"}
    ) == experiment.resolve({"cap": "4Mbit/s", "buf": 400, "queue": "CoDel", "ccp": "lp"})


@real
def test_the_grid_has_57_600_runs_and_the_slides_theirs() -> None:
    grid = read_plan(EXAMPLES / "aqm-survey-grid.toml")
    assert math.prod(len(values) for values in grid.axes.values()) * grid.replications == 57_600
    # SFQ ignores BUF and all-Reno the other class: their points are runs of their own all the same.
    part = grid.model_copy(update={"axes": {**grid.axes, "cap": ["4Mbit/s"]}, "replications": 1})
    assert len(part.runs()) == 720
    assert {run.keep for run in part.runs()} == {Keep.MEASURES}
    slides = read_plan(EXAMPLES / "aqm-survey-slides.toml").runs()
    assert len(slides) == 3600
    given = {json.dumps(run.parameters, sort_keys=True) for run in slides}
    # Without the grid of slides 7 and 8, and the runs that show causes.
    points = [
        point for point in cases.POINTS
        if point == Point(point.queue, point.ccp, point.cap, point.buf, point.wld) and point.queue in setup.QUEUES
        and point.ccp in setup.CCPS and 4.0 in (setup.mbps(point.cap), point.buf / 100)
    ]  # fmt: skip
    assert given == {json.dumps(get(NAME).resolve(point.parameters), sort_keys=True) for point in points}


@real
def test_seeds_matter_and_repeat() -> None:
    runs = [
        bloatlab.run(NAME, seed=seed, queue="RED", time="5s", ccp_start="1s").experiment_metrics for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]
    assert list(runs[0]) == list(MEASURES)


@real
def test_slow_start_overshoots_as_in_ns_2() -> None:
    for point in cases.along(cases.OVERSHOOT, "cap")[2:]:
        found, there = bloatlab.run(NAME, **point.parameters).experiment_metrics, ns2.metrics(point)
        assert found["drop"] == pytest.approx(there["drop"], rel=0.1), point.cap
        assert found["qlen"] == pytest.approx(there["qlen"], rel=0.15), point.cap


def invented(point: Point, replication: int) -> dict[str, float]:
    """Metrics that depend on the point, and slightly on the replication."""
    managed = point.queue not in ("fifo",)
    long = 10.0 if managed and point.mode == setup.PUBLISHED else 0.75 * point.buf
    return {
        "leff": 99.0, "tcp_share": 58.0 if managed else 98.0, "qlen": long + 0.01 * replication, "fair": 95.0,
        "fair_tcp": 99.5, "fair_ccp": 99.5, "drop": 20 / setup.mbps(point.cap), "drop_tcp": 5.0, "drop_ccp": 4.0,
    }  # fmt: skip


def invented_runs() -> dict[str, dict[str, Any]]:
    """The invented metrics of every run."""
    return {
        point.case(replication): {"experiment_metrics": invented(point, replication)}
        for point in cases.POINTS
        for replication in range(point.replications)
    }


@pytest.fixture(scope="module")
def invented_cases() -> dict[str, dict[str, Any]]:
    return invented_runs()


def test_claims_read_the_points_they_name(invented_cases: dict[str, dict[str, Any]]) -> None:
    verdicts = {verdict.claim.name: verdict for verdict in get(NAME).verdicts(invented_cases)}
    assert all(verdict.measured is not None for verdict in verdicts.values())
    assert verdicts["RED: TCP%"].measured == pytest.approx(58)
    assert verdicts["RED: TCP%"].holds
    assert verdicts["CoDel: QLEN"].holds is False
    assert verdicts["DropTail, LEDBAT, 4 Mbit/s: QLEN grows with BUF (Spearman)"].measured == 1
    assert verdicts["DropTail, all Reno, BUF 100: DROP falls with CAP (Spearman)"].measured == -1
    assert verdicts["SFQ, TCP-NICE: DROP falls with CAP (Spearman)"].measured == -1
    assert verdicts["SFQ: F_CCP within a class"].holds
    assert verdicts["DRR: rank by TCP%"].measured == 1
    assert verdicts["DRR: score"].measured == 3
    assert verdicts["SFQ: QLEN with BUF 400 over that with BUF 100"].claim.kind == "check"
    # All AQMs have the same score here, so that none wins alone.
    assert verdicts[claims.WINNER].holds is False
    again = verdicts["CoDel: QLEN (ns-2 run again)"]
    assert (again.claim.published, again.claim.kind, again.holds) == (
        ns2.metrics(Point("codel"))["qlen"], "re-run", False,
    )  # fmt: skip
    # A queue that is always busy has a LEFF of nearly 100 %.
    assert {verdicts[f"{called}: LEFF"].claim.kind for called in ("DropTail", "DRR", "SFQ")} == {"check"}


def test_a_reason_stands_only_beside_a_claim_that_fails(invented_cases: dict[str, dict[str, Any]]) -> None:
    verdicts = get(NAME).verdicts(invented_cases)
    for verdict in verdicts:
        name = verdict.claim.name
        expected = verdict.holds is False and name in reasons.REASONS
        assert bool(verdict.claim.note) == (expected or name in reasons.REMARKS or name in claims.FITTED), name
    notes = {verdict.claim.name: verdict.claim.note for verdict in verdicts}
    assert notes["RED: TCP%"] == "the set-up or the rule for ranks was fitted to this table"
    assert "58.00 with a standard error of 0.00 over 100 runs" in notes["CoDel: TCP%, 52 to 64"]
    assert notes["SFQ: score"].startswith("follows from rank 1 instead of 3 by TCP%")


def test_margins_by_hand() -> None:
    """SFQ is ahead of RED by 1 and 2 points in turn, and of the others by nothing."""
    found = {}
    for queue in claims.AQMS:
        point = Point(queue)
        for run in range(point.replications):
            behind = (1 + run % 2 if queue == "red" else 0) if queue != "drr" else 20
            found[point.case(run)] = {
                "experiment_metrics": {
                    "tcp_share": 60.0, "fair_tcp": 99.0 - behind, "fair_ccp": 99.0, "drop_tcp": 2.0, "drop_ccp": 1.0,
                }
            }  # fmt: skip
    red, choke, _ = margins.margins(found)
    assert (red.points, choke.points, choke.error) == (1.5, 0, 0)
    # The deviation of half ones and half twos, over 100 runs.
    assert red.error == pytest.approx(math.sqrt(25 / 99) / 10)
    assert margins.winners(found) == [frozenset({"choke", "sfq", "codel"})] * 10
    assert "in 10 blocks of 10 runs it wins alone in 0 and shares the first place in 10" in margins.told(found)


def test_every_slide_has_its_trends_and_every_reason_its_claim() -> None:
    slides = {slide for trend in trends.trends() for slide in trend.slides.split(" to ")}
    assert slides >= {"7", "8", "9", "10", "13", "16", "17", "18", "19", "20"}
    sources = " ".join(claim.source for claim in claims.CLAIMS)
    assert "slide 14" in sources
    assert "slide 15" in sources
    assert set(reasons.REASONS) | set(reasons.REMARKS) | claims.FITTED <= {claim.name for claim in claims.CLAIMS}
    # The slides round to a hundredth, so that equal values have no order.
    assert not any(
        trend.holds(0.0) for trend in trends.trends() if trend.unit == "points" or trend.says.endswith("(Spearman)")
    )


def test_opposite_correlations_by_hand() -> None:
    falls, rises = trends.over(Point("sfq"), "buf", "qlen"), trends.over(Point("codel"), "buf", "qlen")
    slope = {"sfq": -1, "codel": 1}
    invented = lambda point: {"qlen": float(slope[point.queue] * point.buf)}  # noqa: E731
    assert trends.opposite(rises, falls)(invented) == -1
    assert trends.opposite(rises, rises)(invented) == 1


def test_the_runs_of_ns_2_are_those_of_the_slides_set_up() -> None:
    """Where neither flows nor buckets are chosen, ns-2 has slide 15's values within the tolerances for ours."""
    for queue, name, tolerance in [
        ("red", "qlen", 0.4),
        ("choke", "drop", 1.5),
        ("sfq", "tcp_share", 10),
        ("codel", "drop", 1.5),
    ]:
        assert ns2.metrics(Point(queue))[name] == pytest.approx(published.SLIDE_15[queue][name], abs=tolerance), queue
    assert "fair_ccp" not in ns2.metrics(Point("red", wld=10))
    with pytest.raises(KeyError):
        ns2.metrics(Point("red", "nice"))


def test_the_runs_of_ns_2_say_how_sure_they_are() -> None:
    base = ns2.row(Point("codel"))
    assert base.runs == 100
    assert 0 < base.errors["tcp_share"] < 0.5
    # ns-2 prints which flows share a queue.
    assert ns2.row(Point("drr")).shared == "15+16"
    assert ns2.row(cases.EXACT).shared == ""
    with pytest.raises(KeyError):
        ns2.row(Point("fifo", time=cases.LONG))


def test_ns_2_runs_with_rules_of_linux_and_other_layouts() -> None:
    """Linux's timeout and its window during recovery bring ns-2 near our values of DropTail."""
    base = Point("fifo")
    shares = [ns2.metrics(base, tcp)["fair_tcp"] for tcp in (ns2.SHIPPED, ns2.LINUX_TIMEOUT, ns2.LINUX_RECOVERY)]
    assert shares[0] < 80 < 90 < min(shares[1:])
    assert ns2.metrics(base, ns2.LINUX_RECOVERY)["drop_ccp"] > 1 > ns2.metrics(base)["drop_ccp"]
    assert ns2.row(cases.TWO_PAIRS).shared.count("+") == 2
    tried = ns2.tried_for_drr()
    assert len(tried) > 16
    assert ns2.metrics(Point("drr"))["drop_ccp"] in tried
    assert max(tried) < published.SLIDE_15["drr"]["drop_ccp"]


def test_a_row_of_a_slide_by_hand() -> None:
    """Of 100 packets of each class, 20 of the first and as many or none of the second are dropped."""
    assert published.drop_of_rest({"tcp_share": 50, "drop_tcp": 20, "drop": 20}) == pytest.approx(20)
    row = {"tcp_share": 100 * 80 / 180, "drop_tcp": 20, "drop": 10}
    assert published.drop_of_rest(row) == pytest.approx(0)
    # Rows of the other queues agree with themselves, but for rounding.
    for queue in ("red", "choke", "sfq", "codel"):
        row = published.SLIDE_15[queue]
        assert published.drop_of_rest(row) == pytest.approx(row["drop_ccp"], abs=0.15), queue
    assert published.drop_of_rest(published.SLIDE_15["drr"]) < published.SLIDE_15["drr"]["drop_ccp"] - 1


def test_findings_compare_the_modes(invented_cases: dict[str, dict[str, Any]]) -> None:
    counts, others, score, ratios, buffers, collisions, starts, ratio = findings(invented_cases)
    number = {row[0]: int(row[1]) for row in counts.rows}
    assert sum(number.values()) == len(claims.CLAIMS)
    assert number["stated, the set-up or the rule for ranks fitted to it"] == len(claims.FITTED)
    [slide_9, *_] = [row for row in others.rows if row[1] == "DropTail, LEDBAT: FAIR falls with CAP (Spearman)"]
    again = in_ns2(next(trend for trend in trends.trends() if trend.says == slide_9[1]))
    assert slide_9 == ("9", slide_9[1], "at most -0.643", f"{again:.3g}, does not hold", "0, does not hold")
    assert "Best here: RED and CHOKe and DRR and SFQ and CoDel with 3." in score.ours
    assert [row[1] for row in score.rows] == [score_text(of) for of in slides_scores().values()]
    assert [row[2] for row in ratios.rows] == [
        "1.88 (13.97 / 7.42)",
        "2.22 (7.63 / 3.44)",
        "424 (5.14 / 0.01)",
        "1.29",
        "85.5",
    ]
    lengths = {row[0]: row[1:5] for row in buffers.rows}
    assert lengths["SFQ, as published"] == ("10.0", "10.0", "10.0", "10.5")
    assert lengths["DRR, equal limits"] == ("75.0", "150.0", "225.0", "300.0")
    assert [row[0] for row in collisions.rows[:2]] == ["slides", "ns-2 run again, earlier notes"]
    assert collisions.rows[7][1:] == ("58.0 (58.0 to 58.0)", "95.0 (95.0 to 95.0)", *("99.5 (99.5 to 99.5)",) * 2)
    changed = [f"ns-2 2.35 with Linux's timeout{more}" for more in ("", ", recovery at ssthresh")]
    assert [row[0].partition(":")[0] for row in starts.rows] == [
        "slides", "ns-2 2.35", *changed, "here", *("ns-2 2.35", "here") * 3,
    ]  # fmt: skip
    assert ratio.rows[0] == ("slides", "5.14", "0.0100", "424")
    assert "ratio of the means is 1.25" in ratio.ours


@real
def test_published_runs_are_planned_once_and_found_again() -> None:
    from bloatlab.analysis.claims import plan_published, published_runs

    experiment = get(NAME)
    runs = plan_published(experiment)
    assert len(runs) == len(cases.RUNS) == len(experiment.cases)
    assert set(published_runs(experiment, runs)) == set(cases.RUNS)
    assert published_runs(experiment, runs[1:]) == {}


def test_the_answer_leaves_out_runs_of_reno_alone() -> None:
    from test_answers import made

    runs = [
        ({"queue": "fifo", "ccp": ccp}, {"experiment_metrics": {"qlen": 300.0, "fair": 50.0, "tcp_share": share}})
        for ccp, share in (("ledbat", 98.0), ("lp", 94.0), ("reno", 50.0))
    ]
    answer = " ".join(get(NAME).answer(made(*runs)))
    assert "from 94 % with lp to 98 % with ledbat" in answer
    assert "reno" not in answer


def test_the_answer_leaves_out_queues_that_show_causes() -> None:
    from test_answers import made

    exact = cases.EXACT.parameters["queue"]
    runs = [
        ({"queue": queue, "ccp": "ledbat"}, {"experiment_metrics": {"qlen": 20.0, "fair": fair, "tcp_share": 55.0}})
        for queue, fair in (("drr", 95.0), ("sfq", 99.5), (exact, 99.9))
    ]
    answer = " ".join(get(NAME).answer(made(*runs)))
    assert "classifier" not in answer
    # Alone, or as the queue of a reader, a table is a queue like any other.
    assert "sfq" in " ".join(
        get(NAME).answer(made(*runs[1:2], ({"queue": {"kind": "sfq"}, "ccp": "ledbat"}, runs[0][1])))
    )


@real
def test_the_command_line_refuses_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.command(["run", NAME, "--set", "wld=12"]) == 2
    said = capsys.readouterr().err
    assert "wld" in said
    assert "Traceback" not in said
