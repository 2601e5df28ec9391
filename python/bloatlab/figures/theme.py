"""Fonts, greys and sizes of all figures."""

from bloatlab.figures.vega_lite import View
from bloatlab.figures.vega_lite import options as options

# The page changes these greys in dark mode (report/style.css). Text and axes must not use other greys.
INK = "#333344"
FAINT = "#88889A"
GRID = "#E4E6EC"
# Totals and reference lines; no flow has this colour.
NEUTRAL = "#777788"
# The optimum of a path. It is Okabe and Ito's yellow, which no flow has, and needs an outline in INK.
OPTIMUM = "#F0E442"

WIDE = 900
HALF = 400
PHONE = 360

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
STAR = "M0,-1L.22,-.31L.95,-.31L.36,.12L.59,.81L0,.38L-.59,.81L-.36,.12L-.95,-.31L-.22,-.31Z"


def plot_width(width: int, panels: int = 1) -> int:
    """Width of the plotting area in pixels of each of `panels` panels side by side."""
    return max(120, width // panels - 70)


_CONFIG = options(
    font=FONT,
    background="transparent",
    # Vega's labels on every mark would triple the size of an SVG. The page has a label for the whole figure.
    aria=False,
    padding=4,
    axis=options(
        labelColor=INK,
        titleColor=INK,
        domainColor=FAINT,
        tickColor=FAINT,
        gridColor=GRID,
        labelFontSize=12,
        titleFontSize=12,
        titleFontWeight="normal",
        titlePadding=6,
        labelOverlap="greedy",
        labelSeparation=4,
    ),
    axisY=options(minExtent=34, tickCount=4, domain=False, ticks=False, labelPadding=6),
    axisX=options(grid=False, tickSize=4),
    legend=options(
        orient="top",
        direction="horizontal",
        labelColor=INK,
        titleColor=INK,
        labelFontSize=12,
        titleFontSize=12,
        titleFontWeight="normal",
        labelLimit=260,
        symbolOpacity=1,
        symbolStrokeWidth=2,
        rowPadding=3,
        columnPadding=14,
        offset=6,
        padding=0,
    ),
    header=options(labelColor=INK, titleColor=INK, labelFontSize=12),
    title=options(color=INK, fontSize=13, fontWeight="normal", anchor="start", offset=6),
    view=options(stroke=None),
    line=options(strokeWidth=1.5, strokeJoin="round"),
    point=options(filled=True, size=36),
    area=options(line=False),
)


def themed(view: View) -> View:
    """Adds fonts, greys and legends; every figure function returns its result."""
    return view.properties(config=_CONFIG)
