"""The catalogue of experiments: one file and one line per experiment."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bloatlab.errors import ParameterError
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.ccperf import SYNONYMS
from bloatlab.experiments.claim import Claim, Verdict
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.suite import Suite
from bloatlab.registry import Registry

CLASSES = {
    "deep-buffers": "deep_buffers:DeepBuffers",
    "aqm-comparison": "aqm_comparison:AqmComparison",
    "aqm-survey": "aqm_survey:AqmSurvey",
    "responsiveness": "responsiveness:Responsiveness",
    "rrul": "flent:Rrul",
    "rrul_be": "flent:RrulBe",
    "tcp_nup": "flent:TcpNup",
    "tcp_ndown": "flent:TcpNdown",
    "coexistence": "coexistence:Coexistence",
    "congestion-control-behaviour": "behaviour:CongestionControlBehaviour",
    "nr-rlc": "nr_rlc:NrRlc",
    "mmwave-aqm": "mmwave:MmwaveAqm",
    "home-router": "home_router:HomeRouter",
    "nr-dynamic-buffers": "nr_dynamic_buffers:NrDynamicBuffers",
    "cc-benchmark": "ccperf.benchmark:CcBenchmark",
    "steady-state": "ccperf.paths:SteadyState",
    "synchronous-fairness": "ccperf.fairness:SynchronousFairness",
    "start-time-fairness": "ccperf.fairness:StartTimeFairness",
    "rtt-fairness": "ccperf.fairness:RttFairness",
    "responsiveness-step": "ccperf.responsiveness:ResponsivenessStep",
    "responsiveness-pulse": "ccperf.responsiveness:ResponsivenessPulse",
    "loss-resilience": "ccperf.static:LossResilience",
    "shallow-buffers": "ccperf.static:ShallowBuffers",
    "deep-buffers-sweep": "ccperf.deep:DeepBuffersSweep",
    "replay-rate-trace": "ccperf.varying:ReplayRateTrace",
    "random-walk": "ccperf.varying:RandomWalk",
    "rfc7928-bulk": "rfc7928.friendly:Bulk",
    "rfc7928-initial-congestion-window": "rfc7928.friendly:InitialWindow",
    "rfc7928-ecn": "rfc7928.friendly:Ecn",
    "rfc7928-aggressive": "rfc7928.unfriendly:Aggressive",
    "rfc7928-unresponsive": "rfc7928.unfriendly:Unresponsive",
    "rfc7928-rtt-fairness": "rfc7928.round_trips:RttFairness",
    "rfc7928-rural": "rfc7928.round_trips:Rural",
    "rfc7928-bursts": "rfc7928.traffic:Bursts",
    "rfc7928-mix": "rfc7928.traffic:Mix",
    "rfc7928-bidirectional": "rfc7928.traffic:Bidirectional",
    "rfc7928-varying-congestion": "rfc7928.stability:VaryingCongestion",
    "rfc7928-varying-bandwidth": "rfc7928.stability:VaryingBandwidth",
}
"""The module and the class of each experiment."""

_REQUIRED = ("name", "title", "summary", "source", "parameters")


def _read(found: Any, reference: str) -> tuple[str, Experiment]:
    if not isinstance(found, type) or not issubclass(found, Experiment):
        raise ParameterError(f"`{reference}`: is not a subclass of bloatlab.experiments.Experiment")
    missing = [name for name in _REQUIRED if not hasattr(found, name)]
    if missing:
        raise ParameterError(f"`{reference}`: the class has no {', '.join(f'`{name}`' for name in missing)}")
    return found.name, found()


CATALOGUE: Registry[Experiment] = Registry(
    "experiment", {name: f"{__name__}.{place}" for name, place in CLASSES.items()}, _read
)
"""The experiments of the package, and those of the user that this process has imported."""


def suite_of(names: Collection[str]) -> Suite | None:
    """The suite that has all of these experiments, two or more, as members."""
    if len(names) < 2:
        return None
    suites = (experiment for experiment in CATALOGUE.values() if isinstance(experiment, Suite))
    return next((s for s in suites if set(names) <= {member.name for member in s.members}), None)


def get(name: str | type[Experiment], *, may_import: bool = False) -> Experiment:
    """Finds an experiment by its name, its name in CCPerf or its class. Underscores and hyphens are the same.

    Args:
        name: A name of the catalogue, of an installed package's entry point (group `bloatlab.experiments`), or `module:Class`.
        may_import: Whether code from outside the package may be imported, because the user named the experiment.

    Raises:
        ParameterError: There is no such experiment (the text names the nearest), it may not be imported, or its import fails.
    """
    if isinstance(name, type):
        return CATALOGUE.add(name, f"{name.__module__}:{name.__qualname__}")
    wanted = name.replace("_", "-")
    wanted = SYNONYMS.get(wanted, wanted)
    same = (known for known in CATALOGUE if known.replace("_", "-") == wanted)
    return CATALOGUE.find(next(same, name), may_import=may_import)


__all__ = ["CATALOGUE", "Claim", "Experiment", "Parameter", "Verdict", "get", "suite_of"]
