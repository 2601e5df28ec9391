"""Sweeps: a plan of runs, threads that run it, and a store that remembers what is finished."""

from bloatlab.sweep.executor import Summary, execute
from bloatlab.sweep.plan import PlannedRun, Source, plan
from bloatlab.sweep.source import ExperimentSource, ScenarioSource

__all__ = ["ExperimentSource", "PlannedRun", "ScenarioSource", "Source", "Summary", "execute", "plan"]
