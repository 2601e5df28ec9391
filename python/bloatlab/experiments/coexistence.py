"""Every pair of congestion controls on one bottleneck: their shares, and the delay of the other flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab.experiments import shared
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.congestion_controls import comparable
from bloatlab.experiments.parameters import Parameter, number
from bloatlab.experiments.queues import bdp_packets

DEPTHS = (0.5, 4)
QUEUES = ("fifo", "codel", "fq_codel")
LATER = "3s"
"""Start of the newcomer: after slow start, and before the queue has grown for long."""


class Coexistence(Experiment):
    """A flow (the incumbent) and one that joins it (the newcomer)."""

    name = "coexistence"
    title = "Congestion controls side by side"
    summary = (
        "A flow joins another one on a bottleneck: every congestion control with every other and with itself, "
        "in shallow and in deep buffers, with several queues. The heat maps show the newcomer's share of the "
        "throughput and the queueing delay of the incumbent."
    )
    source = "bloatlab; after the coexistence studies of Turkovic, Kuipers and Uhlig 2019 and of CCPerf"
    figures = ("share_matrix", "delay_matrix", "time_series", "operating_point", "queue", "in_flight", "ecdf")
    parameters: ClassVar[tuple[Parameter, ...]] = (
        shared.cca("cubic", "congestion control of the flow that joins", name="newcomer"),
        shared.cca("cubic", "congestion control of the flow that is there", name="incumbent"),
        shared.queue(),
        shared.ecn(),
        shared.rate("20Mbit/s"),
        shared.rtt("40ms"),
        Parameter(
            "depth", 1.0, "bandwidth-delay products",
            allowed="0.01 to 1000", help="limit of the queue, if qlen is not given", read=number(0.01, 1000),
        ),
        shared.qlen("`depth` bandwidth-delay products"),
        shared.count("flows", 1, "flows", "flows of each congestion control", low=1, high=1000),
        shared.stop("30s"),
        shared.warmup("10s"),
    )  # fmt: skip

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Every pair of the responsive congestion controls, at two depths with three queues."""
        algorithms = comparable()
        return {"queue": QUEUES, "depth": DEPTHS, "newcomer": algorithms, "incumbent": algorithms}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """The limit from the depth."""
        if values["qlen"] is None:
            values["qlen"] = f"{bdp_packets(values['rate'], values['rtt'], values['depth'])}p"
        return values

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A dumbbell that both flows share."""
        tcp = shared.tcp(params)
        both = (("incumbent", "0s"), ("newcomer", LATER))
        return {
            "name": self.name,
            "duration": params["stop"],
            "warmup": params["warmup"],
            "dumbbell": shared.dumbbell(params),
            "flows": [
                {
                    "name": role,
                    "count": params["flows"],
                    "cca": params[role],
                    "start": start,
                    "start_jitter": "100ms",
                    "tcp": tcp,
                }
                for role, start in both
            ],
        }
