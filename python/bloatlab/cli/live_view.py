"""`shell --live`: the bottleneck while the program runs, as a panel in the terminal or as a line per second."""

from __future__ import annotations

import codecs
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from bloatlab.language import Link

SAMPLES = 60
"""Samples of a sparkline."""
MOST_LINKS = 4
"""Links that are shown."""
REFRESH_S = 0.1
LINE_EVERY_S = 1.0
"""Seconds between two lines if there is no terminal."""
LONGEST_LINE = 8192
"""Characters after which a line of the program is printed though it has not ended."""
LABEL, TEXT = 10, 32
"""Columns of what a row of the panel shows, and of its values."""
BLOCKS = "▁▂▃▄▅▆▇█"

Row = Mapping[str, Any]
"""A row of the table `link_series`."""


class View(Protocol):
    """What shows the bottleneck."""

    def __enter__(self) -> View:
        """Starts."""

    def __exit__(self, *_: object) -> None:
        """Ends."""

    @property
    def output(self) -> Callable[[bytes], None] | None:
        """What takes the output of the program; `None`: the program has the terminal."""

    def sample(self, rows: Sequence[Row]) -> None:
        """Takes the rows of a sample interval."""


@dataclass
class LinkState:
    """A link as the last samples show it."""

    name: str
    rate_mbps: float | None
    """The rate; `None`: it varies and no sample says it."""
    limit_packets: int | None = None
    limit_bytes: int | None = None
    packets: float = 0.0
    bytes: float = 0.0
    drops: float = 0.0
    """Since the start."""
    most_packets: float = 1.0
    """The longest queue of all samples."""
    sojourn_ms: deque[float | None] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    throughput_mbps: deque[float | None] = field(default_factory=lambda: deque(maxlen=SAMPLES))

    @classmethod
    def of(cls, link: Link) -> LinkState:
        """The state of a link before the first sample."""
        limit = link.limit
        return cls(
            link.name,
            None if link.rate_varies else link.rate_bps / 1e6,
            None if limit is None else limit.packets,
            None if limit is None else limit.bytes,
        )

    def take(self, row: Row) -> None:
        """Takes a sample."""
        self.packets, self.bytes = row["queue_packets"] or 0.0, row["queue_bytes"] or 0.0
        self.most_packets = max(self.most_packets, self.packets)
        self.drops += row["drops"] or 0.0
        self.sojourn_ms.append(_known(row["sojourn_ms"]))
        self.throughput_mbps.append(_known(row["throughput_mbps"]))
        rate = _known(row.get("rate_mbps"))
        self.rate_mbps = self.rate_mbps if rate is None else rate

    @property
    def fill(self) -> float:
        """How full the queue is, 0 to 1; without a limit beside the longest queue so far."""
        if self.limit_bytes is not None:
            return min(1.0, self.bytes / self.limit_bytes)
        return min(1.0, self.packets / (self.limit_packets or self.most_packets))

    @property
    def top_mbps(self) -> float:
        """The rate, or the greatest throughput of the last samples if the rate is unknown."""
        return self.rate_mbps or max((value for value in self.throughput_mbps if value), default=1.0)

    @property
    def queue_text(self) -> str:
        """Such as `62 packets, 91 kB, 12 drops`."""
        return f"{self.packets:.0f} packets, {self.bytes / 1000:.0f} kB, {self.drops:.0f} drops"

    @property
    def sojourn_text(self) -> str:
        """The sojourn time of the last sample."""
        return f"{_short(_last(self.sojourn_ms))} ms"

    @property
    def throughput_text(self) -> str:
        """The throughput of the last sample, and the rate if it is known."""
        of = "" if self.rate_mbps is None else f" of {_short(self.rate_mbps)}"
        return f"{_short(_last(self.throughput_mbps))}{of} Mbit/s"


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _last(values: deque[float | None]) -> float | None:
    return values[-1] if values else None


def _short(value: float | None) -> str:
    """A number with three significant digits, because the numbers of the panel change all the time."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def sparkline(values: Sequence[float | None], top: float, width: int) -> str:
    """The last values as blocks, the newest on the right.

    Args:
        values: The values; `None` gives a gap.
        top: Value of the highest block.
        width: Characters.
    """
    shown = list(values)[-width:]
    highest = len(BLOCKS) - 1
    blocks = (" " if value is None else BLOCKS[min(highest, int(value / top * highest + 0.5))] for value in shown)
    return "".join(blocks).rjust(width)


def bar(share: float, width: int) -> str:
    """A bar that is filled by `share`, 0 to 1."""
    full = round(share * width)
    return "█" * full + "·" * (width - full)


class _Links:
    """The states of the links that are shown."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.states = {link.name: LinkState.of(link) for link in links[:MOST_LINKS]}
        self.time_s = 0.0

    def take(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.time_s = max(self.time_s, row["time_s"])
            if state := self.states.get(str(row["link"])):
                state.take(row)


class Panel:
    """A panel at the bottom of the terminal. The output of the program scrolls above it."""

    def __init__(
        self, links: Sequence[Link], console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """A panel for these links.

        Args:
            links: The links.
            console: The terminal; absent: standard error.
            clock: Seconds.
        """
        from rich import console as rich_console
        from rich.live import Live

        self._console = console or rich_console.Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._links = _Links(links)
        self._clock = clock
        self._drawn = -math.inf
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._partial = ""
        self._lock = threading.Lock()
        # What else prints to standard output and error is the program, which does not write there itself.
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )

    def __enter__(self) -> Panel:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._print(self._decoder.decode(b"", final=True) + "\n" if self._partial else "")
            self._live.stop()

    def sample(self, rows: Sequence[Row]) -> None:
        """Takes the rows of a sample interval, and draws the panel if it is time."""
        with self._lock:
            self._links.take(rows)
            self._draw()

    def output(self, read: bytes) -> None:
        """Prints output of the program above the panel, or as it is if standard output is not a terminal."""
        if not sys.stdout.isatty():
            sys.stdout.buffer.write(read)
            sys.stdout.buffer.flush()
            return
        with self._lock:
            self._print(self._decoder.decode(read))
            self._draw()

    def _print(self, text: str) -> None:
        from rich.text import Text

        *lines, self._partial = (self._partial + text).replace("\r\n", "\n").split("\n")
        if len(self._partial) > LONGEST_LINE:
            lines, self._partial = [*lines, self._partial], ""
        for line in lines:
            self._console.print(Text.from_ansi(_overwritten(line)), soft_wrap=True)

    def _draw(self) -> None:
        now = self._clock()
        if now - self._drawn >= REFRESH_S:
            self._drawn = now
            self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        from rich.console import Group
        from rich.panel import Panel as Frame
        from rich.text import Text

        names = max(map(len, self._links.states), default=0)
        # Borders and padding of the frame take 4 columns, and spaces between the columns 3.
        width = max(8, min(SAMPLES, self._console.width - names - LABEL - TEXT - 7))
        lines = [line for state in self._links.states.values() for line in _lines(state, names, width)]
        title = f"bloatlab shell, {self._links.time_s:.0f} s"
        frame = Frame(Group(*lines), title=title, title_align="left", expand=False)
        if not self._partial:
            return frame
        unfinished = Text.from_ansi(_overwritten(self._partial))
        unfinished.truncate(self._console.width)
        return Group(unfinished, frame)


def _overwritten(line: str) -> str:
    """What a terminal shows of a line that returns to its beginning, as progress bars do."""
    return line.rstrip("\r").rpartition("\r")[2]


def _lines(state: LinkState, names: int, width: int) -> list[Text]:
    from rich.text import Text

    # A queue that is nearly empty must not look like a full one.
    longest_ms = max((value for value in state.sojourn_ms if value is not None), default=0.0)
    rows = (
        (state.name, "queue", bar(state.fill, width), "cyan", state.queue_text),
        ("", "sojourn", sparkline(state.sojourn_ms, max(1.0, longest_ms), width), "yellow", state.sojourn_text),
        ("", "throughput", sparkline(state.throughput_mbps, state.top_mbps, width), "green", state.throughput_text),
    )
    return [
        Text.assemble(
            (f"{name:{names}} ", "bold"), f"{label:{LABEL}} ", (picture, color), f" {text:{TEXT}}", no_wrap=True
        )
        for name, label, picture, color, text in rows
    ]


class Lines:
    """A line per second on standard error, for a log. The program has standard output and error for itself."""

    output = None

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = _Links(links)
        self._next_s = LINE_EVERY_S

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to end."""

    def sample(self, rows: Sequence[Row]) -> None:
        """Takes the rows of a sample interval, and prints a line if it is time."""
        self._links.take(rows)
        if self._links.time_s < self._next_s:
            return
        # A line late by several intervals replaces those that were not printed.
        self._next_s = LINE_EVERY_S * (math.floor(self._links.time_s / LINE_EVERY_S) + 1)
        parts = (
            f"{state.name} {state.queue_text}, {state.sojourn_text}, {state.throughput_text}"
            for state in self._links.states.values()
        )
        print(f"bloatlab: {self._links.time_s:.0f} s: " + "; ".join(parts), file=sys.stderr, flush=True)


def view_of(links: Sequence[Link]) -> View:
    """A panel if standard error is a terminal, else lines."""
    return Panel(links) if sys.stderr.isatty() else Lines(links)
