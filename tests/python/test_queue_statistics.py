"""Every statistic of a queue has a meaning."""

import polars as pl
import pytest

import bloatlab as bl
from bloatlab.experiments.queues import described
from bloatlab.metrics import definitions, every_definition
from bloatlab.report import metric_tables

KINDS = [kind for kind in described() if kind != "python"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_statistic_of_a_queue_has_a_meaning(kind):
    dumbbell = {"rate": "5Mbit/s", "rtt": "20ms", "queue": kind}
    run = bl.run({"name": "q", "duration": "1s", "dumbbell": dumbbell, "flows": [{"count": 2}]})
    known = every_definition()
    assert [name for name in run.link_metrics["bottleneck"] if not known[("link", name)].formula] == []


def test_a_page_lists_statistics_of_a_queue_after_the_metrics_with_what_they_mean():
    names = ["drop_next", "mean_sojourn", "unheard_of"]
    rows = pl.DataFrame(
        {"scope": ["link"] * 3, "entity": ["l"] * 3, "metric": names, "value": [1.0] * 3, "unit": ["", "ms", ""]}
    )
    [table] = metric_tables.tables(rows, every_definition())
    assert [row.name for row in table.rows] == ["mean_sojourn", "drop_next", "unheard_of"]
    assert table.rows[1].meaning.startswith("time of the next drop or mark")
    [own] = metric_tables.tables(rows, definitions())
    assert own.rows[0].name == "mean_sojourn"
