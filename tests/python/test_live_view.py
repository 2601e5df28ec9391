"""What `bloatlab shell --live` draws."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import pytest
from rich.console import Console

from bloatlab import language
from bloatlab.cli.live_view import Lines, LinkState, Panel, bar, sparkline
from conftest import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")

NETWORK = {
    "rate": "20Mbit/s",
    "rtt": "1ms",
    "queue": {"kind": "fifo", "limit": "100p"},
    "reverse_rate": "5Mbit/s",
}


@pytest.fixture
def links() -> list[language.Link]:
    return list(language.plan({"duration": "1s", "dumbbell": NETWORK, "flows": [{}]}).links.values())


def row(link: str, **values: float | None) -> dict[str, Any]:
    usual = {"time_s": 0.1, "queue_packets": 50.0, "queue_bytes": 75_000.0, "sojourn_ms": 30.0, "throughput_mbps": 19.5}
    return {"link": link, "utilization": 1.0, "drops": 2.0, "marks": 0.0, "rate_mbps": None, **usual, **values}


def terminal(width: int = 100) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=30, color_system=None, markup=False)


def written(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 200])
def test_the_panel_shows_each_link(width: int, links: list[language.Link]) -> None:
    console = terminal(width)
    clock = iter([0.0, 0.05, 0.2])
    with Panel(links, console, lambda: next(clock)) as panel:
        panel.sample([row("bottleneck"), row("reverse", queue_packets=0.0, queue_bytes=0.0, sojourn_ms=None)])
        # Too early to draw again.
        before = written(console)
        panel.sample([row("bottleneck", time_s=0.2)])
        assert written(console) == before
        panel.sample([row("bottleneck", time_s=0.3, rate_mbps=10.0, throughput_mbps=9.9), row("unknown")])
    shown = written(console)[len(before) :]
    for text in (
        "50 packets, 75 kB, 6 drops",
        "30 ms",
        "9.9 of 10 Mbit/s",
        "0 packets, 0 kB, 2 drops",
        "19.5 of 5 Mbit/s",
    ):
        assert text in shown
    assert "█····" in shown
    lines = re.sub(r"\x1b\[[?0-9]*[A-Za-z]", "", shown).splitlines()
    assert max(map(len, lines)) <= width


def test_output_of_the_program_is_printed_above_as_it_is(
    monkeypatch: pytest.MonkeyPatch, links: list[language.Link]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    console = terminal()
    with Panel(links, console) as panel:
        panel.sample([row("bottleneck")])
        for part in (
            b"[bold]hi[/bold] :smile:\r\nna",
            "ï".encode()[:1],
            "ï".encode()[1:] + b"ve\n 10 %\r 20 %\r\n",
            b"\xff\nend",
        ):
            panel.output(part)
    lines = [line.strip() for line in written(console).replace("\x1b[2K", "\n").splitlines()]
    for line in ("[bold]hi[/bold] :smile:", "naïve", "20 %", "�", "end"):
        assert any(line in found for found in lines), line
    # Output without line ends is not kept in memory.
    with Panel(links, console) as panel:
        for _ in range(100):
            panel.output(b"x" * 1000)
        assert len(panel._partial) <= 9192


def test_bars_and_sparklines() -> None:
    assert (bar(0.0, 4), bar(0.5, 4), bar(1.0, 4)) == ("····", "██··", "████")
    assert sparkline([], 1.0, 3) == "   "
    assert sparkline([0.0, None, 7.0], 7.0, 4) == " ▁ █"
    assert sparkline([1.0, 2.0, 99.0], 2.0, 2) == "██"
    state = LinkState("a", None, limit_bytes=1000)
    state.take(row("a", queue_bytes=500.0, throughput_mbps=float("nan")))
    assert (state.fill, state.throughput_text) == (0.5, "- Mbit/s")
    unlimited = LinkState("a", None)
    for packets in (80.0, 20.0):
        unlimited.take(row("a", queue_packets=packets))
    assert unlimited.fill == 0.25
    lines = Lines([])
    lines.sample([row("a", time_s=0.5)])
