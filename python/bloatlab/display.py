"""How results show themselves in a Python shell and in a notebook: the verdict, a small table, a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from bloatlab.errors import BloatlabError
from bloatlab.visible import one_line

if TYPE_CHECKING:
    from bloatlab.result import Result
    from bloatlab.store import Store

MOST_ROWS = 8
MOST_PROBES = 2
FIXED = {"run_id", "seed", "scope", "entity", "metric", "value", "unit"}
"""Columns of `Store.to_polars` that are not parameters."""
Table = tuple[Sequence[str], list[Sequence[str]]]
"""Headings and rows."""
FLOWS = (("throughput (Mbit/s)", "mean_throughput_l4"), ("mean sRTT (ms)", "mean_srtt_l4"))
PROBES = (("median (ms)", "p50_rtt"), ("p95 (ms)", "p95_rtt"))


def text_of_result(result: Result) -> str:
    """A run for a shell."""
    return "\n".join([_head_of_result(result), result.verdict.sentence, *_text(_table_of_result(result))])


def html_of_result(result: Result) -> str:
    """A run for a notebook."""
    return _html(_head_of_result(result), result.verdict.sentence, _table_of_result(result), lambda: result.plot())


def text_of_store(store: Store) -> str:
    """A results directory for a shell."""
    return "\n".join([_head_of_store(store), *_text(_table_of_store(store))])


def html_of_store(store: Store) -> str:
    """A results directory for a notebook."""
    return _html(_head_of_store(store), "", _table_of_store(store), lambda: store.plot())


def _head_of_result(result: Result) -> str:
    doubt = f"; suspect: {result.suspect}" if result.suspect else ""
    return one_line(f"{result.experiment}, run {result.run_id}, seed {result.seed}, engine {result.engine}{doubt}")


def _table_of_result(result: Result) -> Table:
    rows: list[Sequence[str]] = []
    for columns, metrics in ((FLOWS, result.flow_metrics), (PROBES, result.probe_metrics)):
        for name, values in metrics.items():
            shown = [f"{title} {_number(values[metric])}" for title, metric in columns if metric in values]
            if shown:
                rows.append((one_line(name), ", ".join(shown)))
    return _cut(("flow", "measured"), rows, "Result.flow_metrics, Result.probe_metrics")


def _head_of_store(store: Store) -> str:
    runs = store.runs()
    names = ", ".join(runs["experiment"].unique(maintain_order=True).to_list()) or "no experiment"
    states = runs["status"].value_counts(sort=True).iter_rows()
    return one_line(f"{store.directory}: {names}; " + (", ".join(f"{n} {state}" for state, n in states) or "no runs"))


def _table_of_store(store: Store) -> Table:
    """The parameters that differ, and means over the replications."""
    import polars as pl

    rows = store.to_polars()
    if rows.is_empty():
        states = [(row["run_id"], row["status"]) for row in store.runs().iter_rows(named=True)]
        return _cut(("run", "state"), states, "Store.runs()")
    varied = [name for name in rows.columns if name not in FIXED and rows[name].n_unique() > 1]
    chosen = {f"{title} per flow": pl.col("metric") == metric for title, metric in FLOWS}
    probes = rows.filter(pl.col("metric") == PROBES[0][1])["entity"].cast(pl.String).unique(maintain_order=True)
    for probe in probes.head(MOST_PROBES):
        for title, metric in PROBES:
            chosen[f"{probe}: {title}"] = (pl.col("metric") == metric) & (pl.col("entity").cast(pl.String) == probe)
    means = [pl.col("value").filter(rule).mean().alias(title) for title, rule in chosen.items()]
    table = rows.group_by(varied or ["experiment"], maintain_order=True).agg(means)
    table = table.select(
        name for name in table.columns if name not in chosen or table[name].null_count() < table.height
    )
    cells = [
        [_number(cell) if isinstance(cell, float) else one_line(str(cell)) for cell in row] for row in table.rows()
    ]
    return _cut([one_line(name) for name in table.columns], cells, "Store.to_polars()")


def _cut(columns: Sequence[str], rows: list[Any], rest: str) -> Table:
    """The first rows. The last one says how many more there are, and where."""
    if len(rows) <= MOST_ROWS:
        return columns, rows
    more = f"{len(rows) - MOST_ROWS} more" + (f": {rest}" if rest else "")
    return columns, [*rows[:MOST_ROWS], (more, *[""] * (len(columns) - 1))]


def _number(value: float) -> str:
    return f"{value:.4g}"


def _text(table: Table) -> list[str]:
    columns, rows = table
    widths = [max(len(row[place]) for row in [columns, *rows]) for place in range(len(columns))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [columns, *rows]
    ]


def _html(head: str, sentence: str, table: Table, draw: Callable[[], Any]) -> str:
    columns, rows = table
    heads = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    said = f"<p>{escape(sentence)}</p>" if sentence else ""
    return f"<div><b>{escape(head)}</b>{said}<table><tr>{heads}</tr>{body}</table>{_picture(draw)}</div>"


def _picture(draw: Callable[[], Any]) -> str:
    """The figure as SVG. Without the packages of a report, or without values, there is none."""
    try:
        import vl_convert

        return str(vl_convert.vegalite_to_svg(draw().properties().to_dict()))
    except (ImportError, BloatlabError):
        return ""
