"""Every figure on synthetic tables, and on tables that are awkward."""

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import altair as alt
import polars as pl
import pytest

import synthetic
from bloatlab import figures
from bloatlab.figures import contenders, histogram, network, palette, parts, prepare, registry, sweep
from bloatlab.figures.charts.goodput_delay import pareto
from bloatlab.figures.source import with_limits

ELSEWHERE = {"descent", "flow_sojourn"}
"""Of a 5G cell, and of several flows: tests/python/test_nr_dynamic_buffers.py, test_nr_rlc.py."""
OF_RUN = [name for name, figure in registry.REGISTRY.items() if not figure.of_runs and name not in ELSEWHERE]
RANKINGS = {"ranking", "places", "overall"}
MATRICES = {
    "share_matrix", "delay_matrix", "srtt_grid", "load_delay", "load_loss", "buffer_delay", "survey_base", "survey_scores",
    "survey_shares", "survey_capacity", "survey_buffer", "survey_workload", "limit_series", "fetch_times", "limit_rtt",
    "replications",
}  # fmt: skip
"""Of pairs, by two parameters, and over parameters of one experiment: test_coexistence.py, test_mmwave.py, test_nr_rlc.py,
test_aqm_survey.py, test_home_router.py."""
OF_RUNS = [
    name
    for name, figure in registry.REGISTRY.items()
    if figure.of_runs and not RANKINGS & set(figure.needs) and name not in MATRICES
]
OF_RANKING = [name for name, figure in registry.REGISTRY.items() if RANKINGS & set(figure.needs)]


@pytest.fixture(scope="module")
def one():
    return synthetic.run_tables()


@pytest.fixture(scope="module")
def three():
    return synthetic.run_tables(["newreno", "cubic", "bbr"], starts=[0, 2, 5])


@pytest.fixture(scope="module")
def hundred():
    return synthetic.run_tables(["cubic"] * 50 + ["bbr"] * 50, rate=1000, rtt=20, limit=1600, stop=3)


@pytest.fixture(scope="module")
def swept():
    return synthetic.sweep_tables(qlens=(20, 80, 320))


def units(spec):
    """Every unit view of a specification: those with a mark."""
    found = [spec] if "mark" in spec else []
    for key in ("layer", "vconcat", "hconcat", "concat"):
        for part in spec.get(key, []):
            found += units(part)
    return found


def fields(spec):
    return {
        channel["field"]
        for unit in units(spec)
        for channel in unit["encoding"].values()
        if isinstance(channel, dict) and "field" in channel
    }


def titles(spec):
    found = set()
    for unit in units(spec):
        for channel in unit["encoding"].values():
            axis = channel.get("axis") if isinstance(channel, dict) else None
            if axis and axis.get("title"):
                found.add(axis["title"])
    return found


def rows(spec):
    return sum(len(data) for data in spec["datasets"].values())


def mark(unit):
    return unit["mark"]["type"] if isinstance(unit["mark"], dict) else unit["mark"]


def colours(spec):
    """Domain to range of every colour scale with a domain."""
    found = {}
    for unit in units(spec):
        scale = unit["encoding"].get("color", {}).get("scale") or {}
        found.update(zip(scale.get("domain", []), scale.get("range", []), strict=True))
    return found


@pytest.mark.parametrize("name", OF_RUN)
@pytest.mark.parametrize("which", ["one", "three", "hundred"])
def test_every_figure_of_a_run_is_valid_vega_lite(name, which, request):
    spec = figures.draw(name, request.getfixturevalue(which)).to_dict(validate=True)
    assert units(spec)
    assert spec["config"]["background"] == "transparent"


@pytest.mark.parametrize("name", OF_RUNS)
def test_every_figure_of_runs_is_valid_vega_lite(name, swept):
    spec = figures.draw(name, swept).to_dict(validate=True)
    assert colours(spec)["cubic"] == palette.assign(["cubic"])["cubic"]


@pytest.mark.parametrize("name", OF_RUN)
@pytest.mark.parametrize("which", ["one", "three", "hundred"])
def test_charts_are_light(name, which, request):
    spec = figures.draw(name, request.getfixturevalue(which)).to_dict()
    assert rows(spec) < 4000
    assert len(json.dumps(spec)) < 300_000
    long = [
        value
        for data in spec["datasets"].values()
        for row in data
        for value in row.values()
        if isinstance(value, float) and len(f"{value:.12g}".replace(".", "").lstrip("0-")) > 8
    ]
    assert not long


def test_axes_name_their_units(one):
    assert titles(figures.draw("time_series", one).to_dict()) == {
        "segments",
        "sRTT (ms)",
        "throughput (Mbit/s)",
        "time (s)",
    }
    assert titles(figures.draw("operating_point", one).to_dict()) == {
        "sRTT (ms), less is to the right",
        "throughput (Mbit/s)",
    }
    assert {"queue (packets)", "sojourn (ms)", "drops (packets)"} < titles(figures.draw("queue", one).to_dict())


def test_time_series_draws_reference_lines(one):
    spec = figures.draw("time_series", one).to_dict()
    said = {row["text"] for data in spec["datasets"].values() for row in data if "text" in row}
    assert said == {"BDP 20", "base RTT 15 ms", "capacity 16 Mbit/s"}
    assert len(spec["vconcat"]) == 3


def test_time_series_of_flows_adds_their_sum(three):
    spec = figures.draw("time_series", three).to_dict()
    assert len(spec["vconcat"]) == 4
    assert list(colours(spec)) == ["flow_1 (newreno)", "flow_2 (cubic)", "flow_3 (bbr)"]


def test_many_flows_are_pooled(hundred):
    spec = figures.draw("time_series", hundred).to_dict()
    assert {"low", "high", "median", "total"} <= fields(spec)
    assert list(colours(spec)) == ["cubic (50 flows)", "bbr (50 flows)"]
    assert "100 flows" in registry.find("time_series").note(hundred)


def test_one_colour_a_flow_in_every_figure(three):
    seen = {}
    for name in ("time_series", "operating_point", "ecdf", "rtt_histogram"):
        for label, colour in colours(figures.draw(name, three).to_dict()).items():
            assert seen.setdefault(label, colour) == colour
    assert len(set(seen.values())) == 3


def test_operating_point_has_the_optimum_and_a_reversed_delay_axis(one):
    spec = figures.draw("operating_point", one).to_dict()
    marked = [row for data in spec["datasets"].values() for row in data if row.get("point") == "optimum"]
    assert marked == [{"x": 15.0, "y": 16.0, "point": "optimum"}]
    assert all(unit["encoding"]["x"]["scale"]["reverse"] for unit in units(spec))


def test_the_joint_point_never_exceeds_what_was_carried(three):
    spec = figures.draw("operating_point", three).to_dict()
    [joint] = [row for data in spec["datasets"].values() for row in data if row.get("point") == "joint mean"]
    assert 10 < joint["y"] < 16


def test_a_wide_range_of_delay_gets_a_logarithmic_axis():
    spec = figures.draw("operating_point", synthetic.run_tables(limit=1000, stop=120, rtt=10)).to_dict()
    assert {unit["encoding"]["x"]["scale"]["type"] for unit in units(spec)} == {"log"}


def test_the_ideal_law_bends_at_the_bdp(one):
    spec = figures.draw("in_flight", one).to_dict()
    laws = [data for data in spec["datasets"].values() if len(data) == 3]
    assert {"w": 20.0, "srtt_ms": 15.0} in laws[0]
    assert {"w": 20.0, "throughput_mbps": 16.0} in laws[1]


def test_queue_shows_the_limit_unless_it_would_flatten_the_picture(one):
    def said(tables):
        spec = figures.draw("queue", tables).to_dict()
        return {row["text"] for data in spec["datasets"].values() for row in data if "text" in row}

    assert said(one) == {"limit 80 packets"}
    far = {**one, "links": one["links"].with_columns(limit_packets=pl.lit(10240))}
    assert said(far) == set()
    assert said({**one, "links": one["links"].drop("limit_packets")}) == set()


def test_idle_links_are_left_out(one):
    idle = one["link_series"].with_columns(link=pl.lit("reverse"), queue_packets=pl.lit(0).cast(pl.Int64))
    tables = {**one, "link_series": pl.concat([one["link_series"], idle])}
    assert network.queueing_links(tables) == ["bottleneck"]
    assert "1 of 2 links" in registry.find("queue").note(tables)


def test_names_with_markup_stay_text(one):
    tables = {
        **one,
        "flows": one["flows"].with_columns(flow=pl.lit("<script>alert(1)</script>")),
        "flow_series": one["flow_series"].with_columns(flow=pl.lit("<script>alert(1)</script>")),
    }
    two = {**tables, "flows": pl.concat([tables["flows"], one["flows"]])}
    two["flow_series"] = pl.concat([tables["flow_series"], one["flow_series"]])
    import vl_convert

    svg = vl_convert.vegalite_to_svg(figures.draw("time_series", two).to_dict())
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg


@pytest.mark.parametrize("name", OF_RUN)
@pytest.mark.parametrize("stop", [0.1, 0.2])
def test_very_short_runs(name, stop):
    tables = synthetic.run_tables(stop=stop)
    figure = registry.find(name)
    if figure.applicable(tables):
        assert units(figure.draw(tables).to_dict(validate=True))
    else:
        with pytest.raises(ValueError, match="cannot be drawn"):
            figures.draw(name, tables)


@pytest.mark.parametrize("name", OF_RUN)
def test_null_values(name, three):
    columns = ["srtt_ms", "throughput_mbps", "cwnd", "in_flight"]
    gaps = three["flow_series"].with_columns(
        pl.when(pl.col("time_s") > 3).then(pl.col(column)).alias(column) for column in columns
    )
    assert units(figures.draw(name, {**three, "flow_series": gaps}).to_dict(validate=True))


@pytest.mark.parametrize("name", OF_RUN)
def test_udp_flows_have_no_window_and_no_rtt(name, one):
    bare = one["flow_series"].with_columns(
        pl.lit(None).cast(pl.Float64).alias(column) for column in ("srtt_ms", "cwnd", "in_flight")
    )
    tables = {**one, "flow_series": bare, "flows": one["flows"].with_columns(cca=pl.lit(None).cast(pl.String))}
    figure = registry.find(name)
    if figure.applicable(tables):
        assert units(figure.draw(tables).to_dict(validate=True))
    assert figure.applicable(tables) == (name not in {"operating_point", "in_flight"})


@pytest.mark.parametrize("name", registry.REGISTRY)
def test_nothing_to_draw_is_said(name):
    assert not registry.find(name).applicable({})
    with pytest.raises(ValueError, match=f"`{name}` cannot be drawn"):
        figures.draw(name, {})


def test_an_unknown_figure_is_said():
    with pytest.raises(ValueError, match="no figure `tiem_series`; there are time_series"):
        figures.draw("tiem_series", {})


def test_without_links_there_are_no_reference_lines(one):
    tables = {name: table for name, table in one.items() if name != "links"}
    for name in ("time_series", "operating_point", "in_flight", "ecdf"):
        assert units(figures.draw(name, tables).to_dict(validate=True))
    assert network.path(tables).capacity_mbps is None


def test_the_bottleneck_is_the_slowest_link_and_of_equals_the_fuller(one):
    links = pl.DataFrame({"link": ["a", "b", "c"], "rate_mbps": [100.0, 10.0, 10.0]})
    series = pl.DataFrame({"link": ["b", "c"], "time_s": [1.0, 1.0], "queue_packets": [1, 9]})
    path = network.path({**one, "links": links, "link_series": series})
    assert (path.link, path.capacity_mbps) == ("c", 10.0)


def test_bdp_in_segments(one):
    assert network.path(one).bdp_segments == pytest.approx(20.0)


def test_limits_come_from_the_scenario():
    links = pl.DataFrame({"link": ["bottleneck", "reverse"]})
    scenario = {"dumbbell": {"queue": {"kind": "fifo", "limit": "80p"}, "reverse_queue": {"limit": "10kB"}}}
    assert with_limits(links, scenario)["limit_packets"].to_list() == [80.0, None]
    boxes = {
        "boxes": [{"kind": "link", "name": "bottleneck", "queue": {"limit": "7p"}}, {"kind": "delay", "name": "d"}]
    }
    assert with_limits(links, boxes)["limit_packets"].to_list() == [7.0, None]


def test_thinning_keeps_extremes_and_order():
    series = pl.DataFrame({"x": range(10_000), "y": [abs(i % 100 - 50) for i in range(10_000)]}).cast(pl.Float64)
    series = series.with_columns(pl.when(pl.col("x") == 5005).then(999.0).otherwise("y").alias("y"))
    thin = prepare.thin(series, "x", "y")
    assert thin.height <= 600
    assert thin["y"].max() == 999
    assert thin["y"].min() == 0
    assert thin["x"].is_sorted()


def test_thinning_keeps_gaps():
    series = pl.DataFrame({"x": range(6000)}).with_columns(
        pl.when(pl.col("x").is_between(2000, 4000)).then(None).otherwise(1.0).alias("y")
    )
    assert prepare.thin(series, "x", "y")["y"].null_count() >= 90


def test_rounding_keeps_time_and_drops_what_is_not_finite():
    frame = pl.DataFrame({"time_s": [1234.5678], "y": [1234.5678], "z": [float("inf")]})
    assert prepare.values(frame).values == [{"time_s": 1234.568, "y": 1235.0, "z": None}]


def test_ecdf_ends_at_one_and_never_falls(one):
    spec = figures.draw("ecdf", one).to_dict()
    curves = [data for data in spec["datasets"].values() if "share" in data[0]]
    assert len(curves) == 2
    for curve in curves:
        shares = [row["share"] for row in curve]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0, 1)


def test_rebinning_keeps_the_weight():
    buckets = pl.DataFrame(
        {"name": ["a"] * 3, "lower": [0.0, 1.0, 5.0], "upper": [1.0, 5.0, 5.0], "weight": [1.0, 6, 3]}
    )
    for width in (0.5, 1.0, 3.0):
        assert histogram.rebinned(buckets, "name", width)["share"].sum() == pytest.approx(1)


def test_tails_start_at_one_and_fall():
    buckets = pl.DataFrame(
        {"name": ["a"] * 3, "lower": [0.0, 1.0, 2.0], "upper": [1.0, 2.0, 4.0], "weight": [90.0, 9, 1]}
    )
    tail = histogram.tails(buckets, "name")
    assert tail["value"].to_list() == [0, 1, 2]
    assert tail["above"].to_list() == pytest.approx([1, 0.1, 0.01])


def test_the_ellipse_of_known_samples():
    xs, ys = pl.Series([0.0, 2.0, 1.0, 1.0]), pl.Series([1.0, 1.0, 0.0, 2.0])
    curve = parts.ellipse(xs, ys)
    radius = (2 / 3) ** 0.5
    assert all((x - 1) ** 2 + (y - 1) ** 2 == pytest.approx(radius**2) for x, y in curve)
    assert parts.ellipse(xs.head(2), ys.head(2)) == []
    assert parts.ellipse(pl.Series([1.0] * 5), pl.Series([2.0] * 5)) == []
    slanted = parts.ellipse(pl.Series([0.0, 1.0, 2.0, 3.0]), pl.Series([0.0, 1.0, 2.0, 3.0]))
    assert all(x == pytest.approx(y) for x, y in slanted)


def test_colours_are_stable_and_distinct():
    few, more = palette.assign(["cubic", "bbr"]), palette.assign(["aaa", "bbr", "cubic", "newreno", "zzz"])
    assert few["cubic"] == more["cubic"]
    assert len(set(more.values())) == 5
    assert len(palette.assign([str(i) for i in range(20)])) == 20


def test_a_sweep_knows_its_axes(swept):
    found = sweep.read(swept)
    [axis] = found.axes
    assert (axis.title, axis.numbers) == ("qlen (packets)", [20, 80, 320])
    assert (found.coloured_by, found.replications) == ("cca", 2)
    assert found.frame["throughput_mbps"].null_count() == 0


def test_values_without_a_common_unit_keep_their_order():
    mixed = sweep.axis_of("qlen", pl.Series(["80p", "20kB", "80p"]))
    assert (mixed.values, mixed.numbers) == (["80p", "20kB"], [])
    assert sweep.axis_of("bw", pl.Series(["16Mbit/s", "4Mbit/s"])).values == ["4Mbit/s", "16Mbit/s"]


def test_further_axes_are_held_and_said():
    tables = synthetic.sweep_tables(ccas=("cubic",), qlens=(20, 80), seeds=(1,))
    other = synthetic.sweep_tables(ccas=("cubic",), qlens=(20, 80), seeds=(1,), extra={"bw": "8Mbit/s"})
    renamed = {name: table.with_columns(run_id="b" + pl.col("run_id")) for name, table in other.items()}
    both = {name: pl.concat([tables[name], renamed[name]]) for name in tables}
    assert len(sweep.read(both).axes) == 2
    assert "Shown for" in registry.find("comparison").note(both)
    assert units(figures.draw("comparison", both).to_dict(validate=True))


def test_a_sweep_of_algorithms_alone_has_them_on_the_axis():
    tables = synthetic.sweep_tables(qlens=(80,), seeds=(1,))
    spec = figures.draw("comparison", tables).to_dict(validate=True)
    assert {unit["encoding"]["x"]["type"] for unit in units(spec)} == {"nominal"}


def test_replications_have_ellipses(swept):
    tables = synthetic.sweep_tables(ccas=("cubic",), qlens=(20, 80), seeds=(1, 2, 3))
    spec = figures.draw("delay_throughput", tables).to_dict(validate=True)
    assert "line" in {mark(unit) for unit in units(spec)}
    assert "line" not in {mark(unit) for unit in units(figures.draw("delay_throughput", swept).to_dict())}


def test_metrics_that_are_missing_stay_missing():
    metrics = pl.DataFrame(
        {
            "run_id": ["a"],
            "scope": ["link"],
            "entity": ["l"],
            "metric": ["mean_sojourn"],
            "value": [3.0],
            "unit": ["ms"],
        }
    )
    [row] = sweep.metrics_by_run(metrics).to_dicts()
    assert row["delay_ms"] == 3.0
    assert row["throughput_mbps"] is None
    assert row["retransmissions"] is None


@pytest.mark.parametrize(
    ("ending", "start"),
    [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("json", b"{"), ("html", b"<!DOCTYPE")],
)
def test_saving(tmp_path, one, ending, start):
    path = figures.save(figures.draw("rtt_histogram", one), tmp_path / f"x.{ending}")
    data = path.read_bytes()
    assert data.lstrip()[: len(start)].lower() == start.lower()
    if ending == "html":
        HTMLParser().feed(data.decode())
        assert b'src="http' not in data


HOSTILE = "</script><script>document.title = 'run'</script><!--\x00\x1b[2J\uffff"


def test_names_are_data_in_every_format(tmp_path, one):
    tables = {
        name: table.with_columns(
            pl.lit(HOSTILE).alias(column) for column in ("flow", "link") if column in table.columns
        )
        for name, table in one.items()
    }
    chart = figures.draw("time_series", tables)
    for ending in ("svg", "png", "pdf", "json"):
        assert figures.save(chart, tmp_path / f"x.{ending}").stat().st_size > 0
    html = figures.save(chart, tmp_path / "x.html").read_text(encoding="utf-8")
    # The data element and Vega, each closed once.
    assert html.count("<script") == html.count("</script") == 2
    assert "<!--" not in html
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", html, flags=re.DOTALL)
    assert json.loads(data)["$schema"].startswith("https://vega")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'; base-uri 'none'" in html
    assert "unsafe-eval" not in html.partition("<body>")[0]


def test_an_unknown_format_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"x\.doc: a figure's name must end in \.svg, \.png, \.pdf, \.html, \.json"):
        figures.save(alt.Chart(), tmp_path / "x.doc")


def test_functions_have_the_names_of_the_registry(one):
    for name, figure in registry.REGISTRY.items():
        assert getattr(figures, name) is figure.function
    assert isinstance(figures.time_series(one), alt.VConcatChart)


@pytest.fixture(scope="module")
def ranked():
    return synthetic.ranked_tables(["fifo", "codel", "pie"])


@pytest.mark.parametrize("name", OF_RANKING)
@pytest.mark.parametrize("width", [900, 360])
@pytest.mark.parametrize("count", [2, 3, 25])
def test_every_figure_of_a_ranking_is_valid_vega_lite_and_light(name, width, count):
    tables = synthetic.ranked_tables([f"queue_{index}" for index in range(count)])
    chart = registry.find(name).draw(tables, width=width)
    spec = chart.to_dict(validate=True)
    assert units(spec)
    assert rows(spec) < 6000


@pytest.mark.parametrize("name", OF_RANKING)
def test_figures_of_a_ranking_need_one(name, swept):
    assert not registry.find(name).applicable(swept)
    with pytest.raises(ValueError, match=r"needs values in (ranking|places|overall)"):
        figures.draw(name, swept)


def test_the_pareto_front_keeps_who_is_beaten_by_none():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 3.0, 2.0], "y": [5.0, 7.0, 6.0, 9.0, 7.0]})
    # The third is beaten by the second in both; the equal second and fifth beat each other in neither.
    assert pareto(frame) == [True, True, False, True, True]


def test_the_front_is_drawn_filled(ranked):
    spec = figures.draw("goodput_delay", ranked).to_dict()
    drawn = [data for data in spec["datasets"].values() if data and "front" in data[0]]
    assert {row["contender"] for data in drawn for row in data} == {"fifo", "codel", "pie"}
    assert "queueing delay p95 (ms), less is to the right" in titles(spec)


def test_ellipses_have_a_panel_a_point_and_skip_those_without_long_flows():
    tables = synthetic.ranked_tables(["fifo", "codel"], points=("rate=1", "rate=2", "rate=3"))
    metrics = tables["metrics"].filter(~pl.col("run_id").str.contains("rate=2"))
    spec = figures.draw("goodput_ellipses", {**tables, "metrics": metrics}).to_dict()
    panels = [panel["title"]["text"] for row in spec["vconcat"] for panel in row["hconcat"]]
    assert panels == ["rate=1", "rate=3"]


def test_an_ellipse_by_hand():
    # Variances 4 and 1 without covariance: half axes 2 and 1 about the mean (3, 5).
    xs, ys = pl.Series([1.0, 3.0, 5.0, 3.0]), pl.Series([5.0, 5.0, 5.0, 5.0])
    scale = math.sqrt(8 / 3)
    curve = parts.ellipse(xs, ys, points=4)
    assert curve[0] == pytest.approx((3 + scale, 5))
    assert curve[1] == pytest.approx((3, 5))
    assert curve[2] == pytest.approx((3 - scale, 5))
    # Perfectly correlated: the ellipse is a stroke along the diagonal, one standard deviation long each way.
    curve = parts.ellipse(pl.Series([0.0, 1.0, 2.0]), pl.Series([0.0, 1.0, 2.0]), points=4)
    assert curve[0] == pytest.approx((2, 2))
    assert curve[1] == pytest.approx((1, 1), abs=1e-6)
    # Covariance 1 and variances 2 and 2: half axes sqrt(3) and 1, turned by 45 degrees.
    curve = parts.ellipse(pl.Series([-1.0, 1.0, 2.0, -2.0]) * 1.0, pl.Series([1.0, -1.0, 2.0, -2.0]) * 1.0, points=4)
    assert math.hypot(*curve[0]) == pytest.approx(math.sqrt(16 / 3))
    assert math.hypot(*curve[1]) == pytest.approx(math.sqrt(4 / 3))


def test_labels_stand_clear_of_each_other():
    points = [(100.0, 100.0), (103.0, 100.0), (100.0, 104.0), (380.0, 10.0)]
    names = ["fq_codel", "codel", "pie", "a_long_name_at_the_edge"]
    spots = contenders.label_spots(points, names, 400, 200)
    boxes = [
        (x, y - contenders.LINE / 2, x + contenders.LETTER * len(name), y + contenders.LINE / 2)
        for (x, y), name in zip(spots, names, strict=True)
    ]
    for index, a in enumerate(boxes):
        for b in boxes[index + 1 :]:
            assert min(a[2], b[2]) <= max(a[0], b[0]) or min(a[3], b[3]) <= max(a[1], b[1])
    assert boxes[3][2] <= 440


def test_pixels_and_values_of_an_axis_go_both_ways():
    for axis in (
        contenders.Axis(1.0, 100.0, 300, log=True, reverse=True),
        contenders.Axis(0.0, 10.0, 300, reverse=True),
        contenders.Axis(2.0, 4.0, 300),
    ):
        assert axis.value(axis.pixel(3.0)) == pytest.approx(3.0)
    assert contenders.Axis(1.0, 100.0, 300, log=True).pixel(10.0) == pytest.approx(150)


def test_no_module_of_the_package_hides_a_function():
    # Importing `bloatlab.figures.x` sets the name `x`: a function of that name would be gone.
    modules = {path.stem for path in Path(figures.__file__).parent.glob("*.py")} - {"__init__", "registry"}
    assert not modules & set(figures.__all__)
