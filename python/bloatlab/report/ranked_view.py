"""The ranking on the page: its Pareto front and values, the scores, and the definitions of its criteria."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.ranking import MEANING, Contender, Ranking
from bloatlab.experiments.ranking_text import weighed
from bloatlab.report import metric_tables, text
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import PlainTable, RankingView


def ranking_view(ranking: Ranking) -> RankingView:
    """The tables of a ranking, with the best of each column marked."""
    groups = list(dict.fromkeys(criterion.group for criterion in ranking.criteria))
    head = [
        [Cell(row.name, row.name), Cell(str(row.position), row.position), Cell(f"{row.score:.2f}", row.score)]
        for row in ranking.contenders
    ]
    by_group = [_ranks([row.groups.get(group) for row in ranking.contenders]) for group in groups]
    scores = [[*cells, *(of[index] for of in by_group)] for index, cells in enumerate(head)]
    over = f" Ranks and values are means over {ranking.points} set-ups." if ranking.points > 1 else ""
    values: list[list[Cell]] = [cells[:1] for cells in head]
    for criterion in ranking.criteria:
        found = _values(criterion, ranking.contenders)
        for cells, row, cell in zip(values, ranking.contenders, found, strict=True):
            place = row.ranks.get(criterion.name)
            cells.append(cell if place is None else replace(cell, text=f"{cell.text} ({_place(place)})"))
    titles = [criterion.heading for criterion in ranking.criteria]
    meanings = [
        [Cell(criterion.title), Cell(criterion.group), Cell(criterion.better), Cell(criterion.formula)]
        for criterion in ranking.criteria
    ]
    note = f"The score ranks {weighed(ranking)}. {MEANING}{over}"
    return RankingView(
        front_table(ranking),
        PlainTable(
            [ranking.subject, "place", "score", *groups],
            scores,
            "Ranking by score",
            sortable=True,
            note=note,
        ),
        PlainTable(
            [ranking.subject, *titles], values, "Values by criterion", sortable=True, note="The rank is in brackets."
        ),
        PlainTable(["criterion", "group", "better", "definition"], meanings, "Definitions of the criteria"),
    )


def front_table(ranking: Ranking) -> PlainTable | None:
    """Delay and throughput of every contender, those of the Pareto front first and sorted by delay."""
    if ranking.plane is None:
        return None
    shown = [*ranking.plane, *(criterion for criterion in ranking.criteria if criterion.group == "fairness")]
    kept = {row.name for row in ranking.front}
    contenders = [*ranking.front, *(row for row in ranking.contenders if row.name not in kept)]
    rows = [[Cell(row.name, row.name), Cell("yes" if row.name in kept else "no")] for row in contenders]
    for criterion in shown:
        for cells, cell in zip(rows, _values(criterion, contenders), strict=True):
            cells.append(cell)
    titles = [one.heading for one in shown]
    delay, throughput = ranking.plane
    return PlainTable(
        [ranking.subject, "Pareto front", *titles], rows, "Pareto front", sortable=True,
        note=f"No other {ranking.subject} beats those of the Pareto front in both {delay.title} and {throughput.title}. "
        "Those are sorted by delay, the others by the ranking.",
    )  # fmt: skip


def _values(criterion: Criterion, rows: Sequence[Contender]) -> list[Cell]:
    """A column with the values of a criterion."""
    values = [criterion.shown(row.values[criterion.name]) for row in rows]
    return metric_tables.best(values, criterion.better, text.numbers(values, criterion.shown_unit))


def _ranks(ranks: list[float | None]) -> list[Cell]:
    """A column with mean ranks."""
    return metric_tables.best(ranks, "lower", text.numbers(ranks, digits=3))


def _place(rank: float | None) -> str:
    return text.NONE if rank is None else f"{rank:.3g}"
