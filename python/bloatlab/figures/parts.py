"""Parts that several figures share: lines, reference lines, bands, ellipses."""

import math
from textwrap import wrap
from typing import Any

import polars as pl

from bloatlab.figures import prepare
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.theme import INK, options


def drawn(data: vl.Rows | vl.Unset, kind: str, **style: Any) -> vl.View:
    """A chart with a mark over rows; the caller adds the encoding.

    Args:
        data: The rows.
        kind: `line`, `area`, `bar`, `point`, `circle`, `rule` or `text`.
        **style: Options of the mark as Vega-Lite names them.
    """
    return vl.mark(data, kind, **style)


def on_shade() -> Any:
    """The colour of text in a cell: light if the row's `dark` is true."""
    return {"condition": {"test": "datum.dark", "value": "#ffffff"}, "value": INK}


def colour(
    domain: list[str],
    range_: list[str],
    field: str = "label",
    title: str | None = None,
    legend: bool = True,
    columns: int = 0,
) -> Any:
    """Colour by `field` with a fixed domain, so that every panel and figure gives a name the same colour."""
    shown = legend and len(domain) > 1
    return vl.field(
        f"{field}:N",
        scale=options(domain=domain, range=range_),
        legend=options(title=title, columns=columns or vl.UNSET) if shown else None,
    )


LETTER = 6.2
"""Pixels of a letter at font size 11."""
EXTENT = 30
"""Least room for the numbers of a vertical axis, pixels, so that panels below each other are aligned."""


def legend_columns(names: list[str], width: int) -> int:
    """Number of legend entries that fit side by side, at about 7 pixels per letter."""
    widest = max((min(len(name), 36) for name in names), default=1) * 7 + 40
    return max(1, min(len(names), width // widest))


def in_lines(text: str, room: int) -> str | list[str]:
    """A title, broken into lines of at most this many pixels at about 6 pixels per letter; a text if one line is enough."""
    lines = wrap(text, max(12, room // 6))
    return lines if len(lines) > 1 else text


def level(value: float, text: str, width: int, above: bool = True, left: bool = False) -> list[Any]:
    """A dashed horizontal reference line with its name at the right or the left end."""
    at = vl.Rows(values=[{"at": float(f"{value:.4g}"), "text": text}])
    line = drawn(at, "rule", strokeDash=[5, 4], color=INK, strokeWidth=1).encode(y=vl.field("at:Q"))
    name = drawn(
        at,
        "text",
        align="left" if left else "right",
        baseline="bottom" if above else "top",
        dy=-3 if above else 4,
        color=INK,
        fontSize=11,
    ).encode(y=vl.field("at:Q"), x=vl.value(2 if left else width - 2), text=vl.field("text:N"))
    return [line, name]


def mark_at(value: float, text: str, left: bool = False, name_at: float | None = None) -> list[Any]:
    """A dashed vertical reference line with its name at the top.

    Args:
        value: Where the line is.
        text: Its name.
        left: The name is to the left of the line.
        name_at: The name is beside this value instead of the line.
    """
    named = value if name_at is None else name_at
    at = vl.Rows(values=[{"at": float(f"{value:.4g}"), "named": float(f"{named:.4g}"), "text": text}])
    line = drawn(at, "rule", strokeDash=[5, 4], color=INK, strokeWidth=1).encode(x=vl.field("at:Q"))
    name = drawn(
        at,
        "text",
        align="right" if left else "left",
        baseline="top",
        dx=-4 if left else 4,
        dy=2,
        color=INK,
        fontSize=11,
    ).encode(x=vl.field("named:Q"), y=vl.value(0), text=vl.field("text:N"))
    return [line, name]


def ellipse(xs: pl.Series, ys: pl.Series, log_x: bool = False, points: int = 48) -> list[tuple[float, float]]:
    """The covariance ellipse: a closed curve one standard deviation around the mean.

    Args:
        xs: First coordinate.
        ys: Second coordinate.
        log_x: Take the logarithm of the first coordinate first, for a logarithmic axis.
        points: Number of points of the curve.

    Returns:
        Points of the curve; empty with fewer than three samples or if all are equal.
    """
    both = pl.DataFrame({"x": xs, "y": ys}).drop_nulls()
    if log_x:
        both = both.filter(pl.col("x") > 0).with_columns(pl.col("x").log())
    if both.height < 3:
        return []
    x, y = both["x"], both["y"]
    mx, my = prepare.mean(x), prepare.mean(y)
    a = float(((x - mx) ** 2).sum()) / (both.height - 1)
    c = float(((y - my) ** 2).sum()) / (both.height - 1)
    b = float(((x - mx) * (y - my)).sum()) / (both.height - 1)
    if a + c <= 0:
        return []
    # Eigenvalues of the symmetric matrix (a b; b c) and the angle of the greater one.
    half, root = (a + c) / 2, math.hypot((a - c) / 2, b)
    major, minor = math.sqrt(half + root), math.sqrt(max(0.0, half - root))
    angle = math.atan2(b, half + root - c) if b else (0.0 if a >= c else math.pi / 2)
    cos, sin = math.cos(angle), math.sin(angle)
    curve = []
    for step in range(points + 1):
        t = 2 * math.pi * step / points
        u, v = major * math.cos(t), minor * math.sin(t)
        px, py = mx + u * cos - v * sin, my + u * sin + v * cos
        curve.append((math.exp(px) if log_x else px, py))
    return curve


def outline(curve: list[tuple[float, float]], label: str) -> list[dict[str, Any]]:
    """Rows of an ellipse for a line mark: `x`, `y`, `order`, `label`."""
    return [
        {"x": float(f"{x:.4g}"), "y": float(f"{y:.4g}"), "order": order, "label": label}
        for order, (x, y) in enumerate(curve)
    ]


def wants_log(low: float | None, high: float | None, ratio: float = 10) -> bool:
    """Whether a range is wide enough for a logarithmic axis."""
    return low is not None and high is not None and low > 0 and high / low > ratio


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Ticks of a logarithmic axis: 1, 2 and 5 of each decade from `low` to `high`, or only decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    fine = [step * 10.0**power for power in range(first, last + 1) for step in (1, 2, 5)]
    within = fine[max(0, sum(tick <= low for tick in fine) - 1) : sum(tick < high for tick in fine) + 1]
    return within if len(within) <= most else [10.0**power for power in range(first, last + 1)]


def number(value: float, unit: str = "") -> str:
    """A short number with its unit, such as `16 Mbit/s`."""
    text = f"{value:.3g}" if value < 100 else f"{value:,.0f}"
    return f"{text} {unit}".strip()
