"""Runs every congestion control through the whole family, with one report and one ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab.errors import ParameterError, unknown
from bloatlab.experiments import answering, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Runs
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.ccperf.base import CCPERF, FLOWS
from bloatlab.experiments.ccperf.deep import DeepBuffersSweep
from bloatlab.experiments.ccperf.fairness import RttFairness, StartTimeFairness, SynchronousFairness
from bloatlab.experiments.ccperf.paths import SteadyState
from bloatlab.experiments.ccperf.responsiveness import ResponsivenessPulse, ResponsivenessStep
from bloatlab.experiments.ccperf.static import LossResilience, ShallowBuffers
from bloatlab.experiments.ccperf.varying import RandomWalk, ReplayRateTrace
from bloatlab.experiments.congestion_controls import comparable
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.suite import Part, Suite

FAMILY: tuple[Experiment, ...] = (
    SteadyState(),
    SynchronousFairness(),
    StartTimeFairness(),
    RttFairness(),
    ResponsivenessStep(),
    ResponsivenessPulse(),
    LossResilience(),
    ShallowBuffers(),
    DeepBuffersSweep(),
    ReplayRateTrace(),
    RandomWalk(),
)
NAMES = tuple(member.name for member in FAMILY)


def _members(value: Any) -> str:
    """Reads names of members joined by `+`."""
    given = [name.strip().replace("_", "-") for name in str(value).split("+")]
    for name in given:
        if name not in NAMES:
            raise unknown("experiment of cc-benchmark", name, NAMES)
    return "+".join(dict.fromkeys(given))


class CcBenchmark(Suite):
    """The whole family as one benchmark."""

    name = "cc-benchmark"
    title = "Every congestion control through CCPerf"
    question = "Which congestion control uses the most of varied paths, and which keeps the shortest queue?"
    summary = (
        "All responsive congestion controls go through the whole family: constant and varying paths, shallow and deep "
        "buffers, random loss, and competing flows. Each experiment ranks them, and their ranks make one overall "
        "ranking."
    )
    source = CCPERF
    compared = ("cca",)
    figures: ClassVar[tuple[str, ...]] = ("scores",)
    members = FAMILY
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "ccas", None, "",
            allowed="congestion controls of `bloatlab algorithms` with + between them",
            help="the contenders; by default all responsive ones", read=read.names("congestion_controls"),
        ),
        Parameter(
            "experiments", "+".join(NAMES), "",
            allowed=" + ".join(NAMES), help="the experiments to run", read=_members,
        ),
        Parameter(
            "stop", None, "s",
            allowed=shared.A_DURATION, help="length of every run; by default each experiment's own",
            read=read.duration,
        ),
        Parameter(
            "queue", None, "",
            allowed="a queue of `bloatlab algorithms`, a table with its `kind`, or module:Class",
            help="queue discipline of every bottleneck, with each experiment's limit; by default, the queue of "
                 "each experiment, a FIFO that does not mark",
            read=read.algorithm("queues"),
        ),
        Parameter(
            "ecn", None, "",
            allowed="true, false", help="every flow negotiates ECN (RFC 3168); algorithms that need marks do so anyway",
            read=read.boolean,
        ),
    )  # fmt: skip

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        return answering.used(runs.by(*self.compared), quantities.USE, quantities.waiting(FLOWS))

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """All responsive congestion controls, unless some are named."""
        if values["ccas"] is None:
            values["ccas"] = "+".join(comparable())
        return values

    def parts(self, values: Mapping[str, Any]) -> list[Part]:
        """The requested members, each with its own axes."""
        ccas: Sequence[str] = list(dict.fromkeys(read.split_names(values["ccas"])))
        if len(ccas) < 2:
            raise ParameterError("ccas: name two or more, because a ranking compares them")
        base = {name: values[name] for name in ("stop", "queue", "ecn") if values[name] is not None}
        asked = values["experiments"].split("+")
        members = [member for member in self.members if member.name in asked]
        return [Part(member, base, {**member.axes(), "cca": ccas}) for member in members]
