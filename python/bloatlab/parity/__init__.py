"""Parity: the simulator beside a real Linux kernel, cell by cell over a grid, with several seeds on each side.

A cell is a dumbbell with one queue, one congestion control, rate, RTT and number of flows. Each metric of a cell is compared
with its aim. Where it is outside, a two-sample test tells whether the seeds of each side differ as much by chance.
"""

from bloatlab.parity.aims import AIMS, Aim
from bloatlab.parity.cached import Cached
from bloatlab.parity.judge import Cell, Judged, Word, judge
from bloatlab.parity.scenario import Parity
from bloatlab.parity.study import Found, Request, grid, study

__all__ = ["AIMS", "Aim", "Cached", "Cell", "Found", "Judged", "Parity", "Request", "Word", "grid", "judge", "study"]
