"""Shared by the experiments after RFC 7928: dumbbell, levels of congestion, and criteria of its section 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, ClassVar

from bloatlab import units
from bloatlab.experiments import answering, criteria, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.queues import MTU, bdp_packets, comparable

LEVELS = {"mild": 0.001, "medium": 0.005, "heavy": 0.01}
"""RFC 7928 sections 8.2.2 to 8.2.4: the loss rate that a drop-tail queue would have."""
SMALLEST = 10
"""Smallest buffer in packets: a smaller bandwidth-delay product would not hold an initial window."""

LONG_FLOWS: tuple[Criterion, ...] = (
    *criteria.delay(),
    criteria.goodput(),
    criteria.fairness(),
    criteria.loss(),
    criteria.loss_bursts(),
    criteria.synchronization(),
    criteria.start_up(),
)
"""Criteria of RFC 7928 section 2 for long flows."""


def common(
    *own: Parameter, rate: str = "10Mbit/s", rtt: str = "100ms", stop: str = "60s", warmup: str = "10s"
) -> tuple[Parameter, ...]:
    """The shared parameters, with those of an experiment between them."""
    return (
        shared.queue(),
        shared.rate(rate),
        shared.rtt(rtt),
        shared.qlen("the bandwidth-delay product of the largest RTT", published="one bandwidth-delay product"),
        *own,
        shared.ecn(),
        shared.stop(stop),
        shared.warmup(warmup),
    )


def congestion(default: str = "medium") -> tuple[Parameter, Parameter]:
    """The level of congestion and the resulting number of flows."""
    level = Parameter(
        "congestion", default, "",
        allowed=", ".join(LEVELS),
        help="level of congestion: the number of long flows at which a drop-tail queue would lose 0.1, 0.5 or 1 %",
        read=read.choice(*LEVELS),
    )  # fmt: skip
    flows = Parameter(
        "flows", None, "flows",
        allowed="1 to 10000", help="number of long flows; by default, from the level of congestion",
        read=read.whole(1, 10000),
    )  # fmt: skip
    return level, flows


def case(cases: Sequence[str], help_: str) -> Parameter:
    """The case of a table of the RFC."""
    return Parameter("case", cases[0], "", allowed=", ".join(cases), help=help_, read=read.choice(*cases))


def flows_at(level: str, params: Mapping[str, Any]) -> int:
    """RFC 7928 section 8.2.1: l = 0.76 N^2 / S^2, S is the number of packets in flight and in the buffer."""
    limit = units.queue_limit(params["qlen"])
    held = limit.value // MTU if limit.unit == "bytes" else limit.value
    pipe = bdp_packets(params["rate"], params["rtt"]) + held
    return max(1, round(pipe * sqrt(LEVELS[level] / 0.76)))


class Rfc7928(Experiment):
    """Base class of the scenarios of the guidelines; a subclass defines the flows."""

    figures = (
        "goodput_delay", "goodput_ellipses", "delay_ranges", "criteria", "time_series", "operating_point", "queue",
        "queue_distribution", "rtt_histogram", "in_flight", "ecdf",
    )  # fmt: skip
    compared = ("queue",)
    criteria: ClassVar[tuple[Criterion, ...]] = LONG_FLOWS
    section: ClassVar[str]
    own_axes: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """Axes of the RFC besides the queue."""
    asked: ClassVar[tuple[Quantity, ...]] = (quantities.waiting(), quantities.LOSS)
    """What the question is about: the number that queues are compared by, then others of the same queues."""
    carried: ClassVar[Quantity | None] = quantities.goodput()
    """Throughput that a queue should not cost; `None`: the answer says nothing about it."""
    filling: ClassVar[Quantity | None] = None
    """Delay of the bulk flows, if the question is about the delay of others."""

    def __init_subclass__(cls) -> None:
        """Sets the source to the section of the RFC."""
        super().__init_subclass__()
        cls.source = f"RFC 7928 {cls.section}"

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Every queue except wrappers, and the axes of the RFC."""
        return {"queue": comparable(), **self.own_axes}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """RFC 7928 section 3.2: the buffer is a bandwidth-delay product."""
        values = shared.derive_limit(values, 1, SMALLEST)
        if values.get("flows", 0) is None:
            values["flows"] = flows_at(values["congestion"], values)
        return values

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Who sends."""
        raise NotImplementedError

    def dumbbell(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What they cross."""
        return shared.dumbbell(params)

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        groups, (first, *rest) = runs.by("queue"), self.asked
        if self.carried is None:
            return [*answering.contrast(groups, first, *rest), *answering.only(runs, "queue")]
        return [
            *answering.weighed(groups, first, self.carried, *rest, bulk=self.filling),
            *answering.only(runs, "queue"),
        ]

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The flows over the dumbbell."""
        return {
            "name": self.name,
            "duration": params["stop"],
            "warmup": params["warmup"],
            "dumbbell": self.dumbbell(params),
            "flows": self.flows(params),
        }


def bulk(
    params: Mapping[str, Any], count: int, cca: Any = "newreno", name: str = "bulk", **keys: Any
) -> dict[str, Any]:
    """Long flows that start within a second of each other."""
    settings = keys.pop("tcp", {})
    return {
        "name": name,
        "count": count,
        "cca": cca,
        "start_jitter": "1s",
        "tcp": shared.tcp(params, **settings),
        **keys,
    }


def in_ms(seconds: float) -> str:
    """A duration for a scenario, rounded to milliseconds."""
    return f"{round(seconds * 1000)}ms"


def web(params: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7928 section 7.2: pages are fetched over six connections with an initial window of 10.

    Each connection carries a sixth of the page as one object.
    """
    return {
        "name": "web",
        "count": 6,
        "cca": "newreno",
        "traffic": {"kind": "fetch", "response": f"{-(-units.size(params['page']) // 6)}B", "interval": "1s"},
        "tcp": shared.tcp(params, initial_window=10),
    }


def cbr(rate: str = "1Mbit/s") -> dict[str, Any]:
    """Datagrams at a constant rate."""
    return {"name": "cbr", "traffic": {"kind": "cbr", "rate": rate, "packet": "1200B"}}


def video(frame: int = 10_000, per_second: int = 25) -> dict[str, Any]:
    """Video frames sent as bursts of datagrams at 100 Mbit/s."""
    burst_us = frame * 8 // 100
    period_us = 1_000_000 // per_second
    return {
        "name": "video",
        "traffic": {
            "kind": "on_off", "rate": "100Mbit/s", "packet": "1250B", "distribution": "constant",
            "on": f"{burst_us}us", "off": f"{period_us - burst_us}us",
        },
    }  # fmt: skip


def page() -> Parameter:
    """The size of a web page."""
    return Parameter(
        "page", "500kB", "bytes",
        allowed="bytes such as 500kB", help="size of a web page: 50 objects or more, over six connections",
        read=read.size, published="at least 50 objects of 1 kB or more",
    )  # fmt: skip
