"""Every figure of a run on synthetic tables and on tables that are awkward, and saving a figure."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import altair as alt
import polars as pl
import pytest

import synthetic
from bloatlab import figures
from bloatlab.figures import network, palette, registry
from bloatlab.figures.charts import time_series
from bloatlab.figures.theme import INK, OPTIMUM
from specification import colours, fields, mark, rows, titles, units

ELSEWHERE = {"downlink", "flow_sojourn", "probe_rtt"}
"""Figures of a 5G cell, of several flows and of probes: see test_nr_dynamic_buffers, test_nr_rlc_figures, test_probes."""
OF_RUN = [name for name, figure in registry.REGISTRY.items() if not figure.of_runs and name not in ELSEWHERE]


@pytest.fixture(scope="module")
def one():
    return synthetic.run_tables()


@pytest.fixture(scope="module")
def three():
    return synthetic.run_tables(["newreno", "cubic", "bbr"], starts=[0, 2, 5])


@pytest.fixture(scope="module")
def hundred():
    return synthetic.run_tables(["cubic"] * 50 + ["bbr"] * 50, rate=1000, rtt=20, limit=1600, stop=3)


@pytest.mark.parametrize("name", OF_RUN)
@pytest.mark.parametrize("which", ["one", "three", "hundred"])
def test_every_figure_of_a_run_is_valid_vega_lite(name, which, request):
    spec = figures.draw(name, request.getfixturevalue(which)).to_dict(validate=True)
    assert units(spec)
    assert spec["config"]["background"] == "transparent"


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


@pytest.mark.parametrize(
    ("late", "early", "align", "baseline"),
    [
        ([50, 50], [50, 50], "right", "top"),
        ([14, 14], [50, 50], "right", "bottom"),
        ([14, 17], [50, 50], "left", "top"),
        ([14, 17], [14, 14], "left", "bottom"),
    ],
)
def test_the_name_of_a_reference_line_is_where_few_samples_are(one, late, early, align, baseline):
    # The base RTT is 15 ms. The sRTT alternates between two values.
    series = one["flow_series"]
    half = series.height // 2
    srtt = [*(early * half)[:half], *(late * series.height)[: series.height - half]]
    tables = {**one, "flow_series": series.with_columns(pl.Series("srtt_ms", srtt, dtype=pl.Float64))}
    spec = figures.draw("time_series", tables).to_dict(validate=True)
    [name] = [
        unit for unit in units(spec)
        if mark(unit) == "text" and "base RTT" in spec["datasets"][unit["data"]["name"]][0]["text"]
    ]  # fmt: skip
    assert (name["mark"]["align"], name["mark"]["baseline"]) == (align, baseline)


def test_time_series_of_flows_adds_their_sum(three):
    spec = figures.draw("time_series", three).to_dict()
    assert len(spec["vconcat"]) == 4
    assert list(colours(spec)) == ["flow_1 (newreno)", "flow_2 (cubic)", "flow_3 (bbr)"]


def test_the_note_of_the_time_series_names_the_panels_that_it_has(one, three, hundred):
    note = registry.find("time_series").note
    assert note(one) == (
        "Segments in flight with the congestion window, the smoothed RTT and the throughput of the payload. "
        "Dashed: bandwidth-delay product, base RTT and capacity."
    )
    assert note(three).endswith("Dashed: base RTT and capacity.")
    assert note(hundred).startswith("Segments in flight, the smoothed RTT and")
    gone = [pl.lit(None, pl.Float64).alias(name) for name in ("in_flight", "cwnd", "srtt_ms")]
    datagrams = {**one, "flow_series": one["flow_series"].with_columns(gone)}
    assert note(datagrams) == "The throughput of the payload. Dashed: capacity."


def test_many_flows_are_pooled(hundred):
    spec = figures.draw("time_series", hundred).to_dict()
    assert {"low", "high", "median", "total"} <= fields(spec)
    assert list(colours(spec)) == ["cubic (50 flows)", "bbr (50 flows)"]
    assert "100 flows" in registry.find("time_series").note(hundred)


def test_many_flows_of_several_names_are_pooled_by_name(hundred):
    stems = ["load"] * 60 + ["short"] * 40
    names = pl.Series("flow", [f"{stem}_{number}" for number, stem in enumerate(stems)])
    renamed = dict(zip(hundred["flows"]["flow"].cast(pl.String), names, strict=True))
    one_kind = {
        name: hundred[name].with_columns(pl.col("flow").cast(pl.String).replace_strict(renamed))
        for name in ("flows", "flow_series")
    }
    one_kind["flows"] = one_kind["flows"].with_columns(cca=pl.lit("cubic"))
    tables = {**hundred, **one_kind}
    spec = figures.draw("time_series", tables).to_dict()
    assert list(colours(spec)) == ["load (60 flows)", "short (40 flows)"]
    assert "100 flows are drawn as one group per name." in registry.find("time_series").note(tables)
    both = network.groups({**tables, "flows": one_kind["flows"].with_columns(cca=hundred["flows"]["cca"])})
    assert both.labels == ["load, cubic (50 flows)", "load, bbr (10 flows)", "short, bbr (40 flows)"]


def test_the_line_of_a_group_has_a_gap_where_none_of_its_flows_was_active():
    times = [0.5, 1.0, 1.5, 20.0, 20.5]
    series = pl.DataFrame({"label": ["short"] * 5, "time_s": times, "x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    always = pl.DataFrame({"label": ["long"] * 42, "time_s": [step / 2 for step in range(42)], "x": [1.0] * 42})
    found = time_series.band(pl.concat([series, always]), "x").filter(label="short")
    assert found["median"].to_list() == [1.0, 2.0, 3.0, None, 4.0, 5.0]


def test_drops_do_not_have_the_colour_of_a_link(one):
    both = pl.concat(
        [one["link_series"], one["link_series"].with_columns(link=pl.lit("reverse"))], how="vertical_relaxed"
    )
    spec = figures.draw("queue", {**one, "link_series": both}).to_dict(validate=True)
    assert spec["resolve"]["scale"] == {"color": "independent"}
    legends = [
        unit["encoding"]["color"].get("legend") is not None
        for unit in units(spec)
        if "field" in unit["encoding"].get("color", {})
    ]
    assert sum(legends) == 1


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
    fill = next(layer["encoding"]["fill"] for layer in spec["layer"] if "fill" in layer["encoding"])
    colour = dict(zip(fill["scale"]["domain"], fill["scale"]["range"], strict=True))
    # The star is yellow, which no flow is.
    assert colour == {"joint mean": INK, "optimum": OPTIMUM}
    assert OPTIMUM not in palette.ALL
    assert all(unit["encoding"]["x"]["scale"]["reverse"] for unit in units(spec))


def test_a_delay_axis_does_not_reach_below_zero(one):
    series = one["flow_series"].with_columns(srtt_ms=15.0 + 60.0 * (pl.col("time_s") % 2))
    spec = figures.draw("operating_point", {**one, "flow_series": series}).to_dict()
    scales = [unit["encoding"]["x"]["scale"] for unit in units(spec)]
    assert {scale["type"] for scale in scales} == {"linear"}
    assert {scale["domain"][0] for scale in scales} == {0}


def test_the_joint_point_never_exceeds_what_was_carried(three):
    spec = figures.draw("operating_point", three).to_dict()
    [joint] = [row for data in spec["datasets"].values() for row in data if row.get("point") == "joint mean"]
    assert 10 < joint["y"] < 16


@pytest.fixture
def both_ways():
    """Two flows down at 16 Mbit/s, and one up, whose link is the bottleneck."""
    tables = synthetic.run_tables(("newreno", "cubic", "newreno"), stop=10)
    links = pl.concat(
        [
            tables["links"].with_columns(pl.lit("down").alias("link")),
            tables["links"].with_columns(pl.lit("up").alias("link"), pl.lit(4.0).alias("rate_mbps")),
        ]
    )
    crossed = pl.Series("links", [["down"], ["down"], ["up"]])
    flows = tables["flows"].with_columns(crossed, pl.Series("base_rtt_ms", [10.0, 10.0, 15.0]))
    up = pl.col("flow") == "flow_3"
    series = tables["flow_series"].with_columns(
        pl.when(up).then(3.0).otherwise(7.0).alias("throughput_mbps"),
        pl.when(up).then(5.0).otherwise(50.0).alias("in_flight"),
        pl.when(up).then(20.0).otherwise(100.0).alias("srtt_ms"),
    )
    return {**tables, "links": links, "flows": flows, "flow_series": series}


def test_sums_are_over_the_flows_through_the_bottleneck(both_ways):
    def values(name, column):
        data = figures.draw(name, both_ways).to_dict()["datasets"].values()
        return [row[column] for rows in data for row in rows if column in row]

    assert set(values("time_series", "total")) == {3.0}
    data = figures.draw("operating_point", both_ways).to_dict()["datasets"].values()
    points = {row["point"]: (row["x"], row["y"]) for rows in data for row in rows if "point" in row}
    assert points == {"joint mean": (20.0, 3.0), "optimum": (15.0, 4.0)}
    data = figures.draw("in_flight", both_ways).to_dict()["datasets"].values()
    [mean, *_] = [row for rows in data for row in rows if row.get("point") == "mean" and "srtt_ms" in row]
    assert (mean["w"], mean["srtt_ms"]) == (5.0, 20.0)
    assert "fair share" not in " ".join(values("ecdf", "text"))
    assert "capacity at up 4 Mbit/s" in values("ecdf", "text")


def test_the_time_axis_has_its_title_beside_a_varying_rate(one, three):
    for tables in (one, three):
        rate = tables["link_series"].with_columns(rate_mbps=8.0 + pl.col("time_s") % 2)
        spec = figures.draw("time_series", {**tables, "link_series": rate}).to_dict()
        last = list(units(spec["vconcat"][-1]))
        assert any("rate_mbps" in unit["encoding"]["y"].get("field", "") for unit in last)
        axes = [unit["encoding"]["x"]["axis"] for unit in last if "axis" in unit["encoding"]["x"]]
        assert {axis["title"] for axis in axes} == {"time (s)"}


def test_an_empty_queue_is_drawn_at_the_bottom_of_its_axis(one):
    series = one["link_series"].with_columns(queue_packets=pl.lit(0.0))
    [line, *_] = units(figures.draw("queue", {**one, "link_series": series}).to_dict()["vconcat"][0])
    assert line["encoding"]["y"]["scale"]["domain"] == [0, 1]


def test_figures_say_which_flows_they_add_up(both_ways, three):
    for name in ("time_series", "operating_point", "in_flight"):
        note = registry.find(name).note(both_ways)
        assert "the only flow whose data crosses the bottleneck `up`. 2 flows do not cross it." in note
        assert "bottleneck" not in registry.find(name).note(three)


def test_a_flow_through_the_bottleneck_keeps_its_colour(both_ways):
    drawn = figures.draw("time_series", both_ways).to_dict()
    [(label, colour)] = network.across(both_ways).groups.colours.items()
    assert colours(drawn)[label] == colour


def test_many_flows_through_the_bottleneck_are_counted_without_the_others(hundred):
    ways = [["up"] if number < 40 else ["down"] for number in range(100)]
    links = pl.DataFrame({"link": ["up", "down"], "rate_mbps": [4.0, 16.0]})
    tables = {**hundred, "links": links, "flows": hundred["flows"].with_columns(pl.Series("links", ways))}
    assert network.across(tables).groups.flows == 40
    data = figures.draw("operating_point", tables).to_dict()["datasets"].values()
    assert [row["y"] for rows in data for row in rows if row.get("point") == "optimum"] == [0.1]


def test_a_wide_range_of_delay_gets_a_logarithmic_axis():
    spec = figures.draw("operating_point", synthetic.run_tables(limit=1000, stop=120, rtt=10)).to_dict()
    assert {unit["encoding"]["x"]["scale"]["type"] for unit in units(spec)} == {"log"}


def test_the_ideal_law_bends_at_the_bdp(one):
    spec = figures.draw("in_flight", one).to_dict()
    ideals = [data for data in spec["datasets"].values() if len(data) == 3]
    assert {"w": 20.0, "srtt_ms": 15.0} in ideals[0]
    assert {"w": 20.0, "throughput_mbps": 16.0} in ideals[1]


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
        assert units(figure(tables).to_dict(validate=True))
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


@pytest.fixture(scope="module")
def udp(one):
    """A run without windows and RTTs."""
    bare = one["flow_series"].with_columns(
        pl.lit(None).cast(pl.Float64).alias(column) for column in ("srtt_ms", "cwnd", "in_flight")
    )
    return {**one, "flow_series": bare, "flows": one["flows"].with_columns(cca=pl.lit(None).cast(pl.String))}


@pytest.mark.parametrize("name", OF_RUN)
def test_figures_of_udp_flows(name, udp):
    figure = registry.find(name)
    if figure.applicable(udp):
        assert units(figure(udp).to_dict(validate=True))


def test_udp_flows_have_no_window_and_no_rtt(udp):
    shown = {name for name in OF_RUN if registry.find(name).applicable(udp)}
    assert "time_series" in shown
    assert not shown & {"operating_point", "in_flight"}


@pytest.mark.parametrize("name", registry.REGISTRY)
def test_nothing_to_draw_is_said(name):
    assert not registry.find(name).applicable({})
    with pytest.raises(ValueError, match=f"`{name}` cannot be drawn"):
        figures.draw(name, {})


def test_an_unknown_figure_is_said():
    with pytest.raises(ValueError, match=r"unknown figure `tiem_series` \(did you mean `time_series`\?\)"):
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


def test_ecdf_ends_at_one_and_never_falls(one):
    spec = figures.draw("ecdf", one).to_dict()
    curves = [data for data in spec["datasets"].values() if "share" in data[0]]
    assert len(curves) == 2
    for curve in curves:
        shares = [row["share"] for row in curve]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0, 1)


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
    # The data element, Vega and the call that draws, each closed once.
    assert html.count("<script") == html.count("</script") == 3
    assert "<!--" not in html
    data, *scripts = re.findall(r"<script[^>]*>(.*?)</script>", html, flags=re.DOTALL)
    assert json.loads(data)["$schema"].startswith("https://vega")
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert f"default-src 'none'; script-src {allowed}; base-uri 'none'" in html
    assert "unsafe-eval" not in html.partition("<body>")[0]


def test_an_unknown_format_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"x\.doc: a figure's name must end in \.svg, \.png, \.pdf, \.html, \.json"):
        figures.save(alt.Chart(), tmp_path / "x.doc")


def test_figures_have_the_names_of_the_registry(one):
    for name, figure in registry.REGISTRY.items():
        assert name == figure.name
        assert getattr(figures, name) is figure
    assert isinstance(figures.time_series(one), alt.VConcatChart)


def test_no_module_of_the_package_hides_a_function():
    # Importing `bloatlab.figures.x` sets the name `x`: a function of that name would be gone.
    modules = {path.stem for path in Path(figures.__file__).parent.glob("*.py")} - {"__init__"}
    assert not modules & {*figures.__all__, *registry.REGISTRY}
