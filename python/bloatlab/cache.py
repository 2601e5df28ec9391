"""Where this package keeps what it can make again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """The directory of everything that is kept: `BLOATLAB_CACHE`, or `bloatlab` in the user's cache."""
    if given := os.environ.get("BLOATLAB_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bloatlab"
