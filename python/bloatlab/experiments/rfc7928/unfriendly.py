"""Senders that are more aggressive than TCP, and senders without congestion control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bloatlab import units
from bloatlab.experiments import answering, criteria, quantities, shared
from bloatlab.experiments.answering import Runs
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.rfc7928.base import Rfc7928, bulk, common


class Aggressive(Rfc7928):
    """A flow of an aggressive congestion control beside a friendly one."""

    name = "rfc7928-aggressive"
    title = "An aggressive flow beside a friendly one"
    question = "What share does each queue leave to a NewReno flow beside a more aggressive flow?"
    summary = (
        "A flow that grows faster than NewReno shares the bottleneck with a NewReno flow. How long is the delay, and "
        "which share does each queue leave to NewReno?"
    )
    section = "section 5.2; the friendly flow beside it is ours (`friendly=0` leaves it out)"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        shared.cca("cubic", "congestion control of the aggressive flows", published="cubic"),
        shared.count("aggressive", 1, "flows", "aggressive flows", low=1),
        shared.count("friendly", 1, "flows", "NewReno flows beside them"),
    )
    own_axes: ClassVar[Mapping[str, Any]] = {"cca": ["cubic", "bbr"]}
    criteria = (
        *criteria.delay(),
        criteria.goodput(),
        criteria.goodput("bulk_friendly", title="goodput of the friendly flow", group="fairness"),
        criteria.fairness(),
        criteria.loss(),
        criteria.synchronization(),
    )

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        share = quantities.share("bulk_friendly", ("bulk_friendly", "bulk_aggressive"), "share of the NewReno flow")
        ways = answering.contrast(runs.by("cca"), share) if "cca" in runs.varying else []
        return [
            *answering.contrast(runs.by("queue"), share, quantities.waiting()), *ways, *answering.only(runs, "queue"),
        ]  # fmt: skip

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The two kinds."""
        found = [bulk(params, params["aggressive"], params["cca"], "bulk_aggressive")]
        if params["friendly"]:
            found.append(bulk(params, params["friendly"], "newreno", "bulk_friendly"))
        return found


class Unresponsive(Rfc7928):
    """Datagrams faster than the link, alone and beside a TCP flow."""

    name = "rfc7928-unresponsive"
    title = "A sender without congestion control"
    question = "What is left for TCP when datagrams arrive faster than the link can send?"
    summary = (
        "Datagrams arrive faster than the link carries them, alone and beside a TCP flow. How long is the delay of the "
        "queue, and what share does TCP get?"
    )
    section = "section 5.3"
    parameters: ClassVar[tuple[Parameter, ...]] = common(
        shared.count("load", 120, "%", "rate of the datagrams, as a share of the bottleneck's rate", low=1, high=1000),
        shared.count("friendly", 1, "flows", "NewReno flows beside them"),
    )
    own_axes: ClassVar[Mapping[str, Any]] = {"friendly": [0, 1]}
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *criteria.delay("udp", title="datagrams' queueing delay", group="datagrams"),
        *criteria.delay(),
        criteria.goodput(title="goodput of TCP"),
        criteria.utilization(group="utilization"),
        criteria.loss(),
    )

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        share = quantities.share("bulk", ("bulk", "udp"), "share of TCP beside the datagrams")
        groups = runs.by("queue")
        alone = runs.where("friendly", 0)
        mixed = [value for value in runs.values("friendly") if value]
        beside = runs.where("friendly", mixed[0]).by("queue") if mixed else []
        delay = quantities.waiting("udp", " of datagrams")
        return [
            *answering.contrast(beside, share),
            *answering.contrast(groups if mixed else alone.by("queue"), delay),
            *answering.only(runs, "queue"),
        ]

    def flows(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The datagrams, and the TCP flows if there are any."""
        rate = units.write_rate(units.rate(params["rate"]) * params["load"] / 100)
        udp = {"name": "udp", "traffic": {"kind": "cbr", "rate": rate, "packet": "1200B"}}
        return [udp, *([bulk(params, params["friendly"])] if params["friendly"] else [])]
