"""Another process that makes pages of a suite: drawing keeps one CPU core busy, and Python uses only one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

FEWEST = 4
"""With fewer pages, another process takes longer to start than it saves."""


def shared(names: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The pages that this process makes, and those that another process makes at the same time."""
    if len(names) < FEWEST or (os.cpu_count() or 1) < 2:
        return names, ()
    # A third, because the other process first has to start and to read the store.
    others = names[1::3]
    return [name for name in names if name not in others], others


@contextmanager
def beside(
    directory: Path, names: Sequence[str], weights: Mapping[str, float]
) -> Iterator[subprocess.Popen[bytes] | None]:
    """Has another process make these pages while the body runs. The process ends with the body if that fails.

    Yields:
        The process; `None` if there is no page to make or it cannot be started.
    """
    process = _started(directory, names, weights) if names else None
    try:
        yield process
    except BaseException:
        if process:
            process.kill()
        raise
    finally:
        if process:
            process.wait()


def _started(directory: Path, names: Sequence[str], weights: Mapping[str, float]) -> subprocess.Popen[bytes] | None:
    # `-P`: no code is taken from the folder in which the user works.
    command = [
        sys.executable,
        "-P",
        "-m",
        "bloatlab.report",
        str(directory.absolute()),
        json.dumps(dict(weights)),
        *names,
    ]
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return None
