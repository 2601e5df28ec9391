"""One colour per flow, algorithm or link, the same everywhere on a page."""

from collections.abc import Iterable

# Okabe and Ito 2008, without black and yellow: each reads on white, on dark, and to the colour-blind.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5FB5", "#8C6D4F")

# Marks that tell series apart where colour alone does not: print in grey, more than eight series.
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")

# Well-known names keep their colour whatever else is in the picture.
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
    """Give each name a colour: its usual one when free, else the next free, else again from the start.

    Args:
        names: Names in any order; the answer keeps their first appearance.

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
    """Give names the palette's colours in turn."""
    return {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(dict.fromkeys(names))}


def links(names: Iterable[str]) -> dict[str, str]:
    """Give links colours from the palette's other end, so that they do not look like the first flows."""
    return {name: PALETTE[-2 - index % (len(PALETTE) - 1)] for index, name in enumerate(dict.fromkeys(names))}
