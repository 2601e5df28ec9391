"""The output while runs are made."""

from __future__ import annotations

import contextlib
import io
import threading

import pytest

from bloatlab.cli import console
from bloatlab.sweeps import Standing


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_pace_is_recent_and_does_not_count_what_was_read() -> None:
    clock = Clock()
    pace = console.Pace(1000, clock)
    pace.see(500)
    assert pace.rate is None
    assert pace.remaining_s is None
    # Ten runs per second for a minute, then two.
    for second in range(1, 61):
        clock.now = second
        pace.see(500 + 10 * second if second <= 30 else 800 + 2 * (second - 30))
    assert pace.rate == pytest.approx(2)
    assert pace.remaining_s == pytest.approx((1000 - 860) / 2)


def test_nothing_ends_and_nothing_is_promised() -> None:
    clock = Clock()
    pace = console.Pace(10, clock)
    for second in range(3):
        clock.now = second
        pace.see(0)
    assert pace.rate is None
    assert console.described(Standing(0, 0), pace) == {"rate": "", "remaining": "", "workers": "", "failures": ""}


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (59.0, "59 s"), (59.5, "1:00 min"), (187, "3:07 min"), (7500, "2:05 h")]
)
def test_durations(seconds: float, text: str) -> None:
    assert console.duration(seconds) == text


def test_without_a_terminal_a_line_comes_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    tell = console._lines(100, "runs", console.Pace(100, clock), clock)
    for second in range(25):
        clock.now = second
        tell(Standing(2.0 * second, 1 if second > 15 else 0, workers=2))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "bloatlab: 20 of 100 runs, 2 runs/s, 40 s left, 2 workers",
        "bloatlab: 40 of 100 runs, 2 runs/s, 30 s left, 2 workers, 1 failed",
    ]


def test_json_says_nothing_without_a_terminal() -> None:
    with console.progress_bar(10, quiet=True) as tell:
        assert tell is None
    with console.progress_bar(10) as tell:
        assert tell is not None


def test_what_takes_long_says_what_it_does() -> None:
    said = threading.Event()

    class Noted(io.StringIO):
        def flush(self) -> None:
            said.set()

    with contextlib.redirect_stderr(noted := Noted()), console.patience("making the page", after_s=0):
        assert said.wait(60)
    assert noted.getvalue() == "bloatlab: making the page ...\n"


def test_what_is_quick_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with console.patience("making the page", after_s=3600):
        pass
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(console.sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    clock = Clock()
    with console._bar(10, "runs", console.Pace(10, clock)) as tell:
        tell(Standing(2, 0, workers=3))
        clock.now = 2.0
        tell(Standing(6, 1, workers=3))
    _, err = capsys.readouterr()
    for words in ("6/10", "2 runs/s", "2 s left", "3 workers", "1 failed"):
        assert words in err
