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
two, and again 16 to 40 for those of sfb, CDG and a few others, which vary most. *chance*: the means are further apart than
the aim, but a permutation test over the seeds gives p of at least 0.05.
*differs*: p is below 0.05. *too few seeds*: Linux has two seeds of that cell, which cannot tell."""

CAUSES = """## What differs, and why

**One flow locks to the pings.** A ping every 20 ms meets the cycle of a single flow at the same places again and again, and
a cycle that is one or two packets shorter locks in another way. With another interval, or without pings, both sides agree,
or lock the other way round. Drops of a whole run in the simulator / in Linux 7.2.12, means of six seeds:

| cell | 20 ms | 19 ms | 21 ms | no pings |
| --- | --- | --- | --- | --- |
| pfifo limit 41, scalable, 50 Mbit/s, 10 ms (60 s) | 809 / 822 | 911 / 915 | 643 / 637 | 768 / 762 |
| pfifo limit 41, illinois, 50 Mbit/s, 10 ms (60 s) | 220 / 224 | 225 / 208 | 172 / 170 | 161 / 161 |
| pfifo limit 41, reno, 50 Mbit/s, 10 ms (60 s) | 271 / 276 | 280 / 283 | 277 / 242 | 261 / 261 |
| codel, cubic, 10 Mbit/s, 20 ms (30 s) | 105 / 77 | 85 / 80 | 78 / 79 | 74 / 73 |
| codel ecn, cubic, 10 Mbit/s, 20 ms (60 s) | 26 / 5 | 8 / 30 | 16 / 20 | 0 / 0 |

**One flow loses once or twice.** Where the window grows in the same round trip in which a loss is detected, one more
packet is lost. reno and westwood with `pfifo limit 165` at 10 ms are such cells (reno without pings: 18 / 21 drops). A trace
of westwood is equal to the segment for five seconds. Then one ACK of Linux's receiver leaves 0.05 ms earlier, because the
timer of SACK compression may expire up to 0.1 ms late and waits for another timer. So one segment more or less counts for the
growth after the recovery, and from then on Linux loses twice in most cycles.

**sfb** amplifies small differences (letter e of the [queues](parity.md)), and **CDG** reacts to microseconds (letter b of the
[congestion controls](parity.md)).

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
