"""Six queues and three low-priority congestion controls through one bottleneck (ns-2), as published and with equal limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab.errors import ParameterError
from bloatlab.experiments import parameters as read
from bloatlab.experiments import shared
from bloatlab.experiments.aqm_survey import setup
from bloatlab.experiments.aqm_survey.cases import RUNS
from bloatlab.experiments.aqm_survey.claims import CLAIMS, COMPARISON
from bloatlab.experiments.aqm_survey.findings import findings
from bloatlab.experiments.aqm_survey.measures import MEASURES, measure
from bloatlab.experiments.aqm_survey.setup import EQUAL, FAIR, FIX, PUBLISHED, QUEUES, SOURCE
from bloatlab.experiments.base import Cases, Claim, Experiment, Metrics, PublishedRun
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.parameters import Parameter


def _queue(value: Any) -> Any:
    """One of the source's, or a queue of the registry."""
    own = setup.kind(value)
    return own if isinstance(own, str) and own in QUEUES else read.algorithm("queues")(value)


def _ccp(value: Any) -> Any:
    """One of the source's, or a congestion control of the registry."""
    own = setup.low_priority(value)
    return own if isinstance(own, str) and own in setup.CCPS else read.algorithm("congestion_controls")(value)


def _packets(value: Any) -> int:
    """A whole number of packets, `400` or `400p`."""
    found: int = read.whole(2, 100_000)(value.strip().removesuffix("p") if isinstance(value, str) else value)
    return found


def _rate(value: Any) -> str:
    """A rate in one way of writing, so that it is the same point however it was written."""
    from bloatlab import units

    found = units.rate(value)
    if found < 1:
        raise ParameterError(f"`{value}` is not a rate of at least 1bit/s")
    return f"{found / 1e6:.12g}Mbit/s"


class AqmSurvey(Experiment):
    """Reno and a low-priority congestion control, ten flows together, through each queue."""

    name = "aqm-survey"
    title = "A survey of queues against bufferbloat"
    summary = (
        "Ten flows share a bottleneck: some are TCP Reno, the others LEDBAT, TCP-LP or TCP-NICE, which are to use what Reno "
        "leaves. Six queues, eight capacities, four buffers and ten mixtures: what a queue does to the delay is not all; it also "
        "decides whether low priority stays low."
    )
    source = SOURCE
    compared = ("queue", "ccp", "mode")
    replications = 10
    measures: ClassVar[Mapping[str, str]] = MEASURES
    figures: ClassVar[tuple[str, ...]] = (
        "survey_base", "survey_scores", "survey_shares", "survey_capacity", "survey_buffer", "survey_workload",
        "queue", "time_series",
    )  # fmt: skip
    cases: ClassVar[Sequence[str]] = tuple(RUNS)
    published: ClassVar[Mapping[str, PublishedRun]] = RUNS
    claims: ClassVar[tuple[Claim, ...]] = CLAIMS
    comparison: ClassVar[tuple[Claim, ...]] = COMPARISON
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "queue", "fifo", "",
            allowed=f"{', '.join(QUEUES.values())}, a queue of `bloatlab algorithms`, a table with its `kind`, or module:Class",
            help="queue discipline of the bottleneck; the six of the source by their bare names have their parameters by `mode`; "
            "any other, or one in a table, is bounded by `buf` unless it sets a limit",
            read=_queue, published=", ".join(QUEUES.values()),
        ),
        Parameter(
            "ccp", "ledbat", "",
            allowed=f"{', '.join(setup.CCPS.values())}, a congestion control of `bloatlab algorithms`, a table with its `kind`, "
            "or module:Class",
            help="congestion control of the low-priority flows; bare names are ns-2's: `ledbat` with a target of 25 ms, no slow "
            "start, windows down to one segment and every delay by itself, `lp` its variant `ns2`; a table, as "
            "`{kind=\"ledbat\"}`, is the standard's",
            read=_ccp, published=", ".join(setup.CCPS.values()),
        ),
        Parameter(
            "buf", 400, "packets",
            allowed="2 to 100000, such as 400 or 400p", help="limit of the bottleneck's queue", read=_packets,
            published="100, 200, 300, 400",
        ),
        Parameter(
            "cap", "4Mbit/s", "bit/s",
            allowed="a rate such as 4Mbit/s", help="rate of the bottleneck", read=_rate, published="0.25 to 10 Mbit/s",
        ),
        Parameter(
            "wld", 5, "flows",
            allowed=f"0 to {setup.FLOWS}", help="how many of the ten flows are TCP Reno", read=read.whole(0, setup.FLOWS),
            published="1 to 10",
        ),
        Parameter(
            "delays", FIX, "",
            allowed=f"{FIX}, {FAIR}",
            help=f"propagation of the five pairs' access links: `{FIX}` 6 ms each, `{FAIR}` 2, 4, 6, 8 and 10 ms; the bottleneck "
            f"adds {setup.BOTTLENECK_MS} ms",
            read=read.choice(FIX, FAIR), published=f"{FIX}, {FAIR}",
        ),
        Parameter(
            "mode", PUBLISHED, "",
            allowed=f"{PUBLISHED}, {EQUAL}",
            help=f"`{PUBLISHED}`: ns-2's parameters of each queue (SFQ holds 40 packets and DRR 25 kB whatever `buf`); "
            f"`{EQUAL}`: every queue holds `buf`",
            read=read.choice(PUBLISHED, EQUAL), published=PUBLISHED,
        ),
        Parameter(
            "ccp_start", "5s", "s",
            allowed=shared.A_DURATION,
            help="when the low-priority flows join the Reno flows, which start at once; nearest to slide 15, as are 1 to 6 s",
            read=read.duration, published="not stated",
        ),
        Parameter(
            "start_jitter", "100ms", "s",
            allowed=shared.A_DURATION,
            help="each flow starts later by a time drawn below this; up to 0.1 s fits slide 15",
            read=read.duration, published="not stated",
        ),
        Parameter("time", "60s", "s", allowed=shared.A_DURATION, help="length of the run", read=read.duration, published="60s"),
    )  # fmt: skip

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """The six queues, at the base point."""
        return {"queue": list(QUEUES)}

    def measure(self, metrics: Metrics) -> dict[str, float]:
        """The source's metrics."""
        return measure(metrics)

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """One bottleneck, ten flows."""
        return setup.scenario(params)

    def findings(self, cases: Cases) -> list[Finding]:
        """What our runs say of the source's conclusions."""
        return findings(cases)
