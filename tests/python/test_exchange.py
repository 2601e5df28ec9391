"""Files of measuring tools: what `import` makes of them, and that an exported file reads back as what was exported."""

from __future__ import annotations

import gzip
import html
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bloatlab as bl
import tool_files
from bloatlab.cli import command
from bloatlab.errors import EngineError, ParameterError, StoreError
from bloatlab.exchange import formats, importing, untrusted
from bloatlab.exchange.formats import FORMATS
from bloatlab.exchange.measurement import Measurement
from bloatlab.exchange.stored import measurement
from bloatlab.experiments.phrases import with_unit
from bloatlab.figures import engines
from bloatlab.judges.grade import grade
from bloatlab.report import answers, make_report
from bloatlab.store import Store

SCENARIO = """
name = "link"
duration = "6s"
dumbbell = { rate = "10Mbit/s", reverse_rate = "2Mbit/s", rtt = "40ms", queue = { kind = "fifo", limit = "60p" }, loss = 0.02 }

[[flows]]
name = "down"
count = 2
start = "1s"
stop = "5s"

[[flows]]
name = "up"
direction = "reverse"
cca = "newreno"
start = "1s"
stop = "5s"

[[flows]]
name = "ping"
traffic = { kind = "ping", interval = "100ms" }
"""


def to_the_end() -> str:
    """The scenario with flows that last as long as the run, and without lost packets."""
    lines = SCENARIO.replace(", loss = 0.02", "").replace('"6s"', '"20s"').splitlines()
    return "\n".join(line for line in lines if not line.startswith("stop"))


def write(name: str, document: Any = None) -> Path:
    path = Path(f"{name}.json")
    text = json.dumps(tool_files.SAMPLES[name]() if document is None else document).encode()
    path.write_bytes(gzip.compress(text) if name in ("flent", "irtt") else text)
    return path


def read(name: str, document: Any = None) -> Measurement:
    return formats.read(write(name, document))[0]


def lens() -> Path:
    path = Path("lens.csv")
    path.write_text(tool_files.LENS)
    return path


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results directory with one run, of uploads, downloads and a ping that loses packets."""
    directory = tmp_path_factory.mktemp("simulated")
    (directory / "s.toml").write_text(SCENARIO)
    bl.simulate(directory / "s.toml", out=directory / "r")
    return directory / "r"


def only_run(place: Path | str) -> str:
    return str(Store(place).runs()["run_id"][0])


def test_the_contents_tell_the_format_whatever_the_name() -> None:
    for name in tool_files.SAMPLES:
        assert read(name).tool == FORMATS[name].tool
    assert formats.read(lens())[0].tool == "lens"


def test_flent_gives_flows_pings_and_what_it_says_about_itself() -> None:
    found = read("flent")
    (flow,), (probe,) = found.flows, found.probes
    assert (flow.name, flow.direction, flow.cca) == ("down_1", "download", "cubic")
    assert [one.mbps for one in flow.samples] == [8.0, 10.0, 10.0, 12.0]
    assert flow.span == pytest.approx((1.0, 3.0))
    assert (probe.name, probe.interval_ms) == ("ping", pytest.approx(500.0, rel=0.1))
    assert found.facts["host"] == "netperf.example"
    assert found.facts["series_left_out"] == "CPU load"
    assert (found.version, found.began) == ("2.1.1", tool_files.T0)


def test_flent_without_raw_values_gives_those_of_the_grid() -> None:
    document = tool_files.flent()
    raw = read("flent", document)
    del document["raw_values"]
    grid = read("flent", {**document, "version": 3})
    assert [one.mbps for one in grid.flows[0].samples] == [one.mbps for one in raw.flows[0].samples]


def test_metrics_follow_the_shared_definitions() -> None:
    importing.store([write("flent"), write("iperf3"), write("irtt")], "m")
    store = Store("m")
    by_tool = {row["engine"]: row["run_id"] for row in store.runs().iter_rows(named=True)}
    flent, iperf3, irtt = (store.run(by_tool[tool]) for tool in ("flent", "iperf3", "irtt"))
    assert flent.flow_metrics["down_1"]["mean_throughput_l7"] == pytest.approx(10.0)
    assert flent.probe_metrics["ping"]["max_rtt"] == 100.0
    assert flent.probe_metrics["ping"]["p50_rtt"] == 30.0
    # Flent's pings do not tell how many requests there were.
    assert "lost" not in flent.probe_metrics["ping"]
    assert iperf3.network_metrics["agg_throughput"] == pytest.approx(8.0)
    assert iperf3.network_metrics["jain_index"] == pytest.approx(64 / (2 * 40))
    assert iperf3.flow_metrics["up_1"]["mean_srtt_l4"] == pytest.approx(25.0)
    assert iperf3.flow_metrics["up_1"]["mean_cwnd_l4"] == pytest.approx(10.0)
    assert iperf3.flow_metrics["up_1"]["total_retransmissions_l4"] == 1.0
    assert irtt.probe_metrics["ping"] == pytest.approx(
        {"transactions": 2, "lost": 3, "mean_rtt": 30, "max_rtt": 40, "p50_rtt": 20, "p95_rtt": 40, "p99_rtt": 40}
    )
    defined = bl.metrics.definitions()
    for result in (flent, iperf3, irtt):
        named = {("flow", name) for of in result.flow_metrics.values() for name in of}
        named |= {("probe", name) for of in result.probe_metrics.values() for name in of}
        assert named <= defined.keys()


def test_throughput_of_both_directions_is_not_added_up() -> None:
    importing.store([write("network-quality")], "m")
    result = Store("m").run(only_run("m"))
    assert result.network_metrics == {}
    assert {name: of["mean_throughput_l7"] for name, of in result.flow_metrics.items()} == {"down": 90.0, "up": 20.0}


def test_a_file_is_stored_once_under_any_name() -> None:
    path = write("flent")
    (first,) = importing.store([path], "m")
    other = path.rename("renamed.json")
    (second,) = importing.store([other], "m", name="mine")
    assert first.is_new
    assert not second.is_new
    assert (first.run_id, Store("m").runs().height) == (second.run_id, 1)


def test_the_same_measurement_compressed_otherwise_is_the_same_run() -> None:
    path = write("flent")
    plain = Path("plain.json")
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    first, second = importing.store([path, plain], "m")
    assert first.run_id == second.run_id


def test_nothing_is_stored_if_one_file_is_not_sound() -> None:
    bad = Path("bad.json")
    bad.write_text("{}")
    with pytest.raises(ParameterError, match="none of the formats"):
        importing.store([write("flent"), bad], "m")
    assert not Path("m").exists()


def test_an_imported_run_cannot_be_made_again_and_says_why() -> None:
    importing.store([write("flent")], "m")
    store = Store("m")
    with pytest.raises(StoreError, match="measured its runs elsewhere"):
        store.origin(only_run("m")).simulate(bl.loading.NO_PLUGINS)
    with pytest.raises(EngineError, match="measured its runs elsewhere"):
        bl.run("deep-buffers", engine="irtt")


def test_names_of_the_catalogue_are_refused() -> None:
    with pytest.raises(ParameterError, match="--name deep-buffers: is not a free name"):
        importing.store([write("flent")], "m", name="deep-buffers")


def test_import_refuses_a_directory_of_another_program() -> None:
    Path("m").mkdir()
    Path("m/notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="neither empty nor a results directory"):
        importing.store([write("flent")], "m")
    assert [path.name for path in Path("m").iterdir()] == ["notes.txt"]


def again(of: Measurement, name: str) -> Measurement:
    """What is read of a measurement's export."""
    data = FORMATS[name].write(of)
    path = Path(f"again{FORMATS[name].ending}")
    path.write_bytes(data)
    return formats.read(path)[0]


@pytest.mark.parametrize("name", ["flent", "irtt", "crusader", "network-quality"])
def test_what_was_read_is_written_and_read_again(name: str) -> None:
    first = read(name)
    second = again(first, name)
    assert [flow.name for flow in second.flows] == [flow.name for flow in first.flows]
    for one, other in zip(first.flows, second.flows, strict=True):
        assert [of.mbps for of in other.samples] == pytest.approx([of.mbps for of in one.samples])
        assert [of.end_s - other.span[0] for of in other.samples] == pytest.approx(
            [of.end_s - one.span[0] for of in one.samples], abs=1e-5
        )
    for probe, same in zip(first.probes, second.probes, strict=True):
        assert same.name == probe.name
        assert [of.rtt_ms for of in same.echoes] == pytest.approx([of.rtt_ms for of in probe.echoes])
        assert [of.loss for of in same.echoes] == [of.loss for of in probe.echoes]
        assert [of.up_ms for of in same.echoes] == pytest.approx([of.up_ms for of in probe.echoes])


def test_lens_keeps_every_loss_with_its_direction() -> None:
    first = formats.read(lens())[0]
    assert [one.loss for one in first.probes[0].echoes] == ["", "lost", "lost up", "lost down", ""]
    second = again(first, "lens")
    assert second.probes == first.probes
    assert second.began == first.began


@pytest.mark.parametrize("name", ["flent", "irtt", "crusader", "lens"])
def test_a_simulated_run_survives_its_file(simulated: Path, name: str) -> None:
    """Throughput and RTTs of the file are those of the run, within its sampling."""
    run = only_run(simulated)
    store = Store(simulated)
    form = FORMATS[name]
    file = Path(f"x{form.ending}")
    file.write_bytes(form.write(measurement(store, run, exact=form.exact)))
    importing.store([file], "m")
    result, read = store.run(run), Store("m").run(only_run("m"))
    ours, theirs = result.probe_metrics["ping"], read.probe_metrics["ping"]
    for metric in ("mean_rtt", "p50_rtt", "p95_rtt", "max_rtt"):
        assert theirs[metric] == pytest.approx(ours[metric], rel=0.02)
    if form.exact:
        assert (theirs["transactions"], theirs["lost"]) == (ours["transactions"], ours["lost"])
    if name in ("flent", "crusader"):
        there = "{way}_{place}" if name == "flent" else "{way}_both_{place}"
        for own, way, place in (("down_1", "down", 1), ("down_2", "down", 2), ("up", "up", 1)):
            assert read.flow_metrics[there.format(way=way, place=place)]["mean_throughput_l4"] == pytest.approx(
                result.flow_metrics[own]["mean_throughput_l4"], rel=0.02
            )


def test_losses_have_the_direction_in_which_the_packet_log_has_them(simulated: Path) -> None:
    """The link loses packets of the forward direction only, and `ping` sends its requests there: downloads."""
    found = measurement(Store(simulated), only_run(simulated), exact=True)
    (probe,) = found.probes
    lost = [one for one in probe.echoes if one.rtt_ms is None]
    assert len(lost) == Store(simulated).run(only_run(simulated)).probe_metrics["ping"]["lost"]
    assert lost
    assert {one.loss for one in lost} <= {"lost down", "lost"}
    answered = [one for one in probe.echoes if one.rtt_ms is not None]
    for one in answered:
        assert one.up_ms is not None
        assert one.down_ms is not None
        assert one.up_ms + one.down_ms == pytest.approx(one.rtt_ms)
    # Losses keep the queue of the download short, and that of the upload is long.
    assert max(one.up_ms or 0 for one in answered) > 100 > max(one.down_ms or 0 for one in answered)


def test_qlog_has_a_trace_per_flow_with_what_the_run_sampled(simulated: Path) -> None:
    data = FORMATS["qlog"].write(measurement(Store(simulated), only_run(simulated), exact=False))
    document = json.loads(data)
    assert (document["qlog_version"], document["qlog_format"]) == ("0.3", "JSON")
    assert [trace["title"] for trace in document["traces"]] == ["down_1", "down_2", "up"]
    result = Store(simulated).run(only_run(simulated))
    series = result.flow_series.to_polars().filter(pl.col("flow").cast(pl.String) == "down_1")
    windows = dict(series.select("time_s", "cwnd").iter_rows())
    events = document["traces"][0]["events"]
    assert all(event["name"] == "recovery:metrics_updated" for event in events)
    stated = [event for event in events if "congestion_window" in event["data"]]
    assert stated
    for event in stated:
        assert event["data"]["congestion_window"] == round(windows[event["time"] / 1e3] * 1448)


def test_a_measurement_stands_beside_its_simulation_on_one_page(simulated: Path) -> None:
    run = only_run(simulated)
    Path("x.flent.gz").write_bytes(FORMATS["flent"].write(measurement(Store(simulated), run, exact=False)))
    bl.simulate(simulated.parent / "s.toml", out="r")
    (found,) = importing.store([Path("x.flent.gz")], "r", beside=run[:6])
    assert found.is_new
    result = Store("r").run(found.run_id)
    assert list(result.flow_metrics) == ["down_1", "down_2", "up"]
    assert result.scenario == Store("r").run(run).scenario
    assert command(["compare", "r", "--by", "engine"]) == 0
    page = Path("r/compare.html").read_text()
    assert "sim and flent" in page
    assert "Engines over time" in page
    tables = engines.of_engines(Store("r"), Store("r").runs())
    rtts = tables["engine_series"].filter(quantity="rtt")
    assert set(rtts["engine"]) == {"sim", "flent"}
    assert set(rtts["entity"]) == {"ping"}
    # The same file again is the same run.
    assert not importing.store([Path("x.flent.gz")], "r", beside=run)[0].is_new


def test_beside_needs_a_run_that_is_there() -> None:
    with pytest.raises(ParameterError, match="holds no runs"):
        importing.store([write("flent")], "m", beside="abc")
    importing.store([write("flent")], "m")
    with pytest.raises(StoreError, match="there is no run `abc`"):
        importing.store([write("flent")], "m", beside="abc")
    with pytest.raises(ParameterError, match="no scenario"):
        importing.store([write("irtt")], "m", beside=only_run("m"))


def test_commands_work_on_an_imported_store(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(write(name)) for name in tool_files.SAMPLES] + [str(lens())]
    assert command(["import", *paths, "--out", "m"]) == 0
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == len(paths)
    for arguments in (["runs", "m"], ["report", "m"], ["export", "m", "--csv"], ["store", "check", "m"]):
        assert command(arguments) == 0, arguments
    assert "netperf.example" in Path("m/report.html").read_text()
    run = Store("m").runs().filter(engine="flent")["run_id"][0]
    assert command(["figure", "m", "time_series", "--run", run, "-o", "t.svg"]) == 0


def test_export_writes_one_format_and_overwrites_nothing(simulated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = only_run(simulated)[:8]
    assert command(["export", str(simulated), "--flent", run, "-o", "x.flent.gz"]) == 0
    assert command(["export", str(simulated), "--irtt", run, "-o", "x.flent.gz"]) == 2
    assert "exists, and is not overwritten" in capsys.readouterr().err
    assert command(["export", str(simulated), "--irtt", run, "--flent", run]) == 2
    assert command(["export", str(simulated), "--irtt", run, "--csv"]) == 2
    assert command(["export", str(simulated), "--irtt", run, "--link", "bottleneck"]) == 2


def test_a_run_without_pings_has_no_file_of_pings(document: dict[str, object]) -> None:
    bl.run(document, out="r")
    for name in ("irtt", "lens"):
        with pytest.raises(ParameterError, match="has no ping"):
            FORMATS[name].write(measurement(Store("r"), only_run("r"), exact=False))


def test_a_gzip_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted, "MOST_BYTES", 1 << 20)
    Path("bomb.gz").write_bytes(gzip.compress(bytes(8 << 20)))
    with pytest.raises(ParameterError, match=r"bomb\.gz: holds more than 1 MiB"):
        untrusted.read(Path("bomb.gz"))


def reimported(scenario: str | dict[str, Any], form: str, directory: Path) -> tuple[bl.Result, bl.Result]:
    """A simulated run, and the run that its file of another tool gives."""
    document = tomllib.loads(scenario) if isinstance(scenario, str) else scenario
    run = bl.run(document, out=directory / "sim")
    path = directory / f"x{FORMATS[form].ending}"
    path.write_bytes(FORMATS[form].write(measurement(Store(directory / "sim"), run.run_id, exact=FORMATS[form].exact)))
    (found,) = importing.store([path], directory / "imported")
    return run, Store(directory / "imported").run(found.run_id)


def test_the_verdict_on_a_measurement_is_from_its_ping(tmp_path: Path) -> None:
    run, again = reimported(SCENARIO, "flent", tmp_path)
    loaded = again.verdict.evidence.loaded
    assert again.verdict.evidence.increase_ms is None
    idle = run.probe_series.to_polars().filter(pl.col("time_s") < 1)
    assert loaded.base_ms == pytest.approx(idle["rtt_ms"].mean())
    # Flent idles for 5 s before the load, which the run starts after 1 s.
    spans = again.flows.to_polars()
    first, last = spans["start_s"].min(), spans["stop_s"].max()
    assert (first, last) == pytest.approx((5, 9), abs=0.2)
    rows = again.probe_series.to_polars().with_columns(sent=pl.col("time_s") - pl.col("rtt_ms") / 1e3)
    sent = rows.filter((pl.col("sent") >= first) & (pl.col("sent") < last))
    assert loaded.mean_ms == pytest.approx(sent["rtt_ms"].mean())
    assert again.verdict.grade == grade(loaded.increase_ms) != ""
    store = Store(tmp_path / "imported")
    first, *others = answers.answer(store)
    assert first.startswith(f"Under load, the mean RTT of the ping is {with_unit(loaded.mean_ms, 'ms')}: ")
    assert "longer than before the load" in first
    assert "newreno flow carry" in first
    assert not any("No RTT" in line for line in (first, *others))
    shown = make_report(tmp_path / "imported").read_text(encoding="utf-8")
    assert "No RTT and no sojourn time" not in shown
    words = re.sub(r"<[^>]*>", "", html.unescape(shown)).replace("\u00a0", " ")
    assert again.verdict.judges["grade"].basis.replace("`", "") in words


def test_many_measurements_are_told_by_their_pings(tmp_path: Path) -> None:
    for number, rtt in enumerate(("40ms", "80ms")):
        run = bl.run(tomllib.loads(SCENARIO.replace('rtt = "40ms"', f'rtt = "{rtt}"')), out=tmp_path / f"sim{number}")
        path = tmp_path / f"{rtt}.flent.gz"
        path.write_bytes(FORMATS["flent"].write(measurement(Store(tmp_path / f"sim{number}"), run.run_id, exact=False)))
        importing.store([path], tmp_path / "imported", name="measured")
    said = " ".join(answers.answer(Store(tmp_path / "imported")))
    assert "The RTT of ping (95th percentile) " in said
    assert "No RTT" not in said
    shown = html.unescape(make_report(tmp_path / "imported").read_text(encoding="utf-8"))
    assert "no flow measured an RTT; the 95th percentile of a ping's RTT ranges from" in shown


def test_a_ping_without_load_has_no_grade(tmp_path: Path) -> None:
    scenario = SCENARIO.partition("[[flows]]")[0] + SCENARIO[SCENARIO.rindex("[[flows]]") :]
    _, again = reimported(scenario, "irtt", tmp_path)
    assert again.verdict.grade == ""
    (first, *_) = answers.answer(Store(tmp_path / "imported"))
    assert first.startswith("The mean RTT of the ping is ")


@pytest.mark.parametrize("stop", [None, "12s"])
def test_means_of_an_import_agree_with_the_run(tmp_path: Path, stop: str | None) -> None:
    scenario = tomllib.loads(to_the_end())
    for flow in scenario["flows"][:2]:
        flow |= {} if stop is None else {"stop": stop}
    run, again = reimported(scenario, "flent", tmp_path)
    means, others = ([of["mean_srtt_l4"] for of in each.flow_metrics.values()] for each in (run, again))
    assert len(means) == 3
    assert sorted(others) == pytest.approx(sorted(means), rel=0.02)


def test_network_quality_states_the_responsiveness_of_a_run(tmp_path: Path) -> None:
    run, again = reimported(SCENARIO, "network-quality", tmp_path)
    rpm = run.verdict.judges["rpm"]
    assert again.parameters["responsiveness"] == round(rpm.value)
    assert again.parameters["draft_version"] == rpm.version == "estimate after draft-ietf-ippm-responsiveness-09"


def test_an_mss_that_tcp_cannot_announce_is_refused() -> None:
    document = tool_files.SAMPLES["iperf3"]()
    document["start"] = {key: value for key, value in document["start"].items() if not key.startswith("tcp_mss")}
    document["start"]["tcp_mss_default"] = 2**32
    with pytest.raises(ParameterError, match="tcp_mss_default"):
        read("iperf3", document)


def test_measurements_are_compared_without_the_advice_to_replicate_them(capsys: pytest.CaptureFixture[str]) -> None:
    faster = tool_files.network_quality()
    faster["dl_throughput"] *= 2
    importing.store([write("network-quality")], "a", name="link")
    importing.store([write("network-quality", faster)], "b", name="link")
    assert command(["compare", "a", "b"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("From a to b, ")
    assert "--replications" not in said
    assert said.endswith(
        "To judge noise, import several measurements of the same link into each side. page: b/compare-a.html"
    )
    # The last digits of a number in a file are no difference.
    faster["dl_throughput"] = tool_files.network_quality()["dl_throughput"] * (1 + 1e-6)
    importing.store([write("network-quality", faster)], "c", name="link")
    assert command(["compare", "a", "c"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("No metric differs by 0.01 % or more between a and c.")
    assert "do not differ by 0.01 % or more; --all shows them" in said
    assert command(["compare", "a", "c", "--fail-on-difference"]) == 1
