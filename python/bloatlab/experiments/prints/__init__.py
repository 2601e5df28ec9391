"""What ping, ss, tc and iperf3 print, made from the tables of a run.

Each module gives lines without an end. What a run does not record is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bloatlab.experiments.base import FileMaker

EPOCH = 1_577_836_800
"""Unix time of the start of every run: 2020-01-01 00:00:00 UTC. It is fixed, so that equal runs give equal files."""


def stamp(time_s: float, digits: int = 6) -> str:
    """A time of a run as Unix time.

    Args:
        time_s: Seconds since the start of the run.
        digits: Digits after the point.
    """
    whole, rest = divmod(round(time_s * 10**digits), 10**digits)
    return f"{EPOCH + whole}.{rest:0{digits}d}"


def file_of(lines: Callable[[], Iterable[str]]) -> FileMaker:
    """A writer of a file with these lines.

    Args:
        lines: Makes the lines, without their ends, when the file is written.
    """

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines())

    return write
