"""Set-ups of Linux, OpenWrt, Mininet, NeST and ns-3 for the network of a scenario."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import pytest

from bloatlab import cli, language
from bloatlab.errors import ParameterError
from bloatlab.experiments import CATALOGUE, get
from bloatlab.setups import FORMS, set_up
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="the extension module is not built")
HOSTILE = "x\"\"\"'; import os; os.system('id') # $(id) `id` \\"


def document(**dumbbell: Any) -> dict[str, Any]:
    flows = [{"name": "bulk", "cca": "cubic"}, {"name": "ping", "traffic": "ping"}]
    return {"duration": "20s", "dumbbell": {"rate": "20Mbit/s", "rtt": "40ms", **dumbbell}, "flows": flows}


def lines(given: dict[str, Any], form: str = "tc", **devices: str) -> list[str]:
    return set_up(language.normalise(json.dumps(given)), form, devices)


def of_experiment(name: str, form: str = "tc", **given: Any) -> list[str]:
    experiment = get(name).for_engine("linux")
    return lines(experiment.scenario(experiment.resolve(given)), form)


def test_a_shaper_holds_the_queue_and_the_delay_has_its_own_devices() -> None:
    assert lines(document(queue="fq_codel target 10ms", header=14), bottleneck="wan") == [
        "# r0, device towards r1: bottleneck, 20Mbit/s, fq_codel",
        "tc qdisc replace dev wan root handle 1: htb default 1",
        "tc class replace dev wan parent 1: classid 1:1 htb rate 20mbit",
        "tc qdisc replace dev wan parent 1:1 fq_codel target 10ms",
        "# r1, device towards b1: the way to b1, bulk, ping",
        "tc qdisc replace dev r1-b1 root netem limit 1782 delay 20ms",
        "# r0, device towards a1: the way to a1, bulk, ping",
        "tc qdisc replace dev r0-a1 root netem limit 1782 delay 20ms",
    ]


def test_a_queue_that_shapes_below_the_rate_needs_no_second_shaper() -> None:
    assert "tc qdisc replace dev r0-r1 root cake bandwidth 19mbit" in lines(document(queue="cake bandwidth 19mbit"))
    assert any("htb rate 20mbit" in line for line in lines(document(queue="cake bandwidth 30mbit")))
    assert any("htb rate 20mbit" in line for line in lines(document(queue="cake")))


def test_the_shaper_counts_the_bytes_that_the_link_counts() -> None:
    assert " stab overhead -14 linklayer ethernet " in lines(document())[1]
    assert " stab overhead 24 linklayer ethernet " in lines(document(header=14, overhead=24))[1]


def test_buffers_of_several_segments_are_pfifos_packets() -> None:
    found = of_experiment("home-router")
    assert found[:2] == [
        "# pfifo counts socket buffers, here of 2 segments. On the device of every sender:",
        "#   ip link set dev DEVICE gso_max_segs 2",
    ]
    assert "tc class replace dev r1-r2 parent 1: classid 1:1 htb rate 10mbit" in found
    assert sum(line.endswith("pfifo limit 100") for line in found) == 4


def test_the_shaper_of_mmwave_has_its_burst_and_its_changes() -> None:
    found = of_experiment("mmwave-aqm", queue="pie")
    assert any("htb rate 2905mbit burst 72625 cburst 72625" in line for line in found)
    assert any(line.startswith("# while IFS=, read -r rate seconds; do tc class change dev r0-r1 ") for line in found)


def test_rate_steps_are_comments_with_their_times() -> None:
    found = of_experiment("rfc7928-varying-bandwidth")
    assert "# after 20s: tc class change dev r0-r1 classid 1:1 htb rate 10000000bit" in found


def test_impairments_are_netems() -> None:
    impair = {"gilbert_elliott": {"p": 0.001, "r": 0.25}, "corrupt": 0.0001}
    jitter = {"size": "3ms", "distribution": "paretonormal", "reorder": True}
    found = lines(document(impair={**impair, "jitter": jitter}, reverse_impair={"duplicate": 0.001}))
    assert found[5].endswith("delay 20ms 3ms distribution paretonormal loss gemodel 0.1% 25% 100% 0% corrupt 0.01%")
    assert found[7].endswith("delay 20ms duplicate 0.1%")
    with pytest.raises(ParameterError, match="netem has one model of losses"):
        lines(document(loss=0.01, impair=impair))


def test_flows_of_a_parking_lot_have_hosts_at_their_routers() -> None:
    boxes = [
        {"kind": "link", "name": f"hop_{place}", "rate": "10Mbit/s", "delay": "5ms", "queue": "codel"}
        for place in (1, 2, 3)
    ]
    back = {"kind": "delay", "name": "back", "delay": "15ms"}
    flows = [
        {"name": "long", "path": ["hop_1", "hop_2", "hop_3"], "return_path": ["back"]},
        {"name": "cross", "path": ["hop_2"], "return_path": ["back"]},
    ]
    found = lines({"duration": "5s", "boxes": [*boxes, back], "flows": flows})
    assert "# r3, device towards b1: the way to b1, long" in found
    assert "# r2, device towards b2: the way to b2, cross" in found
    flows.append({"name": "other", "path": ["hop_1", "hop_3"], "return_path": ["back"]})
    with pytest.raises(ParameterError, match=r"flow `other` .* does not lie on the path of `long`"):
        lines({"duration": "5s", "boxes": [*boxes, back], "flows": flows})


CELLS = {"nr-rlc", "nr-dynamic-buffers"}
EXPERIMENTS = [name for name in CATALOGUE if name not in CELLS and name != "cc-benchmark"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_delays_add_up_to_the_base_rtt_and_links_have_their_rates(name: str) -> None:
    experiment = get(name).for_engine("linux")
    scenario = language.normalise(json.dumps(experiment.scenario(experiment.resolve({}))))
    plan = language.plan(scenario)
    try:
        found = set_up(scenario, "tc", {})
    except ParameterError as error:
        assert "Linux has no" in str(error)  # noqa: PT017
        return
    assert all(line.startswith(("tc ", "# ", "#  ")) for line in found)
    rates = [re.search(r" htb rate (\S+)", line) for line in found if line.startswith("tc class replace")]
    assert len([rate for rate in rates if rate]) == len(
        {name for flow in plan.flows for name in flow.forward + flow.reverse} & set(plan.links)
    )
    delays = [_ms(line) for line in found if " netem " in line]
    expected = sorted({flow.base_rtt_ns / 1e6 for flow in plan.flows})
    sums = sorted({round(sum(pair), 6) for pair in zip(delays[::2], delays[1::2], strict=True)})
    assert sums == pytest.approx(expected)


def _ms(line: str) -> float:
    found = re.search(r"delay ([\d.]+)(us|ms)", line)
    assert found is not None
    return float(found[1]) * (1e-3 if found[2] == "us" else 1)


@pytest.mark.parametrize("name", sorted(CELLS))
@pytest.mark.parametrize("form", FORMS)
def test_a_cell_is_refused_in_one_line(name: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.command(["tc", name, "--as", form]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "radio channel" in captured.err


def test_the_queue_of_one_box_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.command(["tc", "rfc7928-bidirectional", "--box", "reverse", "--dev", "eth1"]) == 0
    assert capsys.readouterr().out == "tc qdisc replace dev eth1 root codel limit 84\n"


def test_sqm_has_both_directions_with_their_options() -> None:
    given = document(queue="cake bandwidth 19mbit nat", reverse_rate="5Mbit/s", reverse_queue="cake bandwidth 4mbit")
    found = dict(re.findall(r"option (\w+) '(.*)'", "\n".join(lines(given, "sqm", bottleneck="eth7"))))
    wanted = {
        "interface": "eth7",
        "download": "19000",
        "upload": "4000",
        "qdisc": "cake",
        "script": "piece_of_cake.qos",
    }
    assert {name: found[name] for name in wanted} == wanted
    one_way = "\n".join(lines(document(queue="fq_codel limit 500", header=14), "sqm"))
    assert "option upload '0'" in one_way
    assert "option iqdisc_opts 'limit 500'" in one_way
    assert "option overhead '14'" in one_way
    with pytest.raises(ParameterError, match=r"SQM does not offer `red` \(allowed: cake, "):
        lines(document(queue="red limit 500k min 30k max 90k avpkt 1000 burst 55 probability 0.1"), "sqm")


@pytest.mark.parametrize("form", ["mininet", "nest"])
@pytest.mark.parametrize("name", ["home-router", "deep-buffers", "rfc7928-bidirectional", "rfc7928-rtt-fairness"])
def test_scripts_are_python_and_start_their_flows(name: str, form: str) -> None:
    script = "\n".join(of_experiment(name, form, cca="cubic"))
    ast.parse(script)
    assert script.count("-C cubic" if form == "mininet" else ', "cubic", tool=') >= 1


def test_a_page_that_is_fetched_has_a_server_and_its_size() -> None:
    script = "\n".join(of_experiment("home-router", "mininet"))
    assert '(results / "page-5202").write_bytes(bytes(177669))' in script
    assert "http://10.2.1.2:5202/page-5202" in script


def test_nest_refuses_queues_that_it_does_not_have() -> None:
    assert any(
        '"fq_codel", **{"limit": "500", "noecn": ""}' in line
        for line in lines(document(queue="fq_codel limit 500 noecn"), "nest")
    )
    with pytest.raises(ParameterError, match=r"NeST has no `cake` \(allowed: choke, "):
        lines(document(queue="cake"), "nest")


def test_ns3_has_the_attributes_of_the_queue_and_of_tcp() -> None:
    found = lines(document(queue="fq_codel target 10ms"), "ns3")
    disc = next(line for line in found if "SetRootQueueDisc" in line)
    assert '"ns3::FqCoDelQueueDisc"' in disc
    assert '"Target", StringValue("10ms")' in disc
    assert 'Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));' in found
    with pytest.raises(ParameterError, match=r"bottleneck.quantum: ns-3's fq_codel has no such attribute"):
        lines(document(queue="fq_codel quantum 300"), "ns3")


@pytest.mark.parametrize("form", FORMS)
def test_names_from_a_scenario_stay_text(form: str) -> None:
    given = document(queue="fq_codel")
    given["name"] = HOSTILE
    given["flows"][0]["name"] = HOSTILE
    found = lines(given, form)
    if form in ("mininet", "nest"):
        tree = ast.parse("\n".join(found))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert "os" not in names
    named = [line for line in found if "os.system" in line]
    assert all(line.startswith(("#", "//", '"""')) or "  # " in line for line in named)
    assert not any(quote in line.partition("# ")[2] for line in named for quote in ("`", "\\"))


def test_wrong_uses_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, what in (
        (["tc"], "give either a scenario file or an experiment, or --queue QUEUE"),
        (["tc", "home-router", "--as", "nsx"], "unknown value of --as `nsx`"),
        (["tc", "home-router", "--dev", "nolink=eth0"], "unknown link `nolink`"),
        (["tc", "home-router", "--box", "nobox"], "unknown box with a queue `nobox`"),
        (["tc", "--queue", "fq_codel", "--as", "sqm"], "not --queue"),
    ):
        assert cli.command(arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert what in captured.err
        assert captured.err.count("\n") == 1
