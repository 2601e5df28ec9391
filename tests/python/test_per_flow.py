"""Lists with a value for each flow, as the scenarios of CCPerf have them."""

from __future__ import annotations

from typing import Any

import pytest

import bloatlab
from bloatlab.errors import ParameterError
from bloatlab.experiments import get, per_flow
from bloatlab.experiments.caveats import caveats_of
from bloatlab.experiments.ranking import observe
from conftest import REAL

real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def flows(name: str = "deep-buffers", **params: Any) -> list[dict[str, Any]]:
    experiment = get(name)
    found: list[dict[str, Any]] = experiment.scenario(experiment.resolve(params))["flows"]
    return found


def test_the_published_lists_are_the_published_run() -> None:
    published = {of.name: of.published for of in per_flow.PARAMETERS if of.published is not None}
    experiment = get("deep-buffers")
    default = experiment.scenario(experiment.resolve({}))
    same = {name: published[name] for name in ("rtts", "algs", "recoveries")}
    assert experiment.scenario(experiment.resolve(same)) == default
    (written,) = flows(**published)
    (plain,) = default["flows"]
    assert written == {**{name: of for name, of in plain.items() if name != "count"}, "rtt": "15ms", "start": "0s"} | {
        "traffic": {"kind": "greedy"}
    }


def test_each_flow_has_its_values() -> None:
    first, second = flows(
        k=2,
        rtts="15ms,40ms",
        sources=["a", "b"],
        destinations="c",
        algs="TcpCubic, TcpNewReno",
        recoveries="TcpPrrRecovery,TcpClassicRecovery",
        start_times=[0, 1.87],
        stop_times="10s,15s",
        traffic_models="Greedy(bytes=0),Greedy(bytes=1500000)",
    )
    assert (first["cca"], second["cca"]) == ("cubic", "newreno")
    assert (first["rtt"], second["rtt"]) == ("15ms", "40ms")
    assert (first["source"], second["source"], first["destination"], second["destination"]) == ("a", "b", "c", "c")
    assert (first["tcp"]["recovery"], second["tcp"]["recovery"]) == ("prr", "classic")
    assert (first["start"], second["start"], first["stop"], "stop" in second) == ("0s", "1.87s", "10s", False)
    assert (first["traffic"], second["traffic"]) == ({"kind": "greedy"}, {"kind": "finite", "bytes": "1500000B"})


def test_a_list_of_one_is_of_all_flows() -> None:
    assert [flow["start"] for flow in flows(k=3, start_times="2s")] == ["2s"] * 3
    assert flows(k=3, algs="TcpCubic") == flows(k=3, cca="cubic")


def test_protocols_and_traffic_models() -> None:
    models = "Greedy,Cbr(rate=2Mbit/s, packet=1000B),OnOff(rate=4Mbit/s,on=1s,off=1s)"
    tcp, udp, on_off = (flow["traffic"] for flow in flows(k=3, protocols="tcp,udp,tcp", traffic_models=models))
    assert tcp == {"kind": "greedy"}
    assert udp == {"kind": "cbr", "transport": "udp", "rate": "2Mbit/s", "packet": "1000B"}
    assert on_off == {"kind": "on_off", "transport": "tcp", "rate": "4Mbit/s", "on": "1s", "off": "1s"}


def test_the_run_ends_with_the_last_flow() -> None:
    experiment = get("deep-buffers")
    assert experiment.resolve({"k": 2, "stop_times": "5s,20s"})["stop"] == "20s"
    assert experiment.resolve({"stop_times": "5s", "stop": "8s"})["stop"] == "8s"


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"rtts": "15ms,40ms"}, r"rtts: has 2 values for k=1 flow \(allowed: one value, or k=2\)"),
        ({"k": 3, "algs": "cubic,bbr"}, r"algs: has 2 values for k=3 flows \(allowed: 1 or 3 values, or k=2\)"),
        ({"rtts": "15ms,40"}, "rtts: value 2: no unit"),
        ({"rtts": []}, "rtts: .* is not a list"),
        ({"algs": "TcpFoo"}, "algs: value 1: unknown congestion control `TcpFoo`"),
        ({"algs": "cubic", "cca": "bbr"}, "algs: is the list of cca; give one of the two"),
        ({"recoveries": "TcpFoo"}, "recoveries: value 1: unknown choice `TcpFoo`"),
        ({"protocols": "quic"}, "protocols: value 1: unknown choice `quic`"),
        ({"protocols": "udp"}, r"protocols: a flow with Greedy\(bytes=0\) cannot be udp"),
        ({"sources": [7]}, "sources: value 1: `7` is not the name of a host"),
        ({"traffic_models": "Ping()"}, "traffic_models: value 1: unknown traffic model `Ping`"),
        ({"traffic_models": "Greedy(size=3)"}, "unknown setting of Greedy `size`"),
        ({"traffic_models": "Greedy(bytes=few)"}, "traffic_models: value 1: "),
        ({"traffic_models": "Cbr()"}, r"needs rate, such as Cbr\(rate=2Mbit/s\)"),
        ({"traffic_models": "Cbr(rate=1Mbit/s,transport=udp)"}, "protocols sets the transport"),
        ({"traffic_models": "Cbr(rate)"}, "must be key=value"),
        ({"traffic_models": "Greedy("}, "is not a traffic model"),
        ({"start_times": "20s"}, r"start_times: 20s is not before the flow stops \(15s\)"),
        ({"stop_times": "20s", "stop": "15s"}, r"stop_times: 20s is after the end of the run \(stop=15s\)"),
    ],
)
def test_what_cannot_be_expressed_is_refused_by_name(params: dict[str, Any], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        flows(**params)


def test_the_family_takes_lists_too() -> None:
    fair = get("rtt-fairness")
    named = [flow["name"] for flow in flows("rtt-fairness", rtts="10ms,0.3s", algs="cubic,bbr")]
    assert named == ["flow_1_10ms", "flow_2_0.3s"]
    assert [flow["start"] for flow in flows("start-time-fairness", start_times="0,3")] == ["0s", "3s"]
    assert [flow["start"] for flow in flows("start-time-fairness", algs="cubic,bbr")] == ["0s", "1.87s"]
    # A list of congestion controls replaces their axis.
    assert "cca" in fair.all_axes({}, {})
    assert "cca" not in fair.all_axes({"algs": "cubic,bbr"}, {})


def test_sets_of_algorithms_are_contenders_at_one_point() -> None:
    experiment = get("synchronous-fairness")
    runs = [(experiment.resolve({"algs": algs}), {}) for algs in ("cubic,bbr", "cubic,newreno")]
    observed = observe((), experiment.compared, runs, [of.name for of in experiment.parameters if of.default is None])
    assert [(one.contender, one.point) for one in observed] == [("cubic+bbr", ""), ("cubic+newreno", "")]
    assert caveats_of("congestion control", ["cubic+bbr"]) == ()
    assert caveats_of("congestion control", ["cubic", "ledbat++"])


@real
def test_the_engine_runs_a_mixture() -> None:
    run = bloatlab.run(
        "deep-buffers",
        k=2,
        algs=["TcpCubic", "TcpNewReno"],
        rtts=["15ms", "40ms"],
        protocols=["tcp", "udp"],
        traffic_models=["Greedy(bytes=0)", "Cbr(rate=2Mbit/s)"],
        stop_times=["2s", "1s"],
    )
    assert run.flow_metrics["flow_1"]["mean_throughput_l4"] > 25
    assert run.flow_metrics["flow_2"]["mean_sending_rate_l4"] == pytest.approx(2, rel=0.02)
