"""Expectations: what the metrics of a scenario's runs must be, so that a queue's behaviour is a regression test.

A scenario or plan lists them as `[[expect]]`. `check` makes the runs and judges every expectation; `junit.write` writes
the results for a CI system.
"""

from bloatlab.expectations import junit
from bloatlab.expectations.checking import Checked, Prepared, prepare
from bloatlab.expectations.expectation import Expectation, read
from bloatlab.expectations.judging import Judged, Measured, PointJudged, judge

__all__ = [
    "Checked",
    "Expectation",
    "Judged",
    "Measured",
    "PointJudged",
    "Prepared",
    "judge",
    "junit",
    "prepare",
    "read",
]
