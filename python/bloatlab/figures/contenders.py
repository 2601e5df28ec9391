"""Shared by figures of a ranking: the order of the contenders, their colours, and labels that do not overlap."""

import math
from dataclasses import dataclass

import polars as pl

from bloatlab.figures import network, palette, prepare
from bloatlab.figures.theme import NEUTRAL

PERCENTILES = ("p50", "p95", "p99")
LETTER = 6.2
"""Pixels of a letter at font size 11."""
LINE = 12


def order(ranking: pl.DataFrame) -> list[str]:
    """Names of the contenders, the best first."""
    return ranking.sort("position")["contender"].unique(maintain_order=True).to_list()


def colours(names: list[str]) -> dict[str, str]:
    """One colour per contender if the palette has enough; otherwise grey for all, with names beside the marks."""
    if len(names) > len(palette.PALETTE):
        return dict.fromkeys(names, NEUTRAL)
    # A contender with parameters (`codel, ecn=on`) has the colour of its kind if that is free.
    return palette.assign(names)


def place(point: str) -> str:
    """The values of a point without the names of its axes: `static, um` for `channel=static, rlc=um`."""
    return ", ".join(part.partition("=")[2] or part for part in point.split(", "))


def stems(ranking: pl.DataFrame) -> list[str]:
    """Common parts of the names of criteria that exist as median, 95th and 99th percentile."""
    names = ranking["criterion"].unique(maintain_order=True).to_list()
    found = dict.fromkeys(name.rpartition("_")[0] for name in names if name.endswith(PERCENTILES))
    return [stem for stem in found if all(f"{stem}_{percentile}" in names for percentile in PERCENTILES)]


def singles(ranking: pl.DataFrame) -> list[str]:
    """Criteria that are single numbers."""
    within = {f"{stem}_{percentile}" for stem in stems(ranking) for percentile in PERCENTILES}
    return [name for name in ranking["criterion"].unique(maintain_order=True).to_list() if name not in within]


def of(tables: network.Tables, criterion: str) -> pl.DataFrame:
    """Rows of one criterion."""
    return network.table(tables, "ranking").filter(pl.col("criterion") == criterion)


def points_note(found: int, shown: int) -> str:
    """Says how many points have no panel; empty if all have one."""
    more = found - shown
    return f"The first {shown} points are shown; {more} more are in the table of runs." if more > 0 else ""


@dataclass(frozen=True)
class Axis:
    """An axis with a fixed domain, which converts between values and pixels."""

    low: float
    high: float
    pixels: float
    log: bool = False
    reverse: bool = False

    @classmethod
    def over(cls, values: pl.Series, pixels: float, *, log: bool = False, reverse: bool = False) -> "Axis":
        """An axis with a margin on both sides of the values."""
        low, high = prepare.low(values), prepare.high(values)
        if log:
            room = max(1.15, (high / low) ** 0.06)
            return cls(low / room, high * room, pixels, log, reverse)
        # The domain is rounded, so values that almost agree need the room of values that agree.
        room = 0.07 * (high - low) if high - low > 0.01 * abs(high) else 0.05 * abs(high) or 1.0
        return cls(max(0.0, low - room), high + room, pixels, log, reverse)

    @property
    def domain(self) -> list[float]:
        """The domain for a scale of Vega-Lite."""
        return [float(f"{self.low:.4g}"), float(f"{self.high:.4g}")]

    def pixel(self, value: float) -> float:
        """Pixel of a value."""
        low, high = self.domain
        share = math.log(value / low) / math.log(high / low) if self.log else (value - low) / (high - low)
        return self.pixels * ((1 - share) if self.reverse else share)

    def value(self, pixel: float) -> float:
        """Value at a pixel."""
        low, high = self.domain
        share = pixel / self.pixels
        share = 1 - share if self.reverse else share
        return low * (high / low) ** share if self.log else low + share * (high - low)


def label_spots(
    points: list[tuple[float, float]], names: list[str], width: float, height: float
) -> list[tuple[float, float]]:
    """Positions of labels (left edge and middle line, pixels): near their points, without overlaps if possible.

    Args:
        points: Pixels from the left and the top.
        names: The labels.
        width: Width of the plot.
        height: Height of the plot.
    """
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    spots = []
    for (x, y), name in zip(points, names, strict=True):
        wide = LETTER * len(name)
        best: tuple[float, tuple[float, float]] | None = None
        for ring in range(6):
            away = ring * LINE
            for dx, dy in (
                (8, -away), (8, away), (-8 - wide, -away), (-8 - wide, away), (-wide / 2, -11 - away), (-wide / 2, 12 + away),
            ):  # fmt: skip
                left, middle = x + dx, y + dy
                box = (left, middle - LINE / 2, left + wide, middle + LINE / 2)
                inside = box[0] >= 0 and box[2] <= width + 40 and box[1] >= 0 and box[3] <= height
                cost = sum(_overlap(box, other) for other in taken) + (0 if inside else 1e6)
                if best is None or cost < best[0]:
                    best = (cost, (left, middle))
            if best is not None and best[0] == 0:
                break
        assert best is not None
        left, middle = best[1]
        taken.append((left, middle - LINE / 2, left + wide, middle + LINE / 2))
        spots.append((left, middle))
    return spots


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    across = min(a[2], b[2]) - max(a[0], b[0])
    down = min(a[3], b[3]) - max(a[1], b[1])
    return across * down if across > 0 and down > 0 else 0.0
