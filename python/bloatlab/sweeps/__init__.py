"""Sweeps: a plan of runs, threads that run it, and a store that remembers what is finished."""

from bloatlab.sweeps.executor import Summary, execute
from bloatlab.sweeps.plan import PlannedRun, Source, plan, plan_points
from bloatlab.sweeps.source import ExperimentSource, ScenarioSource
from bloatlab.sweeps.suite import plan_all

__all__ = [
    "ExperimentSource",
    "PlannedRun",
    "ScenarioSource",
    "Source",
    "Summary",
    "execute",
    "plan",
    "plan_all",
    "plan_points",
]
