"""The question of each experiment, and the answers that its runs give."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

import synthetic
from bloatlab import cli, language
from bloatlab.experiments import CATALOGUE, phrases
from bloatlab.experiments.answering import Quantity, Run, Runs, contrast, deciding, every, kept, only, used, weighed
from bloatlab.experiments.suite import Suite
from bloatlab.metrics import definitions
from bloatlab.report import answers, make_report
from bloatlab.store import Store
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")

DOCS = Path(__file__).parents[2] / "docs" / "experiments.md"
MOST_WORDS = 33
"""Of a sentence with the names of two set-ups; without names, about 25."""
INTERNAL = re.compile(r"\b(null|None|nan|cases?|seed slides)\b|[{}]|–")
NAMES = list(CATALOGUE)
DELAY = Quantity("delay", lambda metrics: metrics.get("delay"), words=("shortest", "longest"))
RATE = Quantity("rate", lambda metrics: metrics.get("rate"), phrases.mbps)


def drawn(scenario: dict, seed: str) -> dict:
    """Metrics of every name for the flows, probes and links of a scenario, with random values."""
    plan = language.plan(scenario)
    entities = {
        "flow": [flow.name for flow in plan.flows],
        "link": list(plan.queues),
        "probe": ["ping", "ping_ef", "web", "foreign_1"],
    }
    found: dict = {f"{scope}_metrics": {name: {} for name in names} for scope, names in entities.items()}
    for scope, metric in definitions():
        for name in entities.get(scope, []):
            found[f"{scope}_metrics"][name][metric] = random.Random(f"{seed} {name} {metric}").uniform(1, 900)
    return found


def runs_of(name: str, seed: str, most: int = 2) -> Runs:
    """Runs of an experiment at the first values of each of its own axes."""
    experiment = CATALOGUE[name]
    if isinstance(experiment, Suite):
        return runs_of(experiment.members[0].name, seed, most)
    points: list[dict] = [{}]
    for axis, values in experiment.axes().items():
        points = [{**point, axis: value} for point in points for value in list(values)[:most]]
    found = []
    for point in points:
        parameters = experiment.resolve(point)
        found.append(Run(parameters, drawn(experiment.scenario(parameters), f"{seed} {point}")))
    return Runs(found, [one.name for one in experiment.parameters if one.default is None])


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_asks_a_question(name: str) -> None:
    question = CATALOGUE[name].question
    assert question.endswith("?")
    assert len(question.split()) <= 25
    assert not INTERNAL.search(question)


def test_no_question_is_asked_twice() -> None:
    assert len({CATALOGUE[name].question for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_the_answer_has_numbers_from_the_metrics(name: str, most: int) -> None:
    first, second = (CATALOGUE[name].answer(runs_of(name, seed, most)) for seed in ("a", "b"))
    assert 1 <= len(first) <= 5
    assert re.search(r"\d", " ".join(first))
    assert first != second, "other metrics, the same answer"
    for sentence in first:
        assert sentence.endswith(".")
        assert len(sentence.split()) <= MOST_WORDS, sentence
        assert not INTERNAL.search(sentence), sentence


@pytest.mark.parametrize("name", NAMES)
def test_runs_without_metrics_are_no_answer(name: str) -> None:
    empty = Runs(
        [
            Run(run.parameters, {"flow_metrics": {}, "link_metrics": {}, "probe_metrics": {}})
            for run in runs_of(name, "a")
        ]
    )
    said = " ".join(CATALOGUE[name].answer(empty))
    assert not re.search(r"\d (ms|s|Mbit/s|packets)\b", said)


def test_the_documentation_lists_the_questions() -> None:
    first_table = DOCS.read_text(encoding="utf-8").partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `([\w-]+)` \| ([^|]+?) \|", first_table, re.MULTILINE))
    assert {name: rows.get(name) for name in NAMES} == {name: CATALOGUE[name].question for name in NAMES}


def made(*rows: tuple[dict, dict], derived: tuple[str, ...] = ()) -> Runs:
    return Runs([Run(parameters, metrics) for parameters, metrics in rows], derived)


def queues(**values: tuple[float, float]) -> Runs:
    return made(*(({"queue": name}, {"delay": delay, "rate": rate}) for name, (delay, rate) in values.items()))


def test_the_smallest_and_the_largest_are_named_with_their_values() -> None:
    runs = queues(fifo=(100, 10), red=(20, 9), codel=(5, 8))
    assert contrast(runs.by("queue"), DELAY, RATE) == [
        "The delay is shortest with codel (5 ms) and longest with fifo (100 ms).",
        "The rate is 8 Mbit/s with codel and 10 Mbit/s with fifo.",
    ]


def test_values_that_are_written_alike_are_ties() -> None:
    found = contrast(queues(a=(5, 1), b=(5.0001, 1), c=(9, 1)).by("queue"), DELAY, RATE)
    assert found == [
        "The delay is shortest with a and b (5 ms) and longest with c (9 ms).",
        "The rate is 1 Mbit/s with both.",
    ]
    assert contrast(queues(a=(5, 1), b=(5, 1)).by("queue"), DELAY) == ["The delay is 5 ms with a and b."]
    assert contrast(queues(a=(5, 1), b=(5, 1), c=(5, 1)).by("queue"), DELAY) == ["The delay is 5 ms with each of them."]


def test_small_differences_are_not_called_best_and_worst() -> None:
    assert contrast(queues(a=(20, 1), b=(20.9, 1)).by("queue"), DELAY) == [
        "The delay hardly differs: from 20 ms with a to 20.9 ms with b."
    ]
    assert "shorter with a" in contrast(queues(a=(20, 1), b=(21.2, 1)).by("queue"), DELAY)[0]


def test_a_single_group_is_stated() -> None:
    assert contrast(queues(fifo=(100, 10)).by("queue"), DELAY, RATE) == [
        "With fifo, the delay is 100 ms and the rate is 10 Mbit/s."
    ]
    assert contrast(made(({}, {"delay": 3})).by(), DELAY) == ["The delay is 3 ms."]
    assert contrast(queues(fifo=(100, 10)).by("queue"), Quantity("jitter", lambda _: None)) == []


def test_groups_without_a_value_are_left_out() -> None:
    runs = made(({"queue": "a"}, {"delay": 1}), ({"queue": "b"}, {}), ({"queue": "c"}, {"delay": 4}))
    assert contrast(runs.by("queue"), DELAY) == ["The delay is shortest with a (1 ms) and longest with c (4 ms)."]


def test_a_mean_is_over_points_and_not_over_runs() -> None:
    rows = [({"queue": "a", "rate": "1Mbit/s"}, {"delay": delay}) for delay in (10, 10, 10)]
    runs = made(*rows, ({"queue": "a", "rate": "2Mbit/s"}, {"delay": 30}))
    assert runs.by("queue")[0].mean(DELAY.read) == 20
    assert contrast(runs.by("queue"), DELAY) == ["Averaged over 2 rates, with a, the delay is 20 ms."]


def test_only_points_that_all_groups_share_count() -> None:
    runs = made(
        ({"queue": "a", "rate": "1Mbit/s"}, {"delay": 10}),
        ({"queue": "b", "rate": "1Mbit/s"}, {"delay": 20}),
        ({"queue": "b", "rate": "2Mbit/s"}, {"delay": 900}),
    )
    assert contrast(runs.by("queue"), DELAY) == [
        "At a rate of 1 Mbit/s, the delay is shorter with a (10 ms) than with b (20 ms)."
    ]


def test_without_a_shared_point_the_fullest_one_counts() -> None:
    runs = made(
        ({"queue": "a", "rate": "1Mbit/s"}, {"delay": 10}),
        ({"queue": "b", "rate": "1Mbit/s"}, {"delay": 20}),
        ({"queue": "c", "rate": "2Mbit/s"}, {"delay": 1}),
    )
    assert [group.label for group in runs.by("queue")] == ["a", "b"]


def test_a_derived_parameter_is_no_condition() -> None:
    rows = [({"queue": queue, "rate": rate, "qlen": f"{rate}0p"}, {"delay": 1}) for queue in "ab" for rate in (1, 2)]
    assert made(*rows, derived=("qlen",)).varying == ["queue", "rate"]
    assert made(*rows).varying == ["queue", "rate", "qlen"]


def test_what_the_shortest_delay_costs() -> None:
    # Highest of both.
    assert kept(queues(a=(1, 10), b=(9, 5)).by("queue"), DELAY, RATE) == [
        "With a, the rate is also the highest (10 Mbit/s)."
    ]
    # Equal to the highest in three digits.
    assert kept(queues(a=(1, 9.999), b=(9, 10), c=(9, 5)).by("queue"), DELAY, RATE) == [
        "With a, the rate is as high as the highest (10.00 Mbit/s)."
    ]
    # Within 5 %.
    assert kept(queues(a=(1, 9.6), b=(9, 10)).by("queue"), DELAY, RATE) == [
        "With a, the rate is 9.60 Mbit/s; the highest is 10 Mbit/s."
    ]
    # Another one that keeps the rate.
    assert kept(queues(a=(1, 5), b=(3, 9.6), c=(9, 10)).by("queue"), DELAY, RATE) == [
        "Among those with at least 95 % of the highest rate (10 Mbit/s), the delay is shortest with b (3 ms)."
    ]
    # None does.
    assert kept(queues(a=(1, 5), b=(3, 6), c=(9, 10)).by("queue"), DELAY, RATE) == [
        "The rate is highest with c (10 Mbit/s), and no other reaches 95 % of that."
    ]
    assert kept(queues(a=(1, 5), b=(3, 6), c=(9, 10)).by("queue"), DELAY, RATE, told=True) == [
        "No other reaches 95 % of the rate of c."
    ]
    # Nothing to weigh.
    assert kept(queues(a=(1, 5), b=(3, 5)).by("queue"), DELAY, RATE) == []
    assert kept(queues(a=(3, 5), b=(3.01, 9)).by("queue"), DELAY, RATE) == []


def test_two_groups_are_told_with_both_numbers() -> None:
    two = queues(a=(1, 5), b=(3, 10)).by("queue")
    assert weighed(two, DELAY, RATE) == contrast(two, DELAY, RATE)
    assert len(used(two, RATE, DELAY)) == 2
    assert len(used(queues(a=(1, 5), b=(3, 9.9), c=(9, 10)).by("queue"), RATE, DELAY)) == 3


BULK = Quantity("delay of the transfers", lambda metrics: metrics.get("bulk"), words=("shortest", "longest"))


def beside(**values: tuple[float, float, float | None]) -> Runs:
    """A run per queue with the delay of a call, the rate, and the delay of the transfers."""
    names = ("delay", "rate", "bulk")
    return Runs([Run({"queue": queue}, dict(zip(names, of, strict=True))) for queue, of in values.items()])


def test_a_queue_that_protects_a_call_is_told_with_the_delay_of_the_transfers() -> None:
    four = beside(fq=(1, 9.7, 146), pie=(30, 9.9, 20), fifo=(200, 10, 100), sfq=(2, 8, 170)).by("queue")
    assert weighed(four, DELAY, RATE, bulk=BULK)[-2:] == [
        "The delay of the transfers is 146 ms with fq, shortest with pie (20 ms) and longest with sfq (170 ms).",
        "With pie, both this delay (20 ms) and the rate (9.90 Mbit/s) are better than with fq.",
    ]
    # One that nothing beats in both, and another that keeps the rate.
    three = beside(cake=(1, 8, 13), fq=(20, 9.7, 146), fifo=(200, 10, 150)).by("queue")
    lines = weighed(three, DELAY, RATE, bulk=BULK)
    assert "with fq (20 ms)" in lines[-2]
    assert lines[-1] == "The delay of the transfers is 13 ms with cake and 146 ms with fq, longest with fifo (150 ms)."
    # Two are told with every number.
    two = beside(fq=(1, 9, 146), fifo=(200, 10, 100)).by("queue")
    assert "The delay of the transfers is 146 ms with fq and 100 ms with fifo." in weighed(two, DELAY, RATE, bulk=BULK)
    # Nothing to tell.
    none = beside(fq=(1, 9.7, None), pie=(30, 9.9, None), fifo=(200, 10, None)).by("queue")
    assert weighed(none, DELAY, RATE, bulk=BULK) == weighed(none, DELAY, RATE)
    same = beside(fq=(1, 9.7, 50), pie=(30, 9.9, 50), fifo=(200, 10, 50)).by("queue")
    assert weighed(same, DELAY, RATE, bulk=BULK)[-1] == "The delay of the transfers is 50 ms with each of them."


@pytest.mark.parametrize(
    "name",
    [
        "aqm-comparison",
        "nr-dynamic-buffers",
        "rfc7928-rural",
        "rfc7928-mix",
        "rfc7928-bursts",
        "rrul",
        "responsiveness",
    ],
)
def test_no_experiment_praises_a_queue_by_the_delay_of_sparse_flows_alone(name: str) -> None:
    lines = CATALOGUE[name].answer(runs_of(name, "sparse", most=3))
    assert any(re.search(r"queueing delay of the (transfers|load) (is|hardly differs)", line) for line in lines)


def test_conditions_are_said_once() -> None:
    rows = [
        ({"queue": queue, "rate": rate}, {"delay": delay, "rate": rate})
        for queue, delay in (("a", 1), ("b", 2), ("c", 3)) for rate in (1, 2)
    ]  # fmt: skip
    groups = made(*rows).by("queue")
    said = [
        "Averaged over 2 rates, the delay is shortest with a (1 ms) and longest with c (3 ms).",
        "The rate is 1.50 Mbit/s with each of them.",
    ]
    assert every(groups, DELAY, RATE) == said
    assert weighed(groups, DELAY, RATE) == said


def test_what_cannot_be_told_is_said() -> None:
    assert only(queues(fifo=(1, 1)), "queue") == ["Only fifo was run, so these runs do not compare queues."]
    assert only(queues(fifo=(1, 1), red=(1, 1)), "queue") == []


def test_which_runs_an_answer_is_from() -> None:
    rows = [({"queue": queue, "rate": rate}, {}) for queue in "ab" for rate in (1, 2, 3)]
    assert made(*rows).described() == "From 6 runs: 2 queues, 3 rates, one seed each."
    assert made(*rows).described(["queue"]) == "From 6 runs: 2 queues, one seed each."
    assert made(*rows, *rows).described() == "From 12 runs: 2 queues, 3 rates, 2 seeds each."
    assert made(*rows, rows[0]).described() == "From 7 runs: 2 queues, 3 rates, several seeds each."


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("qlen", "80p", "a buffer of 80 packets"),
        ("rate", "16Mbit/s", "a rate of 16 Mbit/s"),
        ("rtt", "40ms", "an RTT of 40 ms"),
        ("cca", "cubic", "cubic"),
        ("queue", {"kind": "codel", "target": "5ms"}, "codel (target 5 ms)"),
        ("loss", 0.001, "random loss of 0.1 %"),
        ("ecn", True, "ECN on"),
        ("own_thing", None, "own thing the default"),
        ("buffer", "10000000B", "a buffer of 10 MB"),
        ("buffer", "999B", "a buffer of 999 bytes"),
        ("k", 2, "2 flows"),
    ],
)
def test_parameters_are_said_in_words(name: str, value: object, said: str) -> None:
    assert phrases.said(name, value) == said


def test_lists_are_cut_with_a_count() -> None:
    assert [phrases.listed(list("abcdef")[:count]) for count in (0, 1, 2, 4, 6)] == [
        "", "a", "a and b", "a, b, c and d", "a, b, c and 3 more",
    ]  # fmt: skip


def flows(metric: str = "mean_throughput_l7", **values: float) -> dict:
    return {
        "flow_metrics": {name: {metric: value} for name, value in values.items()},
        "link_metrics": {},
        "probe_metrics": {},
    }


def pair(newcomer: str, incumbent: str, mine: float, theirs: float, queue: str = "fifo") -> tuple[dict, dict]:
    return {"newcomer": newcomer, "incumbent": incumbent, "queue": queue}, flows(newcomer=mine, incumbent=theirs)


def test_coexistence_says_who_starves_whom() -> None:
    runs = made(
        pair("bbr", "cubic", 19, 1), pair("cubic", "bbr", 5, 15), pair("cubic", "cubic", 10, 10), pair("bbr", "bbr", 10, 10),
        pair("bbr", "cubic", 10, 10, "fq"), pair("cubic", "bbr", 12, 8, "fq"), pair("cubic", "cubic", 1, 9, "fq"),
        pair("bbr", "bbr", 9, 1, "fq"),
    )  # fmt: skip
    assert CATALOGUE["coexistence"].answer(runs) == [
        "With fifo, 1 of 2 pairs leaves one flow less than 10 %; the smallest share is that of cubic beside bbr (5 %).",
        "With fq, no flow gets less than 10 %; the smallest share is that of bbr beside cubic (40 %).",
        # (0.05 + 0.25 + 0.5 + 0.6) / 4
        "Averaged over queues and partners, bbr leaves the least to others: 35 %.",
    ]


def test_coexistence_of_one_pair_says_that_others_were_not_run() -> None:
    found = CATALOGUE["coexistence"].answer(made(pair("bbr", "cubic", 19, 1)))
    assert found == ["With fifo, the share of the newcomer (bbr) beside cubic is 95 %.", "Other pairs were not run."]


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("synchronous-fairness", {"flow_1": 4.0, "flow_2": 6.0, "flow_3": 8.0}, "relative to the fastest's, is 50 %"),
        ("start-time-fairness", {"flow_10": 1.0, "flow_2": 3.0, "flow_1": 4.0}, "the flow that starts last is 12.5 %"),
        ("rtt-fairness", {"flow_1_97ms": 3.0, "flow_2_76ms": 4.0}, "relative to that at the shortest, is 75 %"),
    ],
)
def test_shares_of_flows(name: str, values: dict, said: str) -> None:
    found = CATALOGUE[name].answer(made(({"cca": "cubic", "k": len(values)}, flows(**values))))
    assert said in found[0]
    assert found[-1] == "Only cubic was run, so these runs do not compare congestion controls."


def link(**metrics: float) -> dict:
    return {"flow_metrics": {}, "probe_metrics": {}, "link_metrics": {"bottleneck": metrics}}


def test_a_buffer_is_filled_by_those_with_half_of_it_on_average() -> None:
    rows = [
        ({"cca": cca, "qlen": qlen}, link(mean_queue_length=packets))
        for cca, packets in {"cubic": 480, "reno": 330, "vegas": 6}.items() for qlen in ("20p", "640p")
    ]  # fmt: skip
    assert CATALOGUE["deep-buffers-sweep"].answer(made(*rows)) == [
        "With a buffer of 640 packets, 2 of 3 congestion controls fill at least half of it on average: cubic (75 %) and "
        "reno (51.6 %)."
    ]


def test_loss_is_told_for_each_rate_the_highest_first() -> None:
    rows = [
        ({"cca": cca, "loss": loss}, link(utilization=used))
        for cca, loss, used in (("bbr", 0.02, 0.9), ("reno", 0.02, 0.1), ("bbr", 0.001, 0.9), ("reno", 0.001, 0.5))
    ]
    assert CATALOGUE["loss-resilience"].answer(made(*rows)) == [
        "The utilization with random loss of 2 % is lower with reno (10 %) than with bbr (90 %).",
        "The utilization with random loss of 0.1 % is lower with reno (50 %) than with bbr (90 %).",
    ]


def small_flow(delay: float, sent: float, got: float) -> dict:
    mice = {"mean_delay": delay, "tx_packets": sent, "rx_packets": got}
    return {"flow_metrics": {"mice": mice}, "link_metrics": {}, "probe_metrics": {}}


def test_nr_rlc_says_what_the_buffer_costs() -> None:
    rows = [
        ({"queue": "tail", "buffer": buffer, "lambda": 30000.0}, small_flow(delay, 10, got))
        for buffer, delay, got in (("10MB", 400, 10), ("100MB", 4000, 6))
    ]
    assert CATALOGUE["nr-rlc"].answer(made(*rows)) == [
        "The mean delay of the small flow is shorter with a buffer of 10 MB (400 ms) than with a buffer of "
        "100 MB (4,000 ms).",
        "The share of the small flow's packets that have not arrived when the run ends is lower with a buffer of 10 MB (0 %) "
        "than with a buffer of 100 MB (40 %).",
        "A mean delay counts only packets that arrived; 0 % to 40 % of the small flow's had not when the run ended. "
        "Compare only runs with equal shares.",
        "Only tail was run, so these runs do not compare queues.",
    ]


def router(maxq: int, queue: str, rtt: float, fetch: float) -> tuple[dict, dict]:
    probes = {"ping": {"p50_rtt": rtt}, "web": {"p50_rtt": fetch}}
    return {"maxq": maxq, "queue": queue}, {"flow_metrics": {}, "link_metrics": {}, "probe_metrics": probes}


def test_home_router_compares_sizes_without_and_queues_at_the_largest_size() -> None:
    runs = made(router(20, "fifo", 20, 300), router(100, "fifo", 100, 900), router(100, "codel", 12, 310))
    found = CATALOGUE["home-router"].answer(runs)
    assert found == [
        "With fifo, the median RTT of the ping is shorter with a queue of 20 buffers (20 ms) than with a queue of 100 "
        "buffers (100 ms).",
        "The median load time of the page is 300 ms with a queue of 20 buffers and 900 ms with a queue of 100 buffers.",
        "With a queue of 100 buffers, the median RTT of the ping is shorter with codel (12 ms) than with fifo (100 ms).",
    ]


def test_published_behaviour_is_counted() -> None:
    experiment = CATALOGUE["congestion-control-behaviour"]
    claim = next(one for one in experiment.claims if one.name == "ledbat alone: utilization")
    case = "ledbat alone"
    good, bad = (
        experiment.answer(made(({"case": case}, link(utilization=used, mean_sojourn=sojourn))))
        for used, sojourn in ((0.995, 100.5), (0.4, 100.5))
    )
    assert claim.published == 0.99
    assert good[0] == "2 of 2 published values agree with these runs."
    assert bad[:2] == [
        "1 of 2 published values agree with these runs.",
        "The largest difference is in `ledbat alone: utilization`: 0.400 here, our bound is 0.990.",
    ]
    assert good[-1] == f"{len(experiment.claims) - 2} more need runs that are not here."


def test_rfc7928_shares_beside_aggressive_and_unresponsive_flows() -> None:
    aggressive = [
        ({"queue": queue, "cca": "cubic"}, flows(bulk_friendly=mine, bulk_aggressive=10 - mine))
        for queue, mine in (("fifo", 2.0), ("fq", 5.0))
    ]
    assert CATALOGUE["rfc7928-aggressive"].answer(made(*aggressive)) == [
        "The share of the NewReno flow is lower with fifo (20 %) than with fq (50 %)."
    ]
    rows = [
        ({"queue": queue, "friendly": friendly}, flows(udp=10 - mine, **({"bulk": mine} if friendly else {})))
        for queue, mine in (("fifo", 0.0), ("fq", 5.0)) for friendly in (0, 1)
    ]  # fmt: skip
    assert CATALOGUE["rfc7928-unresponsive"].answer(made(*rows)) == [
        "The share of TCP beside the datagrams is lower with fifo (0 %) than with fq (50 %)."
    ]


def test_the_survey_reads_its_own_metrics() -> None:
    rows = [
        ({"queue": queue}, {"experiment_metrics": {"qlen": qlen, "fair": fair, "tcp_share": share}})
        for queue, qlen, fair, share in (("fifo", 305.0, 51.0, 98.0), ("red", 6.0, 97.0, 60.0))
    ]
    assert CATALOGUE["aqm-survey"].answer(made(*rows)) == [
        "The mean queue is shorter with red (6 packets) than with fifo (305 packets).",
        "The fairness of all flows by Jain's index is lower with fifo (0.51) than with red (0.97).",
        "The share of the Reno flows is lower with red (60 %) than with fifo (98 %).",
    ]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        (f"{cca}-{limit}", {"cca": cca, "limit": f"{limit}p"}, 1, synthetic.run_tables([cca], limit=limit, stop=5))
        for cca in ("cubic", "newreno") for limit in (20, 160)
    ]  # fmt: skip
    return synthetic.write_store(
        tmp_path_factory.mktemp("swept"), runs, experiment="mine", command="bloatlab simulate mine.toml"
    )


def test_an_own_sweep_says_which_value_gives_the_shortest_queue(swept: Path) -> None:
    store = Store(swept)
    found = answers.of_store(store, "mine")
    assert found.question == ""
    # The limit decides more than the algorithm does.
    assert found.sentences[0].startswith(
        "Averaged over 2 congestion controls, the standing queue is shorter with a limit of"
    )
    assert "a limit of 20 packets" in found.sentences[0].split(" than ")[0]
    assert "a limit of 160 packets" in found.sentences[0].split(" than ")[1]
    assert found.basis == "From 4 runs: 2 congestion controls, 2 queue limits, one seed each."
    assert answers.answer(store) == [*found.sentences, found.basis]
    last = found.sentences[-1]
    assert last.startswith("Of all 4 combinations, the standing queue is shortest with ")
    assert re.search(r"(cubic|newreno) at a limit of 20 packets", last.split(" and longest")[0])
    waits = store.metrics("flow", "mean_est_qdelay_l4")["value"]
    assert phrases.ms(waits.min()) in last
    assert phrases.ms(waits.max()) in last


def test_places_in_a_document_have_short_names_in_sentences() -> None:
    rows = [
        ({"dumbbell.queue": queue, "dumbbell.rate": f"{rate}Mbit/s"}, {"delay": delay * rate, "rate": rate})
        for queue, delay in (("a", 1), ("b", 2), ("c", 3)) for rate in (1, 2)
    ]  # fmt: skip
    runs = made(*rows)
    assert deciding(runs, DELAY) == "dumbbell.queue"
    assert contrast(runs.by("dumbbell.queue"), DELAY) == [
        "Averaged over 2 rates, the delay is shortest with a (1.50 ms) and longest with c (4.50 ms)."
    ]
    assert contrast(runs.by(), DELAY)[0].endswith(
        "with a at a rate of 1 Mbit/s (1 ms) and longest with c at a rate of 2 Mbit/s (6 ms)."
    )
    assert runs.described() == "From 6 runs: 3 queues, 2 rates, one seed each."
    alike = made(*[({"up.rate": one, "down.rate": two}, {"delay": 1}) for one in (1, 2) for two in (1, 2)])
    assert alike.described() == "From 4 runs: 2 values of up.rate, 2 values of down.rate, one seed each."
    assert deciding(alike, DELAY) is None


def test_an_answer_may_be_about_some_runs_of_a_store(swept: Path) -> None:
    run = synthetic.identity("cubic-20")
    found = answers.of_store(Store(swept), "mine", [run])
    assert found.sentences[0].startswith("A standing queue of ")
    assert found.basis == ""


def test_the_first_screen_answers_before_it_describes(tmp_path: Path) -> None:
    runs = [
        (f"{cca}", {"cca": cca, "qlen": "80p", "mss": 1448}, 1, synthetic.run_tables([cca], stop=5))
        for cca in ("cubic", "newreno")
    ]
    page = make_report(synthetic.write_store(tmp_path / "r", runs)).read_text(encoding="utf-8")
    found = answers.of_store(Store(tmp_path / "r"), "deep-buffers")
    experiment = CATALOGUE["deep-buffers"]
    parts = [
        experiment.question, found.sentences[0], found.basis, "<figure",
        re.sub("`([^`]+)`", r"<code>\1</code>", experiment.summary),
        "<details><summary>4 parameters",
    ]  # fmt: skip
    # Numbers stay with their units.
    page = page.replace("\N{NO-BREAK SPACE}", " ")
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert "null" not in re.sub(r"<script.*?</script>|<svg.*?</svg>", "", page, flags=re.DOTALL)


def test_an_answer_that_counts_values_has_no_grade(tmp_path: Path) -> None:
    def graded(experiment: str) -> bool:
        runs = [(case, {"case": case}, 1, synthetic.run_tables(["cubic"], stop=5)) for case in ("one", "other")]
        page = make_report(synthetic.write_store(tmp_path / experiment, runs, experiment=experiment))
        return 'class="grade' in page.read_text(encoding="utf-8").partition("<figure")[0]

    assert not graded("congestion-control-behaviour")
    assert graded("mine")


def test_a_store_of_failed_runs_says_so(tmp_path: Path) -> None:
    synthetic.write_store(tmp_path / "r", [], experiment="mine", failures=[("a", "it broke")])
    assert answers.answer(Store(tmp_path / "r"), "mine") == ["No run has finished."]


def test_the_terminal_says_which_value_of_an_own_sweep_is_best(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    flows = [{"cca": "cubic"}]
    document = {"duration": "3s", "warmup": "1s", "dumbbell": {"rate": "5Mbit/s", "rtt": "20ms"}, "flows": flows}
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    words = ["simulate", str(path), "--no-report", "--out", str(tmp_path / "r")]
    words += ["--sweep", "dumbbell.queue=fifo,codel,fq_codel"]
    assert cli.command(words) == 0
    # The points of a single parameter say it.
    assert capsys.readouterr().out.startswith("least delay with ")
    assert cli.command([*words, "--sweep", "dumbbell.rate=5Mbit/s,10Mbit/s"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.match(r"Averaged over 2 rates, the standing queue is shortest with .* and longest with fifo \(", said)
    assert "least delay with " in said


def test_losses_that_marking_avoids_are_those_of_queues_that_mark() -> None:
    found = []
    for queue, marks, losses in (("codel", 50.0, (0.02, 0.001)), ("fifo", 0.0, (0.03, 0.03))):
        for ecn, loss in zip(("off", "on"), losses, strict=True):
            link = {"loss_rate": loss, "marks": marks if ecn == "on" else 0.0}
            flow = {"p95_sojourn_l4": 20.0, "mean_throughput_l7": 9.0}
            found.append(
                Run(
                    {"queue": queue, "ecn": ecn},
                    {"link_metrics": {"bottleneck": link}, "flow_metrics": {"bulk_1": flow}},
                )
            )
    first, *_, last = CATALOGUE["rfc7928-ecn"].answer(Runs(found))
    assert "loss rate at the bottleneck is lower with ECN on (0.100 %) than with ECN off (2 %)" in first
    assert last == "The other queue marked no packet."
