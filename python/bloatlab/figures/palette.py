"""Colours: a flow, an algorithm or a link has the same colour everywhere on a page."""

from collections.abc import Iterable

# Okabe and Ito 2008, without black and yellow: readable on white, on dark, and with colour blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5FB5", "#8C6D4F")

# Shapes distinguish series where colour does not: in grey print, and with more than eight series.
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")

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
    """Gives each name a colour: its usual colour if it is free, else the next free one, else colours repeat.

    Args:
        names: Names in any order; the result has the order of their first appearance.

    Returns:
        Name to `#rrggbb`.
    """
    unique = list(dict.fromkeys(names))
    taken: dict[str, int] = {}
    for name in sorted(unique, key=lambda name: (name not in _PREFERRED, unique.index(name))):
        wanted = _PREFERRED.get(name, 0)
        order = [(wanted + step) % len(PALETTE) for step in range(len(PALETTE))]
        free = [index for index in order if index not in taken.values()]
        taken[name] = free[0] if free else len(taken) % len(PALETTE)
    return {name: PALETTE[taken[name]] for name in unique}


def in_order(names: Iterable[str]) -> dict[str, str]:
    """Gives names the colours of the palette in turn."""
    return {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(dict.fromkeys(names))}


def links(names: Iterable[str]) -> dict[str, str]:
    """Gives links colours from the end of the palette, so that they differ from the first flows."""
    return {name: PALETTE[-2 - index % (len(PALETTE) - 1)] for index, name in enumerate(dict.fromkeys(names))}
