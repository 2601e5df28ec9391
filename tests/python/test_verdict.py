"""The verdict: what the page and the terminal say of a run."""

import json
import re
import tomllib

import polars as pl
import pytest

import bloatlab as bl
import synthetic
from bloatlab import cli
from bloatlab.cli.main_numbers import MainNumbers, main_numbers
from bloatlab.cli.summary import Point, many_runs
from bloatlab.cli.verdict import verdict_of_sweep
from bloatlab.experiments.criteria import alike
from bloatlab.experiments.phrases import percent, with_unit
from bloatlab.figures import source, sweep
from bloatlab.report import answers, verdict
from bloatlab.store import Store


@pytest.fixture(scope="module")
def tables():
    return synthetic.run_tables()


@pytest.mark.parametrize(
    ("increase", "grade"),
    [(0, "A+"), (4.99, "A+"), (5, "A"), (30, "B"), (59.9, "B"), (60, "C"), (200, "D"), (400, "F"), (None, "")],
)
def test_grades(increase, grade):
    assert verdict.grade(increase) == grade


def test_throughputs_of_flows_that_did_not_meet_do_not_add_up():
    flows = pl.DataFrame({"flow": ["a", "b"], "start_s": [0.0, 5.0], "stop_s": [5.0, 10.0]})
    rows = {"scope": "flow", "entity": ["a", "b"], "metric": "mean_throughput_l4", "value": [10.0, 20.0], "unit": ""}
    assert verdict.carried_mbps(pl.DataFrame(rows), flows) == pytest.approx(15)


def test_a_finished_flow_counts_for_the_time_that_it_took():
    names = ["long", "short"]
    flows = pl.DataFrame(
        {"flow": names, "traffic": ["greedy", "finite"], "start_s": [0.0, 20.0], "stop_s": [60.0, 60.0]}
    )
    measured = {"mean_throughput_l4": [7.0, 5.0], "flow_completion_time_l4": [50.0, 1.0]}
    rows = [
        {"scope": "flow", "entity": name, "metric": metric, "value": value}
        for metric, values in measured.items()
        for name, value in zip(names, values, strict=True)
    ]
    # 10 of the 60 s are the warm-up.
    assert verdict.carried_mbps(pl.DataFrame(rows), flows) == pytest.approx(7 + 5 / 50)


def test_the_page_and_the_terminal_say_the_throughput_of_the_network(tmp_path):
    document = {
        "duration": "20s",
        "warmup": "5s",
        "dumbbell": {"rate": "10Mbit/s", "rtt": "40ms"},
        "flows": [
            {"name": "bulk"},
            {"name": "short", "count": 5, "start": "6s", "start_interval": "2s", "traffic": {"kind": "finite", "bytes": "50kB"}},
        ],
    }  # fmt: skip
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    rate = run.network_metrics["agg_throughput"]
    assert (
        f"carry {with_unit(rate, 'Mbit/s', 4)}"
        in verdict.of_run(source.of_run(store, run.run_id), store.metrics()).sentence
    )
    metrics = {
        "flow_metrics": run.flow_metrics,
        "link_metrics": run.link_metrics,
        "network_metrics": run.network_metrics,
    }
    assert main_numbers(json.dumps(run.scenario), metrics).throughput_mbps == rate


def test_flows_are_counted_per_congestion_control():
    ccas = ["cubic", "newreno", "newreno", ""]
    metrics = pl.DataFrame(
        [
            {"run_id": "a", "scope": "flow", "entity": f"f{place}", "metric": "mean_throughput_l4", "value": 1.0}
            for place in range(4)
        ]
    )
    flows = pl.DataFrame({"flow": [f"f{place}" for place in range(4)], "cca": ccas})
    sentence = verdict.of_run({"flows": flows}, metrics).sentence
    assert "One cubic flow, 2 newreno flows and one UDP flow carry 4 Mbit/s" in sentence


def test_a_run_without_an_rtt_says_so(tables):
    metrics = tables["metrics"].filter(pl.col("metric") == "mean_sojourn")
    metrics = metrics.insert_column(0, pl.Series("run_id", ["a"]))
    judged = verdict.of_run(tables, metrics)
    assert judged.grade == ""
    assert "No long flow measured an RTT" in judged.sentence
    assert "No RTT" in verdict.of_run(tables, metrics.clear()).sentence


def test_an_srtt_below_the_base_rtt_is_no_standing_queue(tables):
    below = pl.when(pl.col("metric") == "mean_est_qdelay_l4").then(-0.2).otherwise("value").alias("value")
    metrics = tables["metrics"].with_columns(below).with_columns(pl.lit("a").alias("run_id"))
    assert verdict.of_run(tables, metrics).sentence.startswith("No standing queue: the mean sRTT of ")


def test_a_verdict_is_about_one_direction(tmp_path):
    document = {
        "name": "both-ways",
        "duration": "5s",
        "dumbbell": {"rate": "20Mbit/s", "reverse_rate": "5Mbit/s", "rtt": "20ms"},
        "flows": [
            {"name": "down", "count": 4},
            {"name": "up", "count": 2, "direction": "reverse"},
            {"name": "call", "direction": "reverse", "traffic": {"kind": "cbr", "rate": "100kbit/s"}},
        ],
    }
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    tables = source.of_run(store, run.run_id)
    assert tables["flows"]["links"].to_list() == [["bottleneck"]] * 4 + [["reverse"]] * 3
    judged = verdict.of_run(tables, store.metrics())
    # The slower link is the bottleneck.
    up, down = judged.sentence.split(" In the other direction, ")
    share = float(re.search(r"([\d.]+) % of the bottleneck's 5 Mbit/s", up)[1])
    assert 80 < share <= 100
    assert "the mean sRTT of 2 cubic flows is" in up
    assert "2 cubic flows and one UDP flow carry" in up
    assert down.startswith("4 cubic flows carry")
    # The numbers are about the same link, and about the same flows as the metrics of the network.
    named = dict(judged.numbers)
    link, network = run.link_metrics["reverse"], run.network_metrics
    assert named["sojourn of all packets at reverse, 95th percentile"] == f"{link['p95_sojourn']:.3g} ms"
    assert named["throughput"] == f"{network['agg_throughput']:.3f} Mbit/s"
    assert share == pytest.approx(100 * network["capacity_share"], abs=0.1)


def test_the_ues_of_a_cell_share_one_bottleneck(tmp_path):
    fixed = {"kind": "fixed", "snr_db": 20.0}
    document = {
        "name": "cell",
        "duration": "2s",
        "cell": {"radio": {"ues": [fixed, fixed, fixed]}},
        "flows": [{"ue": 1}, {"ue": 2}, {"ue": 3}, {"ue": 1, "direction": "reverse", "stop": "1s"}],
    }
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    judged = verdict.of_run(source.of_run(store, run.run_id), store.metrics())
    assert "the mean sRTT of 3 cubic flows is" in judged.sentence
    assert "In the other direction, one cubic flow carries" in judged.sentence
    assert dict(judged.numbers)["throughput"] == f"{run.network_metrics['agg_throughput']:.2f} Mbit/s"


def test_flows_on_other_links_are_not_called_the_other_direction(tmp_path):
    document = {
        "name": "lot",
        "duration": "3s",
        "parking_lot": {"hops": 2, "rate": "10Mbit/s", "hop_delay": "5ms"},
        "flows": [{"name": "long"}, {"name": "first", "hops": [1, 1]}, {"name": "second", "hops": [2, 2]}],
    }
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    judged = verdict.of_run(source.of_run(store, run.run_id), store.metrics())
    assert "They carry" in judged.sentence
    assert "On other links, one cubic flow carries" in judged.sentence
    assert run.network_metrics["capacity_share"] <= 1
    hops = [values for name, values in run.link_metrics.items() if name.startswith("hop_")]
    bottleneck = max(hops, key=lambda values: values["utilization"])
    assert bottleneck["goodput_share"] == pytest.approx(run.network_metrics["capacity_share"])


def test_the_bottleneck_is_a_link_that_data_crosses(tmp_path):
    document = {
        "name": "slow-acks",
        "duration": "3s",
        "dumbbell": {"rate": "20Mbit/s", "reverse_rate": "2Mbit/s", "rtt": "20ms"},
        "flows": [{"name": "down"}],
    }
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    judged = verdict.of_run(source.of_run(store, run.run_id), store.metrics())
    assert "% of the bottleneck's 20 Mbit/s" in judged.sentence


def test_tables_of_runs_are_about_the_bottleneck_as_the_verdict_is(tmp_path):
    document = {
        "name": "congested-acks",
        "duration": "5s",
        "dumbbell": {"rate": "20Mbit/s", "reverse_rate": "100kbit/s", "rtt": "20ms", "queue": "fifo"},
        "flows": [{"name": "down", "count": 2}],
    }
    run = bl.run(document, out=tmp_path / "r")
    bottleneck, acks = run.link_metrics["bottleneck"], run.link_metrics["reverse"]
    assert acks["mean_sojourn"] > 2 * bottleneck["mean_sojourn"]
    assert acks["utilization"] > bottleneck["utilization"]
    store = Store(tmp_path / "r")
    tables = source.stored(store)
    [row] = sweep.read(tables).frame.to_dicts()
    assert row["delay_ms"] == bottleneck["mean_sojourn"]
    assert row["delay_p95_ms"] == bottleneck["p95_sojourn"]
    assert row["utilization"] == bottleneck["utilization"]
    numbers = dict(verdict.of_run(source.of_run(store, run.run_id), store.metrics()).numbers)
    assert numbers["link utilization at bottleneck"] == percent(row["utilization"])
    assert numbers["sojourn of all packets at bottleneck, 95th percentile"] == with_unit(row["delay_p95_ms"], "ms")
    # Where the bottleneck is not known, the largest value of any link is taken.
    [row] = sweep.metrics_by_run(tables["metrics"]).to_dicts()
    assert row["delay_ms"] == acks["mean_sojourn"]


def test_a_single_run_is_told_in_a_few_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    assert cli.command(["run", "deep-buffers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("grade B: A standing queue of 43.8 ms")
    assert "throughput 15.39 Mbit/s" in lines[1]
    assert lines[-2:] == [
        "next: bloatlab figure results/deep-buffers time_series -o time_series.svg",
        "      --all prints every metric",
    ]
    assert len(lines) == 6
    assert cli.command(["run", "deep-buffers", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 60


def test_the_probes_of_a_flow_with_a_count_share_a_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    (tmp_path / "many.toml").write_text(
        """
        name = "many"
        duration = "3s"
        dumbbell = { rate = "10Mbit/s", rtt = "20ms" }
        flows = [
            { name = "bulk" },
            { name = "web", count = 3, start_interval = "300ms", traffic = { kind = "fetch", response = "10kB" } },
            { name = "ping", traffic = "ping" },
        ]
        """
    )
    assert cli.command(["simulate", "many.toml"]) == 0
    shown = capsys.readouterr().out.splitlines()
    lines = sorted((line for line in shown if " of ping" in line or " of web" in line), reverse=True)
    assert [line.partition(":")[0] for line in lines] == ["fetch time of web", "RTT of ping"]
    assert lines[0].endswith(" (means over 3 probes)")
    store = bl.open(tmp_path / "results" / "many")
    run = store.run(store.runs()["run_id"][0])
    tails = [of["p95_rtt"] for name, of in run.probe_metrics.items() if name.startswith("web_")]
    assert len(tails) == 3
    assert len(set(tails)) > 1
    assert f"95th percentile {with_unit(sum(tails) / 3, 'ms')}" in lines[0]
    # The page says the same.
    said = " ".join(answers.answer(Store(tmp_path / "results" / "many")))
    assert f"The fetch time of web (95th percentile) is {with_unit(sum(tails) / 3, 'ms')}" in said
    assert "web_1" not in said


def test_names_that_a_user_gave_are_not_joined():
    assert alike(["web_1", "web_2", "ping"]) == {"web": ["web_1", "web_2"], "ping": ["ping"]}
    assert alike(["ping", "ping_1", "ping_2"]) == {name: [name] for name in ("ping", "ping_1", "ping_2")}
    assert alike(["web_1", "_2", "_3"]) == {name: [name] for name in ("web_1", "_2", "_3")}


BOTH_WAYS = """
name = "both-ways"
duration = "2s"
dumbbell = { rate = "5Mbit/s", reverse_rate = "5Mbit/s", rtt = "20ms", queue = "fifo" }
flows = [
    { name = "down", count = 2 },
    { name = "up", direction = "reverse", start = "1s", traffic = { kind = "cbr", rate = "500kbit/s" } },
    { name = "ping", traffic = "ping" },
    { name = "web", traffic = { kind = "fetch", response = "10kB" } },
]
"""


def test_main_numbers_are_of_the_bottlenecks_direction(tmp_path):
    run = bl.run(tomllib.loads(BOTH_WAYS), out=tmp_path / "r")
    store = Store(tmp_path / "r")
    metrics = store.run_metrics([run.run_id])[run.run_id]
    found = main_numbers(store.find(run.run_id)["scenario"], metrics)
    flows = metrics["flow_metrics"]
    down = sum(flows[name]["mean_throughput_l4"] for name in ("down_1", "down_2", "web"))
    assert found.throughput_mbps == pytest.approx(down)
    assert found.throughput_mbps + flows["up"]["mean_throughput_l4"] > 1.05 * found.throughput_mbps
    assert found.share == pytest.approx(down / 5)
    assert found.share < 1
    assert found.sojourn_ms == metrics["link_metrics"]["bottleneck"]["mean_sojourn"]
    # A fetch time is no RTT of a ping.
    assert list(found.pings_ms) == ["ping"]
    assert found.pings_ms["ping"] == (
        metrics["probe_metrics"]["ping"]["p50_rtt"],
        metrics["probe_metrics"]["ping"]["p95_rtt"],
    )


def test_the_table_of_runs_the_verdict_and_the_terminal_give_the_same_srtt(tmp_path):
    document = tomllib.loads(BOTH_WAYS)
    document["flows"][1] = {"name": "up", "direction": "reverse", "cca": "cubic"}
    run = bl.run(document, out=tmp_path / "r")
    store = Store(tmp_path / "r")
    flows = run.flow_metrics
    of_long = (flows["down_1"]["mean_srtt_l4"] + flows["down_2"]["mean_srtt_l4"]) / 2
    # Neither the client that fetches pages nor the flow in the other direction counts.
    assert of_long != pytest.approx(run.network_metrics["mean_srtt"], rel=0.01)
    tables = source.stored(store)
    [row] = sweep.read(tables).frame.to_dicts()
    assert row["srtt_ms"] == pytest.approx(of_long)
    assert f"the mean sRTT of 2 cubic flows is {with_unit(of_long, 'ms')}" in (
        verdict.of_run(source.of_run(store, run.run_id), tables["metrics"]).sentence
    )
    found = main_numbers(store.find(run.run_id)["scenario"], store.run_metrics([run.run_id])[run.run_id])
    assert found.srtt_ms == pytest.approx(of_long)
    kept = sweep.at_bottlenecks(tables["metrics"], tables["bottlenecks"])
    assert verdict.waiting(kept) == {run.run_id: pytest.approx(found.standing_ms)}


def test_a_sweep_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "both.toml").write_text(BOTH_WAYS)
    sweeps = ["--sweep", "dumbbell.queue.kind=fifo,fq_codel", "--sweep", "dumbbell.rate=2Mbit/s,5Mbit/s"]
    assert cli.command(["simulate", "both.toml", *sweeps, "--no-report"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    said = " ".join(out.split())
    assert "least delay with fq_codel at a rate of " in said
    assert "most delay with fifo at a rate of 2 Mbit/s: standing queue" in said
    rule = next(place for place, line in enumerate(out.splitlines()) if line.startswith("────"))
    heading = " ".join(" ".join(out.splitlines()[rule - 4 : rule]).split())
    for word in ("dumbbell.queue.kind", "RTT", "median", "p95", "throughput", "(Mbit/s)", "(%)", "queue"):
        assert word in heading
    first = out.splitlines()[rule + 1].split()
    assert first[:2] == ["fifo", "2Mbit/s"]
    assert all(float(cell) > 0 for cell in first[2:])


def test_an_experiment_answers_its_question_first(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["run", "tcp_nup", "--set", "length=3s", "--set", "idle=1s", "--set", "n=1", "--no-report"]
    assert cli.command(command) == 0
    out = capsys.readouterr().out
    said = " ".join(out.split())
    assert said.startswith("The 95th percentile of the RTT of the ping is shortest with ")
    # Points of its own axes are what the answer compares.
    assert "least delay" not in out
    assert cli.command([*command, "--sweep", "rtt=10ms,40ms"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.index("shortest with") < said.index("least delay with ")


class Planned:
    """A run of which a summary needs no more than this."""

    seed = 42
    experiment = "own"

    def __init__(self, measures=()):
        self.measures = dict.fromkeys(measures, "%")


def point(swept, *numbers, own=()):
    own = own or [{} for _ in numbers]
    runs = [Planned(own[0]) for _ in numbers]
    return Point(runs, swept, numbers, own)


def test_the_points_of_a_sweep_in_words():
    grid = [(queue, rate) for queue in ("fifo", "codel") for rate in ("1M", "9M")]
    points = [
        point(
            {"queue": queue, "rate": rate},
            MainNumbers(
                throughput_mbps=0.9 * float(rate[0]), share=0.9, standing_ms=delay, pings_ms={"ping": (1, delay)}
            ),
        )
        for (queue, rate), delay in zip(grid, (400.0, 350.0, 5.0, 4.0), strict=True)
    ]
    assert verdict_of_sweep(points) == [
        "least delay with codel at a rate of 9M: standing queue 4 ms (grade A+), RTT of pings 4 ms (95th percentile), "
        "8.100 Mbit/s (90 % of the bottleneck)",
        "most delay with fifo at a rate of 1M: standing queue 400 ms (grade F), RTT of pings 400 ms (95th percentile), "
        "0.9000 Mbit/s (90 % of the bottleneck)",
        "differs most: the standing queue, 4 to 400 ms, 100 times as much; mostly with queue",
    ]
    # The point with the least delay is not the one with the most throughput.
    slow = point({"queue": "codel", "rate": "9M"}, MainNumbers(throughput_mbps=1.0, standing_ms=3.0))
    lines = verdict_of_sweep([*points[:3], slow])
    assert lines[2].startswith("most throughput with fifo at a rate of 9M: standing queue 350 ms")
    fast = point({"queue": "fifo", "rate": "9M"}, MainNumbers(throughput_mbps=9.0, standing_ms=900.0))
    lines = verdict_of_sweep([slow, fast])
    assert (
        lines[1]
        == "most delay and most throughput with fifo at a rate of 9M: standing queue 900 ms (grade F), 9 Mbit/s"
    )
    assert lines[2].startswith("differs most: ")


def test_points_without_delays_are_told_by_what_the_experiment_measures():
    points = [point({"cca": name}, MainNumbers(), own=[{"share": share}]) for name, share in (("a", 10.0), ("b", 40.0))]
    assert verdict_of_sweep(points) == ["differs most: share, 10 to 40 %, 4 times as much"]
    assert verdict_of_sweep([point({"cca": "a"}, MainNumbers())] * 2) == []
    same = [point({"cca": name}, MainNumbers(sojourn_ms=5.0)) for name in ("a", "b")]
    assert verdict_of_sweep(same) == ["the queueing delay is 5 ms in every set-up"]


def test_intervals_make_room_for_columns_and_return_on_a_wide_terminal():
    several = [
        MainNumbers(
            throughput_mbps=5.123 + 0.0123 * run,
            share=0.9123 + 0.00123 * run,
            standing_ms=10.123 + 0.123 * run,
            retransmissions=run,
            srtt_ms=30.123 + 0.123 * run,
            pings_ms={"ping": (20.123 + 0.123 * run, 30.123 + run)},
        )
        for run in range(3)
    ]
    points = [point({"maxq": maxq, "queue": "fq_codel"}, *several) for maxq in ("5", "20")]
    narrow = many_runs("x: 6 runs", points, 2, 80)
    shown = [narrow.columns[place].heading for place in narrow.fitting(80)]
    assert shown[:7] == [
        "maxq", "queue", "ping RTT median (ms)", "ping RTT p95 (ms)", "throughput (Mbit/s)", "share of rate (%)",
        "standing queue (ms)",
    ]  # fmt: skip
    assert not any("±" in cell for row in narrow.rows for cell in row)
    assert narrow.notes == ["means over 3 runs; a wider terminal shows the intervals"]
    wide = many_runs("x: 6 runs", points, 2, 200)
    assert wide.left_out(200) == []
    assert wide.rows[0][3] == "31.1 ± 2.5"


def test_a_table_has_a_ping_once_if_the_experiment_measures_it():
    of = MainNumbers(pings_ms={"ping": (30, 31)})
    planned = Planned(("ping_p50", "ping_p95"))
    planned.experiment, planned.measures = "tcp_nup", dict.fromkeys(planned.measures, "ms")
    own = {"ping_p50": 30.0, "ping_p95": 31.0}
    points = [Point([planned], {"queue": queue}, [of], [own]) for queue in ("fifo", "cake")]
    headings = [column.heading for column in many_runs("x: 2 runs", points, 2, 80).columns]
    assert headings == ["queue", "ping RTT median (ms)", "ping RTT p95 (ms)"]


def test_a_label_leaves_out_what_follows_from_the_rest():
    parts = [
        {name: table.with_columns(run_id=path + pl.col("run_id")) for name, table in tables.items()}
        for path, rate in (("static", "16Mbit/s"), ("winds", "42Mbit/s"))
        for tables in [synthetic.sweep_tables(("cubic", "bbr"), (20,), (1,), {"path": path, "rate": rate})]
    ]
    swept = sweep.read({name: pl.concat([part[name] for part in parts]) for name in parts[0]})
    assert set(swept.parameters) == {"cca", "path", "rate"}
    assert {verdict.label(swept, run) for run in swept.frame["run_id"]} == {
        "cubic, static", "bbr, static", "cubic, winds", "bbr, winds"
    }  # fmt: skip


@pytest.mark.parametrize("directory", ["r", "results/a/long/path/of/mine/with/many/folders", "l" * 90])
def test_the_next_command_fits_the_width_and_can_be_copied(tmp_path, capsys, monkeypatch, directory):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.command(["run", "deep-buffers", "--out", directory, "--no-report"]) == 0
    said = capsys.readouterr().out.partition("next:")[2]
    # A word such as a path is never broken.
    assert all(len(line) <= max(80, len(directory) + 4) for line in f"next:{said}".splitlines())
    command = said.replace("\\\n", " ").split("--all")[0].split()
    assert command == ["bloatlab", "figure", directory, "time_series", "-o", "time_series.svg"]
