"""A gate for sweeps on the fake engine: runs wait at it, so that a test controls how many have ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

GATE = "FAKE_GATE"
"""The environment variable with the path of the gate, for processes started from here on."""
GATED = "gated"
"""Name of a scenario whose runs wait at the gate."""
FIRST_SEED = 42
"""The first seed of a plan, unless it says another."""


class Gate:
    """Runs of a plan that differ in their seeds pass it in their order, up to the number for which it is open."""

    def __init__(self, path: Path, setenv: Callable[[str, str], None]) -> None:
        """Closed at first.

        Args:
            path: A file that the gate makes.
            setenv: Sets an environment variable, such as `monkeypatch.setenv`.
        """
        self._path = path
        self.open_for(0)
        setenv(GATE, str(path))

    def open_for(self, runs: int) -> None:
        """Lets the first runs pass. The others wait."""
        new = self._path.with_suffix(".new")
        new.write_text(str(runs), encoding="ascii")
        new.replace(self._path)


def is_open(seed: int) -> bool:
    """Whether the run with a seed may pass."""
    return seed - FIRST_SEED < int(Path(os.environ[GATE]).read_text(encoding="ascii"))
