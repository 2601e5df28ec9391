"""Makes the site of a suite: a page for each experiment, and an index with the ranking over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bloatlab.experiments.ranking import Ranking
from bloatlab.report import ranked_verdict
from bloatlab.report.answers import Answer
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import Drawn, PlainTable
from bloatlab.report.verdict import Verdict

if TYPE_CHECKING:
    from bloatlab.analysis.ranked import Ranked
    from bloatlab.experiments.suite import Suite

INDEX = "index.html"
MEANING = (
    "Each experiment ranks the contenders by several criteria in every set-up; its page explains how. The score "
    "here is the mean of the ranks of a contender in all experiments. Lower is better."
)


@dataclass
class SiteView:
    """The contents of the index."""

    name: str
    title: str
    summary: str
    source: str
    commands: list[str]
    verdict: Verdict | None
    answer: Answer
    scores: PlainTable | None
    figures: list[Drawn]
    pages: PlainTable
    facts: list[tuple[str, str]]


def page_of(name: str) -> str:
    """File of an experiment's page."""
    return f"{name}.html"


def scores(ranking: Ranking) -> PlainTable:
    """A table with one row per contender: its score, and the experiments with its best and worst rank."""
    rows = [
        [Cell(str(row.position), row.position), Cell(row.name, row.name), Cell(f"{row.score:.2f}", row.score)]
        for row in ranking.contenders
    ]
    for cells, row in zip(rows, ranking.contenders, strict=True):
        best, worst = min(row.ranks.values()), max(row.ranks.values())
        for place in (best, worst):
            where = [criterion.title for criterion in ranking.criteria if row.ranks.get(criterion.name) == place]
            cells.append(Cell(f"{place:.3g} in {', '.join(where)}", place))
    columns = ["#", ranking.subject, "score", "best rank", "worst rank"]
    return PlainTable(columns, rows, "Ranking over all experiments", sortable=True, note=MEANING)


def pages(suite: Suite, experiments: Mapping[str, tuple[int, Ranked | None]]) -> PlainTable:
    """A table with one row per experiment: its title, its first and last contenders, and its runs.

    Args:
        suite: The suite.
        experiments: The number of finished runs and the ranking of each experiment.
    """
    rows = []
    for member in suite.members:
        if member.name not in experiments:
            continue
        runs, ranked = experiments[member.name]
        order = [contender.name for contender in ranked.ranking.contenders] if ranked else []
        rows.append(
            [
                Cell(member.name, link=page_of(member.name)), Cell(member.title),
                Cell(", ".join(order[:3])), Cell(order[-1] if order else ""), Cell(f"{runs:,}", runs),
            ]
        )  # fmt: skip
    return PlainTable(["experiment", "what it shows", "first three", "last", "runs"], rows, "Experiments")


def index(
    suite: Suite,
    pages: PlainTable,
    ranking: Ranking | None,
    answer: Answer,
    figures: list[Drawn],
    commands: list[str],
    facts: list[tuple[str, str]],
) -> SiteView:
    """Puts the index together."""
    return SiteView(
        suite.name,
        suite.title,
        suite.summary,
        suite.source,
        commands,
        ranked_verdict.of_places(ranking) if ranking else None,
        answer,
        scores(ranking) if ranking else None,
        figures,
        pages,
        facts,
    )
