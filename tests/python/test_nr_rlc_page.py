"""Numbers on the page of nr-rlc are those of its runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bloatlab
from bloatlab.experiments.claim import Cases
from bloatlab.experiments.nr_rlc.cases import CASES, INTERVALS, THRESHOLDS, standard, tuned
from bloatlab.experiments.nr_rlc.claims import CLAIMS
from bloatlab.experiments.nr_rlc.reading import Reader, ms
from bloatlab.experiments.nr_rlc.setup import AUTHORS_CODEL, ELEPHANT, TAIL
from bloatlab.experiments.nr_rlc.tuning import Setting
from conftest import REAL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sources" / "nr-rlc.md"
QUEUES = {"tail drop": TAIL, "authors' CoDel": AUTHORS_CODEL, "RFC 8289": "codel"}

real = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its first two lines."""
    text = PAGE.read_text(encoding="utf-8").partition(heading)[2]
    lines = text[text.index("\n|") :].strip().partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def measured(cases: list[str]) -> Cases:
    return {
        case: {"flow_metrics": bloatlab.run("nr-rlc", seed=CASES[case].seed, **CASES[case].parameters).flow_metrics}
        for case in cases
    }


@real
def test_the_table_of_the_optimum_has_the_values_of_the_runs() -> None:
    rows = table("### Is there an optimum?")
    assert len(rows) == 12
    settings: dict[str, list[tuple[Setting, str]]] = {}
    for traffic, name, given, delay, rate, on_front in rows:
        over_tcp, queue = traffic == "TCP", QUEUES[name]
        if queue == TAIL:
            cases = standard(TAIL, over_tcp=over_tcp)
        else:
            found = re.match(r"(\d+) / (\d+) ms", given)
            assert found is not None
            threshold, interval = (f"{value}ms" for value in found.groups())
            assert (threshold in THRESHOLDS, interval in INTERVALS) == (True, True)
            cases = tuned(queue, threshold, interval, over_tcp=over_tcp)
        read = Reader(measured(cases))
        values = [read.mean(cases, ELEPHANT, metric) for metric in ("mean_sojourn_l4", "mean_throughput_l4")]
        assert (ms(values[0]), f"{values[1]:.1f}") == (delay, rate), (traffic, name, given)
        settings.setdefault(traffic, []).append((Setting(queue, "", "", *values), on_front))
    for of_traffic in settings.values():
        for one, on_front in of_traffic:
            beaten = any(other.beats(one) for other, _ in of_traffic)
            assert on_front == ("no" if beaten else "yes"), one


def test_the_page_counts_the_claims_and_runs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    stated, rerun = (sum(claim.kind == kind for claim in CLAIMS) for kind in ("stated", "re-run"))
    assert f"makes {len(CASES)} runs" in text
    assert f"of {stated} stated in the source" in text
    assert f"of {rerun} from runs of its code" in text
