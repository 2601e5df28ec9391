"""What the comparison says in words, on the terminal and on its page."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bloatlab.experiments import phrases
from bloatlab.parity.judge import Cell, Judged
from bloatlab.parity.study import Found, counts

OFF = {"ecn": "off", "loss": "0", "duplicate": "0", "jitter": "0s"}
"""Values of parameters that stand for nothing special."""


def label(cell: Cell) -> str:
    """The swept parameters of a cell, such as `fq_codel, RTT 80ms, 4 flows`. What is off is not mentioned."""
    of = cell.parameters
    return _listed(of) or ", ".join(_worded(name, value) for name, value in of.items())


def fixed(found: Found) -> str:
    """The parameters that all cells share; empty if there is nothing to say."""
    return _listed(found.fixed)


def _listed(parameters: Mapping[str, str]) -> str:
    return ", ".join(_worded(name, value) for name, value in parameters.items() if value != OFF.get(name))


def _worded(name: str, value: str) -> str:
    if name == "flows":
        return phrases.plural(int(value), "flow")
    worded = {
        "rtt": "RTT",
        "ecn": "ECN",
        "duration": "runs of",
        "loss": "loss",
        "duplicate": "duplicates",
        "jitter": "jitter",
    }
    return f"{worded[name]} {value}" if name in worded else value


def sentence(found: Found) -> str:
    """How many comparisons agree, and what the others are."""
    of = counts(found.judged)
    ours, theirs = (
        min(len(side) for side in sides) for sides in zip(*((c.ours, c.theirs) for c in found.cells), strict=True)
    )
    each = f"{phrases.plural(ours, 'seed')} on each side"
    seeds = each if ours == theirs else f"{phrases.plural(ours, 'seed')} here and {theirs} or more of the kernel"
    share = phrases.percent(of["agrees"] / len(found.judged))
    text = (
        f"{of['agrees']} of {len(found.judged)} comparisons ({share}) are within their aims, over "
        f"{phrases.plural(len(found.cells), 'cell')} with {seeds}"
    )
    outside = [
        f"{of['differs']} differ{'s' if of['differs'] == 1 else ''} by more than chance" if of["differs"] else "",
        f"{of['chance']} may differ by chance" if of["chance"] else "",
        f"{of['too few seeds']} {'has' if of['too few seeds'] == 1 else 'have'} too few seeds to tell"
        if of["too few seeds"]
        else "",
    ]
    rest = ", ".join(part for part in outside if part)
    return f"{text}. Of the others, {rest}." if rest else f"{text}."


def ratio_text(ratio: float | None) -> str:
    """A ratio with four significant digits, so that those of a column are as long."""
    return phrases.NONE if ratio is None or not math.isfinite(ratio) else f"{ratio:#.4g}"


def modes_text(one: Judged) -> str:
    """How many runs of each side are in each mode, such as `477 ms: 4 in sim, 5 in the kernel`."""
    parts = []
    for of in one.modes:
        span = phrases.number(of.low)
        if of.high > of.low:
            span += f" to {phrases.number(of.high)}"
        parts.append(f"{span} {one.aim.unit}".rstrip() + f": {of.ours} in sim, {of.theirs} in the kernel")
    return "; ".join(parts)
