"""What the generated pages of algorithms have in common, in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

from bloatlab import Result
from bloatlab.figures.figure import specification
from bloatlab.figures.saving import on_white

DOCS = Path(__file__).parents[2] / "docs"

Page = tuple[Path, str, Result | None]
"""Where a page is, its text, and the result that its figure shows."""


def _value(value: Any) -> str:
    """A default as a user writes it."""
    if value is None:
        return "absent"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A table; the first row is the heading."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]


def parameters(algorithm: Mapping[str, Any]) -> list[str]:
    """A table of the parameters of an algorithm."""
    if not algorithm["parameters"]:
        return ["This algorithm has no parameters."]
    rows = [("parameter", "type", "default", "allowed", "meaning")]
    for p in algorithm["parameters"]:
        rows.append((f"`{p['name']}`", p["type"], _value(p["default"]), p["range"] or "", p["description"].strip()))
    return table(rows)


@cache
def _deviations(heading: str) -> tuple[tuple[str, str, str, str], ...]:
    """Rows of the table under a heading of docs/deviations.md: algorithm, source, bloatlab, why."""
    text = (DOCS / "deviations.md").read_text(encoding="utf-8")
    section = text.split(f"## {heading}", 1)[1].split("\n## ", 1)[0]
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in section.splitlines() if "|" in line
    ]
    return tuple(row for row in rows[2:] if len(row) == 4)


def deviations(heading: str, kind: str) -> list[str]:
    """The deviations of an algorithm, as a table. Empty if docs/deviations.md lists none under this heading."""
    mine = [row[1:] for row in _deviations(heading) if kind in re.findall(r"`([a-z0-9_+]+)`", row[0])]
    return table([("source", "bloatlab", "why"), *mine]) if mine else []


def save(pages: Iterable[Page], figure: Callable[[Result], Any]) -> None:
    """Writes each page, and its figure to `images/NAME.svg`."""
    for path, text, result in pages:
        images = path.parent / "images"
        images.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if result is not None:
            spec = on_white(specification(figure(result)))
            (images / f"{path.stem}.svg").write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")


def stale(pages: Iterable[Page]) -> list[str]:
    """Names of the pages whose file is missing or differs from the page made now."""
    return [
        path.name
        for path, text, _ in pages
        if not path.is_file() or path.read_text(encoding="utf-8").splitlines() != text.splitlines()
    ]
