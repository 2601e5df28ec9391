"""The tables of the survey in the documentation are those of today's runs, and every claim that fails has a reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from bloatlab.analysis.claims import plan_published
from bloatlab.experiments import get
from bloatlab.experiments.aqm_survey import cases
from bloatlab.settings import RunSettings
from bloatlab.sweeps import execute
from conftest import REAL

sys.path.insert(0, str(Path(__file__).parents[1] / "parity"))
import ns2_survey_docs as docs

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("survey")
    assert not execute(plan_published(get(docs.NAME)), directory, RunSettings(jobs=2)).failed
    return docs.cases_of(directory)


def test_the_tables_of_the_documentation_are_those_of_the_runs(reproduced: Any) -> None:
    for path, table in docs.tables(reproduced):
        assert table in path.read_text(), "run `bloatlab reproduce aqm-survey` and tests/parity/ns2_survey_docs.py"
    assert f"# {len(cases.RUNS):,} runs;" in docs.DEPTH.read_text()


def test_every_claim_that_fails_has_a_reason(reproduced: Any) -> None:
    failed = [verdict for verdict in get(docs.NAME).verdicts(reproduced) if verdict.holds is False]
    assert failed
    assert not [verdict.claim.name for verdict in failed if not verdict.claim.note]


def test_a_table_is_replaced_by_its_heading() -> None:
    page = "before\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nafter\n"
    found = docs.table(("a", "b"), [("3", "4")])
    assert docs.written(page, found) == "before\n\n| a | b |\n| --- | --- |\n| 3 | 4 |\n\nafter\n"
    with pytest.raises(ValueError, match="no table"):
        docs.written(page, docs.table(("c",), []))
