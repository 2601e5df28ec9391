"""The commands on a page that repeat its runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

MOST = 6
_FLAGS = {"--quiet", "-q", "--verbose", "-v", "--no-report", "--json", "--all"}
_WITH_VALUE = {"--jobs", "-j", "--scheduler", "--memory"}
"""Options that change what is printed, or how fast, but not the results."""


def repeating(commands: Sequence[str]) -> list[str]:
    """The last commands, each once. Commands that make the same runs are one command: the last of them."""
    last = {_runs_of(command): command for command in commands}
    return list(last.values())[-MOST:]


def _runs_of(command: str) -> tuple[str, ...]:
    """The words of a command that decide about its results."""
    try:
        words = shlex.split(command)
    except ValueError:
        return (command,)
    kept = []
    skipped = False
    for word in words:
        if skipped or word in _FLAGS or word.partition("=")[0] in _WITH_VALUE:
            skipped = word in _WITH_VALUE and not skipped
        else:
            kept.append(word)
    return tuple(kept)
