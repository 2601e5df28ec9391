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
Linux: two seeds of 7.2.13 for every cell, ten more of 7.2.12 (engine `linux-virtual`) for cells that were outside an aim with
two, and again 16 to 40 for those of sfb, CDG and a few others, which vary most. Pings vary by 10 % everywhere but in the runs
of 7.2.12 with several flows, where their interval does not matter. *chance*: the means are further apart than
the aim, but a permutation test over the seeds gives p of at least 0.05.
*differs*: p is below 0.05. *too few seeds*: Linux has two seeds of that cell, which cannot tell."""

CAUSES = """## What differs, and why

**The end of the growth of a receive window** decided cells that differed before: `pfifo limit 661` at 160 ms with one flow, and
`pfifo limit 1000` with four flows of CUBIC at 50 Mbit/s and 20 ms. While it grows, every segment is acknowledged, and it goes on
growing when the application has read. Since the simulator's receivers read when 64 KiB wait, as those of the references, these
cells agree.

**Pings at equal intervals** would make more cells differ: a single flow keeps in step with them, and one packet decides in which
way. With pings every 20 ms, `codel` with one flow of CUBIC at 10 Mbit/s and 20 ms drops 105 packets in a whole run here and 77
in Linux (means of six seeds); without pings 74 and 73.

**sfb** amplifies small differences (letter e of the [queues](parity.md)). Ten seeds are few for it: over 100, one flow at
50 Mbit/s and 80 ms has 99 drops here and 105 in Linux (132 seeds), and four flows use 0.576 of the link in both.
**CDG** reacts to microseconds (letter b of the [congestion controls](parity.md)).

**hybla** with four flows at 160 ms and 4 BDP is chance: over 24 other seeds on both sides it drops 6,608 packets here and 5,763
in Linux.

The rest, judged as chance, have several modes. With ECN, for example, one lost SYN makes most drops of a run (letter f of the
[queues](parity.md))."""


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
        [
            "# Parity with Linux, several seeds",
            "",
            *INTRO.splitlines(),
            "",
            markdown(found(), cells=False).rstrip("\n"),
            "",
            *CAUSES.splitlines(),
            "",
        ]
    )
