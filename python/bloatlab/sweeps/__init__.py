"""Sweeps: a plan of runs, threads or a cluster that run it, and a store that remembers what is finished."""

from bloatlab.sweeps.collector import Ended, Progress, Standing, Summary
from bloatlab.sweeps.executor import DEFAULT_SETTINGS, execute
from bloatlab.sweeps.plan import PlannedRun, Source, plan, plan_points
from bloatlab.sweeps.source import ExperimentSource, ScenarioSource
from bloatlab.sweeps.suite import plan_all

__all__ = [
    "DEFAULT_SETTINGS",
    "Ended",
    "ExperimentSource",
    "PlannedRun",
    "Progress",
    "ScenarioSource",
    "Source",
    "Standing",
    "Summary",
    "execute",
    "plan",
    "plan_all",
    "plan_points",
]
