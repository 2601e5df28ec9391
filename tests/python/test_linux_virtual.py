"""The engine `linux-virtual`: kernels, the image of the guest, and, where a kernel was built, runs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import polars as pl
import pytest

import bloatlab as bl
from bloatlab import language
from bloatlab.cli import command
from bloatlab.engines import find
from bloatlab.engines.interface import Refusal
from bloatlab.engines.linux_virtual import build, folders, guest, image, kernels, source
from bloatlab.engines.linux_virtual.engine import LinuxVirtual
from bloatlab.errors import EngineError, ParameterError
from bloatlab.metrics.queue_statistics import MEANINGS

BUILT = kernels.chosen("") if image.missing() is None else None
needs_kernel = pytest.mark.skipif(BUILT is None, reason="no kernel in virtual time was built (bloatlab kernel build)")

HOME = {
    "duration": "3s",
    "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "queue": "fq_codel"},
    "flows": [
        {"cca": "cubic", "count": 2, "start_jitter": "50ms"},
        {"name": "ping", "traffic": {"kind": "ping", "interval": "100ms"}},
    ],
}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "cache"))
    return kernels.home()


def facts(release="7.2.12", **given):
    return kernels.Facts(
        release=release,
        source="linux.tar.xz",
        source_sha256=None,
        kernel_sha256="0" * 64,
        compiler="gcc",
        built="2026-01-01",
        **given,
    )


def place(home: Path, name: str, release: str) -> None:
    (home / name).mkdir(parents=True)
    kernels.save(home / name, facts(release))


def test_kernels_are_sorted_by_their_version(cache):
    for name, release in (("7.10.1-b", "7.10.1"), ("7.2.12-a", "7.2.12"), ("6.12.117-c", "6.12.117")):
        place(cache, name, release)
    place(cache, "123.part", "9.9.9")
    assert [kernel.name for kernel in kernels.built()] == ["6.12.117-c", "7.2.12-a", "7.10.1-b"]
    for wanted, expected in (
        ("", "7.10.1-b"),
        ("7.2", "7.2.12-a"),
        ("6.12.117", "6.12.117-c"),
        ("7.10.1-b", "7.10.1-b"),
        ("7.1", None),
        ("12", None),
    ):
        found = kernels.chosen(wanted)
        assert (found and found.name) == expected


def test_the_name_of_the_engine_can_choose_a_kernel(cache, monkeypatch):
    monkeypatch.setattr(image, "missing", lambda: None)
    for name, release in (("7.2.12-a", "7.2.12"), ("6.12.117-c", "6.12.117")):
        place(cache, name, release)
    engine = find("linux-virtual@6.12")
    assert engine.name == "linux-virtual@6.12"
    assert engine.details()["kernel"] == "6.12.117-c"
    assert find("linux-virtual").details()["kernel"] == "7.2.12-a"
    with pytest.raises(EngineError, match=r"no kernel `6\.1` was built \(there are 6\.12\.117-c, 7\.2\.12-a\)"):
        find("linux-virtual@6.1")
    with pytest.raises(ParameterError, match="`sim` has nothing to choose; leave `@fast` out"):
        find("sim@fast")
    with pytest.raises(ParameterError, match=r"unknown engine `virtual@6\.1`"):
        find("virtual@6.1")


def test_only_a_kernel_that_was_built_is_removed(cache, capsys):
    place(cache, "7.2.12-a", "7.2.12")
    (cache / "mine").mkdir()
    assert command(["kernel", "remove", "mine"]) == 2
    assert capsys.readouterr().err.strip() == "bloatlab: unknown kernel `mine` (known: 7.2.12-a)"
    assert command(["kernel", "remove", "../kernels/7.2.12-a"]) == 2
    assert command(["kernel", "remove", "7.2.12-a"]) == 0
    assert [folder.name for folder in cache.iterdir()] == ["mine"]


def test_the_list_says_what_to_do_without_a_kernel(cache, capsys):
    capsys.readouterr()
    assert command(["kernel", "list"]) == 0
    assert "bloatlab kernel build" in capsys.readouterr().out
    place(cache, "7.2.12-a", "7.2.12")
    assert command(["kernel", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["kernels"]
    assert (listed["name"], listed["release"]) == ("7.2.12-a", "7.2.12")


def test_a_damaged_description_is_one_line(cache, capsys):
    place(cache, "7.2.12-a", "7.2.12")
    (cache / "7.2.12-a" / kernels.FACTS).write_text("{")
    assert command(["kernel", "list"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "does not describe a kernel" in said


def test_without_a_kernel_the_engine_says_what_to_do(cache, monkeypatch):
    monkeypatch.setattr(image, "missing", lambda: None)
    engine = LinuxVirtual()
    why = engine.available()
    assert why is not None
    assert "bloatlab kernel build" in why
    assert engine.details() == {}
    with pytest.raises(EngineError, match="bloatlab kernel build"):
        engine.supports(json.loads(language.normalise(json.dumps(HOME))))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"dumbbell": {**HOME["dumbbell"], "queue": "codel"}}, "dumbbell.queue"),
        ({"dumbbell": {**HOME["dumbbell"], "device_packets": 8}}, "dumbbell.device_packets"),
        ({"dumbbell": {**HOME["dumbbell"], "loss": 0.01, "loss_spacing": "even"}}, "dumbbell.loss_spacing"),
        ({"dumbbell": {**HOME["dumbbell"], "reverse_impair": {"corrupt": 0.01}}}, "dumbbell.reverse_impair.corrupt"),
        ({"dumbbell": {**HOME["dumbbell"], "impair": {"jitter": {"size": "3s"}}}}, "dumbbell.impair.jitter.size"),
        ({"flows": [{"cca": "vegas"}]}, "flows.0.cca"),
        ({"flows": [{"traffic": {"kind": "iperf3"}}]}, "flows.0.traffic"),
        (
            {"flows": [{"traffic": {"kind": "finite", "bytes": "1MB"}, "tcp": {"read_size": "64KiB"}}]},
            "flows.0.tcp.read_size",
        ),
        ({"timeline": [{"at": "1s", "key": "dumbbell.queue", "value": "red"}]}, "timeline.0.value"),
    ],
)
def test_what_a_kernel_does_not_have_is_refused_by_its_key(cache, change, path):
    place(cache, "7.2.12-a", "7.2.12")
    kernels.save(cache / "7.2.12-a", facts(congestion_controls=["cubic"], queues=["fq_codel"]))
    refused = LinuxVirtual().supports(json.loads(language.normalise(json.dumps({**HOME, **change}))))
    assert [refusal.path for refusal in refused] == [path]
    assert not LinuxVirtual().supports(json.loads(language.normalise(json.dumps(HOME))))


def test_impairments_act_on_packets_and_so_not_on_buffers(cache):
    place(cache, "7.2.12-a", "7.2.12")
    kernels.save(cache / "7.2.12-a", facts(congestion_controls=["cubic"], queues=["fq_codel"]))
    flows = [{"cca": "cubic"}, {"cca": "cubic", "tcp": {"segmentation_offload": True}}]
    document = {**HOME, "flows": flows, "dumbbell": {**HOME["dumbbell"], "loss": 0.01}}
    refused = LinuxVirtual().supports(json.loads(language.normalise(json.dumps(document))))
    assert [refusal.path for refusal in refused] == ["flows.1.tcp.segmentation_offload"]


def test_flows_share_the_parameters_of_a_congestion_control(cache):
    place(cache, "7.2.12-a", "7.2.12")
    kernels.save(cache / "7.2.12-a", facts(congestion_controls=["vegas"], queues=["fq_codel"]))
    flows = [{"cca": {"kind": "vegas", "alpha": alpha}} for alpha in (2, 3)]
    # UDP has no congestion control.
    flows.append(
        {"cca": {"kind": "vegas", "alpha": 4}, "traffic": {"kind": "cbr", "transport": "udp", "rate": "1Mbit/s"}}
    )
    refused = LinuxVirtual().supports(json.loads(language.normalise(json.dumps({**HOME, "flows": flows}))))
    assert refused == [Refusal("flows.1.cca.alpha", "is 2 for flow `flow_1`; a kernel has one value for all flows")]


def test_an_image_is_an_archive_that_the_kernel_reads(cache, tmp_path, monkeypatch):
    program = tmp_path / "agent"
    shutil.copy("/bin/true", program)
    monkeypatch.setattr(image, "agent", lambda: program)
    if why := image.missing():
        pytest.skip(why)
    made, digest = image.image()
    assert image.image() == (made, digest)
    data, entries, at = made.read_bytes(), {}, 0
    while at < len(data):
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, length = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + length - 1].decode()
        at += (110 + length + 3) // 4 * 4
        entries[name] = (mode, data[at : at + size])
        at += (size + 3) // 4 * 4
    names = list(entries)
    assert names[-1] == "TRAILER!!!"
    assert entries["init"][1] == program.read_bytes()
    assert entries["bin"][0] == image.DIRECTORY
    assert names.index("bin") < names.index("bin/tc")
    assert any("libc.so" in name for name in names)
    program.write_bytes(b"#!" + program.read_bytes())
    monkeypatch.setattr(image, "_libraries", lambda _: iter(()))
    assert image.image()[1] != digest


@pytest.mark.parametrize("name", ["nothing.tar.xz", "text.txt", "folder"])
def test_what_is_no_source_is_refused(tmp_path, name):
    (tmp_path / "text.txt").write_text("hello")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ParameterError, match=r"--source .*: (must be|there is no|is not)"):
        source.given(tmp_path / name)


def test_a_source_is_named_by_its_hash_and_unpacked_without_what_is_not_needed(tmp_path):
    tree = tmp_path / "linux-9.9"
    for name in ("Makefile", "drivers/gpu/drm/big.c", "drivers/gpu/Kconfig", "net/sched/sch_pie.c"):
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    archive = tmp_path / "linux-9.9.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(tree, "linux-9.9")
    found = source.given(archive)
    assert found.sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()
    source.unpack(found, tmp_path / "out")
    files = {str(file.relative_to(tmp_path / "out")) for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert files == {"Makefile", "drivers/gpu/Kconfig", "net/sched/sch_pie.c"}
    archive.write_bytes(b"no archive")
    with pytest.raises(EngineError, match="cannot be unpacked"):
        source.unpack(source.given(archive), tmp_path / "other")


def test_a_missing_compiler_is_named_with_its_package(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None if name in ("flex", "xz") else f"/bin/{name}")
    why = build.missing()
    assert why is not None
    assert "apt install flex xz-utils libc6-dev" in why
    assert command(["kernel", "build"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_timer_setting_comes_before_that_of_the_source(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "Kconfig").write_text('# comment\nmainmenu "Linux"\nsource "arch/Kconfig"\n')
    (tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\n")
    compiled = build._Compilation(tree, tmp_path / "obj", 1, lambda _step, _files: None)
    text = compiled._kconfig()
    assert text.index('mainmenu "Linux"') < text.index("config HZ") < text.index('source "arch/Kconfig"')
    assert compiled.version() == (6, 12)
    assert not any("DUALPI2" in line for line in compiled._settings())
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 2\n")
    assert any("DUALPI2" in line for line in compiled._settings())
    assert "# CONFIG_STATIC_LINK is not set" in compiled._settings()


def test_folders_of_killed_processes_are_removed_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left, foreign, target = (tmp_path / name for name in ("bloatlab-guest-left", "bloatlab-guest-foreign", "target"))
    for made in (left, foreign, target):
        made.mkdir()
    # A process that was killed holds no lock any more; a folder without a lock is none of ours.
    (left / folders.LOCK).touch()
    (target / folders.LOCK).touch()
    (tmp_path / "bloatlab-guest-link").symlink_to(target)
    with folders.folder() as own:
        folders.remove_left(tmp_path)
        assert own.is_dir()
    assert not left.exists()
    assert not own.exists()
    assert foreign.is_dir()
    assert (target / folders.LOCK).is_file()


def run(document, seed=1, **options):
    return LinuxVirtual().run(language.normalise(json.dumps(document)), seed, **options)


@needs_kernel
def test_equal_seeds_give_equal_bytes():
    first, again, other = run(HOME, 1), run(HOME, 1), run(HOME, 2)
    assert first.digest == again.digest != other.digest
    assert first.suspect is None
    metrics = json.loads(first.metrics_json())
    assert metrics["link_metrics"]["bottleneck"]["utilization"] > 0.9
    assert 0.9 < metrics["flow_metrics"]["flow_1"]["mean_utilization_bw_l4"] * 2 < 1
    assert metrics["probe_metrics"]["ping"]["p50_rtt"] == pytest.approx(20, abs=2)


@needs_kernel
def test_results_of_two_kernels_stand_side_by_side(tmp_path):
    chosen = f"linux-virtual@{BUILT.name}"
    for engine in ("linux-virtual", chosen):
        bl.run({"name": "home", **HOME}, seed=1, engine=engine, out=tmp_path)
    assert sorted(bl.open(tmp_path).runs()["engine"]) == ["linux-virtual", chosen]


@needs_kernel
def test_packets_are_recorded(tmp_path):
    outcome = run(HOME, record_packets=True)
    outcome.write_pcap(str(tmp_path / "run.pcap"))
    assert len((tmp_path / "run.pcap").read_bytes()) > 100_000
    packets = pl.DataFrame(outcome.tables()["packets"])
    assert packets["time_ns"].is_sorted()
    # The instants of the arrivals are computed. The kernel itself measures the RTT of pings.
    ping = packets.filter((pl.col("flow") == "ping") & (pl.col("box") == "host"))
    sent = ping.filter((pl.col("event") == "send") & (pl.col("direction") == 0)).select("seq", sent="time_ns")
    back = ping.filter((pl.col("event") == "receive") & (pl.col("direction") == 1)).select("seq", back="time_ns")
    rtts = sent.join(back, on="seq").sort("seq").select(((pl.col("back") - pl.col("sent")) / 1e6).alias("rtt"))["rtt"]
    measured = pl.DataFrame(outcome.tables()["probe_series"])["rtt_ms"]
    assert len(measured) == len(rtts) > 20
    assert measured.to_list() == pytest.approx(rtts.to_list(), abs=0.002)


@needs_kernel
def test_segments_of_a_page_have_psh_as_in_the_simulator():
    tcp = {"quick_acks": 16, "gso_max_segs": 1, "receive_window": "autotuned"}
    page = {"cca": "reno", "traffic": {"kind": "fetch", "response": "177669B", "interval": "10s"}, "tcp": tcp}
    document = {"duration": "3s", "dumbbell": {**HOME["dumbbell"], "queue": "pfifo limit 100"}, "flows": [page]}
    marked = []
    for engine in ("sim", "linux-virtual"):
        packets = bl.run(document, engine=engine, packets=True).packets.to_polars()
        data = packets.filter((pl.col("event") == "enqueue") & (pl.col("direction") == 0) & (pl.col("length") > 0))
        marked.append(data.filter(pl.col("flags") & 0x08 > 0)["seq"] - data["seq"].min())
    assert len(marked[0]) > 5
    assert marked[0].to_list() == marked[1].to_list()


@needs_kernel
def test_every_packet_that_leaves_has_a_sojourn_time():
    document = {
        "name": "full-queue",
        "duration": "6s",
        "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "queue": "pfifo limit 100"},
        "flows": [{"count": 4, "cca": "cubic"}],
    }
    result = bl.run(document, seed=1, engine="linux-virtual", packets=True)
    steps = result.packets.to_polars().filter(box="bottleneck")
    left = steps.filter(event="dequeue")
    waits = result.histograms.to_polars().filter(scope="link", name="bottleneck", quantity="sojourn")
    # A segment that is sent again while its first copy waits counts once.
    assert 0.99 * left.height <= waits["weight"].sum() <= left.height
    # 100 packets of 1500 B, in the queue alone: the transmission of the packet itself does not count.
    assert 100 < result.link_metrics["bottleneck"]["max_sojourn"] <= 121


@needs_kernel
def test_a_queue_inside_a_shaper_is_the_bottleneck():
    shaper = {"kind": "htb", "rate": "5Mbit/s", "burst": "1600B", "cburst": "1600B", "queue": "pfifo limit 50"}
    document = {
        "name": "shaped",
        "duration": "6s",
        "dumbbell": {"rate": "1Gbit/s", "rtt": "20ms", "queue": shaper, "header": 14},
        "flows": [{"cca": "cubic"}],
    }
    link = bl.run(document, seed=1, engine="linux-virtual").link_metrics["bottleneck"]
    assert link["throughput"] == pytest.approx(5, rel=0.02)
    # 49 packets of 1514 B wait in front of a packet that just fits.
    assert 80 < link["max_sojourn"] <= 50 * 1514 * 8 / 5e6 * 1e3
    assert link["drops"] > 0


PINGS = {
    "duration": "5s",
    "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "forward_share": 1},
    "flows": [{"name": "ping", "traffic": {"kind": "ping", "interval": "1ms"}}],
}


def pings(change):
    """The pings of the sender through a dumbbell with an impairment, each direction counted apart."""
    outcome = run({**PINGS, "dumbbell": {**PINGS["dumbbell"], **change}}, record_packets=True)
    assert outcome.suspect is None
    packets = pl.DataFrame(outcome.tables()["packets"]).filter(box="host", direction=0)
    return packets.filter(event="send"), packets.filter(event="receive")


@needs_kernel
@pytest.mark.parametrize(
    ("change", "share"),
    [
        ({"loss": 0.1}, 0.9),
        ({"impair": {"gilbert_elliott": {"p": 0.01, "r": 0.09}}}, 0.9),
        ({"impair": {"duplicate": 0.1}}, 1.1),
        (
            {"vary": {"loss": {"kind": "steps", "steps": [{"at": "2s", "value": 0.99}, {"at": "3s", "value": 0}]}}},
            0.802,
        ),
    ],
)
def test_the_kernel_loses_and_copies_packets_with_their_probability(change, share):
    sent, received = pings(change)
    # Five standard deviations. Losses in bursts vary more: the chain has a memory of ten packets.
    spread = 5 * (0.1 * 0.9 / sent.height) ** 0.5 * (19**0.5 if "impair" in change else 1)
    assert received.height / sent.height == pytest.approx(share, abs=spread)


@needs_kernel
@pytest.mark.parametrize(
    ("distribution", "deviation"),
    [("uniform", 3 / 3**0.5), ("normal", 3), ("pareto", 3), ("paretonormal", 3 * (1 / 16 + 9 / 16) ** 0.5)],
)
def test_jitter_has_the_size_and_the_order_that_were_asked_for(distribution, deviation):
    for reorder in (False, True):
        jitter = {"size": "3ms", "distribution": distribution, "reorder": reorder}
        sent, received = pings({"impair": {"jitter": jitter}})
        assert received["seq"].is_sorted() is not reorder
        delays = sent.join(received, on="seq").select((pl.col("time_ns_right") - pl.col("time_ns")) / 1e6).to_series()
        if reorder:
            # Behind 20 ms of propagation and 0.07 ms of transmission. netem ends a distribution at four times its size.
            assert delays.mean() == pytest.approx(20.07, abs=0.3)
            assert 0.75 * deviation < delays.std() < 1.05 * deviation
            assert delays.max() < 20.07 + 4 * 3 + 0.1


@needs_kernel
def test_an_outage_and_a_timeline_change_the_network_at_their_instants():
    path = {"path": ["line", "there", "tunnel"], "return_path": []}
    load = {"kind": "cbr", "transport": "udp", "rate": "2Mbit/s", "packet": "200B"}
    document = {
        "duration": "5s",
        "boxes": [
            {"kind": "link", "name": "line", "rate": "1Mbit/s", "queue": "pfifo limit 100"},
            {"kind": "delay", "name": "there", "delay": "0s"},
            {"kind": "outage", "name": "tunnel", "first": "1s", "length": "500ms"},
        ],
        "flows": [
            {"name": "ping", **path, "traffic": {"kind": "ping", "interval": "10ms"}},
            {"name": "load", **path, "traffic": load, "start": "3s"},
        ],
        "timeline": [
            {"at": "2s", "key": "boxes[1].delay", "value": "30ms"},
            {"at": "4s", "key": "boxes[0].rate", "value": "500kbit/s"},
            {"at": "4s", "key": "boxes[0].queue", "value": "fq_codel"},
        ],
    }
    outcome = run(document)
    series = pl.DataFrame(outcome.tables()["probe_series"])
    series = series.with_columns(sent=pl.col("time_s") - pl.col("rtt_ms") / 1e3)
    for start, replies, rtt in ((0.5, 45, 0), (1.02, 0, None), (1.51, 45, 0), (2.1, 45, 30)):
        found = series.filter(pl.col("sent").is_between(start, start + 0.45))["rtt_ms"]
        assert len(found) == pytest.approx(replies, abs=1)
        assert rtt is None or found.mean() == pytest.approx(rtt, abs=0.1)
    link = pl.DataFrame(outcome.tables()["link_series"]).filter(link="line")
    for until, rate in ((3.95, 1), (5, 0.5)):
        row = link.filter(pl.col("time_s") <= until).row(-1, named=True)
        assert row["rate_mbps"] == pytest.approx(rate)
        assert row["throughput_mbps"] == pytest.approx(rate, rel=0.05)
        assert row["utilization"] == pytest.approx(1, abs=0.05)
    assert "new_flow_count" in json.loads(outcome.metrics_json())["link_metrics"]["line"]


@needs_kernel
@pytest.mark.parametrize(("new", "kept"), [("pfifo limit 200", True), ("bfifo limit 200000", False)])
def test_a_new_queue_keeps_what_waits_if_the_kernel_can_change_the_old_one(new, kept):
    document = {
        "duration": "2s",
        "dumbbell": {"rate": "1Mbit/s", "rtt": "20ms", "queue": "pfifo limit 100"},
        "flows": [
            {
                "traffic": {"kind": "cbr", "transport": "udp", "rate": "10Mbit/s", "packet": "1000B"},
                "stop": "500ms",
            }
        ],
        "timeline": [{"at": "1s", "key": "dumbbell.queue", "value": new}],
    }
    outcome = run(document)
    link = json.loads(outcome.metrics_json())["link_metrics"]["bottleneck"]
    # A hundred packets wait at 0.5 s, and 61 have been sent until 1 s.
    sent = link["throughput"] * 2e6 / 8 / 1028
    assert sent == pytest.approx(161 if kept else 122, abs=8)
    assert link["arrivals"] == pytest.approx(sent + link["drops"] + link["backlog_packets"], abs=2)


@needs_kernel
def test_a_flow_that_starts_later_is_measured_like_the_others():
    document = {
        **HOME,
        "timeline": [{"at": "1s", "key": "flows[2]", "value": {"name": "late", "cca": "cubic"}}],
    }
    metrics = json.loads(run(document).metrics_json())["flow_metrics"]
    assert 1 < metrics["late"]["mean_throughput_l4"] < 6


@needs_kernel
def test_a_filter_gives_each_flow_a_class_of_drr():
    queue = {"kind": "drr", "buckets": 64, "flow_limit": "50p", "limit": "3200p"}
    document = {
        "name": "classes",
        "duration": "6s",
        "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "queue": queue},
        "flows": [
            {"name": "bulk", "cca": "cubic"},
            {"name": "ping", "traffic": {"kind": "ping", "interval": "100ms"}},
        ],
    }
    results = [bl.run(document, seed=seed, engine="linux-virtual") for seed in (1, 2, 3)]
    for result in results:
        link = result.link_metrics["bottleneck"]
        # 50 packets of 1514 B fill the class of the bulk flow.
        assert 50 < link["max_sojourn"] <= 50 * 1514 * 8 / 10e6 * 1e3 + 1.3
        assert link["drops"] > 0
    # A ping waits for one of them at most. The kernel hashes both flows into the same of 64 classes in one run of 64.
    assert sorted(result.probe_metrics["ping"]["max_rtt"] for result in results)[1] < 20 + 3


LOADED = {
    "pie": ("dropped", "prob", "maxq"),
    "fq_codel": ("drop_count", "new_flow_count", "memory_used"),
    "sfb": ("earlydrop", "bucketdrop", "maxprob"),
    "cake": ("drops", "memory_limit", "tin1_pkts", "way_miss"),
    "tbf rate 5mbit burst 10kb latency 50ms": ("overlimits",),
}
"""Queues, and statistics that are above 0 after six seconds of four flows."""


@needs_kernel
@pytest.mark.parametrize("queue", LOADED)
def test_a_queue_reports_the_statistics_that_the_simulator_has(queue):
    document = {
        "name": "statistics",
        "duration": "6s",
        "dumbbell": {"rate": "10Mbit/s", "rtt": "40ms", "queue": queue},
        "flows": [{"count": 4, "cca": "cubic"}],
    }
    link, ours = (
        bl.run(document, seed=1, engine=engine).link_metrics["bottleneck"] for engine in ("linux-virtual", "sim")
    )
    for name in LOADED[queue]:
        assert link[name] > 0, name
        # The unit is the same: a probability is below 1, and other values are not a thousand times larger or smaller.
        assert link[name] <= 1 if "prob" in name else 0.01 < link[name] / ours[name] < 100, name
    of_queues = MEANINGS.keys() & link.keys()
    assert of_queues - {"pkts_in", "ldelay"} <= ours.keys()


@needs_kernel
def test_a_cancelled_run_leaves_no_process():
    engine = LinuxVirtual()
    control = engine.control()
    control.cancel()
    from bloatlab.engines import Cancelled

    with pytest.raises(Cancelled):
        run({**HOME, "duration": "100s"}, control=control)
    with (
        pytest.raises(RuntimeError),
        guest.finished(BUILT, {"scenario": "", "seed": 1, "record_packets": False, "folder": "/"}, 1, "never", _stop),
    ):
        pass
    mine = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    assert not Path(mine).read_text().split()


def _stop(_share: float) -> None:
    raise RuntimeError


@needs_kernel
def test_what_the_kernel_refuses_is_one_line():
    refused = {**HOME, "dumbbell": {**HOME["dumbbell"], "queue": "choke"}}
    document = json.loads(language.normalise(json.dumps(refused)))
    document["dumbbell"]["queue"]["min"] = 10**9
    with pytest.raises(EngineError, match="engine linux-virtual: ") as caught:
        LinuxVirtual().run(json.dumps(document), 1)
    assert "\n" not in str(caught.value)


def test_the_preload_seeds_random_numbers(tmp_path):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    code = Path(build.__file__).with_name("seeded_getrandom.c")
    library = tmp_path / "seeded.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, code], check=True)
    program = "import ctypes; b = ctypes.create_string_buffer(8); ctypes.CDLL(None).getrandom(b, 8, 0); print(b.raw)"

    def numbers(seed: int) -> str:
        environment = {**os.environ, "LD_PRELOAD": str(library), "BLOATLAB_SEED": str(seed), "PYTHONHASHSEED": "0"}
        return subprocess.run(
            ["python3", "-I", "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert numbers(1) == numbers(1) != numbers(2)
