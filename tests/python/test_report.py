"""The page of a results directory: what it says, that it is one light file, and that it holds no markup of a user."""

import base64
import hashlib
import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import polars as pl
import pytest
import vl_convert

import synthetic
from bloatlab import cli
from bloatlab.analysis import order
from bloatlab.errors import StoreError
from bloatlab.experiments.finding import Finding
from bloatlab.figures import bundle, vega_lite
from bloatlab.metrics import definitions
from bloatlab.report import commands, make_report, metric_tables, model, text
from bloatlab.report import page_of as made_page
from bloatlab.report.drawing import compact
from bloatlab.store import Keep, Writer, recent
from bloatlab.store.files import GENERATOR
from bloatlab.store.parts import Part

VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}
PARAMETERS = {"cca": "newreno", "qlen": "80p", "bw": "16Mbit/s"}
NASTY = "<script>alert('x')</script>&\"quoted\""


class Page(HTMLParser):
    """Checks that elements nest, and gathers what tests ask for."""

    def __init__(self, html):
        super().__init__()
        self.open, self.ids, self.links, self.text, self.elements = [], [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.elements.append((tag, attrs))
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if attrs.get("href", "").startswith("#"):
            self.links.append(attrs["href"][1:])

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def of(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def page_of(directory):
    html = make_report(directory).read_text(encoding="utf-8")
    return html, Page(html)


def drawings(page):
    """The places of figures."""
    return [attrs for attrs in page.of("div") if "drawing" in attrs.get("class", "").split()]


def without_vega(html):
    return html.replace(bundle.script(), "")


def json_of(html):
    """Every JSON element of a page by its id."""
    return {
        name: json.loads(text)
        for name, text in re.findall(r'<script type="application/json" id="([^"]*)">(.*?)</script>', html)
    }


def pictures_of(html):
    return {name: value for name, value in json_of(html).items() if "spec" in value}


def expanded(short):
    """What rowsOf in figures.js does."""

    def value(of, row):
        if isinstance(of, list):
            return of[row]
        return of["of"][of["at"][row] if "at" in of else 0]

    return [{name: value(of, row) for name, of in short["columns"].items()} for row in range(short["rows"])]


def figures_of(html):
    """The specification of every figure of a page with its data."""
    tables = json_of(html)
    return {
        name: {**picture["spec"], "datasets": {table: expanded(tables[table]) for table in picture["tables"]}}
        for name, picture in pictures_of(html).items()
    }


@pytest.fixture(scope="module")
def tables():
    return synthetic.run_tables()


@pytest.fixture(scope="module")
def claims():
    run = "a" * 16
    return [
        (run, "mean_srtt_l4", "ms", 58.84, 58.7, 0.5884, 1, "CCPerf"),
        (run, "total_retransmissions_l4", "", 108, 97, 3, 0, "CCPerf"),
        (run, "mean_one_way_delay_l7", "ms", 1925.14, None, None, None, "CCPerf; <i>send buffer</i>"),
    ]


@pytest.fixture
def single(tmp_path, tables, claims):
    return synthetic.write_store(tmp_path / "one", [("a" * 16, PARAMETERS, 42, tables)], claims=claims)


def test_the_page_of_one_run(single):
    _, page = page_of(single)
    said = " ".join(" ".join(page.text).split())
    assert "Congestion control in a deep buffer" in said
    assert "A standing queue of" in said
    assert "over a base RTT of 15" in said
    assert "the mean sRTT of one newreno flow is" in said
    assert "It carries" in said
    assert "bloatlab run deep-buffers" in said
    for heading in (
        "Published values and ours",
        "1 of 2 claims hold: 1 of 2 stated",
        "Parameters",
        "Flows",
        "Links",
        "Flow metrics",
        "Link metrics",
        "Definitions",
    ):
        assert heading in said
    assert "mean_srtt_l4" in said
    assert "engine sim 0.1.0" in said.replace("  ", " ")
    assert "d" * 64 in said
    assert len(drawings(page)) == 12


def test_a_heading_breaks_at_the_dots_of_a_path_and_one_parameter_is_one(tmp_path, tables):
    pair = [(name * 16, {"dumbbell.queue.kind": value}, 1, tables) for name, value in (("a", "fifo"), ("b", "pie"))]
    html, _ = page_of(synthetic.write_store(tmp_path / "two", pair, experiment="mine"))
    assert '<th scope="col">dumbbell.<wbr>queue.<wbr>kind</th>' in html
    html, _ = page_of(synthetic.write_store(tmp_path / "none", [("c" * 16, {}, 1, tables)], experiment="mine"))
    assert "1 parameter and its value<" in html


def test_only_a_table_too_wide_for_paper_becomes_a_list_there():
    def table(columns, value):
        return model.PlainTable(["throughput (Mbit/s)"] * columns, [[model.Cell(value)] * columns], "Runs")

    assert not table(10, "9.65 ± 0.03").wide_on_paper
    assert table(11, "9.65").wide_on_paper
    assert table(5, "a" * 30).wide_on_paper


def test_one_light_file_that_opens_offline(single):
    html, page = page_of(single)
    own = without_vega(html)
    assert len(own.encode()) < 200_000
    assert not re.findall(r"(?:https?:)?//[a-z]", own)
    for tag, attrs in page.elements:
        assert "src" not in attrs
        assert tag != "link"
        assert not tag.startswith("on")


def test_anchors_lead_somewhere_and_are_unique(single):
    _, page = page_of(single)
    assert len(page.ids) == len(set(page.ids))
    assert set(page.links) <= set(page.ids)


def test_figures_and_tables_are_named_for_those_who_do_not_see(single):
    _, page = page_of(single)
    for drawing in drawings(page):
        assert drawing["role"] == "img"
        assert len(drawing["aria-label"]) > 40
    assert all(head.get("scope") in {"row", "col"} for head in page.of("th"))
    assert page.of("html") == [{"lang": "en"}]
    assert page.of("meta")[1]["content"] == "width=device-width, initial-scale=1"


def test_metrics_explain_themselves(single, monkeypatch):
    name = ("flow", "mean_in_flight_l4")
    formula = "mean of segments < window & in flight"
    metric = replace(definitions()[name], formula=formula)
    monkeypatch.setattr("bloatlab.report.page.every_definition", lambda: definitions() | {name: metric})
    html, page = page_of(single)
    titles = {head.get("title") for head in page.of("th")}
    assert "mean over the lifetime of the smoothed RTT, from its first sample on (RFC 6298)" in titles
    assert "def-flow-mean_srtt_l4" in page.ids
    assert "window &lt; in" not in html
    assert "mean of segments &lt; window &amp; in flight" in html


def test_claims_hold_in_words(single):
    html, page = page_of(single)
    said = " ".join(page.text)
    assert html.count('class="yes">yes</td>') == 1
    assert html.count('class="no">no</td>') == 1
    assert "not judged" in said
    assert "-0.24 %" in said
    assert "CCPerf; &lt;i&gt;send buffer&lt;/i&gt;" in html


def test_what_users_name_is_never_markup(tmp_path, tables):
    named = {
        **tables,
        "flows": tables["flows"].with_columns(flow=pl.lit(NASTY)),
        "flow_series": tables["flow_series"].with_columns(flow=pl.lit(NASTY)),
        "metrics": tables["metrics"].with_columns(
            pl.when(pl.col("scope") == "flow").then(pl.lit(NASTY)).otherwise("entity").alias("entity")
        ),
    }
    directory = synthetic.write_store(
        tmp_path / "nasty",
        [("b" * 16, {NASTY: NASTY}, 1, named)],
        experiment=NASTY,
        command=NASTY,
        failures=[("c", NASTY)],
    )
    html, page = page_of(directory)
    assert "<script>alert" not in html
    # Vega, and the page's own script.
    assert html.count("<script>") == 2
    assert "&lt;script&gt;" in html
    assert "alert('x')" in " ".join(page.text)


def test_many_flows_do_not_fill_the_page(tmp_path):
    tables = synthetic.run_tables(["cubic"] * 50 + ["bbr"] * 50, rate=1000, rtt=20, limit=1600, stop=3)
    html, page = page_of(synthetic.write_store(tmp_path / "many", [("c" * 16, PARAMETERS, 1, tables)]))
    said = " ".join(" ".join(page.text).split())
    assert len(without_vega(html).encode()) < 400_000
    assert "Distribution over 100 flows." in said
    assert "and 75 more flows." in said
    assert "the mean sRTT of 50 cubic flows and 50 bbr flows is" in said


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    runs = []
    for cca, qlen, seed in itertools.product(("newreno", "cubic"), (20, 80), (1, 2)):
        tables = synthetic.run_tables([cca], limit=qlen, seed=seed, stop=5)
        runs.append((f"{cca}-{qlen}-{seed}", {**PARAMETERS, "cca": cca, "qlen": f"{qlen}p"}, seed, tables))
    directory = tmp_path_factory.mktemp("swept")
    return synthetic.write_store(directory, runs, failures=[("zzz", "the engine said no")])


def test_the_page_of_a_sweep(swept):
    html, page = page_of(swept)
    said = " ".join(" ".join(page.text).split())
    assert "8 runs: the standing queue ranges from" in said
    assert " at a buffer of 20 packets" in said
    assert "queue limit" in said
    assert "the engine said no" in said
    assert any("sortable" in of.get("class", "") for of in page.of("table"))
    assert "the shortest standing queue" in said
    assert "the longest standing queue" in said
    assert len(without_vega(html).encode()) < 400_000
    assert len(page.ids) == len(set(page.ids))
    assert set(page.links) <= set(page.ids)


def test_the_best_of_a_sweep_is_bold(swept):
    html, _ = page_of(swept)
    runs = html[html.index('class="sortable') : html.index("</table>", html.index('class="sortable'))]
    assert 1 <= runs.count('class="best"') <= 16


def test_a_thousand_runs_fit(tmp_path):
    tables = synthetic.run_tables(stop=0.5)
    runs = [(f"{index:016x}", {**PARAMETERS, "qlen": f"{index + 1}p"}, 1, tables) for index in range(300)]
    html, page = page_of(synthetic.write_store(tmp_path / "many", runs))
    assert "100 more runs are not shown" in " ".join(page.text)
    assert len(without_vega(html).encode()) < 600_000


def test_two_experiments_in_one_directory(tmp_path, tables):
    directory = tmp_path / "two"
    synthetic.write_store(directory, [("a" * 16, PARAMETERS, 1, tables)])
    synthetic.write_store(
        directory, [("b" * 16, {}, 1, tables)], experiment="mine", command="bloatlab simulate mine.toml"
    )
    _, page = page_of(directory)
    said = " ".join(" ".join(page.text).split())
    assert "Congestion control in a deep buffer" in said
    assert "bloatlab simulate mine.toml" in said
    assert len(page.ids) == len(set(page.ids))


def test_made_again_it_is_the_same_page(single):
    first = make_report(single).read_bytes()
    assert make_report(single).read_bytes() == first
    assert [path.name for path in single.glob("*.html")] == ["report.html"]
    assert not list(single.glob(".report*"))


def test_columns_at_the_left_with_one_value_are_said_below_the_table():
    found = Finding("Size", "", "", ("router", "maxq", "loss"), (("old", "5", "0"), ("old", "20", "0")), "A note.")
    [view] = model.findings([found])
    assert view.table.columns == ["maxq", "loss"]
    assert [[cell.text for cell in row] for row in view.table.rows] == [["5", "0"], ["20", "0"]]
    assert view.table.note == "A note. In all rows, the router is old."
    [single] = model.findings([replace(found, rows=found.rows[:1])])
    assert single.table.columns == ["router", "maxq", "loss"]


def test_utilization_is_in_percent(swept):
    html, _ = page_of(swept)
    found = [
        float(value) for value in re.findall(r'data-label="bottleneck utilization \(%\)" data-sort="([^"]+)"', html)
    ]
    assert len(found) >= 8
    assert all(50 < value <= 100 for value in found)


def test_runs_that_kept_no_series_and_that_another_engine_made_have_a_page(tmp_path, tables):
    runs = [(f"{name}0123456789abcdef"[:16], {"cca": name}, 1, tables) for name in ("aa", "bb")]
    directory = synthetic.write_store(tmp_path / "little", runs, keep=Keep.METRICS)
    html, _ = page_of(directory)
    assert synthetic.identity("aa0123456789abcd")[:10] in html
    assert "Shown because" not in html


def test_the_page_is_made_again_where_something_has_changed(single):
    page = make_report(single)
    page.write_text(f"{GENERATOR.decode()} as it was")
    assert made_page(single).read_text().endswith("as it was")
    with Writer(single) as writer:
        writer.invocation("deep-buffers", "bloatlab run deep-buffers --seed 2", 1)
    assert "<span>--seed</span> <span>2</span>" in made_page(single).read_text(encoding="utf-8")
    page.unlink()
    assert made_page(single).exists()
    assert cli.command(["report", str(single)]) == 0
    page.write_text(f"{GENERATOR.decode()} as it was")
    assert cli.command(["report", str(single), "--again"]) == 0
    assert not page.read_text(encoding="utf-8").endswith("as it was")


def test_no_store_no_page(tmp_path):
    with pytest.raises(StoreError):
        make_report(tmp_path)
    empty = synthetic.write_store(tmp_path / "empty", [])
    with pytest.raises(StoreError, match="holds no run"):
        make_report(empty)


def test_only_failed_runs_still_make_a_page(tmp_path):
    directory = synthetic.write_store(tmp_path / "failed", [], failures=[("zzz", "it broke")])
    _, page = page_of(directory)
    assert "it broke" in " ".join(page.text)


def test_a_page_that_cannot_be_written_is_one_line(single):
    (single / "report.html").mkdir()
    with pytest.raises(StoreError, match=r"report\.html: "):
        make_report(single)
    assert not list(single.glob(".report*"))


def test_a_page_reads_each_file_once(single, monkeypatch):
    once = make_report(single).read_bytes()
    reads = []
    read = Part.read
    monkeypatch.setattr(Part, "read", lambda part, table: reads.append((part.name, table)) or read(part, table))
    make_report(single)
    assert len(reads) == len(set(reads)) > 0
    # Without room for the tables, files are read again, and the page is the same.
    reads.clear()
    monkeypatch.setattr(recent, "MOST_BYTES", 0)
    assert make_report(single).read_bytes() == once
    assert len(reads) > len(set(reads))


def test_the_best_value_needs_competition():
    def best(values, better):
        return [cell.best for cell in metric_tables.best(values, better, text.numbers(values))]

    assert best([1.0, 2.0, None], "higher") == [False, True, False]
    assert best([1.0, 2.0], "lower") == [True, False]
    assert not any(best([1.0, 2.0], "none"))
    assert not any(best([2.0, 2.0], "lower"))
    assert not any(best([2.0], "lower"))


def test_commands_that_make_the_same_runs_are_listed_once():
    made = [
        "bloatlab run rrul --out r",
        "bloatlab run rrul --set stop=5s --out r",
        "bloatlab run rrul --jobs 2 --out r --quiet",
        "bloatlab run rrul --out r --jobs=4",
    ]
    assert commands.repeating(made) == [made[3], made[1]]
    assert commands.repeating(["bloatlab run it's"]) == ["bloatlab run it's"]


def test_shares_are_percent_for_people():
    rows = [("link", "bottleneck", "utilization", 0.98, ""), ("link", "bottleneck", "loss_rate", 0.0043, "")]
    frame = pl.DataFrame(rows, ["scope", "entity", "metric", "value", "unit"], orient="row")
    (table,) = metric_tables.tables(frame, {})
    assert {row.name: (row.cells[0].text, row.unit) for row in table.rows} == {
        "utilization": ("98", "%"),
        "loss_rate": ("0.430", "%"),
    }


def test_entities_sort_as_people_count():
    assert sorted(["flow_10", "flow_2", "a"], key=order.natural) == ["a", "flow_2", "flow_10"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0, "0"),
        (15.387, "15.39"),
        (1925.14, "1,925"),
        (108.0, "108"),
        (0.0311, "0.0311"),
        (1e-9, "1.00e-09"),
    ],
)
def test_numbers(value, shown):
    assert text.number(value) == shown


def hashes(html, tag):
    """The policy source of each inline element of this kind."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", html, flags=re.DOTALL)
    return [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in found]


def directives(page):
    (meta,) = [meta for meta in page.of("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    return dict(part.strip().split(" ", 1) for part in meta["content"].split(";"))


def test_the_policy_allows_the_page_s_own_script_and_style_and_nothing_else(single):
    html, page = page_of(single)
    assert directives(page) == {
        "default-src": "'none'",
        "script-src": " ".join(hashes(html, "script")),
        "style-src": " ".join(hashes(html, "style")),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert (len(hashes(html, "script")), len(hashes(html, "style"))) == (2, 1)
    for _, attrs in page.elements:
        assert not [name for name in attrs if name == "style" or name.startswith("on")]


def test_names_with_control_characters_and_reordering_are_written_out(tmp_path, tables):
    hostile = "a\x1b[2Jb\u202ec"
    directory = synthetic.write_store(tmp_path / "odd", [("b" * 16, {**PARAMETERS, "cca": hostile}, 1, tables)])
    html, _ = page_of(directory)
    assert not {"\x1b", "\u202e"} & set(html)
    assert r"a\x1b[2Jb\u202ec" in html


def test_the_figures_of_a_page_are_whole(single):
    html, page = page_of(single)
    assert len(figures_of(html)) == len(drawings(page))
    for name, spec in figures_of(html).items():
        assert "<svg" in vl_convert.vegalite_to_svg(spec), name


def test_a_page_has_the_data_of_figures_once(single):
    html, _ = page_of(single)
    tables = re.findall(r'<script type="application/json" id="(data-[0-9a-f]+)">', html)
    used = [name for picture in pictures_of(html).values() for name in picture["tables"]]
    assert len(tables) == len(set(tables))
    assert set(used) == set(tables)
    # A wide figure and that for phones share their data.
    assert len(used) > 1.5 * len(tables)


def test_without_javascript_the_page_says_how_to_get_figures(single):
    html, _ = page_of(single)
    (said,) = set(re.findall(r"<noscript>(.*?)</noscript>", html))
    assert "bloatlab figure DIR NAME -o FILE.svg" in said


def test_a_page_without_figures_carries_no_vega(tmp_path):
    directory = synthetic.write_store(tmp_path / "failed", [], failures=[("zzz", "it broke")])
    html, page = page_of(directory)
    assert drawings(page) == []
    assert len(html.encode()) < 50_000


@pytest.mark.parametrize(
    "column",
    [
        [1, 2.5, None, 4],
        ["a", "a", "a", "a"],
        [1, True, 1.0, "1"],
        [None, None, None, None],
        ["newreno", "cubic", "newreno", "cubic"],
        [[1, 2], [3, 4], [1, 2], [3, 4]],
    ],
)
def test_the_short_form_of_a_column_is_the_column(column):
    short = json.loads(json.dumps(compact(vega_lite.Rows(columns={"x": column}))))
    back = [row["x"] for row in expanded(short)]
    assert back == column
    assert [type(item) for item in back] == [type(item) for item in column]


def test_vega_is_put_together_once_and_a_damaged_cache_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "cache"))
    bundle.script.cache_clear()
    whole = bundle.script()
    (kept,) = (tmp_path / "cache").iterdir()
    assert kept.read_text(encoding="utf-8") == whole
    with monkeypatch.context() as patched:
        patched.setattr(vl_convert, "javascript_bundle", lambda _: pytest.fail("made again"))
        bundle.script.cache_clear()
        assert bundle.script() == whole
    kept.write_text(whole[: len(whole) // 2], encoding="utf-8")
    bundle.script.cache_clear()
    assert bundle.script() == whole
    assert kept.read_text(encoding="utf-8") == whole
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_cache_that_cannot_be_written_does_not_matter(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "file" / "cache"))
    bundle.script.cache_clear()
    assert "vegaEmbed" in bundle.script()


def test_notes_on_claims_stand_below_their_table():
    rows = pl.DataFrame(
        {
            "name": ["a", "b", "c"],
            "kind": "derived",
            "unit": "",
            "published": 4.12,
            "measured": [3.94, 3.94, 4.12],
            "tolerance": None,
            "holds": None,
            "bound": "",
            "source": ["CCPerf; over 16 Mbit/s", "CCPerf; over 16 Mbit/s", "CCPerf"],
        }
    )
    notes = SimpleNamespace(claims=model.claims(rows, "CCPerf"), claim_sources=False)
    assert model.ExperimentView.claim_notes.fget(notes) == [(["a", "b"], "over 16 Mbit/s")]
