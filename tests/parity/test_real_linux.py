"""The comparison with real Linux hosts: the page has the numbers of the file, and the simulator still gives its half of them."""

from __future__ import annotations

from statistics import fmean

import pytest

import bloatlab as bl
import real_linux
import real_linux_page

CELLS = dict(real_linux.documents())
ROWS = real_linux.read()


def test_the_page_is_up_to_date() -> None:
    assert real_linux_page.PAGE.read_text(encoding="utf-8") == real_linux_page.page()


@pytest.mark.parametrize("case", CELLS)
def test_the_simulator_gives_the_values_of_its_cells(case: str) -> None:
    of_case = {
        row["metric"]: row for row in ROWS if (row["part"], row["case"], row["engine"]) == ("cells", case, "sim")
    }
    seeds = int(of_case["srtt"]["runs"])
    runs = [real_linux.of_flows(bl.run(CELLS[case], seed=42 + number)) for number in range(seeds)]
    for metric, row in of_case.items():
        assert fmean(run[metric] for run in runs) == pytest.approx(float(row["mean"]), rel=1e-5), metric


def test_simulator_and_linux_agree_or_the_page_says_why() -> None:
    # A difference without an explanation is an error of `page`.
    agreeing = total = 0
    for part in ("cells", "deep-buffers"):
        for metric in ("throughput", "srtt"):
            by_case: dict[str, dict[str, float]] = {}
            for row in ROWS:
                if (row["part"], row["metric"]) == (part, metric):
                    by_case.setdefault(row["case"], {})[row["engine"]] = float(row["mean"])
            for values in by_case.values():
                total += 1
                agreeing += abs(values["sim"] / values["linux"] - 1) <= real_linux_page.TOLERANCE
    assert agreeing / total >= 0.9
