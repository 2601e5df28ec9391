"""The catalogue: one file an experiment, one line here."""

from __future__ import annotations

from collections.abc import Collection

from bloatlab.errors import unknown
from bloatlab.experiments.aqm_comparison import AqmComparison
from bloatlab.experiments.aqm_survey import AqmSurvey
from bloatlab.experiments.base import Claim, Experiment, Verdict
from bloatlab.experiments.ccperf import FAMILY as CCPERF
from bloatlab.experiments.ccperf import CcBenchmark
from bloatlab.experiments.coexistence import Coexistence
from bloatlab.experiments.deep_buffers import DeepBuffers
from bloatlab.experiments.laws import CongestionControlLaws
from bloatlab.experiments.mmwave import MmwaveAqm
from bloatlab.experiments.nr_dynamic_buffers import NrDynamicBuffers
from bloatlab.experiments.nr_rlc import NrRlc
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.rfc7928 import FAMILY as RFC7928
from bloatlab.experiments.suite import Suite

CATALOGUE: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        DeepBuffers(),
        AqmComparison(),
        AqmSurvey(),
        Coexistence(),
        CongestionControlLaws(),
        NrRlc(),
        MmwaveAqm(),
        NrDynamicBuffers(),
        CcBenchmark(),
        *CCPERF,
        *RFC7928,
    )
}  # fmt: skip


def suite_of(names: Collection[str]) -> Suite | None:
    """The suite that all of these experiments, two or more, belong to."""
    suites = (experiment for experiment in CATALOGUE.values() if isinstance(experiment, Suite))
    return next((s for s in suites if len(names) > 1 and set(names) <= {member.name for member in s.members}), None)


def get(name: str) -> Experiment:
    """The experiment of this name; underscores count as hyphens.

    Raises:
        ParameterError: There is none; the text names the nearest.
    """
    found = CATALOGUE.get(name.replace("_", "-"))
    if found is None:
        raise unknown("experiment", name, CATALOGUE)
    return found


__all__ = ["CATALOGUE", "Claim", "Experiment", "Parameter", "Verdict", "get", "suite_of"]
