from __future__ import annotations

import pytest

from bloatlab.analysis.claims import published_runs
from bloatlab.errors import ParameterError
from bloatlab.experiments import CATALOGUE, get
from bloatlab.experiments.claim import Cases, Claim, counted, judge
from bloatlab.experiments.suite import Suite
from bloatlab.sweeps import ExperimentSource, plan

pytestmark = pytest.mark.usefixtures("fake")


def test_names_are_found_with_underscores_and_suggested() -> None:
    assert get("deep_buffers") is CATALOGUE["deep-buffers"]
    with pytest.raises(ParameterError, match="did you mean `deep-buffers`"):
        get("deep-bufers")


def test_every_experiment_is_complete() -> None:
    for name, experiment in CATALOGUE.items():
        assert name == experiment.name
        assert experiment.title
        assert experiment.summary
        assert experiment.source
        values = experiment.resolve({})
        if isinstance(experiment, Suite):
            assert len(experiment.parts(values)) == len(experiment.members)
            with pytest.raises(ParameterError, match="name one of them"):
                experiment.scenario(values)
            continue
        scenario = experiment.scenario(values)
        assert scenario["duration"]
        assert all(parameter.help and parameter.allowed for parameter in experiment.parameters)
        # What is resolved is a value that is allowed.
        again = experiment.resolve(values)
        assert again == values


def test_deep_buffers_is_the_published_setup() -> None:
    experiment = get("deep-buffers")
    scenario = experiment.scenario(experiment.published_runs()[""])
    assert scenario["dumbbell"] == {
        "rate": "16Mbit/s",
        "rtt": "15ms",
        "queue": {"kind": "fifo", "limit": "80p"},
        "loss": 0.0,
        "device_packets": 1,
        "overhead": 2,
    }
    (flow,) = scenario["flows"]
    assert flow["cca"] == "newreno"
    assert flow["tcp"]["ack_every"] == 1
    assert flow["tcp"]["recovery"] == "prr"
    assert scenario["duration"] == "15s"


def test_rate_and_limit_grow_with_the_flows_unless_given() -> None:
    experiment = get("deep-buffers")
    assert experiment.resolve({"k": 10})["bw"] == "160Mbit/s"
    assert experiment.resolve({"k": 10})["qlen"] == "800p"
    assert experiment.resolve({"k": 10, "bw": "1Gbit/s", "qlen": 20})["bw"] == "1Gbit/s"
    assert experiment.resolve({"k": 10, "qlen": 20})["qlen"] == "20p"


def test_names_of_ns3_are_accepted() -> None:
    values = get("deep-buffers").resolve({"cca": "TcpNewReno", "queue": "FifoQueueDisc", "recovery": "TcpPrrRecovery"})
    assert (values["cca"], values["queue"], values["recovery"]) == ("newreno", "fifo", "prr")


@pytest.mark.parametrize(
    ("queue", "built"),
    [
        ("codel", {"kind": "codel", "limit": "80p"}),
        ({"kind": "codel", "target": "5ms"}, {"kind": "codel", "target": "5ms", "limit": "80p"}),
        ({"kind": "codel", "limit": "9p"}, {"kind": "codel", "limit": "9p"}),
        ("infinite", {"kind": "infinite"}),
        ("mine:Queue", "mine:Queue"),
    ],
)
def test_qlen_is_the_limit_of_a_queue_that_has_one(queue: object, built: object) -> None:
    experiment = get("deep-buffers")
    assert experiment.scenario(experiment.resolve({"queue": queue}))["dumbbell"]["queue"] == built


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("qlem", 5, "did you mean `qlen`"),
        ("bw", "15furlong", "bw: unknown unit `furlong`"),
        ("bw", 16, "bw: no unit"),
        ("rtt", "-15ms", "rtt: must not be negative"),
        ("loss", 1.5, "loss: `1.5` is not a probability"),
        ("loss", True, "loss:"),
        ("loss", "nan", "loss:"),
        ("k", 0, "k: `0` is not a whole number from 1 to 10000"),
        ("k", 1.5, "k:"),
        ("k", True, "k:"),
        ("cca", "cubik", "cca: unknown congestion control `cubik` .did you mean `cubic`"),
        ("queue", {"limit": "5p"}, "queue: .* has no `kind`"),
        ("queue", {"kind": "kodel"}, "did you mean `codel`"),
        ("queue", 5, "queue:"),
        ("recovery", "prrr", "recovery: unknown choice `prrr` .did you mean `prr`"),
        ("ecn", "maybe", "ecn: .* neither true nor false"),
        ("mss", 10, "mss:"),
    ],
)
def test_bad_parameters_are_refused_by_name(name: str, value: object, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        get("deep-buffers").resolve({name: value})


def test_a_claim_is_held_against_a_metric() -> None:
    relative = Claim("a", 100.0, "flow_metrics.flow_1.a", "ms", "s", "stated", relative=0.01)
    exact = Claim("a", 0.0, "flow_metrics.flow_1.a", "", "s", "stated", absolute=0)
    shown = Claim("a", 1.0, "flow_metrics.flow_1.a", "", "s", "stated")

    def metrics(value: float) -> dict[str, object]:
        return {"": {"flow_metrics": {"flow_1": {"a": value}}}}

    assert judge(relative, metrics(101.0)).holds is True
    assert judge(relative, metrics(101.1)).holds is False
    assert judge(relative, {"": {"flow_metrics": {}}}).holds is False
    assert judge(exact, metrics(0)).holds is True
    assert judge(exact, metrics(1)).holds is False
    assert judge(shown, metrics(7)).holds is None
    assert (relative.tolerance_text, exact.tolerance_text, shown.tolerance_text) == ("1 %", "exact", "")


def test_a_claim_may_be_a_bound_and_read_several_cases() -> None:
    def claim(bound: str, absolute: float | None = None) -> Claim:
        def gain(cases: Cases) -> float:
            return float(cases["after"]["network_metrics"]["x"] - cases["before"]["network_metrics"]["x"])

        return Claim("gain", 2.0, gain, "ms", "s", "derived", bound=bound, absolute=absolute)  # type: ignore[arg-type]

    def cases(gain: float) -> dict[str, dict[str, object]]:
        return {"before": {"network_metrics": {"x": 1.0}}, "after": {"network_metrics": {"x": 1.0 + gain}}}

    assert [judge(claim("at least"), cases(gain)).holds for gain in (1.9, 2.0, 9.0)] == [False, True, True]
    assert [judge(claim("at most"), cases(gain)).holds for gain in (-9.0, 2.0, 2.1)] == [True, True, False]
    assert [judge(claim("at most", 0.5), cases(gain)).holds for gain in (2.5, 2.6)] == [True, False]
    assert [judge(claim("", 0.5), cases(gain)).holds for gain in (1.4, 1.5, 2.5, 2.6)] == [False, True, True, False]
    assert judge(claim("at least"), {"before": {}, "after": {}}).measured is None
    assert judge(claim("at least"), {"before": {}, "after": {}}).holds is False
    assert (claim("at least").published_text, claim("at least").tolerance_text) == ("at least 2", "")


def test_claims_are_counted_by_what_they_rest_on() -> None:
    judged = [("re-run", True), ("stated", True), ("stated", False), ("check", True), ("read off", False)]
    assert counted(judged) == "2 of 4 claims hold: 1 of 2 stated, 0 of 1 read off, 1 of 1 re-run; 1 of 1 check passed"
    assert counted([("check", False), ("check", True)]) == "1 of 2 checks passed"
    # Stores of older versions do not know the kinds.
    assert counted([("", True), ("", False)]) == "1 of 2 claims hold"
    assert counted([]) == ""


@pytest.mark.parametrize("name", [name for name, one in CATALOGUE.items() if not isinstance(one, Suite)])
def test_claims_have_different_names_because_a_store_keeps_them_by_name(name: str) -> None:
    experiment = get(name)
    names = [claim.name for claim in (*experiment.claims, *experiment.comparison)]
    assert len(names) == len(set(names))


def test_claims_need_every_published_case() -> None:
    experiment = get("congestion-control-behaviour")
    assert all(claim.tolerance is not None for claim in experiment.claims)
    source, axes = ExperimentSource(experiment), experiment.published_axes()
    runs = plan(source, {}, axes, replications=experiment.replications)
    assert len(runs) == len(experiment.cases) * experiment.replications
    published = published_runs(experiment, runs)
    assert tuple(published) == tuple(experiment.published)
    assert all(run.parameters == dict(experiment.published[key].parameters) for key, run in published.items())
    assert published_runs(experiment, runs[1:]) == {}
    assert published_runs(experiment, plan(source, {}, axes, replications=experiment.replications, seed=7)) == {}


def test_every_published_value_of_the_source_is_there() -> None:
    experiment = get("deep-buffers")
    names = [claim.name for claim in (*experiment.claims, *experiment.comparison) if claim.kind != "re-run"]
    assert len(names) == len(set(names))
    assert {name.split(" ")[0] for name in names} == {
        "cov_in_flight_l4", "cov_throughput_l4", "flow_completion_time_l4", "mean_cwnd_l4", "mean_delivery_rate_l4",
        "mean_est_qdelay_l4", "mean_idt_ewma_l4", "mean_in_flight_l4", "mean_network_power_l4", "mean_one_way_delay_l7",
        "mean_recovery_time_l4", "mean_sending_rate_l4", "mean_sending_rate_l7", "mean_srtt_l4", "mean_throughput_l4",
        "mean_throughput_l7", "mean_utility_mpdf_l4", "mean_utility_pf_l4", "mean_utilization_bdp_l4",
        "mean_utilization_bw_l4", "total_retransmissions_l4", "total_rtos_l4",
    }  # fmt: skip
