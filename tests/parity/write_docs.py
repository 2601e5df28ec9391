"""Runs the scenarios of all references and writes docs/parity.md and parity-seeds.md: `python tests/parity/write_docs.py`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from frame import Cell, Metric, Reference
from linux_congestion_controls import LINUX_CONGESTION_CONTROLS
from linux_queues import LINUX
from linux_seeds import page as page_of_seeds
from ns2_congestion_controls import NS2_CONGESTION_CONTROLS
from ns2_queues import NS2
from ns3_congestion_controls import NS3_CONGESTION_CONTROLS
from ns3_deep_buffers import NS3_DEEP_BUFFERS
from ns3_mixtures import NS3_MIXTURES
from ns3_queues import NS3

PAGE = Path(__file__).parents[2] / "docs" / "parity.md"
REFERENCES = [
    NS3_DEEP_BUFFERS,
    LINUX,
    LINUX_CONGESTION_CONTROLS,
    NS3,
    NS3_MIXTURES,
    NS3_CONGESTION_CONTROLS,
    NS2,
    NS2_CONGESTION_CONTROLS,
]


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def _entry(cell: Cell | None) -> str:
    if cell is None:
        return ""
    text = f"{_number(cell.ours)} / {_number(cell.theirs)}"
    text += f" ({cell.ratio:.2f})" if cell.theirs else ""
    return text if cell.agrees else f"**{text}** {cell.explanation}"


def _line(entries: Iterable[str]) -> str:
    return "| " + " | ".join(entries) + " |"


def _header(entries: list[str]) -> list[str]:
    return [_line(entries), "|---" * len(entries) + "|"]


def _tolerance(metric: Metric) -> str:
    absolute = f" or {metric.absolute:g}" if metric.absolute else ""
    added = f" + {metric.added:g}" if metric.added else ""
    return _line([metric.label, f"{metric.relative:.1%}{absolute}{added}", metric.why])


def _share(cells: list[Cell], metric: Metric) -> str:
    of_metric = [c for c in cells if c.metric is metric]
    if not of_metric:
        return ""
    ratios = [c.ratio for c in of_metric if c.theirs]
    text = f"{sum(c.agrees for c in of_metric)} of {len(of_metric)}"
    return f"{text} ({median(ratios):.2f})" if ratios else text


def _summary(reference: Reference) -> list[str]:
    lines = _header(["", "rows", *(m.label for m in reference.metrics)])
    sections = {**reference.by_section(), "all": reference.cells()}
    for heading, cells in sections.items():
        rows = len({id(c.row) for c in cells})
        lines.append(_line([heading, str(rows), *(_share(cells, m) for m in reference.metrics)]))
    return lines


def _table(reference: Reference, cells: list[Cell]) -> list[str]:
    by_row: dict[int, list[Cell]] = {}
    for cell in cells:
        by_row.setdefault(id(cell.row), []).append(cell)
    shown = [m for m in reference.metrics if any(c.metric is m for c in cells)]
    lines = _header([*reference.labels, *(m.label for m in shown)])
    for row in by_row.values():
        of = {c.metric.name: c for c in row}
        labels = [label(row[0].row) for label in reference.labels.values()]
        lines.append(_line([*labels, *(_entry(of.get(m.name)) for m in shown)]))
    return lines


def _section(reference: Reference) -> list[str]:
    lines = [f"## {reference.title}", "", *reference.intro.splitlines(), "", "Tolerances:", ""]
    lines += _header(["metric", "tolerance", "why"])
    lines += [_tolerance(m) for m in reference.metrics]
    lines += ["", "Number of cells within the tolerance (median of bloatlab / reference):", ""]
    lines += [*_summary(reference), ""]
    lines += [*(f"- **{k}**: {e.reason}" for k, e in reference.explanations.items()), ""]
    for heading, cells in reference.by_section().items():
        lines += [f"### {heading}", "", *_table(reference, cells), ""]
    return lines


def page() -> str:
    """The page, in Markdown."""
    lines = [
        "# Parity with references",
        "",
        "This page compares bloatlab with Linux, ns-3 and ns-2, metric by metric. `make docs` writes it, and the tests in",
        "`tests/parity` check it. Each cell is bloatlab / reference (ratio). A bold cell is outside the tolerance and has the",
        "letter of its explanation. In the explanations, *ours* is bloatlab. No parameter is fitted to a row.",
        "[Linux with several seeds](parity-seeds.md) tells chance from cause.",
        "",
    ]
    for reference in REFERENCES:
        lines += _section(reference)
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    PAGE.with_name("parity-seeds.md").write_text(page_of_seeds(), encoding="utf-8")
