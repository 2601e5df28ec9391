"""Writes docs/real-linux.md from `real_linux.csv`: the simulator beside real Linux hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import real_linux

PAGE = Path(__file__).parents[2] / "docs" / "real-linux.md"
TOLERANCE = 0.05


@dataclass(frozen=True)
class Column:
    """A metric of a table."""

    metric: str
    label: str
    judged: bool = False
    """A difference above 5 % is bold, and explained."""
    std: bool = False
    """With the standard deviation over runs."""


@dataclass(frozen=True)
class Part:
    """A table of the page."""

    name: str
    title: str
    text: str
    columns: tuple[Column, ...]
    published: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What the source says, by case and metric."""
    after: str = ""
    """What follows the table."""
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Letters of the reasons for differences, by case and metric."""


FLOW = (
    Column("throughput", "throughput, Mbit/s", judged=True),
    Column("srtt", "sRTT, ms", judged=True),
    Column("sojourn", "sojourn, ms"),
    Column("drops", "drops"),
)

from real_linux_text import INTRODUCTION, PARTS  # noqa: E402


def page() -> str:
    """The page as Markdown."""
    rows = real_linux.read()
    kernel = next(iter({row["kernel"] for row in rows}))
    lines = [INTRODUCTION.format(kernel=kernel)]
    for part in PARTS:
        of_part = [row for row in rows if row["part"] == part.name]
        lines += [f"## {part.title}", part.text, "\n".join(_table(part, of_part))]
        lines += [part.after] if part.after else []
    return "\n\n".join(line.strip("\n") for line in lines) + "\n"


def _table(part: Part, rows: list[dict[str, str]]) -> Iterator[str]:
    values = {(row["case"], row["engine"], row["metric"]): row for row in rows}
    published = bool(part.published)
    yield "| | " + " | ".join(column.label for column in part.columns) + " |"
    yield "|---" * (len(part.columns) + 1) + "|"
    for case in dict.fromkeys(row["case"] for row in rows):
        entries = []
        for column in part.columns:
            ours, theirs = (values.get((case, engine, column.metric)) for engine in real_linux.ENGINES)
            said = part.published.get(case, {}).get(column.metric, "-") if published else None
            entries.append(_entry(part, case, column, ours, theirs, said))
        yield f"| {case} | " + " | ".join(entries) + " |"


def _entry(
    part: Part, case: str, column: Column, ours: dict[str, str] | None, theirs: dict[str, str] | None, said: str | None
) -> str:
    if ours is None or theirs is None:
        return "" if ours is None and theirs is None else " / ".join(_one(row, column) for row in (ours, theirs))
    text = f"{_one(ours, column)} / {_one(theirs, column)}" + ("" if said is None else f" / {said}")
    if not column.judged:
        return text
    ratio = float(ours["mean"]) / float(theirs["mean"])
    text += f" ({ratio:.2f})"
    if abs(ratio - 1) <= TOLERANCE:
        return text
    return f"**{text}** {part.reasons[case, column.metric]}"


def _one(row: dict[str, str] | None, column: Column) -> str:
    if row is None:
        return "-"
    mean, deviation = float(row["mean"]), float(row["std"])
    return f"{mean:.4g} ± {deviation:.2g}" if column.std and deviation else f"{mean:.4g}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
