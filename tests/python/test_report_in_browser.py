"""The page as a browser shows it: figures are drawn under the page's policy, also on paper. Needs Chromium."""

import base64
import re

import polars as pl
import pytest

import synthetic
from bloatlab.report import make_report
from browser import CHROMIUM, Browser

HOSTILE = "<img src=x onerror=\"document.title='run'\">${document.title='run'}"
DRAWN = "(place) => place.querySelector('svg') !== null"
SHOWN = "places.filter((place) => place.offsetParent !== null)"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    tables = synthetic.run_tables(stop=5)
    named = {
        name: table.with_columns(
            pl.lit(HOSTILE).alias(column) for column in ("flow", "link") if column in table.columns
        )
        for name, table in tables.items()
    }
    runs = [(f"{queue:016x}", {"cca": HOSTILE, "qlen": f"{queue}p"}, 1, named) for queue in (20, 80)]
    return make_report(synthetic.write_store(tmp_path_factory.mktemp("browser"), runs))


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium):
    chromium.said.clear()
    return chromium


@pytest.mark.parametrize("width", [1400, 390])
def test_every_figure_is_drawn_from_the_page_alone(browser, page, width):
    browser.open(page, width)
    shown = browser.evaluate(f"{SHOWN}.length")
    assert shown == 6
    browser.evaluate(f"Promise.all({SHOWN}.map(draw))")
    assert browser.evaluate(f"{SHOWN}.every({DRAWN})")
    assert browser.evaluate(f"places.filter({DRAWN}).length") == shown
    # No request, no error, nothing that the policy refused.
    assert browser.said == []


def test_a_figure_is_drawn_when_it_comes_into_view(browser, page):
    browser.open(page, height=500)
    browser.until(f"({DRAWN})(places[0])")
    last = f"{SHOWN}.at(-1)"
    assert not browser.evaluate(f"({DRAWN})({last})")
    browser.evaluate(f"{last}.scrollIntoView()")
    browser.until(f"({DRAWN})({last})")


def test_paper_has_all_figures(browser, page):
    browser.open(page, height=500)
    assert not browser.evaluate(f"{SHOWN}.every({DRAWN})")
    printed = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert browser.evaluate(f"{SHOWN}.every({DRAWN})")
    # As much as if all figures had been drawn before.
    again = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert len(printed) == pytest.approx(len(again), rel=0.01)


def test_on_paper_a_tall_figure_is_after_the_text_about_its_experiment(browser, page):
    browser.open(page)
    browser.evaluate("document.querySelector('header figure').classList.toggle('tall', false)")
    browser.call("Emulation.setEmulatedMedia", media="print")
    first = "document.querySelector('header figure').getBoundingClientRect().top"
    text = "document.querySelector('header pre').getBoundingClientRect().top"
    assert browser.evaluate(f"{first} < {text}")
    browser.evaluate("document.querySelector('header figure').classList.add('tall')")
    assert browser.evaluate(f"{first} > {text}")
    browser.call("Emulation.setEmulatedMedia", media="")
    assert browser.evaluate(f"{first} < {text}")


def test_names_are_text_also_in_figures_and_tips(browser, page):
    browser.open(page)
    browser.evaluate(f"Promise.all({SHOWN}.map(draw))")
    browser.evaluate("showTip(null, { clientX: 5, clientY: 5 }, null, { image: 'x', title: document.querySelector('h1').title, "
                     "name: \"<img src=x onerror=\\\"document.title='run'\\\">\" })")  # fmt: skip
    assert browser.evaluate("tip.textContent").endswith("<img src=x onerror=\"document.title='run'\">")
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("document.title") != "run"
    assert browser.said == []


def test_a_tip_says_what_a_mark_shows(browser, page):
    browser.open(page)
    browser.evaluate("showTip(null, { clientX: 5, clientY: 5 }, null, { qlen: '20p', 'delay (ms)': 3 })")
    assert browser.evaluate("[...tip.querySelectorAll('dt, dd')].map((of) => of.textContent)") == [
        "qlen", "20p", "delay (ms)", "3",
    ]  # fmt: skip
    assert browser.evaluate("tip.getBoundingClientRect().top > 0 && getComputedStyle(tip).display !== 'none'")
    browser.evaluate("showTip(null, null, null, null)")
    assert browser.evaluate("getComputedStyle(tip).display") == "none"


def test_a_damaged_figure_says_so_and_the_others_are_drawn(browser, page, tmp_path):
    damaged = tmp_path / "damaged.html"
    html = page.read_text(encoding="utf-8")
    name = re.search('data-figure="([^"]*)"', html)[1]
    start = html.index(f'id="{name}">')
    damaged.write_text(html[:start] + html[start:].replace('"layer"', '"lair"', 1), encoding="utf-8")
    browser.open(damaged)
    browser.evaluate(f"Promise.all({SHOWN}.map(draw))")
    assert browser.evaluate(f"{SHOWN}.filter({DRAWN}).length") == 5
    assert browser.evaluate("places.filter((place) => place.textContent.includes('cannot be drawn')).length") == 1


@pytest.fixture(scope="module")
def long_page(tmp_path_factory):
    tables = synthetic.run_tables(stop=0.5)
    runs = [
        (f"{cca}{queue:08x}", {"cca": cca, "qlen": f"{queue}p", "a-rather-long-name": f"{queue}"}, 1, tables)
        for cca in ("newreno", "cubic")
        for queue in range(1, 21)
    ]
    return make_report(synthetic.write_store(tmp_path_factory.mktemp("long"), runs))


RUNS = "[...document.querySelectorAll('.scroll')].find((of) => of.ariaLabel === 'Runs')"
ROWS = f"[...{RUNS}.querySelectorAll('tbody tr')]"


SEEN = f"{ROWS}.filter((row) => row.offsetParent !== null).length"


def test_a_long_table_counts_the_rows_that_it_folds(browser, long_page):
    browser.open(long_page)
    seen = SEEN
    assert browser.evaluate(f"{ROWS}.length") == 40
    assert browser.evaluate(seen) == 20
    assert browser.evaluate(f"{RUNS}.nextElementSibling.innerText") == "20 more rows: show all"
    # Sorted anew, the first twenty are those of the new order.
    browser.evaluate(f"{RUNS}.querySelectorAll('thead button')[1].click()")
    assert browser.evaluate(seen) == 20
    assert browser.evaluate(f"{ROWS}.slice(0, 20).every((row) => row.offsetParent !== null)")
    browser.evaluate(f"{RUNS}.nextElementSibling.click()")
    assert browser.evaluate(seen) == 40


def test_a_phone_shows_fewer_rows_of_a_table_whose_rows_are_lists(browser, long_page):
    browser.open(long_page, 390)
    assert browser.evaluate(SEEN) == 6
    assert browser.evaluate(f"{RUNS}.nextElementSibling.innerText") == "34 more rows: show all"


def test_code_within_a_cell_stays_in_its_line_on_a_phone(browser, page):
    browser.open(page, 390)
    browser.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    code = "[...document.querySelectorAll('.many td code')]"
    assert browser.evaluate(f"{code}.length") > 0
    # In a flex box, each piece of text would be a narrow column.
    assert browser.evaluate(f"{code}.every((of) => getComputedStyle(of.closest('td')).display !== 'flex')")
    assert browser.evaluate(f"{code}.every((of) => getComputedStyle(of).display === 'inline')")


def test_scores_without_a_result_are_counted_and_folded(browser, page):
    browser.open(page)
    parts = "[...document.querySelectorAll('details')].filter((of) => !of.querySelector('details'))"
    missing = f"{parts}.find((of) => of.textContent.includes('no score'))"
    rows = f"{missing}.querySelectorAll('tbody tr').length"
    said = browser.evaluate(f"{missing}.querySelector('summary').textContent")
    assert said == f"{browser.evaluate(rows)} scores without a result, and what they need"
    scores = "[...document.querySelectorAll('.scroll')].find((of) => of.ariaLabel.startsWith('Scores of '))"
    assert "no score" not in browser.evaluate(f"{scores}.textContent")
    assert not browser.evaluate(f"{missing}.querySelector('table').checkVisibility()")


def test_metrics_of_two_flows_are_lists_on_a_phone(browser, tmp_path):
    tables = synthetic.run_tables(["cubic", "newreno"], stop=1)
    browser.open(make_report(synthetic.write_store(tmp_path, [("f" * 16, {}, 1, tables)])), 390)
    flows = "[...document.querySelectorAll('.scroll')].find((of) => of.ariaLabel.startsWith('Flow metrics'))"
    assert browser.evaluate(f"{flows}.querySelectorAll('thead th').length") == 4
    assert browser.evaluate(f"getComputedStyle({flows}.querySelector('tbody tr')).display") == "block"


@pytest.mark.parametrize(("width", "how"), [(1400, "nowrap"), (390, "normal")])
def test_values_wrap_only_where_a_row_is_a_list(browser, long_page, width, how):
    browser.open(long_page, width)
    cells = f"[...{RUNS}.querySelectorAll('td')]"
    assert browser.evaluate(f"{cells}.every((cell) => getComputedStyle(cell).whiteSpace === '{how}')")


def test_paper_repeats_headings_as_text_and_breaks_no_word(browser, long_page):
    browser.open(long_page)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        heads = f"[...{RUNS}.querySelectorAll('thead th')]"
        shown = "((head) => getComputedStyle(head, '::before').content)"
        assert {'"run"', '"congestion control"'} <= set(browser.evaluate(f"{heads}.map({shown})"))
        assert browser.evaluate(f"{heads}.every((head) => head.firstElementChild.offsetParent === null)")
        names = (
            "[...document.querySelectorAll('table:not(.vast) tbody th:not(.long), .sortable:not(.vast) td:not(.long)')]"
        )
        assert browser.evaluate(f"{names}.every((cell) => getComputedStyle(cell).overflowWrap !== 'anywhere')")
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_paper_has_what_the_screen_shows_and_says_what_is_folded(browser, long_page):
    browser.open(long_page)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.evaluate(SEEN) == 20
        assert browser.evaluate(f"{RUNS}.nextElementSibling.innerText") == "20 more rows are on the page."
        metrics = "[...document.querySelectorAll('summary')].find((of) => of.textContent.startsWith('Metrics'))"
        said = "Metrics (not printed: open this part on the page first)"
        assert browser.evaluate(f"{metrics}.innerText") == said
        browser.evaluate(f"{metrics}.parentElement.open = true")
        assert browser.evaluate(f"{metrics}.innerText") == "Metrics"
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_no_note_of_a_table_has_backquotes(browser, long_page):
    browser.open(long_page)
    notes = "[...document.querySelectorAll('.note')].filter((of) => of.textContent.includes('`'))"
    assert browser.evaluate(f"{notes}.length") == 0


def test_a_link_to_a_folded_part_opens_it(browser, long_page):
    browser.open(long_page)
    definition = "document.querySelector('.definitions dt')"
    assert not browser.evaluate(f"{definition}.closest('details').open")
    browser.evaluate(f"location.hash = {definition}.id")
    browser.until(f"{definition}.closest('details').open")


@pytest.mark.parametrize("width", [1400, 390])
def test_no_column_is_cut(browser, long_page, width):
    browser.open(long_page, width)
    wide = "[...document.querySelectorAll('.scroll')].filter((of) => of.scrollWidth > of.clientWidth + 1)"
    assert browser.evaluate(f"{wide}.map((of) => of.ariaLabel)") == []
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_table_that_does_not_fit_says_how_many_columns_are_beyond(browser, long_page):
    browser.open(long_page, 900)
    browser.evaluate(f"{RUNS}.style.width = '300px'")
    browser.until("[...document.querySelectorAll('.cut')].some((of) => !of.hidden)")
    said = browser.evaluate("[...document.querySelectorAll('.cut')].find((of) => !of.hidden).textContent")
    assert re.fullmatch(r"\d+ more columns to the right: scroll the table", said)
