"""Ranks every queue of the registry on the same bottleneck with the same traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab.experiments import answering, criteria, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Runs
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.claim import Metrics
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.queues import SMALLEST, comparable
from bloatlab.judges import JUDGES, TITLES, collect, judge

BUFFER = 4
"""Limit of every queue in bandwidth-delay products: enough for a long delay without active queue management."""
SCORES = {one.name: one.unit for one in JUDGES if one.name != "qoo_web"}
"""The scores that are columns, and their units. QoO of web browsing needs a percentile that is no metric."""


class AqmComparison(Experiment):
    """Bulk transfers of several kinds against a call, pages and a ping."""

    name = "aqm-comparison"
    title = "Every queue on the same bottleneck"
    question = "Which queue keeps calls and pages quick beside bulk transfers, and what does it cost these transfers?"
    summary = (
        "Bulk flows of several congestion controls share one bottleneck with a call, web pages and a ping; all queue "
        "disciplines except wrappers are tried and ranked by delay, throughput, fairness and loss."
    )
    source = (
        "bloatlab; metrics after RFC 7928 section 2, traffic after RFC 7928 section 9.1, buffer of four "
        "bandwidth-delay products as in deep-buffers"
    )
    figures = (
        "goodput_delay", "delay_ranges", "criteria", "time_series", "operating_point", "queue", "queue_distribution",
        "rtt_histogram", "in_flight", "ecdf",
    )  # fmt: skip
    parameters: ClassVar[tuple[Parameter, ...]] = (
        shared.queue(),
        shared.ecn(),
        shared.rate("20Mbit/s"),
        shared.rtt("40ms"),
        shared.qlen(f"{BUFFER} bandwidth-delay products, at least {SMALLEST}p"),
        Parameter(
            "ccas", "cubic+newreno+bbr", "",
            allowed="congestion controls of `bloatlab algorithms` with + between them",
            help="congestion controls of the bulk flows",
            read=read.names("congestion_controls"),
        ),
        shared.count("flows", 1, "flows", "bulk flows of each congestion control", low=1, high=1000),
        Parameter(
            "page", "500kB", "bytes",
            allowed="bytes such as 500kB", help="size of a web page, fetched one second after the last was complete",
            read=read.size,
        ),
        shared.stop("60s"),
        shared.warmup("10s"),
    )  # fmt: skip
    measures: ClassVar[Mapping[str, str]] = SCORES
    measure_titles: ClassVar[Mapping[str, str]] = TITLES
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *criteria.delay(),
        *criteria.voip(),
        *criteria.ping(),
        *criteria.web(),
        criteria.goodput(),
        criteria.fairness(),
        criteria.loss(),
    )

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Every queue except wrappers."""
        return {"queue": comparable()}

    def measure(self, metrics: Metrics) -> dict[str, float]:
        """Scores of the run in the field's units, which the ranking does not weigh."""
        numbers = judge(collect(metrics, intervals_ms={"ping": shared.PING_MS})).numbers
        return {name: numbers[name] for name in SCORES if name in numbers}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """The same limit for all queues."""
        return shared.derive_limit(values, BUFFER, SMALLEST)

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        groups, delay = runs.by(*self.compared), quantities.call()
        return [
            *answering.weighed(
                groups,
                delay,
                quantities.goodput(name="goodput of the transfers"),
                quantities.page(),
                bulk=quantities.waiting(of=quantities.OF_TRANSFERS),
            ),
            *answering.only(runs, "queue"),
        ]

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A dumbbell that bulk and sparse flows share."""
        bulk = [
            {
                "name": f"bulk_{kind.rpartition(':')[2].lower()}",
                "count": params["flows"],
                "start_jitter": "1s",
                "cca": kind,
                "tcp": shared.tcp(params),
            }
            for kind in dict.fromkeys(read.split_names(params["ccas"]))
        ]
        page = {"kind": "fetch", "response": params["page"], "interval": "1s"}
        return {
            "name": self.name,
            "duration": params["stop"],
            "warmup": params["warmup"],
            "dumbbell": shared.dumbbell(params),
            "flows": [
                *bulk,
                shared.call(),
                {"name": "web", "traffic": page, "tcp": shared.tcp(params)},
                shared.ping(),
            ],
        }
