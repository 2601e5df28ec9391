"""The arithmetic of a ranking, on tables small enough to check by hand."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from bloatlab.cli.ranking import print_ranking, weights_of
from bloatlab.errors import ParameterError
from bloatlab.experiments import CATALOGUE, criteria
from bloatlab.experiments.caveats import alike_of, caveats_of
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.ranking import Observation, Ranking, describe, observe, places, rank
from bloatlab.experiments.ranking_text import first, front
from bloatlab.experiments.suite import Suite, overall
from bloatlab.experiments.weighing import EQUAL, Weights
from bloatlab.report.ranked_verdict import of_ranking
from bloatlab.report.ranked_view import front_table

pytestmark = pytest.mark.usefixtures("fake")


def criterion(name: str, group: str, better: str = "lower") -> Criterion:
    return Criterion(name, name, "ms", better, group, "f", lambda metrics: metrics.get(name))  # type: ignore[arg-type]


def test_equals_share_the_mean_of_their_places() -> None:
    assert places([3.0, 1.0, 2.0], "lower") == [3.0, 1.0, 2.0]
    assert places([3.0, 1.0, 2.0], "higher") == [1.0, 3.0, 2.0]
    # Two firsts share places 1 and 2; the three digits of 10.04 and 10.0 agree.
    assert places([10.04, 10.0, 11.0, 10.5], "lower") == [1.5, 1.5, 4.0, 3.0]
    assert places([0.0, 0.0, 0.0], "higher") == [2.0, 2.0, 2.0]


def test_without_a_value_is_last() -> None:
    assert places([None, 5.0, None, 7.0], "lower") == [3.5, 1.0, 3.5, 2.0]
    assert places([None, 5.0, None, 7.0], "higher") == [3.5, 2.0, 3.5, 1.0]


#                  delay   tail    goodput
TABLE = {
    "a": {"delay": 1.0, "tail": 9.0, "goodput": 5.0},
    "b": {"delay": 2.0, "tail": 8.0, "goodput": 9.0},
    "c": {"delay": 3.0, "tail": 7.0, "goodput": 9.0},
}
CRITERIA = (criterion("delay", "delay"), criterion("tail", "delay"), criterion("goodput", "throughput", "higher"))


def test_the_score_is_the_mean_of_the_groups() -> None:
    ranking = rank(CRITERIA, [Observation(name, "", values) for name, values in TABLE.items()])
    # Ranks: a 1 3 3, b 2 2 1.5, c 3 1 1.5; groups: a 2 and 3, b 2 and 1.5, c 2 and 1.5.
    assert {row.name: row.score for row in ranking.contenders} == {"a": 2.5, "b": 1.75, "c": 1.75}
    assert [(row.position, row.name) for row in ranking.contenders] == [(1, "b"), (2, "c"), (3, "a")]
    first = ranking.contenders[0]
    assert first.ranks == {"delay": 2.0, "tail": 2.0, "goodput": 1.5}
    assert first.groups == {"delay": 2.0, "throughput": 1.5}


def test_replications_are_averaged_before_points_are_ranked() -> None:
    one = (criterion("delay", "delay"),)
    observations = [
        # At the first point the means are a 2 and b 3, though b has the best single run.
        Observation("a", "x=1", {"delay": 2.0}),
        Observation("a", "x=1", {"delay": 2.0}),
        Observation("b", "x=1", {"delay": 1.0}),
        Observation("b", "x=1", {"delay": 5.0}),
        Observation("a", "x=2", {"delay": 50.0}),
        Observation("b", "x=2", {"delay": 40.0}),
    ]
    ranking = rank(one, observations)
    assert ranking.points == 2
    rows = {row.name: row for row in ranking.contenders}
    assert rows["a"].ranks == {"delay": 1.5}
    assert rows["b"].ranks == {"delay": 1.5}
    assert rows["a"].values["delay"] == pytest.approx(18.0)
    assert (rows["b"].low["delay"], rows["b"].high["delay"]) == (1.0, 40.0)


def test_a_criterion_that_nobody_has_is_left_out() -> None:
    observations = [Observation(name, "", {**values, "tail": None}) for name, values in TABLE.items()]
    ranking = rank(CRITERIA, observations)
    assert [criterion.name for criterion in ranking.criteria] == ["delay", "goodput"]


def test_a_point_at_which_nobody_has_a_value_counts_for_nobody() -> None:
    one = (criterion("delay", "delay"),)
    observations = [
        Observation("a", "x=1", {"delay": None}),
        Observation("b", "x=1", {"delay": None}),
        Observation("a", "x=2", {"delay": 1.0}),
        Observation("b", "x=2", {"delay": 2.0}),
    ]
    assert {row.name: row.ranks["delay"] for row in rank(one, observations).contenders} == {"a": 1.0, "b": 2.0}


def parameters(queue: Any, **rest: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"queue": queue, "ecn": "off", **rest}, {"delay": 1.0}


def test_contenders_are_named_by_what_varies() -> None:
    runs = [
        parameters("codel", rate="1Mbit/s", qlen="9p"),
        parameters({"kind": "pie", "target": "5ms"}, rate="2Mbit/s", qlen="18p"),
    ]
    observed = observe(CRITERIA[:1], ("queue", "ecn"), runs, derived=["qlen"])
    assert [one.contender for one in observed] == ["codel", "pie (target=5ms)"]
    # The limit follows the rate, so it does not distinguish points.
    assert [one.point for one in observed] == ["rate=1Mbit/s", "rate=2Mbit/s"]


def test_marking_makes_another_contender_where_it_is_compared() -> None:
    runs = [parameters("codel"), parameters("pie"), ({**parameters("codel")[0], "ecn": "on"}, {"delay": 1.0})]
    observed = observe(CRITERIA[:1], ("queue", "ecn"), runs)
    assert [one.contender for one in observed] == ["codel, ecn=off", "pie, ecn=off", "codel, ecn=on"]
    assert [one.point for one in observed] == ["", "", ""]
    # One queue alone, with and without: the marking is its name.
    assert [one.contender for one in observe(CRITERIA[:1], ("queue", "ecn"), runs[::2])] == ["ecn=off", "ecn=on"]


def test_a_derived_parameter_that_varies_by_itself_is_a_point() -> None:
    runs = [parameters("codel", qlen="9p"), parameters("pie", qlen="18p")]
    runs += [parameters("codel", qlen="18p"), parameters("pie", qlen="9p")]
    assert {one.point for one in observe(CRITERIA[:1], ("queue",), runs, derived=["qlen"])} == {"qlen=9p", "qlen=18p"}


def test_the_form_of_json() -> None:
    described = describe(rank(CRITERIA, [Observation(name, "", values) for name, values in TABLE.items()]))
    assert set(described) == {"meaning", "points", "weights", "caveats", "pareto", "criteria", "contenders"}
    assert described["weights"] == {"delay": 1.0, "throughput": 1.0}
    # No percentile of a delay is among the criteria.
    assert described["pareto"] is None
    assert described["contenders"][0]["name"] == "b"
    assert described["contenders"][0]["values"]["goodput"] == 9.0
    assert described["criteria"][2]["better"] == "higher"


METRICS = {
    "flow_metrics": {
        "bulk_1": {"mean_throughput_l7": 3.0, "p95_sojourn_l4": 10.0},
        "bulk_2": {"mean_throughput_l7": 1.0, "p95_sojourn_l4": 20.0},
        "bulky": {"mean_throughput_l7": 100.0},
        "voip": {"loss_rate_l4": 0.25},
    },
    "link_metrics": {"bottleneck": {"loss_rate": 0.5, "loss_events": 0.0}},
    "probe_metrics": {"web_1": {"p95_rtt": 7.0}, "web_2": {"p95_rtt": 9.0}},
    "network_metrics": {},
}


def test_criteria_read_the_flows_of_their_name() -> None:
    assert criteria.goodput().read(METRICS) == 4.0
    assert criteria.delay()[1].read(METRICS) == 15.0
    # (3 + 1)^2 / (2 (9 + 1)).
    assert criteria.fairness().read(METRICS) == pytest.approx(0.8)
    assert criteria.voip()[-1].read(METRICS) == 0.25
    assert criteria.web()[1].read(METRICS) == 8.0
    assert criteria.loss().read(METRICS) == 0.5
    assert criteria.ping()[0].read(METRICS) is None


def test_without_losses_nothing_is_lost_together() -> None:
    assert criteria.synchronization().read(METRICS) == 0.0
    some = {"link_metrics": {"bottleneck": {"loss_events": 2.0, "loss_synchronization": 0.4}}}
    assert criteria.synchronization().read(some) == 0.4


def delays(name: str = "bulk_delay_p95") -> tuple[Criterion, ...]:
    return (
        criterion(name, "bulk delay"),
        criterion("ping", "sparse flows"),
        criterion("bulk_goodput", "throughput", "higher"),
        criterion("fairness", "fairness", "higher"),
    )


#                          delay  ping  goodput  fairness
PLANE = {
    "long": (146.0, 20.0, 17.1, 1.0),
    "short": (10.0, 30.0, 16.0, 0.9),
    "middle": (30.0, 40.0, 17.6, 0.5),
    "worse": (30.0, 50.0, 17.6, 0.4),
    "slow": (31.0, 60.0, 9.0, 0.3),
}


def of_plane(names: Sequence[str] = tuple(PLANE), weights: Weights = EQUAL) -> Ranking:
    of = delays()
    observed = [Observation(name, "", dict(zip([one.name for one in of], PLANE[name], strict=True))) for name in names]
    return rank(of, observed, weights=weights)


def test_what_others_beat_in_delay_and_throughput_is_never_first() -> None:
    ranking = of_plane()
    # By mean ranks `long` would be first: 5, 1, 3, 1 against 1, 2, 4, 2 and 2.5, 3, 1.5, 3.
    assert {row.name: row.score for row in ranking.contenders}["short"] == 2.25
    assert {row.name: row.score for row in ranking.contenders}["long"] == 2.5
    assert ranking.beaten["long"] == ("middle", "worse")
    assert [row.name for row in ranking.front] == ["short", "middle", "worse"]
    weighed = of_plane(weights=Weights({"sparse-flows": 5.0}))
    assert min(weighed.contenders, key=lambda row: row.score).name == "long"
    assert [row.name for row in weighed.contenders][:2] == ["short", "long"]
    assert [row.name for row in weighed.outscored] == ["long"]
    assert "long (1.75) has a better mean rank, but others beat it in both" in first(weighed)


def test_equal_values_do_not_beat_each_other_and_equal_scores_keep_the_order_of_the_runs() -> None:
    same = Observation("b", "", {"bulk_delay_p95": 1.0, "bulk_goodput": 2.0, "ping": 1.0, "fairness": 1.0})
    ranking = rank(delays(), [same, Observation("a", "", same.values)])
    assert not ranking.beaten
    assert [row.name for row in ranking.contenders] == ["b", "a"]


def test_a_contender_without_a_delay_is_beaten_by_any_that_has_one() -> None:
    values = {"bulk_goodput": 2.0, "ping": 1.0, "fairness": 1.0}
    observed = [Observation("none", "", {**values, "bulk_delay_p95": None})]
    observed += [Observation("some", "", {**values, "bulk_delay_p95": 9.0})]
    assert rank(delays(), observed).beaten == {"none": ("some",)}


def test_weights() -> None:
    weights = Weights.read({"delay": "2", "fairness": "0"})
    weights.check(["bulk delay", "fairness"])
    assert [weights.of(group) for group in ("bulk delay", "fairness", "loss")] == [2.0, 0.0, 1.0]
    # (2 x 5 + 1 + 3) / 4 for `long`: fairness does not count.
    assert {row.name: row.score for row in of_plane(weights=weights).contenders}["long"] == 3.5
    assert Weights.read({"delay": "2", "bulk-delay": "3"}).of("bulk delay") == 3.0
    text = first(of_plane(weights=weights))
    assert "by bulk delay (weight 2), sparse flows (weight 1) and throughput (weight 1), without fairness" in text
    assert "by bulk delay, sparse flows, throughput and fairness, equally weighted" in first(of_plane())


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["delay=-1"], "--weigh delay: must be a number of at least 0, such as 2, not `-1`"),
        (["delay=nan"], "--weigh delay: must be a number of at least 0"),
        (["delay=much"], "not `much`"),
        (["delay"], "--weigh delay: must be key=value"),
        (["delay=1", "delay=2"], "--weigh delay: is given twice"),
        (["speed=2"], "--weigh speed: is no group of criteria of the ranking (allowed: bulk-delay, sparse-flows"),
        (["bulk=2", "delay=3"], "--weigh bulk and delay: both name the group `bulk-delay`, with different weights"),
        ([f"{group}=0" for group in ("bulk-delay", "sparse-flows", "throughput", "fairness", "loss")],
         "--weigh every group of criteria has weight 0"),
    ],
)  # fmt: skip
def test_weights_that_are_none(given: list[str], why: str) -> None:
    with pytest.raises(ParameterError) as caught:
        weights_of(given, {"aqm-comparison": CATALOGUE["aqm-comparison"]})
    assert why in str(caught.value)


def test_only_a_ranking_has_weights() -> None:
    with pytest.raises(ParameterError, match="--weigh: deep-buffers has no ranking to weigh"):
        weights_of(["delay=2"], {"deep-buffers": CATALOGUE["deep-buffers"]})
    assert weights_of([], {"deep-buffers": CATALOGUE["deep-buffers"]}) == EQUAL
    # A suite has the groups of its members.
    assert weights_of(["power=3"], {"cc-benchmark": CATALOGUE["cc-benchmark"]}).of("power") == 3.0


def printed(ranking: Ranking, width: int, *, everything: bool = False) -> str:
    out = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    print_ranking(out, "aqm-comparison", ranking, 5, everything=everything)
    return out.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(name for name, of in CATALOGUE.items() if of.criteria))
@pytest.mark.parametrize("everything", [False, True])
def test_the_tables_fit_80_columns(name: str, *, everything: bool) -> None:
    experiment = CATALOGUE[name]
    names = ("rlc_codel_2022", "fq_codel, ecn=off", *(f"other_{place}" for place in range(20)))
    observed = [
        Observation(kind, "", {one.name: 1234.5 + place for one in experiment.criteria})
        for place, kind in enumerate(names)
    ]
    ranking = rank(experiment.criteria, observed, experiment.subject)
    text = printed(ranking, 80, everything=everything)
    assert max(map(len, text.splitlines())) <= 80
    # No column is cut off: each table ends with the score.
    rows = [line for line in text.splitlines() if " other_7 " in line]
    (seventh,) = [f"{row.score:.2f}" for row in ranking.contenders if row.name == "other_7"]
    assert rows
    assert all(line.endswith(f" {seventh}") for line in rows)
    words = " ".join(text.split())
    for criterion in experiment.criteria if everything else ():
        # Headings are broken at their spaces.
        assert all(word in text for word in criterion.title.split()), criterion.title
    assert ("more criteria" in words) == (not everything)
    assert "rlc_codel_2022" in words


def test_the_front_comes_before_the_scores_and_caveats_stand_with_them() -> None:
    words = " ".join(printed(of_plane(), 80).split())
    assert words.index("short (10 ms, 16 ms), middle (30 ms, 17.60 ms)") < words.index("score")
    assert "no other contender beats short" in words
    assert "in both bulk_delay_p95 and bulk_goodput." in words
    assert "`--weigh GROUP=WEIGHT` changes the weights" in words
    equal = dict.fromkeys((of.name for of in delays()), 1.0)
    controls = rank(delays(), [Observation(name, "", equal) for name in ("vegas", "bbr")], "congestion control")
    left = (
        "Beside flows that fill the queue, such as those of cubic, flows of vegas get only a small share of the link."
    )
    assert left in " ".join(printed(controls, 80).split())
    # Without a front the table is the first.
    assert not printed(controls, 80).startswith("\n")
    assert caveats_of("queue", ["pie", "fq, ecn=off", "cake"])[0].startswith("fq and cake give each flow its own queue")
    assert caveats_of("queue", ["pie", "codel"]) == ()
    assert "vegas and bbr have the same values in every criterion." in " ".join(printed(controls, 80).split())
    assert alike_of({"a": [1.0], "b": [2.0], "c": [1.0], "d": [None], "e": [2.0], "f": [None]}) == (
        "a and c have the same values in every criterion; so have b and e.",
    )


def test_a_long_front_is_named_without_its_values() -> None:
    goals = [of for of in delays() if of.name in ("bulk_delay_p95", "bulk_goodput")]
    observed = [
        Observation(f"queue_{place}", "", {"bulk_delay_p95": place + 1.0, "bulk_goodput": place + 1.0})
        for place in range(6)
    ]
    said = front(rank(goals, observed, "queue"), str)
    assert "beats these 6 of 6 in both" in said
    assert said.endswith(": queue_0, queue_1, queue_2, queue_3, queue_4 and queue_5, by rising delay.")


def test_a_suite_crowns_none_that_the_same_other_beats_everywhere() -> None:
    suite = CATALOGUE["cc-benchmark"]
    assert isinstance(suite, Suite)
    names = [member.name for member in suite.members][:2]
    whole = overall(suite, dict.fromkeys(names, of_plane(weights=Weights({"sparse-flows": 5.0, "fairness": 5.0}))))
    assert whole is not None
    assert whole.beaten["long"] == ("middle", "worse")
    assert whole.contenders[0].name == "short"
    said = first(whole)
    assert "by the scores in 2 experiments, equally weighted; each experiment ranks by bulk delay (weight 1)" in said
    assert "sparse flows (weight 5)" in said
    assert "beat it in both delay and throughput in every experiment" in said
    # Beaten by others in one experiment only.
    apart = overall(suite, {names[0]: of_plane(), names[1]: of_plane(["long", "slow"])})
    assert apart is not None
    assert "long" not in apart.beaten


def test_a_parameter_without_a_value_is_called_default() -> None:
    runs = [parameters(None), parameters("pie")]
    assert [one.contender for one in observe(CRITERIA[:1], ("queue",), runs)] == ["default", "pie"]


def test_the_page_has_the_front_the_weights_and_the_caveats_in_one_paragraph() -> None:
    ranking = of_plane(weights=Weights({"sparse-flows": 5.0}))
    said = of_ranking(ranking).sentence
    assert said.startswith("Pareto front: no other contender beats short (10 ms, ")
    assert "short is first of 5 by bulk delay (weight 1), sparse flows (weight 5)" in said
    numbers = dict(of_ranking(ranking).numbers)
    assert (numbers["queues compared"], numbers["first of the ranking"]) == ("5", "short")
    assert any(name.startswith("its ") and name.endswith("p95") for name in numbers)
    table = front_table(ranking)
    assert table is not None
    # The front comes first, sorted by delay.
    assert [row[0].text for row in table.rows][:3] == ["short", "middle", "worse"]
    assert [row[1].text for row in table.rows] == ["yes", "yes", "yes", "no", "no"]
    warned = "Beside flows that fill the queue"
    assert warned in of_ranking(replace(ranking, subject="congestion control", contenders=tuple(
        replace(row, name=name) for row, name in zip(ranking.contenders, ("vegas", "bbr", "cubic", "lp", "reno"), strict=True)
    ), beaten={})).sentence  # fmt: skip


def test_without_a_delay_there_is_no_front() -> None:
    ranking = rank(CRITERIA, [Observation(name, "", values) for name, values in TABLE.items()])
    assert ranking.front == ()
    assert front_table(ranking) is None
    assert of_ranking(ranking).sentence.startswith("b is first of 3")
