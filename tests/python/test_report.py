"""The page of a results directory: what it says, that it is one light file, and that it holds no markup of a user."""

import base64
import hashlib
import itertools
import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from subprocess import PIPE, Popen

import polars as pl
import pytest

import synthetic
from bloatlab import cli
from bloatlab.errors import StoreError
from bloatlab.metrics import definitions
from bloatlab.report import drawing, make_report, metric_tables, text
from bloatlab.report import page_of as made_page
from bloatlab.report.drawing import slim
from bloatlab.store import Keep, Writer
from bloatlab.store.files import GENERATOR

VOID = {"meta", "br", "hr", "img", "input", "link"}
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
        "1 of 2 published values holds",
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
    assert len(page.of("svg")) == 12


def test_one_light_file_that_opens_offline(single):
    html, page = page_of(single)
    assert len(html.encode()) < 500_000
    assert not re.findall(r"(?:https?:)?//[a-z]", html)
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
    for svg in page.of("svg"):
        assert svg["role"] == "img"
        assert len(svg["aria-label"]) > 40
    assert all(head.get("scope") in {"row", "col"} for head in page.of("th"))
    assert page.of("html") == [{"lang": "en"}]
    assert page.of("meta")[1]["content"] == "width=device-width, initial-scale=1"


def test_metrics_explain_themselves(single, monkeypatch):
    name = ("flow", "mean_in_flight_l4")
    formula = "mean of segments < window & in flight"
    metric = replace(definitions()[name], formula=formula)
    monkeypatch.setattr("bloatlab.report.page.definitions", lambda: definitions() | {name: metric})
    html, page = page_of(single)
    titles = {head.get("title") for head in page.of("th")}
    assert "mean over time of the smoothed RTT (RFC 6298)" in titles
    assert "def-flow-mean_srtt_l4" in page.ids
    assert "window &lt; in" not in html
    assert "mean of segments &lt; window &amp; in flight" in html


def test_claims_hold_in_words(single):
    html, page = page_of(single)
    said = " ".join(page.text)
    assert html.count('<td class="yes">yes</td>') == 1
    assert html.count('<td class="no">no</td>') == 1
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
    assert html.count("<script>") == 1
    assert "&lt;script&gt;" in html
    assert "alert('x')" in " ".join(page.text)


def test_many_flows_do_not_fill_the_page(tmp_path):
    tables = synthetic.run_tables(["cubic"] * 50 + ["bbr"] * 50, rate=1000, rtt=20, limit=1600, stop=3)
    html, page = page_of(synthetic.write_store(tmp_path / "many", [("c" * 16, PARAMETERS, 1, tables)]))
    said = " ".join(" ".join(page.text).split())
    assert len(html.encode()) < 700_000
    assert "Distribution over 100 flows." in said
    assert "and 75 more flows." in said
    assert "the mean sRTT of 100 cubic/bbr flows is" in said


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
    assert "qlen = 20p" in said
    assert "the engine said no" in said
    assert {"class": "sortable"} in page.of("table")
    assert "the shortest standing queue" in said
    assert "the longest standing queue" in said
    assert len(html.encode()) < 900_000
    assert len(page.ids) == len(set(page.ids))
    assert set(page.links) <= set(page.ids)


def test_the_best_of_a_sweep_is_bold(swept):
    html, _ = page_of(swept)
    runs = html[html.index('class="sortable"') : html.index("</table>", html.index('class="sortable"'))]
    assert 1 <= runs.count('class="best"') <= 16


def test_a_thousand_runs_fit(tmp_path):
    tables = synthetic.run_tables(stop=0.5)
    runs = [(f"{index:016x}", {**PARAMETERS, "qlen": f"{index + 1}p"}, 1, tables) for index in range(300)]
    html, page = page_of(synthetic.write_store(tmp_path / "many", runs))
    assert "100 more runs are not shown" in " ".join(page.text)
    assert len(html.encode()) < 1_000_000


def test_two_experiments_in_one_directory(tmp_path, tables):
    directory = tmp_path / "two"
    synthetic.write_store(directory, [("a" * 16, PARAMETERS, 1, tables)])
    synthetic.write_store(
        directory, [("b" * 16, {}, 1, tables)], experiment="mine", command="bloatlab simulate mine.toml"
    )
    _, page = page_of(directory)
    said = " ".join(page.text)
    assert "Congestion control in a deep buffer" in said
    assert "bloatlab simulate mine.toml" in said
    assert len(page.ids) == len(set(page.ids))


def test_made_again_it_is_the_same_page(single):
    first = make_report(single).read_bytes()
    assert make_report(single).read_bytes() == first
    assert [path.name for path in single.glob("*.html")] == ["report.html"]
    assert not list(single.glob(".report*"))


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
    assert "--seed 2" in made_page(single).read_text(encoding="utf-8")
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


def test_without_a_worker_the_page_is_the_same(single, monkeypatch):
    with_worker = make_report(single).read_bytes()
    monkeypatch.setattr(drawing, "_start", lambda: None)
    assert make_report(single).read_bytes() == with_worker
    monkeypatch.setattr(drawing, "_start", lambda: Popen(["false"], stdin=PIPE, stdout=PIPE, text=True))
    assert make_report(single).read_bytes() == with_worker


def test_a_page_is_quick(single):
    make_report(single)
    begun = time.process_time()
    make_report(single)
    assert time.process_time() - begun < 3


def test_the_best_value_needs_competition():
    assert [cell.best for cell in metric_tables.best([1.0, 2.0, None], "higher")] == [False, True, False]
    assert [cell.best for cell in metric_tables.best([1.0, 2.0], "lower")] == [True, False]
    assert not any(cell.best for cell in metric_tables.best([1.0, 2.0], "none"))
    assert not any(cell.best for cell in metric_tables.best([2.0, 2.0], "lower"))
    assert not any(cell.best for cell in metric_tables.best([2.0], "lower"))


def test_entities_sort_as_people_count():
    assert sorted(["flow_10", "flow_2", "a"], key=metric_tables.natural) == ["a", "flow_2", "flow_10"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0, "0"),
        (15.387, "15.39"),
        (1925.14, "1,925"),
        (108.0, "108"),
        (0.0311, "0.03110"),
        (1e-9, "1.000e-09"),
    ],
)
def test_numbers(value, shown):
    assert text.number(value) == shown


def test_a_text_that_looks_like_an_attribute_stays():
    svg = '<svg width="3" height="6" viewBox="0 0 3 6"><text aria-label="x">a role="</text><text fill="#000">b id="c</text></svg>'
    thin = slim(svg, "fig", "A picture")
    assert thin.endswith('<text>a role="</text><text fill="#000">b id="c</text></svg>')


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
    assert len(hashes(html, "script")) == len(hashes(html, "style")) == 1
    for _, attrs in page.elements:
        assert not [name for name in attrs if name == "style" or name.startswith("on")]


def test_names_with_control_characters_and_reordering_are_written_out(tmp_path, tables):
    hostile = "a\x1b[2Jb\u202ec"
    directory = synthetic.write_store(tmp_path / "odd", [("b" * 16, {**PARAMETERS, "cca": hostile}, 1, tables)])
    html, _ = page_of(directory)
    assert not {"\x1b", "\u202e"} & set(html)
    assert r"a\x1b[2Jb\u202ec" in html


def test_slim_svg_keeps_the_picture_and_drops_the_rest():
    svg = (
        '<svg xmlns="x" version="1.1" class="marks" width="300" height="60" viewBox="0 0 300 60">'
        '<defs><clipPath id="clip0"><rect width="1.23456"/></clipPath></defs>'
        '<path class="background" aria-hidden="true" d="M0,0h0v0h0Z" pointer-events="none"/>'
        '<g clip-path="url(#clip0)"><path aria-label="point" d="M1.2345,6.789L2,3" stroke="#333344" opacity="1"/></g>'
        "<text>0.12345</text></svg>"
    )
    thin = slim(svg, "fig", "A picture")
    assert thin == (
        '<svg role="img" aria-label="A picture" viewBox="0 0 300 60" width="300">'
        '<defs><clipPath id="fig-0"><rect width="1.2"/></clipPath></defs>'
        '<g clip-path="url(#fig-0)"><path d="M1.2,6.7L2,3" stroke="#333344"/></g>'
        "<text>0.12345</text></svg>"
    )
