"""The CCPerf family: congestion controls over paths that stay, share, change, lose and wander; one class an experiment, one line here."""

from bloatlab.experiments.base import Experiment
from bloatlab.experiments.ccperf.fairness import RttFairness, StartTimeFairness, SynchronousFairness
from bloatlab.experiments.ccperf.paths import SteadyState
from bloatlab.experiments.ccperf.responsiveness import ResponsivenessPulse, ResponsivenessStep
from bloatlab.experiments.ccperf.static import LossResilience, ShallowBuffers
from bloatlab.experiments.ccperf.varying import RandomWalk, ReplayRateTrace

FAMILY: tuple[Experiment, ...] = (
    SteadyState(),
    SynchronousFairness(),
    StartTimeFairness(),
    RttFairness(),
    ResponsivenessStep(),
    ResponsivenessPulse(),
    LossResilience(),
    ShallowBuffers(),
    ReplayRateTrace(),
    RandomWalk(),
)

__all__ = ["FAMILY"]
