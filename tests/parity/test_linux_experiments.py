"""The comparison of two experiments with Linux: the page is that of the file, and the simulator still gives its half."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import linux_experiments
import linux_experiments_page
import linux_home_router

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
        ("home-router", "ping", 0.95),
        ("home-router", "srtt", 0.95),
        ("home-router", "page", 0.9),
        ("mmwave-aqm", "srtt", 0.95),
    ],
)
def test_most_medians_agree(experiment: str, metric: str, least: float) -> None:
    cells = linux_experiments_page.judged(experiment).values()
    words = Counter(judged[metric].word for judged in cells if metric in judged)
    assert words["agrees"] / words.total() >= least


def test_linux_again_agrees_in_most_medians_too() -> None:
    cells = linux_experiments_page.judged("home-router", "rerun").values()
    assert len(cells) == 86
    for metric in ("ping", "srtt", "page"):
        words = Counter(judged[metric].word for judged in cells if metric in judged)
        assert words["agrees"] / words.total() >= 0.92, metric


@pytest.mark.parametrize("metric", ["ping", "srtt", "page"])
def test_where_linux_agrees_with_itself_the_simulator_agrees_with_it(metric: str) -> None:
    assert linux_experiments_page.only_ours("home-router", metric) == []


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_program_of_the_guest_compiles(tmp_path: Path) -> None:
    warnings = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *warnings, "-o", tmp_path / "init", linux_home_router.SOURCE], check=True)


def test_every_set_up_is_a_request() -> None:
    source = linux_home_router.SOURCE.read_text(encoding="utf-8")
    for case in linux_experiments.cases(TABLE, "home-router"):
        for key, value in linux_home_router.request(
            linux_experiments.parse(case), linux_experiments.SEND_BUFFER
        ).items():
            assert f'"{key}"' in source
            assert 0 < len(value) < 32


def test_a_case_is_read_as_it_was_written() -> None:
    for experiment in linux_experiments.SEEDS:
        for case in linux_experiments.cases(TABLE, experiment):
            assert linux_experiments.text(linux_experiments.parse(case)) == case
