"""Tables that fit the width of the output: words are not broken, and columns that do not fit are named."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bloatlab.visible import visible, with_units

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

USUAL_WIDTH = 80
"""Width in columns if the output is not a terminal and COLUMNS is not set."""
LEAST_WIDTH = 40
GAP = 2
"""Spaces between two columns."""
READABLE = 18
"""Width from which a column of prose is easy to read. Optional columns are left out before one is narrower."""
_BREAKS = re.compile(r"(?<=[,;/=:_.&?-])")
"""Where a word that is wider than its column may be broken."""


def output_width() -> int:
    """Width of the output: COLUMNS, or that of the terminal, or 80."""
    return max(LEAST_WIDTH, shutil.get_terminal_size((USUAL_WIDTH, 24)).columns)


def paragraph(text: str, width: int, indent: str = "") -> str:
    """The text in lines of at most `width` columns. Words such as paths are never broken.

    Args:
        text: One paragraph.
        width: Width of a line, columns.
        indent: Put in front of every line but the first.
    """
    lines = textwrap.wrap(
        with_units(text), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: Its heading, with the unit if it has one.
        right: Whether its cells are numbers, which are aligned to the right and stay on one line.
        whole: Whether its cells stay on one line.
        optional: 0 if it must be shown. Of the others, those with the highest number are left out first.
    """

    heading: str
    right: bool = False
    whole: bool = False
    optional: int = 0


@dataclass
class FittedTable:
    """A table that is laid out for the width of the output when it is printed.

    Attributes:
        columns: The columns.
        title: A line above the table.
        notes: Lines below the table.
        elsewhere: Where a reader finds the columns that do not fit.
    """

    columns: Sequence[Column]
    title: str = ""
    notes: Sequence[str] = ()
    elsewhere: str = "a wider terminal (COLUMNS=160) shows them"
    rows: list[list[str | Text]] = field(default_factory=list)
    sections: set[int] = field(default_factory=set)
    """Numbers of the rows before which there is a blank line."""

    def add(self, *cells: str | Text) -> None:
        """Adds a row. A cell with a style (`Text`) must be short."""
        self.rows.append([visible(cell) if isinstance(cell, str) else cell for cell in cells])

    def end_section(self) -> None:
        """Leaves a blank line before the next row."""
        self.sections.add(len(self.rows))

    def print(self, out: Console) -> None:
        """Prints title, table and notes. The notes name the columns that are left out."""
        width = out.width
        shown = self.fitting(width)
        left_out = [self.columns[place].heading for place in self.left_out(width)]
        if self.title:
            out.print(paragraph(self.title, width), soft_wrap=True)
        rule = "─" if out.encoding.startswith("utf") else "-"
        for line in self._lines(shown, width, rule):
            out.print(line, soft_wrap=True)
        for note in self.notes:
            out.print(paragraph(note, width), soft_wrap=True)
        if left_out:
            out.print(paragraph(f"not shown here: {', '.join(left_out)}; {self.elsewhere}", width), soft_wrap=True)

    def fitting(self, width: int) -> list[int]:
        """Numbers of the columns that fit: optional ones are left out until the others have room for their words."""
        shown = list(range(len(self.columns)))
        least = [self._easy(place) for place in shown]
        while sum(least[place] for place in shown) + GAP * (len(shown) - 1) > width:
            most = max(self.columns[place].optional for place in shown)
            if most == 0:
                break
            shown.remove(max(place for place in shown if self.columns[place].optional == most))
        return shown

    def least_width(self, width: int) -> int:
        """Width that the columns that are shown in `width` need so that no word is broken."""
        shown = self.fitting(width)
        return sum(map(self._least, shown)) + GAP * (len(shown) - 1)

    def left_out(self, width: int) -> list[int]:
        """Numbers of the columns that do not fit."""
        shown = self.fitting(width)
        return [place for place in range(len(self.columns)) if place not in shown]

    def _cells(self, place: int) -> list[str]:
        return [cell if isinstance(cell, str) else cell.plain for cell in (row[place] for row in self.rows)]

    def _least(self, place: int) -> int:
        """Smallest width of a column that breaks no word."""
        column = self.columns[place]
        of_cells = _widest_line if column.right or column.whole else _widest_word
        return max([_widest_word(column.heading), *map(of_cells, self._cells(place))])

    def _easy(self, place: int) -> int:
        """Smallest width of a column that is easy to read."""
        column = self.columns[place]
        least = self._least(place)
        return least if column.right or column.whole else max(least, min(READABLE, self._wanted(place)))

    def _wanted(self, place: int) -> int:
        """Width of a column that wraps no line."""
        return max(map(_widest_line, [self.columns[place].heading, *self._cells(place)]))

    def widths(self, shown: Sequence[int], width: int) -> list[int]:
        """Widths of the shown columns. The room that is left goes to those that need least for their longest line first."""
        room = width - GAP * (len(shown) - 1)
        widths = [self._easy(place) for place in shown]
        if sum(widths) > room:
            widths = [self._least(place) for place in shown]
        if sum(widths) > room:
            return _squeezed(widths, room)
        wanted = [self._wanted(place) for place in shown]
        spare = room - sum(widths)
        for index in sorted(range(len(shown)), key=lambda index: wanted[index] - widths[index]):
            more = min(spare, wanted[index] - widths[index])
            widths[index] += more
            spare -= more
        return widths

    def _lines(self, shown: Sequence[int], width: int, rule: str) -> Iterator[Text]:
        """The lines of heading and rows. Without rich's own tables, which take seconds for thousands of rows."""
        from rich.text import Text

        widths = self.widths(shown, width)
        headings = [_wrapped(self.columns[place].heading, wide) for place, wide in zip(shown, widths, strict=True)]
        high = max(map(len, headings))
        yield from self._row([[""] * (high - len(lines)) + lines for lines in headings], shown, widths, style="bold")
        yield Text(rule * (sum(widths) + GAP * (len(widths) - 1)))
        for number, row in enumerate(self.rows):
            if number and number in self.sections:
                yield Text()
            cells = [
                _wrapped(cell, wide) if isinstance(cell := row[place], str) else [cell]
                for place, wide in zip(shown, widths, strict=True)
            ]
            yield from self._row(cells, shown, widths)

    def _row(
        self, cells: Sequence[Sequence[str | Text]], shown: Sequence[int], widths: Sequence[int], style: str = ""
    ) -> Iterator[Text]:
        """The lines of one row, whose cells have several lines each."""
        from rich.text import Text

        for number in range(max(map(len, cells))):
            line = Text(style=style)
            for place, wide, lines in zip(shown, widths, cells, strict=True):
                part = lines[number] if number < len(lines) else ""
                space = " " * (wide - (_widest_line(part) if isinstance(part, str) else part.cell_len))
                line.append(space if self.columns[place].right else "").append(part)
                line.append("" if self.columns[place].right else space).append(" " * GAP)
            line.rstrip()
            yield line


def _widest_line(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")), default=0)


def _widest_word(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split()), default=0)


def _squeezed(widths: Sequence[int], room: int) -> list[int]:
    """Narrows the widest columns until all fit in the room."""
    found = list(widths)
    while sum(found) > max(room, len(found)):
        found[found.index(max(found))] -= 1
    return found


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a cell. A word that is wider than the column is broken behind punctuation, or where the column ends."""
    if _widest_line(text) <= width:
        return text.split("\n")
    lines: list[str] = []
    for part in text.split("\n"):
        pieces = [piece for word in part.split() for piece in _pieces(word, width)]
        line = ""
        for start, piece in pieces:
            joined = f"{line} {piece}" if start and line else line + piece
            if line and _widest_line(joined) > width:
                lines.append(line)
                line = piece
            else:
                line = joined
        lines.append(line)
    return lines


def _pieces(word: str, width: int) -> list[tuple[bool, str]]:
    """A word in pieces that fit, each with whether it begins a word."""
    if _widest_line(word) <= width:
        return [(True, word)]
    found: list[tuple[bool, str]] = []
    for piece in _BREAKS.split(word):
        cut = [piece[start : start + width] for start in range(0, len(piece), width)]
        found += [(not found and not at, part) for at, part in enumerate(cut)]
    return found
