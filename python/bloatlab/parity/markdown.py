"""The comparison as tables in Markdown, for documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bloatlab.experiments import phrases
from bloatlab.parity.judge import Judged
from bloatlab.parity.study import Found, counts, median_ratio
from bloatlab.parity.words import fixed, label, modes_text, sentence


def markdown(found: Found, *, cells: bool = True) -> str:
    """The sentence, how many cells agree per metric, what is outside its aim, and with `cells` every metric of every cell."""
    return "\n".join(
        [
            sentence(found),
            "",
            (f"Every cell: {shared}. " if (shared := fixed(found)) else "")
            + f"{found.engines[0]} beside {found.engines[1]}.",
            "",
            *shares(found),
            "",
            *_outside(found.outside()),
            *(_cells(found) if cells else []),
            "",
        ]
    )


def shares(found: Found) -> list[str]:
    """A table with one row per metric."""
    rows = []
    for aim in found.aims:
        judged = found.of(aim)
        ratio = phrases.number(median_ratio(judged))
        rows.append([aim.heading, aim.text, *map(str, counts(judged).values()), ratio])
    return _table(["metric", "aim", "agree", "chance", "differ", "too few seeds", "sim / kernel (median)"], rows)


def _outside(judged: Sequence[Judged]) -> list[str]:
    if not judged:
        return []
    rows = [
        [
            label(one.cell),
            one.aim.heading,
            *(phrases.interval(mean, sd) for mean, sd in zip(one.means, one.deviations, strict=True)),
            phrases.number(one.ratio),
            phrases.number(one.p, 2),
            one.word,
            modes_text(one),
        ]
        for one in judged
    ]
    return [*_table(["cell", "metric", "sim", "kernel", "ratio", "p", "judgement", "modes"], rows), ""]


def _cells(found: Found) -> list[str]:
    rows = []
    for cell in found.cells:
        own = {one.aim: one for one in found.judged if one.cell is cell}
        rows.append([label(cell), *(_entry(own.get(aim)) for aim in found.aims)])
    return _table(["cell (sim / kernel)", *(aim.heading for aim in found.aims)], rows)


def _entry(one: Judged | None) -> str:
    if one is None:
        return ""
    text = " / ".join(phrases.number(mean) for mean in one.means)
    return text if one.within else f"**{text}**"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [headings, ["---"] * len(headings), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]
