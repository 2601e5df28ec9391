"""`parity`: the simulator beside a Linux kernel, over a grid."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.cli.console import complain, console, number, patience, progress_bar, say
from bloatlab.cli.options import Telling
from bloatlab.cli.run import command_line, complain_of, interrupted, told, without_page
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.cli.values import axis, named
from bloatlab.errors import ParameterError
from bloatlab.experiments import phrases
from bloatlab.parity.study import Found, counts, median_ratio, planned, study
from bloatlab.parity.words import fixed, label, modes_text, sentence
from bloatlab.settings import RunSettings
from bloatlab.store.files import write_whole

if TYPE_CHECKING:
    from rich.console import Console

MOST_ROWS = 15


@dataclass(frozen=True)
class Wanted:
    """What is compared, and what becomes of it."""

    given: Mapping[str, str | None]
    """Values of the parameters as the user typed them, separated by commas; `None` where the user gave none."""
    seeds: int
    seed: int
    engine: str
    out: Path | None
    markdown: Path | None
    telling: Telling
    all: bool
    json: bool
    fail_on_difference: bool

    @property
    def directory(self) -> Path:
        """Where results go."""
        return self.out if self.out is not None else Path("results") / "parity"

    def grid(self) -> tuple[dict[str, Any], dict[str, Sequence[Any]]]:
        """The parameters with one value, and those with several."""
        read = {name: named(f"--{name}", axis, text) for name, text in self.given.items() if text is not None}
        return (
            {name: found[0] for name, found in read.items() if len(found) == 1},
            {name: found for name, found in read.items() if len(found) > 1},
        )


def compare_with_kernel(wanted: Wanted, settings: RunSettings) -> int:
    """Makes the runs, prints the comparison, and returns the exit code."""
    if wanted.seeds < 1:
        raise ParameterError(f"--seeds {wanted.seeds}: must be at least 1")
    base, axes = wanted.grid()
    said = wanted.telling
    with patience("planning the runs", silent=said.quiet or wanted.json):
        runs, _ = planned(base, axes, seeds=wanted.seeds, seed=wanted.seed, kernel=wanted.engine)
    with progress_bar(len(runs), quiet=wanted.json, silent=said.quiet) as tell:
        summary, found = study(
            wanted.directory,
            base,
            axes,
            seeds=wanted.seeds,
            seed=wanted.seed,
            kernel=wanted.engine,
            settings=settings,
            command=command_line(),
            progress=tell,
            ended=told if said.verbose else None,
        )
    complain_of(summary)
    if summary.interrupted:
        return interrupted(f"{summary.finished} of {summary.total} runs", wanted.directory)
    if wanted.markdown is not None:
        from bloatlab.parity.markdown import markdown

        write_whole(wanted.markdown, lambda path: path.write_text(markdown(found), encoding="utf-8"))
    if wanted.json:
        sys.stdout.write(json.dumps(found.describe(), allow_nan=False) + "\n")
    else:
        _print(found, wanted)
    if summary.failed or summary.suspect:
        complain(f"{len(summary.failed) + len(summary.suspect)} of {summary.total} runs are left out")
        return 1
    return 1 if wanted.fail_on_difference and any(one.word == "differs" for one in found.judged) else 0


def _print(found: Found, wanted: Wanted) -> None:
    out = console()
    say(out, sentence(found))
    out.print()
    shares(found).print(out)
    if outside := found.outside():
        out.print()
        table(found, None if wanted.all else MOST_ROWS, everything=wanted.all).print(out)
    elif wanted.all:
        out.print()
        table(found, None, everything=True).print(out)
    for one in outside[:MOST_ROWS]:
        if one.modes:
            say(out, f"{label(one.cell)}, {one.aim.title}: {modes_text(one)}", "  ")
    if wanted.telling.quiet:
        _page(wanted, found)
        return
    out.print()
    say(out, f"every cell: {fixed(found)}")
    say(out, f"{found.engines[0]} beside {found.engines[1]}; results in {wanted.directory}")
    if wanted.markdown is not None:
        out.print(f"tables: {wanted.markdown}", soft_wrap=True)
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
            number(median_ratio(judged)),
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
        [*(["mean ± standard deviation over the seeds"]), *([f"and {left} more: --all prints them"] if left else [])],
    )
    for one in rows[:most]:
        p = "-" if one.p is None else "<0.001" if one.p < 0.001 else f"{one.p:.3f}"
        sides = (phrases.interval(mean, sd) for mean, sd in zip(one.means, one.deviations, strict=True))
        table.add(label(one.cell), one.aim.heading, *sides, number(one.ratio), p, one.word)
    return table
