"""The page about the simulator and Linux with several seeds: what `bloatlab parity --cached references` finds."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from bloatlab.parity import Cached, Found, Request, study
from bloatlab.parity.markdown import markdown

SEEDS = 10
INTRO = """The cells of Linux in [Parity](parity.md), as `bloatlab parity --cached references --seeds 10` compares them: all
metrics have bare aims, without an allowance for chance, and every run of the simulator draws its own start times.
Linux: two seeds of 7.2.13 for every cell, and ten more of 7.2.12 (engine `linux-virtual`) for cells that were outside an aim
with two. *chance*: the means are further apart than the aim, but a permutation test over the seeds gives p of at least 0.05.
*differs*: p is below 0.05. *too few seeds*: Linux has two seeds of that cell, which cannot tell."""


@cache
def found(seeds: int = SEEDS) -> Found:
    """The comparison of all cells, with this number of seeds of the simulator."""
    cached = Cached.read("references")
    with tempfile.TemporaryDirectory() as directory:
        compared = study(Path(directory), Request(cached.points, seeds, cached=cached))[1]
    if compared is None:
        raise KeyboardInterrupt
    return compared


def page() -> str:
    """The page, in Markdown: shares, and what is outside its aim."""
    return "\n".join(
        ["# Parity with Linux, several seeds", "", *INTRO.splitlines(), "", markdown(found(), cells=False)]
    )
