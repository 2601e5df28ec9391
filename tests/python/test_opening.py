"""Links from the pages of results to the lab beside them."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

import bloatlab as bl
import synthetic
from bloatlab.errors import StoreError
from bloatlab.lab import single
from bloatlab.report import make_report, opening, page_of
from bloatlab.store import Keep, Store
from test_lab import opened

PARAMETERS = {"cca": "newreno", "qlen": "80p", "bw": "16Mbit/s"}
LAB = f"<head>{single.MARK.decode()}</head> the lab"


@pytest.fixture
def built(lab_file: Path) -> None:
    lab_file.write_text(LAB)


def write(count: int, **more: object) -> Store:
    """Results of `count` runs."""
    runs = [
        (f"{at}", {**PARAMETERS, "qlen": f"{20 * at + 20}p"}, at, synthetic.run_tables(stop=3, limit=20 * at + 20))
        for at in range(count)
    ]
    return Store(synthetic.write_store(Path("r"), runs, **more))


def links(page: str) -> list[str]:
    return [unescape(link) for link in re.findall(r'<a href="lab\.html#([^"]*)">', page)]


def report() -> str:
    return make_report(Path("r")).read_text(encoding="utf-8")


@pytest.mark.usefixtures("built")
def test_the_page_of_a_run_opens_it_in_the_lab() -> None:
    store = write(1)
    (link,) = links(page := report())
    assert ">Open this run in the lab</a>" in page
    assert "bloatlab lab" not in page
    run = store.find("")
    assert (opened(link)["document"], opened(link)["seed"]) == (Store("r").run(run["run_id"]).scenario, run["seed"])
    assert Path("r/lab.html").read_text() == LAB


@pytest.mark.usefixtures("built")
def test_a_table_of_runs_has_a_link_for_each() -> None:
    store = write(8)
    page = report()
    assert page.count(">open</a>") == 8
    assert page.count(">Open this run in the lab</a>") == 2
    assert "bloatlab lab" not in page
    seeds = sorted(int(str(opened(link)["seed"])) for link in links(page))
    assert set(seeds) == set(store.runs()["seed"])


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("limit", ["MOST_LINKS", "MOST_CHARACTERS"])
def test_of_many_runs_only_those_in_detail_have_links(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(opening, limit, 7)
    write(8)
    page = report()
    assert len(links(page)) == 2
    assert "<code>bloatlab lab DIR --run ID</code> opens any of the runs in the lab." in page


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, f"--run {synthetic.identity('0')[:10]}</code> opens this"), (3, "--run ID</code> opens any")],
)
def test_without_the_lab_the_page_says_the_command(count: int, said: str) -> None:
    write(count)
    page = report()
    assert not links(page)
    assert f"<code>bloatlab lab DIR {said}" in page
    assert page.count("in the lab") == 1
    assert not Path("r/lab.html").exists()


@pytest.mark.usefixtures("built")
def test_a_file_of_another_origin_is_left_alone() -> None:
    write(1)
    theirs = Path("r/lab.html")
    theirs.write_text("my own lab")
    assert not links(report())
    assert theirs.read_text() == "my own lab"
    theirs.unlink()
    Path("thesis.html").write_text(LAB + " and mine")
    theirs.symlink_to("../thesis.html")
    assert not links(report())
    assert Path("thesis.html").read_text() == LAB + " and mine"


@pytest.mark.usefixtures("built")
def test_an_older_lab_is_replaced_and_an_equal_one_is_not_written_again() -> None:
    write(1)
    file = Path("r/lab.html")
    file.write_text(f"{single.MARK.decode()} older")
    report()
    assert file.read_text() == LAB
    before = file.stat()
    report()
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.usefixtures("built")
def test_a_page_whose_lab_is_gone_is_out_of_date() -> None:
    write(1)
    page_of("r")
    Path("r/lab.html").unlink()
    page_of("r")
    assert Path("r/lab.html").exists()


@pytest.mark.usefixtures("built")
def test_a_lab_that_cannot_be_written_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    write(1)

    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StoreError, match=r"^r/lab\.html: No space left on device$"):
        report()


@pytest.mark.usefixtures("built")
def test_a_run_that_the_lab_cannot_open_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise bl.ParameterError("lab: flows.0.traffic: is a program")

    monkeypatch.setattr(opening, "fragment", refuse)
    write(1)
    page = report()
    assert "The lab cannot open this run: flows.0.traffic: is a program." in page
    assert not links(page)
    assert not Path("r/lab.html").exists()


@pytest.mark.usefixtures("built")
def test_runs_without_tables_have_links() -> None:
    write(1, keep=Keep.METRICS)
    assert len(links(report())) == 1
