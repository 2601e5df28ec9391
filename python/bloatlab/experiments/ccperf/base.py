"""Shared by the experiments of CCPerf: greedy flows over a dumbbell with the connection settings of deep-buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from bloatlab.errors import ParameterError
from bloatlab.experiments import answering, criteria, quantities
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Runs
from bloatlab.experiments.congestion_controls import comparable
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.deep_buffers import DeepBuffers
from bloatlab.experiments.parameters import Parameter

FLOWS = "flow"
"""Prefix of the names of the flows: `flow_1`, `flow_2` and so on."""
CCPERF = "CCPerf (C. L. Vielhaus et al., doi 10.1109/COMST.2025.3533303)"

DELAYS = criteria.delay(FLOWS, group="delay")
EFFORT = (
    Criterion(
        "retransmitted", "share retransmitted", "", "lower", "loss",
        "sum of total_retransmissions_l4 / arrivals at the bottleneck",
        lambda metrics: retransmitted(metrics), share=True,
    ),
    Criterion(
        "timeouts", "timeouts", "", "lower", "loss", "sum over the flows of total_rtos_l4",
        criteria.sum_of("flow", FLOWS, "total_rtos_l4"), minor=True,
    ),
)  # fmt: skip
POWER = Criterion(
    "power", "network power", "Mbit/s per s", "higher", "power",
    "mean over the flows of mean_network_power_l4", criteria.mean_of("flow", FLOWS, "mean_network_power_l4"),
)  # fmt: skip
STEADINESS = Criterion(
    "unsteadiness", "variation of throughput", "", "lower", "steadiness",
    "mean over the flows of cov_throughput_l4", criteria.mean_of("flow", FLOWS, "cov_throughput_l4"),
)  # fmt: skip
FAIRNESS = (
    criteria.fairness(FLOWS),
    Criterion(
        "evenness", "slowest / fastest flow", "", "higher", "fairness",
        "smallest / largest mean_throughput_l7 of a flow", lambda metrics: _evenness(metrics),
    ),
)  # fmt: skip
ONE_FLOW = (criteria.goodput(FLOWS), *DELAYS, POWER, STEADINESS, *EFFORT)
"""A constant path and one flow."""
VARYING = (criteria.utilization(), *DELAYS, POWER, *EFFORT)
"""A path that changes: throughput is compared with the available rate, and must vary."""
SHARED = (criteria.utilization(), *FAIRNESS, *DELAYS, *EFFORT)
"""Several flows."""


def retransmitted(metrics: criteria.Metrics) -> float | None:
    """Retransmissions as a share of the packets that reached the bottleneck."""
    sent = criteria.values(metrics, "link", criteria.BOTTLENECK, "arrivals")
    again = criteria.values(metrics, "flow", FLOWS, "total_retransmissions_l4")
    return sum(again) / sum(sent) if again and sum(sent) > 0 else None


def _evenness(metrics: criteria.Metrics) -> float | None:
    found = criteria.values(metrics, "flow", FLOWS, "mean_throughput_l7")
    return min(found) / max(found) if len(found) > 1 and max(found) > 0 else None


class CcPerf(DeepBuffers):
    """Base class of the family; a subclass defines the differences from deep-buffers."""

    claims = ()
    comparison = ()
    fitted = ""
    reproduce_params: ClassVar[Mapping[str, Any]] = {}
    compared = ("cca",)
    packets_per_flow = 20
    figures: ClassVar[tuple[str, ...]] = (
        "goodput_delay", "places", "delay_ranges", "criteria", "time_series", "queue", "operating_point", "in_flight",
        "queue_distribution", "rtt_histogram", "ecdf",
    )  # fmt: skip
    criteria: ClassVar[tuple[Criterion, ...]] = ONE_FLOW
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Defaults of parameters of deep-buffers that differ here; `None`: derived."""
    own: ClassVar[tuple[Parameter, ...]] = ()
    """Further parameters, before those of deep-buffers."""
    own_axes: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """Its own axes besides the congestion control."""

    def __init_subclass__(cls) -> None:
        """Sets the parameters: its own, then those of deep-buffers with other defaults."""
        super().__init_subclass__()
        cls.source = CCPERF
        shared = [_with_default(parameter, cls.defaults) for parameter in DeepBuffers.parameters]
        first, *rest = shared
        cls.parameters = (first, *cls.own, *rest)

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Every responsive congestion control, and the experiment's own axes."""
        return {"cca": comparable(), **self.own_axes}

    def vary(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The dumbbell's `vary`; `None` if nothing varies."""
        return {}

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        found = answering.used(runs.by(*self.compared), quantities.USE, quantities.waiting(FLOWS))
        return [*found, *answering.only(runs, "cca")]

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The dumbbell of deep-buffers with its `vary`."""
        document = super().scenario(params)
        vary = self.vary(params)
        if vary:
            document["dumbbell"]["vary"] = vary
        return document


def _with_default(parameter: Parameter, defaults: Mapping[str, Any]) -> Parameter:
    if parameter.name == "cca":
        return replace(parameter, help=f"{parameter.help}; unless set or swept, all responsive ones are swept")
    if parameter.name == "qlen":
        parameter = replace(parameter, published=None, help="limit of the bottleneck's queue; by default 20p x k")
    parameter = replace(parameter, published=None)
    return replace(parameter, default=defaults[parameter.name]) if parameter.name in defaults else parameter


def target(default: str = "rate") -> Parameter:
    """The quantity of the path that changes."""
    return Parameter(
        "target", default, "", allowed="rate, rtt, loss", help="the quantity of the path that changes",
        read=read.choice("rate", "rtt", "loss"),
    )  # fmt: skip


def bound(name: str, help_: str) -> Parameter:
    """A value of the target in its unit."""
    return Parameter(
        name, None, "", allowed="a rate, a duration or a probability, depending on `target`", help=help_, read=of_target,
    )  # fmt: skip


def of_target(value: Any) -> Any:
    """Reads a rate, a duration or a probability. Whether it fits the target is checked when the target is known."""
    for reader in (read.rate, read.duration, read.probability):
        try:
            return reader(value)
        except ParameterError:
            continue
    raise ParameterError(f"`{value}` is not a rate, a duration or a probability")


READERS = {"rate": read.rate, "rtt": read.duration, "loss": read.probability}


def settle(values: dict[str, Any], defaults: Mapping[str, Mapping[str, Any]]) -> None:
    """Fills in the default bounds of the target, and checks that given bounds fit the target."""
    for name, of in defaults[values["target"]].items():
        if values[name] is None:
            values[name] = of
        else:
            try:
                values[name] = READERS[values["target"]](values[name])
            except ParameterError as error:
                raise ParameterError(f"{name}: {error} (the target is {values['target']})") from error
