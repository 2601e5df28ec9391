"""Numbers on the pages of mmwave-aqm are those of its claims and of its runs."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

import bloatlab
from bloatlab.experiments import get
from bloatlab.experiments.claim import KINDS
from bloatlab.experiments.mmwave.claims import CLAIMS, LINUX_SRTT, SRTT
from bloatlab.experiments.mmwave.setup import CASES, DRAWN, SEEDS, case
from test_mmwave import TRACES, measured, real

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, CATALOGUE = DOCS / "sources" / "mmwave-aqm.md", DOCS / "experiments.md"
QUEUES = {"large FIFO": "largefifo", "small FIFO": "smallfifo", "PIE": "pie", "FQ-CoDel": "fq_codel"}


def table(page: Path, begin: str) -> dict[tuple[str, str], list[str]]:
    """The values of each scenario and queue, in the order of the columns, of the table whose head begins like this."""
    text = page.read_text(encoding="utf-8")
    lines = text[text.index(begin) :].partition("\n\n")[0].splitlines()[2:]
    found = {}
    for line in lines:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        each = len(cells) // len(DRAWN)
        found |= {
            (scenario, QUEUES[name]): cells[each * place : each * (place + 1)] for place, scenario in enumerate(DRAWN)
        }
    return found


@pytest.fixture(scope="module")
def of_source() -> dict[tuple[str, str], list[str]]:
    return table(PAGE, "| median / largest (mean)")


@pytest.fixture(scope="module")
def of_catalogue() -> dict[tuple[str, str], list[str]]:
    return table(CATALOGUE, "| sRTT, median / largest, ms (with traces)")


def test_the_pages_have_the_values_of_the_figure_and_of_linux(
    of_source: dict[tuple[str, str], list[str]], of_catalogue: dict[tuple[str, str], list[str]]
) -> None:
    assert set(of_source) == set(of_catalogue) == set(SRTT)
    for key, values in SRTT.items():
        figure, ours, linux = of_source[key]
        assert [float(value) for value in figure.split(" / ")] == list(values)
        at, largest, mean = LINUX_SRTT[key]
        assert linux == f"{median(at):.1f} / {median(largest):.1f} ({median(mean):.1f})"
        assert [float(value) for value in of_catalogue[key][0].split(" / ")] == list(values)
        assert ours.partition(" (")[0] == of_catalogue[key][1]


@real
@measured
def test_a_cell_of_the_pages_is_that_of_the_runs(of_source: dict[tuple[str, str], list[str]]) -> None:
    experiment = get("mmwave-aqm")
    own = [CASES[case("sl", "smallfifo", seed)] for seed in SEEDS]
    found = [
        experiment.readings(bloatlab.run("mmwave-aqm", seed=run.seed, traces=str(TRACES), **run.parameters))
        for run in own
    ]
    at, largest, mean = (
        f"{median(of[name] for of in found):.1f}" for name in ("srtt_median", "srtt_max", "srtt_mean_max")
    )
    assert of_source["sl", "smallfifo"][1] == f"{at} / {largest} ({mean})"


def test_the_catalogue_counts_the_claims() -> None:
    text = CATALOGUE.read_text(encoding="utf-8")
    counts = {kind: sum(claim.kind == kind for claim in CLAIMS) for kind in KINDS}
    assert f"of {sum(counts.values())} claims hold: 6 of {counts['stated']} stated" in text
    assert f"of {counts['read off']} read off, 13 of {counts['derived']} derived" in text
    assert f"{len(CASES)} runs; also tests claims" in text
