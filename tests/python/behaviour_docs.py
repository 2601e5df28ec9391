"""The tables of docs/experiments.md about `congestion-control-behaviour`, from a reproduction of it.

Run this file to write them: `.venv/bin/python tests/python/behaviour_docs.py`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bloatlab.analysis.claims import findings_of_store, plan_published, published_runs, verdicts_on
from bloatlab.cli import command
from bloatlab.experiments import get
from bloatlab.experiments.claim import counted
from bloatlab.experiments.finding import Finding
from bloatlab.store import Store

NAME = "congestion-control-behaviour"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "experiments.md"
FIRST, LAST = f"<!-- {NAME}: from tests/python/behaviour_docs.py -->", f"<!-- end of {NAME} -->"


def reproduced(directory: Path) -> Store:
    """The store of a reproduction."""
    command(["reproduce", NAME, "--json", "--no-report", "--out", str(directory)])
    return Store(directory)


def block(store: Store) -> str:
    """What the page says about the claims that do not hold, and the tables of the findings."""
    experiment = get(NAME)
    runs = plan_published(experiment)
    verdicts = verdicts_on(experiment, published_runs(experiment, runs), store)
    judged = [(one.claim.kind, one.holds) for one in verdicts if one.holds is not None]
    lines = [f"{len(runs)} runs. {counted(judged)}.", ""]
    lines += ["| does not hold | published | ours | why |", "|---|---|---|---|"]
    for one in verdicts:
        claim = one.claim
        if one.holds is False and one.measured is not None:
            published = f"{claim.published_text} {claim.unit}".rstrip()
            ours = f"{one.measured:.3g} {claim.unit}".rstrip()
            lines.append(f"| {claim.name} | {published} | {ours} | {claim.note} |")
    for finding in findings_of_store(store, experiment):
        lines += ["", *_table(finding)]
    return "\n".join(lines)


def _table(finding: Finding) -> list[str]:
    rows = [finding.columns, tuple("---" for _ in finding.columns), *finding.rows]
    return [
        f"**{finding.title}.** {finding.ours}", "",
        *(f"| {' | '.join(row)} |" for row in rows), "",
        finding.note,
    ]  # fmt: skip


def written() -> str:
    """The block of the page."""
    return PAGE.read_text(encoding="utf-8").partition(FIRST)[2].partition(LAST)[0].strip()


def write(text: str) -> None:
    """Replaces the block of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(FIRST)
    PAGE.write_text(f"{before}{FIRST}\n\n{text}\n\n{LAST}{rest.partition(LAST)[2]}", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as found:
        directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(found)
        write(block(reproduced(directory)))
