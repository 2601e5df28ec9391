"""The arithmetic of a ranking, on tables small enough to check by hand."""

from __future__ import annotations

from typing import Any

import pytest

from bloatlab.experiments import criteria
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.ranking import Observation, describe, observe, places, rank

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
    assert set(described) == {"meaning", "points", "criteria", "contenders"}
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
