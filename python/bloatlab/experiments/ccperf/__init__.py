"""The CCPerf family: congestion controls over paths that stay, share, change, lose and wander; one class an experiment."""

from bloatlab.experiments.ccperf.benchmark import FAMILY, CcBenchmark

__all__ = ["FAMILY", "CcBenchmark"]
