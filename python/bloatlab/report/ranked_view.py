"""The ranking on the page: its Pareto front and values, the scores, and the definitions of its criteria."""

from __future__ import annotations

from dataclasses import replace

from bloatlab.experiments.ranking import MEANING, Ranking
from bloatlab.experiments.ranking_text import weighed
from bloatlab.report import metric_tables, text
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import PlainTable, RankingView


def ranking_view(ranking: Ranking) -> RankingView:
    """The tables of a ranking, with the best of each column marked."""
    groups = list(dict.fromkeys(criterion.group for criterion in ranking.criteria))
    head = [
        [Cell(str(row.position), row.position), Cell(row.name, row.name), Cell(f"{row.score:.2f}", row.score)]
        for row in ranking.contenders
    ]
    by_group = [metric_tables.best([row.groups.get(group) for row in ranking.contenders], "lower") for group in groups]
    scores = [
        [*cells, *(replace(of[index], text=_place(of[index].sort)) for of in by_group)]
        for index, cells in enumerate(head)
    ]
    over = f" Ranks and values are means over {ranking.points} points." if ranking.points > 1 else ""
    values: list[list[Cell]] = [[cells[1]] for cells in head]
    for criterion in ranking.criteria:
        found = metric_tables.best([row.values[criterion.name] for row in ranking.contenders], criterion.better)
        for cells, row, cell in zip(values, ranking.contenders, found, strict=True):
            place = row.ranks.get(criterion.name)
            cells.append(cell if place is None else replace(cell, text=f"{cell.text} ({_place(place)})"))
    titles = [
        f"{criterion.title} ({criterion.unit})" if criterion.unit else criterion.title for criterion in ranking.criteria
    ]
    meanings = [
        [Cell(criterion.title), Cell(criterion.group), Cell(criterion.better), Cell(criterion.formula)]
        for criterion in ranking.criteria
    ]
    note = f"The score ranks {weighed(ranking)}. {MEANING}{over}"
    return RankingView(
        front_table(ranking),
        PlainTable(
            ["#", ranking.subject, "score", *groups],
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
        column = metric_tables.best([row.values[criterion.name] for row in contenders], criterion.better)
        for cells, cell in zip(rows, column, strict=True):
            cells.append(cell)
    titles = [f"{one.title} ({one.unit})" if one.unit else one.title for one in shown]
    delay, throughput = ranking.plane
    return PlainTable(
        [ranking.subject, "Pareto front", *titles], rows, "Pareto front", sortable=True,
        note=f"No other {ranking.subject} beats those of the Pareto front in both {delay.title} and {throughput.title}.",
    )  # fmt: skip


def _place(rank: float | str | None) -> str:
    return f"{rank:.3g}" if isinstance(rank, int | float) else text.NONE
