"""Pairs of congestion controls: the experiment, its cells and its heat maps."""

import polars as pl
import pytest

import bloatlab
from bloatlab import figures
from bloatlab.errors import ParameterError
from bloatlab.experiments import get
from bloatlab.experiments.congestion_controls import comparable
from bloatlab.figures import registry
from bloatlab.figures.charts import coexistence

CONTROLS = ["cubic", "vegas"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    store = bloatlab.sweep(
        "coexistence",
        {"queue": ["fifo", "fq_codel"], "depth": [4], "newcomer": CONTROLS, "incumbent": CONTROLS},
        out=tmp_path_factory.mktemp("coexistence"),
        stop="12s",
        warmup="4s",
    )
    return figures.of_runs(store)


def cell(tables, newcomer, incumbent, queue):
    found = coexistence.cells(tables).filter(newcomer=newcomer, incumbent=incumbent)
    return found.filter(pl.col("place").str.contains(f"queue {queue}\\b")).row(0, named=True)


def test_every_pair_is_swept_unless_named():
    experiment = get("coexistence")
    axes = experiment.all_axes({"incumbent": "cubic"}, {"depth": [1]})
    assert axes["newcomer"] == comparable()
    assert "incumbent" not in axes
    assert axes["depth"] == [1]
    assert "fixed" not in axes["newcomer"]


def test_the_depth_sets_the_limit():
    # 20 Mbit/s and 40 ms are 66.7 packets of 1500 bytes.
    assert get("coexistence").resolve({"depth": 2})["qlen"] == "134p"
    assert get("coexistence").resolve({"depth": 2, "qlen": "10p"})["qlen"] == "10p"
    with pytest.raises(ParameterError, match=r"depth: `0` is not a number from 0.01 to 1000"):
        get("coexistence").resolve({"depth": 0})


def test_cubic_pushes_vegas_aside_where_they_share_a_queue(tables):
    assert cell(tables, "cubic", "vegas", "fifo")["share"] > 0.8
    assert cell(tables, "vegas", "cubic", "fifo")["share"] < 0.2
    assert cell(tables, "cubic", "vegas", "fq_codel")["share"] == pytest.approx(0.5, abs=0.1)
    assert cell(tables, "vegas", "cubic", "fifo")["delay"] > 50
    assert cell(tables, "cubic", "vegas", "fq_codel")["delay"] < 10


def test_rows_are_in_the_order_of_what_they_take(tables):
    assert coexistence.order(coexistence.cells(tables)) == ["cubic", "vegas"]


@pytest.mark.parametrize("name", ["share_matrix", "delay_matrix"])
def test_a_matrix_has_a_panel_a_place(tables, name):
    assert registry.find(name).applicable(tables)
    spec = figures.draw(name, tables).to_dict(validate=True)
    panels = [panel for row in spec["vconcat"] for panel in row["hconcat"]]
    assert [panel["title"]["text"] for panel in panels] == ["queue fifo", "queue fq_codel"]
    # A few cells are large and show their numbers.
    assert [layer["mark"]["type"] for layer in panels[0]["layer"]] == ["rect", "text"]


def test_other_runs_have_no_pairs(tables):
    assert coexistence.cells({**tables, "parameters": pl.DataFrame()}).is_empty()
    assert not registry.find("share_matrix").applicable({**tables, "parameters": pl.DataFrame()})
