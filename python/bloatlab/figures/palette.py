"""Colours: a flow, an algorithm or a link has the same colour everywhere on a page."""

from collections.abc import Iterable

# Okabe and Ito 2008, without black and yellow: readable on white, on dark, and with colour blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5FB5", "#8C6D4F")

# Colours from the ninth series on. Each is at least as far from all others (in OKLab) as the two nearest of the first
# eight are, and can be seen on white and on dark.
MORE = (
    "#005500", "#880044", "#66CC00", "#4422BB", "#CC1188", "#334466", "#FF77FF", "#AA77FF", "#8800AA", "#00CCAA",
    "#BB0000", "#AAAA99", "#664411", "#4466FF", "#FF9999", "#FF4466", "#447700",
)  # fmt: skip
ALL = (*PALETTE, *MORE)

# Shapes and dashes distinguish series where colour does not: in grey print, and with more than eight series.
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
_DASHES = ([1, 0], [5, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4], [6, 2, 2, 2, 2, 2], [3, 6])

# Well-known names have the same colour in every figure.
_PREFERRED = {
    "newreno": 0,
    "reno": 5,
    "cubic": 1,
    "bbr": 2,
    "bbr3": 6,
    "vegas": 3,
    "fixed": 7,
    "fifo": 0,
    "tail": 0,
    "rlc_codel_2022": 6,
    "head_drop": 5,
    "codel": 1,
    "fq_codel": 2,
    "pie": 3,
    "fq_pie": 4,
    "cake": 6,
    "red": 7,
}


def assign(names: Iterable[str]) -> dict[str, str]:
    """Gives each name a colour: its usual colour if it is free, else the next free one. Colours repeat after 25 names.

    Args:
        names: Names in any order; the result has the order of their first appearance.

    Returns:
        Name to `#rrggbb`.
    """
    unique = list(dict.fromkeys(names))
    taken: dict[str, int] = {}
    for name in sorted(unique, key=lambda name: (name not in _PREFERRED, unique.index(name))):
        wanted = _PREFERRED.get(name, 0)
        usual = [(wanted + step) % len(PALETTE) for step in range(len(PALETTE))]
        order = [*usual, *range(len(PALETTE), len(ALL))]
        free = [index for index in order if index not in taken.values()]
        taken[name] = free[0] if free else len(taken) % len(ALL)
    return {name: ALL[taken[name]] for name in unique}


def in_order(names: Iterable[str]) -> dict[str, str]:
    """Gives names the colours in turn."""
    return {name: ALL[index % len(ALL)] for index, name in enumerate(dict.fromkeys(names))}


def links(names: Iterable[str]) -> dict[str, str]:
    """Gives links colours from the end of the palette, so that they differ from the first flows."""
    return {name: PALETTE[-2 - index % (len(PALETTE) - 1)] for index, name in enumerate(dict.fromkeys(names))}


def dashes(count: int) -> list[list[int]]:
    """Dashes of lines, by series: solid for the first eight, then another pattern for every eight."""
    return [_DASHES[index // len(PALETTE) % len(_DASHES)] for index in range(count)]
