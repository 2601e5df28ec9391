"""Shared by figures of a ranking: the order of the contenders, their colours, and labels that do not overlap."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bloatlab.experiments import phrases
from bloatlab.figures import network, palette, parts, prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import FAINT, INK, NEUTRAL, options

PERCENTILES = ("p50", "p95", "p99")
GAP = 3
"""Pixels between two names."""
THIN = 1
"""Half of the width of a line, pixels."""
LINE = 12
SHORT = 3
"""Letters of a value that says nothing without the name of its axis."""
SAID = frozenset({"cca", "queue", "scheme", "target"})
"""Axes whose values say what they are."""
NAMED = frozenset({"direction"})
"""Axes whose values say nothing without the name of the axis, although some are long."""
FAR = 16
"""Pixels from a mark to its name from which a line joins them."""
RINGS = 12
"""How many lines above and below its mark a label may be moved."""
NEAR_RINGS = 3
"""The same for a label that must be near its mark."""


def order(ranking: pl.DataFrame) -> list[str]:
    """Names of the contenders, the best first."""
    return ranking.sort("position")["contender"].unique(maintain_order=True).to_list()


def colours(names: list[str]) -> dict[str, str]:
    """One colour per contender if the palette has enough; otherwise grey for all, with names beside the marks."""
    if len(names) > len(palette.PALETTE):
        return dict.fromkeys(names, NEUTRAL)
    # A contender with parameters (`codel, ecn=on`) has the colour of its kind if that is free.
    return palette.assign(names)


@dataclass(frozen=True)
class Looks:
    """Colour and shape of each contender. No two of 25 contenders have the same colour.

    Attributes:
        names: The contenders, the best first.
        colours: Their colours.
        shapes: Their shapes: another one for every eight contenders.
        dashes: The dashes of their lines, likewise.
    """

    names: list[str]
    colours: list[str]
    shapes: list[str]
    dashes: list[list[int]]

    def colour(self, **legend: Any) -> dict[str, Any]:
        """The colour by `contender`, with a legend that shows the shapes too."""
        return self._channel(self.colours, legend)

    def shape(self, **legend: Any) -> dict[str, Any]:
        """The shape by `contender`."""
        return self._channel(self.shapes, legend)

    def only(self, names: Collection[str]) -> "Looks":
        """Those of some contenders."""
        kept = [place for place, name in enumerate(self.names) if name in names]
        return Looks(
            [self.names[place] for place in kept],
            [self.colours[place] for place in kept],
            [self.shapes[place] for place in kept],
            [self.dashes[place] for place in kept],
        )

    def _channel(self, values: list[str], legend: dict[str, Any]) -> dict[str, Any]:
        shown = options(title=None, symbolLimit=0, **legend) if len(self.names) > 1 else None
        return vl.field("contender:N", scale=options(domain=self.names, range=values), legend=shown)


def looks(names: list[str]) -> Looks:
    """The colours and shapes of contenders, the same in every figure of a ranking."""
    if len(names) <= len(palette.PALETTE):
        tints = list(palette.assign(names).values())
        return Looks(names, tints, list(palette.SHAPES[: len(names)]), palette.dashes(len(names)))
    rounds = [index // len(palette.PALETTE) for index in range(len(names))]
    return Looks(
        names,
        list(palette.in_order(names).values()),
        [palette.SHAPES[turn % len(palette.SHAPES)] for turn in rounds],
        palette.dashes(len(names)),
    )


def place(point: str) -> str:
    """The values of a point: `static, random loss of 2 %` for `channel=static, loss=0.02`.

    Numbers and short values, such as `on`, say what they are.
    """
    pairs = (part.partition("=") for part in point.split(", "))
    return ", ".join(
        _said(name, value) if value and _needs_name(name, value) else phrases.in_words(name, value) or value or name
        for name, _, value in pairs
    )


def _said(axis: str, value: str) -> str:
    return re.sub(r"^an? ", "", phrases.said(axis, value))


def _needs_name(axis: str, value: str) -> bool:
    return axis not in SAID and (axis in NAMED or value[0].isdigit() or len(value) <= SHORT)


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


Box = tuple[float, float, float, float]
"""Left, top, right and bottom edge, pixels."""


def named(
    points: pl.DataFrame,
    across: Axis,
    down: Axis,
    x: Any,
    y: Any,
    lines: Sequence[Box] = (),
    *,
    every: bool = True,
) -> list[vl.View]:
    """Names beside marks, each with a thin line to its mark if it is not next to it.

    Args:
        points: `x`, `y` and `contender` of each mark.
        across: The horizontal axis.
        down: The vertical axis.
        x: Encoding of the horizontal axis.
        y: Encoding of the vertical axis.
        lines: Horizontal and vertical lines that names should not cross, as values: x, y, x2 and y2.
        every: Whether also a mark without a free place near it gets its name.
    """
    if points.is_empty():
        return []
    pixels = [(across.pixel(at), down.pixel(to)) for at, to in points.select("x", "y").iter_rows()]
    names = points["contender"].to_list()
    drawn = [(across.pixel(x1), down.pixel(y1), across.pixel(x2), down.pixel(y2)) for x1, y1, x2, y2 in lines]
    boxes = [(min(a, c) - THIN, min(b, d) - THIN, max(a, c) + THIN, max(b, d) + THIN) for a, b, c, d in drawn]
    place_all = label_spots if every else near_spots
    spots = place_all(pixels, names, across.pixels, down.pixels, boxes)
    texts, leaders = [], []
    for (px, py), spot, name in zip(pixels, spots, names, strict=True):
        if spot is None:
            continue
        left, middle = spot
        texts.append({"x": across.value(left), "y": down.value(middle), "contender": name})
        near = min(max(px, left), left + parts.LETTER * len(name))
        if math.hypot(near - px, middle - py) > FAR:
            edge = middle + (LINE / 2 if middle < py else -LINE / 2 if middle > py else 0)
            leaders.append(
                {"x": across.value(px), "y": down.value(py), "x2": across.value(near), "y2": down.value(edge)}
            )
    text = parts.drawn(vl.Rows(texts), "text", align="left", baseline="middle", color=INK, fontSize=11)
    leading = parts.drawn(vl.Rows(leaders), "rule", color=FAINT, strokeWidth=0.8)
    found = [leading.encode(x=x, y=y, x2=vl.field("x2:Q"), y2=vl.field("y2:Q"))] if leaders else []
    return [*found, text.encode(x=x, y=y, text=vl.field("contender:N"))]


def label_spots(
    points: list[tuple[float, float]], names: list[str], width: float, height: float, avoided: Sequence[Box] = ()
) -> list[tuple[float, float]]:
    """Positions of labels (left edge and middle line, pixels): near their points, without overlaps if possible.

    Args:
        points: Pixels from the left and the top.
        names: The labels.
        width: Width of the plot.
        height: Height of the plot.
        avoided: Further places where no label should be.
    """
    taken = _marks(points, avoided)
    spots = []
    for point, name in zip(points, names, strict=True):
        _, spot = _best_spot(point, name, (width, height), taken, RINGS)
        taken.append(_box(spot, name))
        spots.append(spot)
    return spots


def near_spots(
    points: list[tuple[float, float]], names: list[str], width: float, height: float, avoided: Sequence[Box] = ()
) -> list[tuple[float, float] | None]:
    """As `label_spots`, but `None` for a label that has no free place near its point.

    Args:
        points: Pixels from the left and the top; the first ones get the best places.
        names: The labels.
        width: Width of the plot.
        height: Height of the plot.
        avoided: Further places where no label should be.
    """
    taken = _marks(points, avoided)
    spots: list[tuple[float, float] | None] = []
    for point, name in zip(points, names, strict=True):
        cost, spot = _best_spot(point, name, (width, height), taken, NEAR_RINGS)
        spots.append(None if cost else spot)
        if not cost:
            taken.append(_box(spot, name))
    return spots


def _marks(points: Sequence[tuple[float, float]], avoided: Sequence[Box]) -> list[Box]:
    return [*avoided, *((x - 4, y - 4, x + 4, y + 4) for x, y in points)]


def _box(spot: tuple[float, float], name: str) -> Box:
    """The place of a label."""
    left, middle = spot
    return (left, middle - LINE / 2, left + parts.LETTER * len(name) + GAP, middle + LINE / 2)


def _best_spot(
    point: tuple[float, float], name: str, size: tuple[float, float], taken: Sequence[Box], rings: int
) -> tuple[float, tuple[float, float]]:
    """The free position of a label next to its point, or that with the least overlap, and the overlap (square pixels)."""
    x, y = point
    wide = parts.LETTER * len(name) + GAP
    best: tuple[float, tuple[float, float]] | None = None
    for ring in range(rings):
        away = ring * LINE
        for dx, dy in (
            (8, -away), (8, away), (-8 - wide, -away), (-8 - wide, away), (-wide / 2, -11 - away), (-wide / 2, 12 + away),
        ):  # fmt: skip
            spot = (x + dx, y + dy)
            box = _box(spot, name)
            inside = box[0] >= 0 and box[2] <= size[0] + 40 and box[1] >= 0 and box[3] <= size[1]
            if best is not None and (best[0] == 0 or not inside):
                continue
            cost = _overlap(box, taken) + (0 if inside else 1e6)
            if best is None or cost < best[0]:
                best = (cost, spot)
        if best is not None and best[0] == 0:
            break
    assert best is not None
    return best


def _overlap(box: Box, others: Sequence[Box]) -> float:
    """The area that a box shares with others; what several of them share counts several times."""
    left, top, right, bottom = box
    area = 0.0
    for x1, y1, x2, y2 in others:
        # Most boxes are elsewhere.
        if x1 < right and x2 > left and y1 < bottom and y2 > top:
            area += (min(right, x2) - max(left, x1)) * (min(bottom, y2) - max(top, y1))
    return area
