"""Where tables and progress go."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from bloatlab.sweeps.executor import Progress

WIDTH_OF_A_FILE = 160
"""Columns when the output is no terminal."""


def console() -> Console:
    """Standard output."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=WIDTH_OF_A_FILE)


def number(value: float | None) -> str:
    """Four significant digits, thousands whole."""
    if value is None or math.isnan(value):
        return "-"
    if value == 0 or value.is_integer():
        return f"{value:.0f}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 6)}f}"


@contextmanager
def progress_bar(total: int, what: str = "runs") -> Iterator[Progress | None]:
    """A bar with rate, remaining time and failures on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failures]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, rate="", failures="")

        def tell(done: float, failed: int) -> None:
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            bar.update(
                task,
                completed=done,
                rate=f"{speed:.1f}/s" if speed else "",
                failures=f"[red]{failed} failed[/]" if failed else "",
            )

        yield tell
