"""TCP-friendly senders: long flows by level of congestion, and short flows with small and large initial windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab import units
from bloatlab.experiments import answering, criteria, phrases, quantities, shared
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.rfc7928.base import LEVELS, LONG_FLOWS, Rfc7928, bulk, common, congestion, in_ms


class Bulk(Rfc7928):
    """Long flows of one kind at three levels of congestion."""

    name = "rfc7928-bulk"
    title = "Long flows at mild to heavy congestion"
    question = "How long do packets of long flows wait in each queue, and how many are lost, as congestion grows?"
    summary = (
        "TCP-friendly flows with the same initial window keep the bottleneck busy: how long is the delay of each "
        "queue, how many packets are lost, and do flows lose packets together?"
    )
    section = "sections 5.1.1 and 8.2.2 to 8.2.4"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        *congestion(),
        shared.cca("newreno", published="newreno"),
        shared.count("initial_window", 3, "segments", "initial window of the flows", low=1, high=1000),
    )
    own_axes: ClassVar[Mapping[str, Any]] = {"congestion": list(LEVELS)}

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The long flows."""
        return [bulk(params, params["flows"], params["cca"], tcp={"initial_window": params["initial_window"]})]


class InitialWindow(Rfc7928):
    """A long flow, and short flows with an initial window of 3 or 10."""

    name = "rfc7928-initial-congestion-window"
    title = "Short flows that start at 3 or 10 segments"
    question = "Do short flows finish sooner with an initial window of 10 segments than with 3, and in which queue?"
    summary = (
        "One long flow keeps the queue in its steady state, and short flows of 50 segments start one after the other. "
        "How long do they take with a small initial window, and with one that is a burst?"
    )
    section = "section 5.1.2"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        shared.cca("newreno", published="newreno"),
        shared.count(
            "iw", 10, "segments", "initial window of the short flows; that of the long flow is 3", low=1, high=1000
        ),
        shared.count("size", 50, "segments", "length of a short flow; the RFC asks for more than 10 and at most 100"),
        shared.count("shorts", 10, "flows", "number of short flows, evenly spread over the run", low=1, high=1000),
    )
    own_axes: ClassVar[Mapping[str, Any]] = {"iw": [3, 10]}
    criteria = (
        criteria.completion("short"),
        criteria.start_up("short"),
        *criteria.delay("short", title="short flows' queueing delay", group="short flows' delay"),
        *criteria.delay(),
        criteria.goodput(),
        criteria.loss(),
        criteria.loss_bursts(),
    )

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        taken = Quantity(
            "completion time of short flows", criteria.mean_of("flow", "short", "flow_completion_time_l4"), phrases.seconds,
            answering.WAIT,
        )  # fmt: skip
        windows = answering.contrast(runs.by("iw"), taken) if "iw" in runs.varying else []
        return [*windows, *answering.contrast(runs.by("queue"), taken), *answering.only(runs, "iw")]

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The long flow and the short flows."""
        # Evenly spread over the measured part of the run. After the last start one interval is left.
        from_, until = units.duration(params["warmup"]), units.duration(params["stop"])
        apart = (until - from_) / (params["shorts"] + 1)
        short = {
            "name": "short",
            "count": params["shorts"],
            "cca": params["cca"],
            "start": in_ms(from_ + apart),
            "start_interval": in_ms(apart),
            "start_jitter": in_ms(apart / 4),
            "traffic": {"kind": "finite", "bytes": f"{params['size'] * 1448}B"},
            "tcp": shared.tcp(params, initial_window=params["iw"]),
        }
        return [bulk(params, 1, params["cca"], tcp={"initial_window": 3}), short]


class Ecn(Rfc7928):
    """The scenario of rfc7928-bulk with and without marking."""

    name = "rfc7928-ecn"
    title = "Marking instead of dropping"
    question = "How many losses does marking (ECN) avoid, and what does it cost in delay?"
    summary = (
        "The long flows of rfc7928-bulk with and without ECN: how many losses does marking avoid, and what does it "
        "cost in delay?"
    )
    section = "section 4.5"
    parameters: ClassVar[tuple[Parameter, ...]] = common(*congestion(), shared.cca("newreno"))
    own_axes: ClassVar[Mapping[str, Any]] = {"ecn": ["off", "on"]}
    criteria = LONG_FLOWS

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        if "ecn" not in runs.varying:
            return [*super().answer(runs), *answering.only(runs, "ecn")]
        marks = criteria.mean_of("link", criteria.BOTTLENECK, "marks")
        queues = runs.values("queue")
        marking = [queue for queue in queues if any(marks(run.metrics) for run in runs.where("queue", queue))]
        counted, rest = (runs.among("queue", marking), len(queues) - len(marking)) if marking else (runs, 0)
        said = answering.every(counted.by("ecn"), quantities.LOSS, quantities.waiting(), quantities.goodput())
        others = {0: [], 1: ["The other queue marked no packet."]}
        return [*said, *others.get(rest, [f"The other {rest} queues marked no packet."])]

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The long flows."""
        return [bulk(params, params["flows"], params["cca"])]
