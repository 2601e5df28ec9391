"""Every figure of a sweep and of a ranking on synthetic tables."""

import json
from itertools import product

import polars as pl
import pytest
import vl_convert

import synthetic
from bloatlab import figures
from bloatlab.figures import palette, registry, sweep
from bloatlab.figures.charts import fronts, goodput_ellipses
from specification import colours, mark, rows, titles, units

RANKINGS = {"ranking", "places", "overall"}
MATRICES = {
    "share_matrix", "delay_matrix", "srtt_grid", "load_delay", "load_loss", "buffer_delay", "survey_base", "survey_scores",
    "survey_shares", "survey_mixtures", "survey_drop_tail", "survey_capacity", "survey_buffer", "survey_workload",
    "limit_series", "fetch_times", "limit_rtt", "replications", "engine_series", "published",
}  # fmt: skip
"""Of pairs, by two parameters, over parameters of one experiment, and of several engines: test_coexistence.py,
test_mmwave_grid.py, test_nr_rlc_figures.py, test_aqm_survey.py, test_home_router.py, test_compare_engines.py."""
OF_RUNS = [
    name
    for name, figure in registry.REGISTRY.items()
    if figure.of_runs and not RANKINGS & set(figure.needs) and name not in MATRICES
]
OF_RANKING = [name for name, figure in registry.REGISTRY.items() if RANKINGS & set(figure.needs)]


@pytest.fixture(scope="module")
def swept():
    return synthetic.sweep_tables(qlens=(20, 80, 320))


@pytest.mark.parametrize("name", OF_RUNS)
def test_every_figure_of_runs_is_valid_vega_lite(name, swept):
    spec = figures.draw(name, swept).to_dict(validate=True)
    assert colours(spec)["cubic"] == palette.assign(["cubic"])["cubic"]


def test_a_sweep_knows_its_axes(swept):
    found = sweep.read(swept)
    [axis] = found.axes
    assert (axis.title, axis.numbers) == ("queue limit (packets)", [20, 80, 320])
    assert (found.coloured_by, found.replications) == ("cca", 2)
    assert found.frame["throughput_mbps"].null_count() == 0


def of_axes(**axes):
    """Tables of runs with every combination of these values."""
    found = []
    for index, values in enumerate(product(*axes.values())):
        tables = synthetic.sweep_tables(
            ccas=("cubic",), qlens=(20, 80), seeds=(1,), extra=dict(zip(axes, values, strict=True))
        )
        found.append({name: table.with_columns(run_id=f"{index}" + pl.col("run_id")) for name, table in tables.items()})
    return {name: pl.concat([tables[name] for tables in found]) for name in found[0]}


def test_the_second_axis_gives_the_colour_if_no_algorithm_varies():
    tables = of_axes(bw=("8Mbit/s", "16Mbit/s"))
    spec = figures.draw("comparison", tables).to_dict(validate=True)
    assert list(colours(spec)) == ["8Mbit/s", "16Mbit/s"]
    assert registry.find("comparison").note(tables) == ""


@pytest.mark.parametrize("width", [900, 360])
def test_combinations_of_further_axes_have_panels_with_the_same_axis(width):
    tables = of_axes(bw=("8Mbit/s", "16Mbit/s"), rtt=("20ms", "40ms"))
    spec = registry.find("comparison")(tables, width=width).to_dict(validate=True)
    panels = [panel for row in spec["vconcat"] for panel in row["hconcat"]]
    assert {panel["title"]["text"] for panel in panels} == {"an RTT of 20 ms", "an RTT of 40 ms"}
    tops = {}
    for panel in panels:
        y = panel["layer"][-1]["encoding"]["y"]
        tops.setdefault(str(y["axis"]["title"]), []).append(y["scale"].get("domainMax", y["scale"].get("domain")))
    assert all(len(top) == 2 and top[0] == top[1] is not None for top in tops.values())
    # Without room for panels, an axis has its first value.
    many = of_axes(bw=("8Mbit/s", "16Mbit/s"), rtt=("20ms", "40ms", "60ms"), flows=("1", "2", "3"), k=("1", "2", "3"))
    assert "Shown for" in registry.find("comparison").note(many)
    assert units(registry.find("comparison")(many, width=width).to_dict(validate=True))


def test_delays_that_differ_much_have_a_logarithmic_axis(swept):
    factor = pl.when(pl.col("run_id").str.contains("cubic")).then(100.0).otherwise(1.0)
    apart = {**swept, "metrics": swept["metrics"].with_columns(pl.col("value") * factor)}
    for tables, kinds in ((apart, {"log"}), (swept, {None})):
        spec = figures.draw("comparison", tables).to_dict(validate=True)
        found = [unit["encoding"]["y"] for unit in units(spec) if mark(unit) == "point"]
        delays = [y["scale"].get("type") for y in found if "delay" in str(y["axis"]["title"])]
        assert delays
        assert set(delays) == kinds


def test_titles_of_panels_fit_their_height(swept):
    spec = figures.draw("comparison", swept).to_dict(validate=True)
    for unit in units(spec):
        title = unit["encoding"]["y"]["axis"]["title"]
        assert all(6 * len(line) <= 170 for line in ([title] if isinstance(title, str) else title))


def test_names_beside_marks_do_not_cross_the_bars():
    tables = synthetic.sweep_tables(qlens=(20, 80, 320), seeds=(1,))
    spec = figures.draw("delay_throughput", tables).to_dict(validate=True)
    [names] = [unit for unit in units(spec) if mark(unit) == "text"]
    bars = next(
        unit for unit in units(spec) if mark(unit) == "rule" and unit["encoding"]["x2"]["field"] == "delay_p95_ms"
    )
    y = bars["encoding"]["y"]["scale"]["domain"]
    pixel = 320 / (y[1] - y[0])
    for name in spec["datasets"][names["data"]["name"]]:
        for bar in spec["datasets"][bars["data"]["name"]]:
            # The reversed axis has small delays to the right. A name is 12 pixels high.
            meets = bar["delay_ms"] <= name["x"] <= bar["delay_p95_ms"]
            assert not meets or abs(name["y"] - bar["throughput_mbps"]) * pixel >= 6


def test_a_sweep_of_algorithms_alone_has_them_on_the_axis():
    tables = synthetic.sweep_tables(qlens=(80,), seeds=(1,))
    spec = figures.draw("comparison", tables).to_dict(validate=True)
    assert {unit["encoding"]["x"]["type"] for unit in units(spec)} == {"nominal"}


def test_replications_have_ellipses(swept):
    tables = synthetic.sweep_tables(ccas=("cubic",), qlens=(20, 80), seeds=(1, 2, 3))
    spec = figures.draw("delay_throughput", tables).to_dict(validate=True)
    assert "line" in {mark(unit) for unit in units(spec)}
    assert "line" not in {mark(unit) for unit in units(figures.draw("delay_throughput", swept).to_dict())}


@pytest.fixture(scope="module")
def ranked():
    return synthetic.ranked_tables(["fifo", "codel", "pie"])


@pytest.mark.parametrize("name", OF_RANKING)
@pytest.mark.parametrize("width", [900, 360])
@pytest.mark.parametrize("count", [2, 3, 25])
def test_every_figure_of_a_ranking_is_valid_vega_lite_and_light(name, width, count):
    tables = synthetic.ranked_tables([f"queue_{index}" for index in range(count)])
    chart = registry.find(name)(tables, width=width)
    spec = chart.to_dict(validate=True)
    assert units(spec)
    assert rows(spec) < 6000


@pytest.mark.parametrize("name", OF_RANKING)
def test_figures_of_a_ranking_need_one(name, swept):
    assert not registry.find(name).applicable(swept)
    with pytest.raises(ValueError, match=r"needs values in (ranking|places|overall)"):
        figures.draw(name, swept)


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
    assert panels == ["rate of 1", "rate of 3"]


def test_ellipses_of_a_crowd_have_colours_on_the_pareto_front_only():
    names = [f"queue_{index}" for index in range(19)]
    tables = synthetic.ranked_tables(names)
    spec = figures.draw("goodput_ellipses", tables).to_dict(validate=True)
    found = goodput_ellipses.samples(tables).group_by("contender").agg(pl.col("x").mean(), pl.col("y").mean()).rows()
    front = {
        name for name, x, y in found
        if not any(a <= x and b >= y and (a, b) != (x, y) for _, a, b in found)
    }  # fmt: skip
    assert set(colours(spec)) == front
    assert len(front) < len(names)
    drawn = {row["contender"] for data in spec["datasets"].values() for row in data if "contender" in row}
    assert drawn == set(names)
    first = colours(figures.draw("goodput_delay", tables).to_dict())
    assert colours(spec) == {name: first[name] for name in colours(spec)}
    assert "Grey" in registry.find("goodput_ellipses").note(tables)
    few = synthetic.ranked_tables(names[:8])
    assert set(colours(figures.draw("goodput_ellipses", few).to_dict())) == set(names[:8])
    assert "Grey" not in registry.find("goodput_ellipses").note(few)


def test_ellipses_have_a_legend_and_speak_of_ellipses_only_if_there_are_any():
    tables = synthetic.ranked_tables(["fifo", "codel", "pie"])
    drawn = vl_convert.vegalite_to_vega(figures.draw("goodput_ellipses", tables).to_dict())
    assert '"legends"' in json.dumps(drawn)
    note = registry.find("goodput_ellipses").note
    assert "ellipse" in note(tables)
    first = tables["metrics"].filter(entity=tables["metrics"].filter(scope="flow")["entity"][0])
    assert "ellipse" not in note({**tables, "metrics": first})


def test_names_on_the_fronts_do_not_cross_the_bars():
    tables = synthetic.ranked_tables([f"queue_{index}" for index in range(6)], points=("rate=1", "rate=2"))
    spec = figures.draw("fronts", tables).to_dict(validate=True)
    panels = [panel for row in spec["vconcat"] for panel in row["hconcat"]]
    crossed = [
        (name["contender"], bar["contender"])
        for panel in panels
        for name in rows_of(spec, panel, "text")
        for bar in rows_of(spec, panel, "rule")
        if "low" in bar and bar["low"] <= name["x"] <= bar["high"]
        and abs(name["y"] - bar["y"]) * fronts.HEIGHT < 6 * span(panel)
    ]  # fmt: skip
    assert panels
    assert crossed == []


def rows_of(spec, panel, kind):
    return [row for layer in panel["layer"] if mark(layer) == kind for row in spec["datasets"][layer["data"]["name"]]]


def span(panel):
    low, high = next(layer for layer in panel["layer"] if mark(layer) == "point")["encoding"]["y"]["scale"]["domain"]
    return high - low


@pytest.mark.parametrize("width", [900, 360])
def test_published_values_that_differ_have_rows(width):
    rows = [
        ("reno, 1 ms: window", 10.0, 11.0, 1),
        ("reno, 2 ms: window", 10.0, 9.0, 1),
        ("copa x 8, 50 Mbit/s: mean queue", 20.0, 2868.0, 0),
        ("dctcp: marks", 0.0, 1.0, 1),
        ("bbr: share", 0.5, 0.4, None),
    ]
    claims = pl.DataFrame(rows, ["name", "published", "measured", "holds"], orient="row").with_columns(unit=pl.lit(""))
    spec = registry.find("published")({"claims": claims}, width=width).to_dict(validate=True)
    [marks] = [unit for unit in units(spec) if mark(unit) == "point"]
    drawn = spec["datasets"][marks["data"]["name"]]
    assert [(row["row"].replace("\n", " "), row["verdict"], row["ratio"]) for row in drawn] == [
        ("reno: 2 agree", "agrees", 1.1),
        ("reno: 2 agree", "agrees", 0.9),
        ("copa x 8, 50 Mbit/s: mean queue", "differs", 143.4),
    ]
    assert registry.find("published").note({"claims": claims}).startswith("2 without a verdict")
    assert not registry.find("published").applicable({"claims": claims.clear()})


def test_of_a_crowd_of_lines_the_ends_have_colours():
    ccas = tuple(f"cca_{index:02}" for index in range(25))
    tables = synthetic.sweep_tables(ccas=ccas, qlens=(20, 80), seeds=(1,))
    place = pl.col("run_id").str.extract(r"cca_(\d+)").cast(pl.Float64)
    tables["metrics"] = tables["metrics"].with_columns(100 - place.alias("value"))
    spec = figures.draw("comparison", tables).to_dict(validate=True)
    assert set(colours(spec)) == {*ccas[:4], *ccas[-4:]}
    grey = {row["series"] for unit in units(spec) if unit["mark"].get("opacity") == 0.45
            for row in spec["datasets"][unit["data"]["name"]]}  # fmt: skip
    assert grey == set(ccas[4:-4])
    assert "the other 17 are grey" in registry.find("comparison").note(tables)


def test_colours_and_legends_follow_the_user(swept):
    tables = {**swept, "given": sweep.given({"qlen": [["320p", "20p", "80p"]], "cca": [["newreno", "cubic", "bbr"]]})}
    found = sweep.read(tables)
    assert found.parameters == {"qlen": ["320p", "20p", "80p"], "cca": ["newreno", "cubic", "bbr"]}
    assert found.series == ["newreno", "cubic", "bbr"]
    assert found.frame.select("qlen", "cca").unique(maintain_order=True).rows() == [
        (qlen, cca) for qlen in ("320p", "20p", "80p") for cca in ("newreno", "cubic", "bbr")
    ]
    for name in ("comparison", "delay_throughput"):
        assert list(colours(figures.draw(name, tables).to_dict(validate=True))) == ["newreno", "cubic", "bbr"]


@pytest.mark.parametrize("path", ["dumbbell.queue", "link.queue", "flows.0.cca", "links.1.queue.kind"])
def test_a_path_into_a_scenario_gives_the_colour_as_its_parameter_does(path):
    tables = synthetic.sweep_tables(qlens=(20, 80))
    own = tables["parameters"].with_columns(pl.col("name").replace({"cca": path, "qlen": "duration"}))
    found = sweep.read({**tables, "parameters": own})
    assert (found.coloured_by, [axis.name for axis in found.axes]) == (path, ["duration"])
    spec = figures.draw("comparison", {**tables, "parameters": own}).to_dict(validate=True)
    assert colours(spec)["cubic"] == palette.assign(["cubic"])["cubic"]


@pytest.mark.parametrize(("columns", "text"), [(2, ["2.5", "14.5", "3"]), (12, ["3", "15", "3"])])
def test_ranks_lose_their_halves_only_where_cells_are_narrow(columns, text):
    rows = [
        {"contender": f"queue_{row}", "title": f"point={column}", "position": row, "score": rank, "rank": rank}
        for column in range(columns)
        for row, rank in enumerate((2.5, 14.5, 3.0))
    ]
    spec = figures.draw("places", {"places": pl.DataFrame(rows)}, width=400).to_dict()
    [data] = spec["datasets"].values()
    assert [row["text"] for row in data][:3] == text
