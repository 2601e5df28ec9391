"""Scores that other tools and documents define: grade, RPM, QoO and voice MOS.

Each judge is one file with pure functions. `run.of_run` judges a run from its metrics.
"""

from bloatlab.judges.base import Call, Evidence, Exchanges, Input, Judge, Judgement, LoadedPing, Ping
from bloatlab.judges.evidence import bottleneck, collect, percentiles, through_bottleneck
from bloatlab.judges.verdict import JUDGES, MEANINGS, TITLES, Verdict, judge, line_of

__all__ = [
    "JUDGES",
    "MEANINGS",
    "TITLES",
    "Call",
    "Evidence",
    "Exchanges",
    "Input",
    "Judge",
    "Judgement",
    "LoadedPing",
    "Ping",
    "Verdict",
    "bottleneck",
    "collect",
    "judge",
    "line_of",
    "percentiles",
    "through_bottleneck",
]
