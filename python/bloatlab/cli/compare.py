"""`compare`: metrics that differ beyond noise."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.analysis.compare import Comparison, Row, Side, compare, sides, sides_by
from bloatlab.analysis.compare_text import advice, counts, sentence, shown
from bloatlab.analysis.readings import reading
from bloatlab.cli.console import console, number, say
from bloatlab.cli.run import command_line, without_page
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.cli.values import assignments, axis
from bloatlab.errors import BloatlabError, ParameterError, StoreError
from bloatlab.experiments import CATALOGUE
from bloatlab.experiments.phrases import plural
from bloatlab.metrics import for_people
from bloatlab.statistics.differences import Correction
from bloatlab.store import Store, canonical
from bloatlab.store.text import readable
from bloatlab.visible import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

MOST_ROWS = 40
MOST_ALONE = 5


def compare_directories(
    a: Path,
    b: Path | None,
    by: str | None,
    metrics: Sequence[str],
    confidence: float,
    correction: Correction,
    figure: Path | None,
    *,
    everything: bool,
    as_json: bool,
    no_report: bool,
    fail_on_difference: bool,
) -> int:
    """Prints the differences. Returns exit code 1 if `fail_on_difference` is set and a metric differs.

    With `everything`, the table also has the metrics that do not differ. Two directories, or two engines, also have a page
    unless `no_report` is set.
    """
    if (b is None) == (by is None):
        raise ParameterError("compare: give two results directories, or one and --by NAME=A,B")
    readings = [reading(text, measures=_measures(Store(a))) for text in metrics]
    if b is not None:
        one, other = sides(Store(a), Store(b))
    else:
        name, values = _by(str(by))
        one, other = sides_by(Store(a), name, values)
    found = compare(one, other, readings, confidence=confidence, correction=correction, permutation=as_json)
    if as_json:
        sys.stdout.write(json.dumps(found.describe(), allow_nan=False) + "\n")
    else:
        _print(found, everything=everything)
        if not no_report and (b is not None or name == "engine"):
            console().print(_page_line(one, other, found, by_engine=b is None, everything=everything), soft_wrap=True)
    if figure is not None:
        path = draw(found, figure)
        if not as_json:
            print(path)
    return 1 if fail_on_difference and any(row.apart for row in found.rows) else 0


def _by(text: str) -> tuple[str, list[str]]:
    """The parameter of `--by`, and its values if they are given."""
    if "=" not in text:
        return text.strip(), []
    ((name, values),) = assignments([text], "--by").items()
    return name, [readable(canonical(value)) for value in axis(values)]


def _page_line(one: Side, other: Side, found: Comparison, *, by_engine: bool, everything: bool) -> str:
    """Makes the page of engines or of two directories. Returns a line with its path, or with the reason why there is none."""
    try:
        from bloatlab.report.compared import make_compared_page, make_page_of_sides
    except ImportError as error:
        return without_page(error)
    if by_engine:
        return f"page: {make_compared_page(one.store, found, command_line(), everything=everything)}"
    try:
        return f"page: {make_page_of_sides(one, other, found, command_line(), everything=everything)}"
    except StoreError as error:
        # Results to compare with may be read-only.
        return f"no page: {error}"


def _measures(store: Store) -> dict[str, str]:
    """Metrics that the experiments of a store define, and their units."""
    names = set(store.runs()["experiment"].to_list()) & set(CATALOGUE)
    return {metric: unit for name in sorted(names) for metric, unit in CATALOGUE[name].measures.items()}


def _print(found: Comparison, *, everything: bool) -> None:
    out = console()
    say(out, one_line(sentence(found, number)), "  ")
    rows = shown(found, everything=everything)
    if rows:
        out.print()
        comparison_table(found, rows, None if everything else MOST_ROWS).print(out)
    if not found.identical:
        say(out, counts(found) + ("; --all shows them" if len(rows) < len(found.rows) else ""))
    out.print()
    _print_sides(out, found)
    if advised := advice(found):
        say(out, advised)


def _print_sides(out: Console, found: Comparison) -> None:
    """What is compared with what, and what is left out."""
    for name, (one, other) in found.compared.items():
        say(out, one_line(f"{name}: {one} in A, {other} in B"), "  ")
    a, b = found.replications
    how = "paired by seed" if found.paired else "independent"
    set_ups = f"{plural(found.matched, 'set-up')} in both"
    say(out, one_line(f"A is {found.a}, B is {found.b}; {set_ups}, at least {a} and {b} replications, {how}"), "  ")
    for side, alone in (("A", found.alone_a), ("B", found.alone_b)):
        if alone:
            more = f" and {len(alone) - MOST_ALONE} more" if len(alone) > MOST_ALONE else ""
            said = "; ".join(alone[:MOST_ALONE])
            say(out, one_line(f"only in {side}: {said}{more}"), "  ")
    for run in found.suspect[:MOST_ALONE]:
        why = f"run {run.run_id} ({run.engine}, seed {run.seed}) is suspect: {run.reason}"
        say(out, one_line(f"left out: {why}"), "  ")
    if len(found.suspect) > MOST_ALONE:
        say(out, f"left out: {len(found.suspect) - MOST_ALONE} more suspect runs", "  ")


def comparison_table(found: Comparison, rows: Sequence[Row], most: int | None) -> FittedTable:
    """One row per metric, with the largest effect first.

    Args:
        found: The comparison.
        rows: Its rows that are shown.
        most: Largest number of rows; `None`: all.
    """
    left = 0 if most is None else len(rows) - most
    several = len({row.point for row in found.rows}) > 1
    columns = [Column("set-up")] if several else []
    columns += [
        Column("metric"),
        *(Column(heading, right=True) for heading in ("A", "B", "B - A")),
        Column("unit", optional=1),
    ]
    doubtful = len({row.differs for row in rows}) > 1
    if found.judged:
        columns += [
            Column(f"{100 * found.confidence:g} % interval", right=True, optional=2),
            Column("g", right=True, optional=4),
            Column("Cliff's d", right=True, optional=5),
            Column("p adjusted", right=True, optional=3),
        ]
        # Without --all there is one answer for all rows.
        columns += [Column("beyond noise")] * doubtful
    else:
        columns.append(Column("change", right=True))
    notes = [f"and {left} more with smaller effects: --all shows them"] if left > 0 else []
    table = FittedTable(columns, notes=notes, elsewhere="--json and a wider terminal (COLUMNS=160) show them")
    for row in rows[:most]:
        cells = [row.said] if several else []
        of = row.difference
        factor, unit = for_people(row.metric, row.unit)
        values = (number(factor * of.mean_a), number(factor * of.mean_b), signed(factor * of.difference))
        # A narrow terminal has no room for the units, but a percentage is not to be read as a share.
        cells += [row.name if factor == 1 else f"{row.name} (%)", *values, unit]
        table.add(
            *cells, *(_judgement(row, doubtful=doubtful) if found.judged else [_change(of.mean_a, of.difference)])
        )
    return table


def _judgement(row: Row, *, doubtful: bool) -> list[str | Text]:
    from rich.text import Text

    of = row.difference
    factor, _ = for_people(row.metric, row.unit)
    interval = f"{signed(factor * of.interval.low)} to {signed(factor * of.interval.high)}" if of.interval else "-"
    effect = "-" if of.effect.value is None else f"{of.effect.value:+.2f}"
    p = "-" if row.p_adjusted is None else ("<0.001" if row.p_adjusted < 0.001 else f"{row.p_adjusted:.3f}")
    word = {True: Text("yes", "bold"), False: Text("no"), None: Text("-")}[row.differs]
    return [interval, effect, f"{of.cliffs_delta:+.2f}", p, *([word] if doubtful else [])]


def _change(base: float, difference: float) -> str:
    return f"{100 * difference / abs(base):+.1f} %" if base else "-"


def signed(value: float) -> str:
    """A number with its sign."""
    text = number(value)
    return text if value <= 0 else f"+{text}"


def table_of(found: Comparison) -> dict[str, Any]:
    """The table for the forest plot."""
    import polars as pl

    rows = [
        {
            "name": f"{row.name} ({row.point})" if found.matched > 1 else row.name,
            "effect": row.difference.effect.value,
            "low": row.difference.effect.interval.low if row.difference.effect.interval else None,
            "high": row.difference.effect.interval.high if row.difference.effect.interval else None,
            "differs": bool(row.differs),
        }
        for row in found.rows
    ]
    kinds = {"name": pl.String, "effect": pl.Float64, "low": pl.Float64, "high": pl.Float64, "differs": pl.Boolean}
    return {"differences": pl.DataFrame(rows, schema=kinds)}


def draw(found: Comparison, path: Path) -> Path:
    """Saves the forest plot.

    Raises:
        BloatlabError: There is no effect size to draw, or the file cannot be written.
    """
    if all(row.difference.effect.value is None for row in found.rows):
        raise BloatlabError(
            "--figure: no metric has an effect size; at least three replications of each side are needed"
        )
    from bloatlab.figures import forest, save

    try:
        return save(forest(table_of(found)), path)
    except OSError as error:
        raise BloatlabError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise BloatlabError(str(error)) from error
