"""The comparison of two experiments with Linux: the page is that of the file, and the simulator still gives its half."""

from __future__ import annotations

from collections import Counter

import pytest

import linux_experiments
import linux_experiments_page

TABLE = linux_experiments.read()
SOME = linux_experiments.cases(TABLE, "home-router")[::15]


def test_the_page_is_up_to_date() -> None:
    assert linux_experiments_page.PAGE.read_text(encoding="utf-8") == linux_experiments_page.page()


@pytest.mark.parametrize("case", SOME)
def test_the_simulator_gives_the_values_of_its_set_ups(case: str) -> None:
    for seed in (1, 2):
        for metric, value in linux_experiments.run_home_router(linux_experiments.parse(case), seed).items():
            stored = TABLE["home-router", case, metric, "sim"][seed - 1]
            assert value == pytest.approx(stored, rel=1e-5), metric


@pytest.mark.parametrize(
    ("experiment", "metric", "least"),
    [
        ("home-router", "ping", 0.9),
        ("home-router", "srtt", 0.9),
        ("home-router", "page", 0.84),
        ("mmwave-aqm", "srtt", 0.95),
    ],
)
def test_most_medians_agree(experiment: str, metric: str, least: float) -> None:
    cells = linux_experiments_page.judged(experiment).values()
    words = Counter(judged[metric].word for judged in cells if metric in judged)
    assert words["agrees"] / words.total() >= least


def test_a_case_is_read_as_it_was_written() -> None:
    for experiment in linux_experiments.SEEDS:
        for case in linux_experiments.cases(TABLE, experiment):
            assert linux_experiments.text(linux_experiments.parse(case)) == case
