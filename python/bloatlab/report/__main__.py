"""Makes pages of a suite, as the other process of `beside`: `python -m bloatlab.report DIR WEIGHTS EXPERIMENT...`."""

from __future__ import annotations

import json
import sys

from bloatlab.experiments.weighing import Weights
from bloatlab.report.page import make_members

if __name__ == "__main__":
    directory, weights, *names = sys.argv[1:]
    make_members(directory, names, Weights(json.loads(weights)))
