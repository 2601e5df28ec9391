"""Dynamic buffers against queue management in 5G: the documents, the channels, what is said of the runs, and the figures."""

import itertools

import polars as pl
import pytest

import bloatlab
from bloatlab import figures
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.nr_dynamic_buffers.channels import CHANNELS
from bloatlab.experiments.nr_dynamic_buffers.remarks import remarks
from bloatlab.experiments.nr_dynamic_buffers.schemes import SCHEMES
from bloatlab.experiments.ranking import Observation
from bloatlab.figures import registry
from bloatlab.figures.charts import downlink
from bloatlab.report import make_report
from bloatlab.sweeps import ExperimentSource, plan
from bloatlab.sweeps.suite import plan_all
from conftest import REAL

NAME = "nr-dynamic-buffers"
real = pytest.mark.skipif(not REAL, reason="needs the engine (make build)")
pytestmark = real


def scenario(**given):
    experiment = get(NAME)
    return experiment.scenario(experiment.resolve(given))


def cell(scheme, **given):
    return scenario(scheme=scheme, **given)["cell"]


def run(**given):
    return bloatlab.run(NAME, **given)


def test_each_scheme_sets_its_part_of_the_cell():
    assert cell("tail")["queue"] == "infinite"
    assert (cell("tail")["buffer"], cell("tail_small")["buffer"]) == ("10MB", "250kB")
    assert cell("codel")["queue"] == "codel"
    assert "sdap" not in cell("codel")
    assert "marking" not in cell("codel")
    assert cell("drql")["sdap"] == {"queue": "fq_codel", "sizing": {"kind": "drql"}}
    assert cell("bdp_tail", buffer="5MB")["sdap"]["queue"] == {"kind": "fifo", "limit": "5MB"}
    assert cell("upf_aqm", channel="mmwave_blockage")["backhaul"]["rate"] == "305Mbit/s"
    assert cell("upf_aqm", upf_rate="20Mbit/s")["backhaul"]["rate"] == "20Mbit/s"
    assert cell("fq_codel")["backhaul"]["rate"] == "10Gbit/s"
    assert cell("upf_pacer")["backhaul"]["pacer"] == {}
    assert cell("l4span")["marking"] == {}


def test_transfers_and_pages_use_what_the_scheme_is_made_for():
    def of(**given):
        return {(flow["cca"], flow["tcp"].get("ecn", False)) for flow in scenario(**given)["flows"] if "cca" in flow}

    assert of(scheme="dualpi2_prague", cca="bbr") == {("prague", False)}
    assert of(scheme="l4span_ecn", cca="newreno") == {("newreno", True)}
    assert of(scheme="bdp", cca="bbr") == {("bbr", False)}


def test_further_users_only_transfer():
    document = scenario(ues=3, flows=4, channel="pedestrian")
    assert [(flow["name"], flow.get("ue", 1)) for flow in document["flows"]] == [
        ("bulk_ue1", 1), ("bulk_ue2", 2), ("bulk_ue3", 3), ("voip", 1), ("web", 1), ("ping", 1),
    ]  # fmt: skip
    assert [flow["count"] for flow in document["flows"][:3]] == [4, 4, 4]
    assert len(document["cell"]["radio"]["ues"]) == 3


def test_what_is_not_there_is_refused():
    with pytest.raises(ParameterError, match=r"scheme: unknown choice `bdq` .*allowed: tail, .*, l4span_ecn"):
        get(NAME).resolve({"scheme": "bdq"})
    with pytest.raises(ParameterError, match=r"channel: "):
        get(NAME).resolve({"channel": "maritime"})


def test_the_engine_takes_every_point_and_points_run_three_times():
    experiment = get(NAME)
    axes = experiment.all_axes({}, {})
    points = list(itertools.product(*axes.values()))
    assert len(points) == len(SCHEMES) * 2 * len(CHANNELS)
    assert len(plan(ExperimentSource(experiment), {}, axes)) == len(points)
    few = {"channel": "static", "rlc": "um"}
    assert len(plan_all(ExperimentSource(experiment), few, {}, replications=None)[0]) == 3 * len(SCHEMES)
    assert len(plan_all(ExperimentSource(experiment), few, {}, replications=1)[0]) == len(SCHEMES)
    # No parameter of the experiment is swept.
    one = plan_all(ExperimentSource(experiment), {**few, "scheme": "tail"}, {}, replications=None)[0]
    assert len(one) == 1


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_channel_brings_no_more_than_the_upf_is_set_to_and_the_static_one_a_little_more(channel):
    metrics = run(channel=channel, scheme="tail", rlc="am", stop="6s", warmup="2s", seed=3)
    carried = metrics.link_metrics["upf"]["throughput"]
    rate = float(CHANNELS[channel].upf_rate.removesuffix("Mbit/s"))
    assert 0.25 * rate < carried < 1.12 * rate
    if channel == "static":
        assert carried > 1.02 * rate
    # The uplink holds: answers come, and nothing waits there for long.
    assert metrics.probe_metrics["ping"]["transactions"] > 20
    assert metrics.link_metrics["ue_1_up"]["p95_sojourn"] < 60


def test_queues_apart_keep_the_call_short_and_a_plain_one_does_not():
    def of(scheme):
        metrics = run(scheme=scheme, stop="8s", warmup="3s", seed=1)
        return metrics.flow_metrics["voip"]["p99_one_way_delay_l4"], metrics

    deep, _ = of("tail")
    for scheme in ("fq_codel", "drql", "dynrlc", "bdp", "upf_pacer", "upf_aqm"):
        delay, metrics = of(scheme)
        assert delay < deep / 10, scheme
        goodput = sum(values["mean_throughput_l7"] for name, values in metrics.flow_metrics.items() if name != "voip")
        assert goodput > 35, scheme
    assert of("bdp_tail")[0] > deep / 2


def test_prague_is_marked_instead_of_losing():
    metrics = run(scheme="l4span", stop="6s", warmup="2s", seed=1)
    bulk = [metrics.flow_metrics[f"bulk_{index}"] for index in (1, 2)]
    assert sum(of["marks_l4"] for of in bulk) > 0
    assert sum(of["total_retransmissions_l4"] for of in bulk) == 0
    assert all(of["p95_rtt_l4"] < 60 for of in bulk)


def observed(values):
    """Runs from `(point, scheme): (call p99, goodput, RTT p95)`."""
    names = ("voip_delay_p99", "tcp_goodput", "bulk_rtt_p95")
    return [
        Observation(scheme, point, {**dict(zip(names, numbers, strict=True)), "retransmitted": 0.01})
        for (point, scheme), numbers in values.items()
    ]


def said(values):
    return {remark.title: remark for remark in remarks(observed(values))}


UM, AM = "channel=static, rlc=um", "channel=static, rlc=am"
VALUES = {
    (UM, "tail"): (400.0, 100.0, 500.0),
    (UM, "tail_small"): (40.0, 90.0, 60.0),
    (UM, "fq_codel"): (20.0, 80.0, 30.0),
    (UM, "bdp"): (10.0, 50.0, 30.0),
    (UM, "bdp_tail"): (300.0, 96.0, 400.0),
    (AM, "tail"): (200.0, 100.0, 300.0),
    (AM, "fq_codel"): (5.0, 99.0, 30.0),
    (AM, "bdp"): (5.04, 60.0, 30.0),
    (AM, "bdp_tail"): (220.0, 99.5, 300.0),
}


def test_winners_are_read_from_the_runs():
    found = said(VALUES)["The best scheme in each set-up"]
    assert found.rows == (
        (
            "static, um", "bdp: 10.0 ms, 50 Mbit/s", "tail: 400.0 ms, 100 Mbit/s", "bdp_tail: 300.0 ms, 96 Mbit/s",
            "bdp: 10.0 ms, 50 Mbit/s",
        ),
        # Within one percent they are equal; the highest power is 99/5.
        (
            "static, am", "fq_codel and bdp: 5.0 ms, 99 Mbit/s", "fq_codel, tail and bdp_tail: 5.0 ms, 99 Mbit/s",
            "fq_codel: 5.0 ms, 99 Mbit/s", "fq_codel: 5.0 ms, 99 Mbit/s",
        ),
    )  # fmt: skip
    assert (
        "The delay is shortest with bdp (in 2 of 2 set-ups) and fq_codel (1). The goodput is highest with" in found.ours
    )
    assert "Among schemes with 95 % of the highest goodput, the delay is shortest with" in found.ours


def test_claims_are_weighed_by_the_runs():
    found = said(VALUES)
    assert "is 40 times that of the best" in found["A deep buffer is bloat in 5G too"].ours
    assert "keeps 90 % of its goodput" in found["A deep buffer is bloat in 5G too"].ours
    # bdp is quicker than fq_codel at one of two places, which are not most.
    assert "none of bdp gives a shorter delay" in found["An AQM in the RLC, or a short RLC"].ours
    quicker = said({**VALUES, (AM, "bdp"): (4.0, 60.0, 30.0)})["An AQM in the RLC, or a short RLC"]
    assert "shorter in most set-ups with bdp." in quicker.ours
    assert quicker.rows == (("bdp", "2 of 2", "0.5 to 0.8", "1", "0.606 to 0.625"),)
    cost = found["What short delays cost"]
    assert cost.rows[0] == ("bdp_tail", "98 %", "96 %", "static, um")
    assert "1 of 4 schemes keep at least" in cost.ours
    assert "the call has 75 to 110 % of the deep buffer's delay" in found["Sizing alone moves the queue"].ours
    assert "more than 1.5 times that in AM on the channels static (10 against 5 ms)" in found["UM and AM"].ours
    assert {"A queue in the UPF", "Marks instead of drops"}.isdisjoint(found)


def test_of_two_schemes_only_what_concerns_them_is_said():
    found = said({("", "l4span"): (20.0, 95.0, 30.0), ("", "upf_aqm"): (15.0, 100.0, 25.0)})
    assert list(found) == ["The best scheme in each set-up", "Marks instead of drops"]
    assert found["Marks instead of drops"].rows[0][3:5] == ("95 %", "95 % (here)")
    assert remarks([]) == []


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    axes = {"scheme": ["tail", "fq_codel", "upf_pacer"], "channel": ["static", "vehicular"], "rlc": ["um"]}
    out = tmp_path_factory.mktemp(NAME)
    return bloatlab.sweep(NAME, axes, out=out, replications=1, stop="5s", warmup="1s")


@pytest.mark.parametrize("width", [900, 360])
@pytest.mark.parametrize("name", ["fronts", "standings"])
def test_figures_over_points_have_a_panel_or_a_column_each(store, name, width):
    tables = figures.of_runs(store)
    spec = str(figures.draw(name, tables, width=width).to_dict(validate=True))
    assert "'static'" in spec
    assert "'vehicular'" in spec
    points = tables["at_points"]
    assert points["point"].unique().len() == 2
    whole = tables["ranking"].filter(criterion="tcp_goodput", contender="tail")["value"][0]
    each = points.filter(criterion="tcp_goodput", contender="tail")["value"]
    assert each.mean() == pytest.approx(whole)


def test_the_way_down_is_drawn_of_cells_alone(store):
    run_id = store.parameters().filter(name="scheme", value='"upf_pacer"')["run_id"][0]
    tables = figures.of_run(store, run_id)
    places = downlink.queues(tables)
    assert places["place"].unique().sort().to_list() == ["RLC", "SDAP", "UPF"]
    # What the radio carries is counted with PDCP's headers, and passes the RLC alone.
    radio = places.filter(place="RLC")["mbps"].mean()
    assert 20 < radio < 70
    kinds = downlink.delays(tables)
    assert kinds["what"].unique(maintain_order=True).to_list() == list(downlink.DELAYS)
    assert kinds["ms"].min() > 14
    for width in (900, 360):
        assert figures.draw("downlink", tables, width=width).to_dict(validate=True)["vconcat"]
    renamed = tables["link_series"].with_columns(pl.lit("bottleneck").alias("link"))
    assert not registry.find("downlink").applicable({**tables, "link_series": renamed})


def test_named_bearers_are_on_the_way_down_their_uplinks_are_not():
    links = ["upf", "upf_1", "sdap_1", "sdap_2_voice", "ue_1", "ue_2_voice", "ue_1_up", "ue_2_voice_up", "wire_up"]
    rows = {"time_s": [0.1] * 9, "link": links, "queue_packets": list(range(9)), "throughput_mbps": [1.0] * 9}
    places = downlink.queues({"link_series": pl.DataFrame(rows)})
    assert dict(places.select("place", "packets").iter_rows()) == {"UPF": 0 + 1, "SDAP": 2 + 3, "RLC": 4 + 5}


def test_the_page_says_who_wins_before_it_ranks(store):
    page = make_report(store.directory).read_text()
    assert page.index("<h2>Conclusions from the runs</h2>") < page.index("<h2>Ranking</h2>")
    for words in (
        "The best scheme in each set-up",
        "vehicular",
        "Goodput against delay in each set-up",
        "From the UPF to the UE",
    ):
        assert words in page
