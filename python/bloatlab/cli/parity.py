"""`parity`: the simulator beside a Linux kernel, over a grid."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.cli.console import complain, console, number, patience, progress_bar, say
from bloatlab.cli.options import Telling
from bloatlab.cli.run import command_line, complain_of, interrupted, told, without_page
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.cli.values import axis, named
from bloatlab.errors import BloatlabError, ParameterError
from bloatlab.parity.cached import Cached, as_csv, cells_of
from bloatlab.parity.study import Found, Request, counts, grid, kernel_rows, median_ratio, study
from bloatlab.parity.words import fixed, label, modes_text, ratio_text, sentence
from bloatlab.settings import RunSettings
from bloatlab.store import Store
from bloatlab.store.files import write_whole

if TYPE_CHECKING:
    from rich.console import Console

    from bloatlab.sweeps import Summary

MOST_ROWS = 15


@dataclass(frozen=True)
class Files:
    """Files that a study reads and writes; `None`: none."""

    cells: str | None
    """The cells, in place of a grid."""
    cached: str | None
    """Results that take the place of the kernel's runs."""
    save: Path | None
    """Where the kernel's results are written, to be read as cached ones."""
    markdown: Path | None
    """Where the tables are written."""


@dataclass(frozen=True)
class Wanted:
    """What is compared, and what becomes of it."""

    given: Mapping[str, str | None]
    """Values of the parameters as the user typed them, separated by commas; `None` where the user gave none."""
    files: Files
    seeds: int
    seed: int
    engine: str
    out: Path | None
    telling: Telling
    all: bool
    json: bool
    fail_on_difference: bool

    @property
    def directory(self) -> Path:
        """Where results go."""
        return self.out if self.out is not None else Path("results") / "parity"

    def request(self) -> Request:
        """The cells, and what they are compared with.

        Raises:
            ParameterError: Options do not fit together, a file cannot be read, or no cell is left.
        """
        if self.seeds < 1:
            raise ParameterError(f"--seeds {self.seeds}: must be at least 1")
        given = {name: named(f"--{name}", axis, text) for name, text in self.given.items() if text is not None}
        cached = None if self.files.cached is None else Cached.read(self.files.cached)
        if cached is not None and self.files.save is not None:
            raise ParameterError("--save: writes runs of a kernel, and --cached makes none")
        if self.files.cells is not None:
            if given:
                raise ParameterError(f"--cells: the file has the parameters, so --{next(iter(given))} has no place")
            points = cells_of(self.files.cells)
        elif cached is not None:
            points = cached.matching(given)
            if not points:
                raise ParameterError(f"{cached.origin}: has no cell with these values")
        else:
            base = {name: found[0] for name, found in given.items() if len(found) == 1}
            points = grid(base, {name: found for name, found in given.items() if len(found) > 1})
        return Request(points, self.seeds, self.seed, self.engine, cached)


def compare_with_kernel(wanted: Wanted, settings: RunSettings) -> int:
    """Makes the runs, prints the comparison, and returns the exit code."""
    said = wanted.telling
    with patience("planning the runs", silent=said.quiet or wanted.json):
        request = wanted.request()
        total = len(request.runs)
    with progress_bar(total, quiet=wanted.json, silent=said.quiet) as tell:
        ended = told if said.verbose else None
        summary, found = study(wanted.directory, request, settings, command=command_line(), progress=tell, ended=ended)
    complain_of(summary)
    if found is None:
        return interrupted(f"{summary.finished} of {summary.total} runs", wanted.directory)
    _write(wanted.files, found, Store(wanted.directory), summary)
    if wanted.json:
        sys.stdout.write(json.dumps(found.describe(), allow_nan=False) + "\n")
    else:
        _print(found, wanted)
    if summary.failed or summary.suspect:
        complain(f"{len(summary.failed) + len(summary.suspect)} of {summary.total} runs are left out")
        return 1
    return 1 if wanted.fail_on_difference and any(one.word == "differs" for one in found.judged) else 0


def _write(files: Files, found: Found, store: Store, summary: Summary) -> None:
    if files.markdown is not None:
        from bloatlab.parity.markdown import markdown

        _write_text(files.markdown, markdown(found))
    if files.save is not None:
        _write_text(files.save, as_csv(kernel_rows(store, summary.measured)))


def _write_text(path: Path, text: str) -> None:
    try:
        write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise BloatlabError(f"{path}: cannot be written ({error.strerror or error})") from error


def _print(found: Found, wanted: Wanted) -> None:
    out = console()
    say(out, sentence(found))
    out.print()
    shares(found).print(out)
    outside = found.outside()
    if outside or wanted.all:
        out.print()
        table(found, None if wanted.all else MOST_ROWS, everything=wanted.all).print(out)
    for one in outside[:MOST_ROWS]:
        if one.modes:
            say(out, f"{label(one.cell)}, {one.aim.title}: {modes_text(one)}", "  ")
    if wanted.telling.quiet:
        _page(wanted, found)
        return
    out.print()
    if shared := fixed(found):
        say(out, f"every cell: {shared}")
    say(out, f"{found.engines[0]} beside {found.engines[1]}; results in {wanted.directory}")
    for what, path in (("tables", wanted.files.markdown), ("results of the kernel", wanted.files.save)):
        if path is not None:
            out.print(f"{what}: {path}", soft_wrap=True)
    if line := _page(wanted, found):
        out.print(line, soft_wrap=True)
    _hint(out, found, wanted)


def _hint(out: Console, found: Found, wanted: Wanted) -> None:
    if any(one.word == "too few seeds" for one in found.judged):
        say(out, f"next: --seeds {max(10, 2 * wanted.seeds)} tells what is chance; the runs that are there are kept")
    elif not wanted.all:
        say(out, "next: --all prints every metric of every cell")


def _page(wanted: Wanted, found: Found) -> str:
    """Makes the page. Returns a line with its path, or with the reason why there is none."""
    if wanted.telling.no_report:
        return ""
    with patience("making the page", silent=wanted.telling.quiet):
        try:
            from bloatlab.report.parity import make_parity_page
        except ImportError as error:
            return without_page(error)
        return f"page: {make_parity_page(found, wanted.directory, command_line())}"


def shares(found: Found) -> FittedTable:
    """One row per metric: how many cells agree."""
    table = FittedTable(
        [
            Column("metric"),
            Column("aim"),
            Column("cells", right=True),
            *(Column(heading, right=True) for heading in ("agree", "chance", "differ")),
            Column("too few seeds", right=True, optional=1),
            Column("sim / kernel", right=True),
        ],
        notes=["sim / kernel: median over the cells of the ratio of the means"],
    )
    for aim in found.aims:
        judged = found.of(aim)
        table.add(
            aim.title,
            aim.text,
            str(len(judged)),
            *(str(count) if count else "-" for count in counts(judged).values()),
            ratio_text(median_ratio(judged)),
        )
    return table


def table(found: Found, most: int | None, *, everything: bool) -> FittedTable:
    """What is outside its aim, or with `everything` every metric of every cell.

    Args:
        found: The comparison.
        most: Largest number of rows; `None`: all.
        everything: Whether rows that agree are shown.
    """
    rows = list(found.judged) if everything else found.outside()
    left = 0 if most is None else max(0, len(rows) - most)
    table = FittedTable(
        [
            Column("cell"),
            Column("metric"),
            Column("sim", right=True),
            Column("kernel", right=True),
            Column("ratio", right=True),
            Column("p", right=True, optional=1),
            Column("judgement"),
        ],
        "every metric" if everything else "outside the aims",
        ["means over the seeds", *([f"and {left} more: --all prints them"] if left else [])],
    )
    for one in rows[:most]:
        p = "-" if one.p is None else "<0.001" if one.p < 0.001 else f"{one.p:.3f}"
        table.add(label(one.cell), one.aim.heading, *map(number, one.means), ratio_text(one.ratio), p, one.word)
    return table
