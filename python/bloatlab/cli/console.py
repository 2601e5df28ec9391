"""Output of tables and progress."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from bloatlab.cli.tables import output_width, paragraph
from bloatlab.experiments import phrases
from bloatlab.visible import one_line, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from bloatlab.sweeps import Progress, Standing

RECENT_S = 30.0
"""Seconds over which the rate of runs is measured."""
LINE_EVERY_S = 10.0
"""Seconds between two lines of progress if there is no terminal."""


def console() -> Console:
    """Standard output. Brackets in text are not markup, and control characters are shown as escapes."""
    from rich.console import Console

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(visible(text), **options)

    width = output_width()
    return Plain(highlight=False, markup=False, emoji=False, width=width)


def say(out: Console, text: str, indent: str = "") -> None:
    """Prints a paragraph in lines that fit the width. Words such as paths are never broken.

    Args:
        out: Where.
        text: The paragraph.
        indent: Put in front of every line but the first.
    """
    out.print(paragraph(text, out.width, indent), soft_wrap=True)


def complain(text: str) -> None:
    """Prints an error in one line on standard error."""
    print(f"bloatlab: {one_line(text)}", file=sys.stderr)


def number(value: float | None) -> str:
    """A number as on the pages: four significant digits, or without decimals from 1,000 on."""
    return "-" if value is None or math.isnan(value) else phrases.number(value)


def counted(number: int, what: str) -> str:
    """Such as `1 run` or `2,000 runs`."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


class Pace:
    """Recent runs per second, and the remaining time at that rate."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self._clock = clock
        self._seen: deque[tuple[float, float]] = deque()

    def see(self, done: float) -> None:
        """Records the number of finished runs. The first call sets the start, because stored runs took no time."""
        now = self._clock()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] >= RECENT_S:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Runs per second. `None` until it can be measured."""
        if len(self._seen) < 2:
            return None
        (since, before), (now, done) = self._seen[0], self._seen[-1]
        return (done - before) / (now - since) if now > since and done > before else None

    @property
    def remaining_s(self) -> float | None:
        """Remaining seconds at this rate."""
        return (self.total - self._seen[-1][1]) / self.rate if self.rate else None


def described(standing: Standing, pace: Pace) -> dict[str, str]:
    """Rate, remaining time, workers and failures as text. A text is empty if there is nothing to report."""
    rate, remaining = pace.rate, pace.remaining_s
    return {
        "rate": (f"{rate:,.0f} runs/s" if rate >= 100 else f"{rate:.2g} runs/s") if rate else "",
        "remaining": f"{duration(remaining)} left" if remaining is not None else "",
        "workers": f"{standing.workers} worker{'' if standing.workers == 1 else 's'}"
        if standing.workers is not None
        else "",
        "failures": f"{standing.failed} failed" if standing.failed else "",
    }


def duration(seconds: float) -> str:
    """As `42 s`, `3:07 min` or `2:05 h`."""
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"


@contextmanager
def progress_bar(
    total: int, what: str = "runs", *, quiet: bool = False, silent: bool = False
) -> Iterator[Progress | None]:
    """Count, rate, remaining time, workers and failures on standard error: a bar on a terminal, else a line now and then.

    Args:
        total: Runs of the plan.
        what: What is counted.
        quiet: Without a terminal say nothing, as for `--json`.
        silent: Say nothing, as for `--quiet`.
    """
    pace = Pace(total)
    if silent:
        yield None
    elif sys.stderr.isatty():
        with _bar(total, what, pace) as tell:
            yield tell
    else:
        yield None if quiet else _lines(total, what, pace)


@contextmanager
def _bar(total: int, what: str, pace: Pace) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[remaining]}"),
        TextColumn("{task.fields[workers]}"),
        TextColumn("[red]{task.fields[failures]}[/]"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, rate="", remaining="", workers="", failures="")

        def tell(standing: Standing) -> None:
            pace.see(standing.done)
            words: dict[str, Any] = described(standing, pace)
            bar.update(task, completed=standing.done, **words)

        yield tell


PATIENCE_S = 1.0
"""Seconds after which a terminal shows work that is not counted in runs. Without a terminal, `LINE_EVERY_S`."""


@contextmanager
def patience(what: str, *, silent: bool = False, after_s: float | None = None) -> Iterator[None]:
    """Says on standard error what is done: a spinner after a second on a terminal, else a line after ten seconds.

    Args:
        what: What is done, such as `making the page`.
        silent: Say nothing.
        after_s: Seconds of silence, if not those.
    """
    if silent:
        yield
        return
    shown = ExitStack()

    def show() -> None:
        if sys.stderr.isatty():
            from rich.console import Console

            shown.enter_context(Console(stderr=True).status(what))
        else:
            print(f"bloatlab: {what} ...", file=sys.stderr, flush=True)

    if after_s is None:
        after_s = PATIENCE_S if sys.stderr.isatty() else LINE_EVERY_S
    timer = threading.Timer(after_s, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        shown.close()


def _lines(total: int, what: str, pace: Pace, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Prints a line of progress at fixed intervals. A plan that ends before the first interval prints none."""
    said = clock()

    def tell(standing: Standing) -> None:
        nonlocal said
        pace.see(standing.done)
        if clock() - said >= LINE_EVERY_S:
            said = clock()
            words = [f"{int(standing.done)} of {total} {what}", *filter(None, described(standing, pace).values())]
            print("bloatlab: " + ", ".join(words), file=sys.stderr, flush=True)

    return tell
