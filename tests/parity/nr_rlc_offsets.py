"""Prints how the rows of nr-rlc depend on the slot of the sounding, with all 80 slots: two minutes of processor time.

`reproduce nr-rlc` has eight of the slots. The result is in docs/sources/nr-rlc.md.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import bloatlab
from bloatlab.experiments.claim import Cases
from bloatlab.experiments.nr_rlc.cases import CASES, sounded
from bloatlab.experiments.nr_rlc.claims import ROWS
from bloatlab.experiments.nr_rlc.offsets import by_offset
from bloatlab.experiments.nr_rlc.reading import Reader

OFFSETS = range(80)


def measured(of: tuple[str, int]) -> tuple[str, dict[str, Any]]:
    """The name and the metrics of a row with a slot."""
    case, offset = of
    run = bloatlab.run("nr-rlc", **{**CASES[case].parameters, "sounding_offset": offset})
    return sounded(case, offset), {"flow_metrics": run.flow_metrics}


def page(cases: Cases) -> str:
    """The finding as Markdown."""
    found = by_offset(Reader(cases), OFFSETS)
    lines = [found.columns, ["---"] * len(found.columns), *found.rows]
    return "\n".join([found.ours, "", *(f"| {' | '.join(line)} |" for line in lines)])


if __name__ == "__main__":
    with ProcessPoolExecutor() as pool:
        print(page(dict(pool.map(measured, product(ROWS, OFFSETS), chunksize=16))))
