"""Every pair of congestion controls on one bottleneck: their shares, and the delay of the other flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, ClassVar

from bloatlab.experiments import answering, criteria, phrases, quantities, shared
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.congestion_controls import comparable
from bloatlab.experiments.parameters import Parameter, number
from bloatlab.experiments.queues import bdp_packets

DEPTHS = (0.5, 4)
QUEUES = ("fifo", "codel", "fq_codel")
LATER = "3s"
"""Start of the newcomer: after slow start, and before the queue has grown for long."""


ROLES = ("newcomer", "incumbent")
STARVED = 0.1
"""Share of the throughput of both below which a flow counts as starved."""
MOST_QUEUES = 3
"""Largest number of queues with an own sentence."""
_SHARE = quantities.share("newcomer", ROLES, "share of the newcomer")


def _shares(runs: Runs) -> list[tuple[str, str, float]]:
    """Pairs of different congestion controls: which got less, which got more, and the smaller share."""
    found = []
    for group in runs.by(*ROLES):
        share = group.mean(_SHARE.read)
        newcomer, incumbent = (phrases.value(group.points[0][0].parameters[role]) for role in ROLES)
        if share is not None and newcomer != incumbent:
            found.append((newcomer, incumbent, share) if share < 0.5 else (incumbent, newcomer, 1 - share))
    return found


def _starved(runs: Runs) -> str:
    """Who starves with a queue, or the smallest share."""
    pairs = _shares(runs)
    if not pairs:
        return ""
    loser, winner, least = min(pairs, key=lambda pair: pair[2])
    starved = sum(share < STARVED for *_, share in pairs)
    queue = phrases.value(runs.values("queue")[0])
    count = (
        f"{starved} of {phrases.plural(len(pairs), 'pair')} leave{'s' if starved == 1 else ''} one flow less than "
        f"{phrases.percent(STARVED)}"
        if starved
        else f"no flow gets less than {phrases.percent(STARVED)}"
    )
    return f"With {queue}, {count}; the smallest share is that of {loser} beside {winner} ({phrases.percent(least)})."


def _taker(runs: Runs) -> list[str]:
    """Which congestion control leaves others the least on average over all queues."""
    left: dict[str, list[float]] = {}
    for queue in runs.values("queue"):
        for loser, winner, share in _shares(runs.where("queue", queue)):
            left.setdefault(winner, []).append(share)
            left.setdefault(loser, []).append(1 - share)
    if len(left) < 2:
        return []
    means = {name: fmean(shares) for name, shares in left.items()}
    worst = min(means, key=means.__getitem__)
    return [f"Averaged over queues and partners, {worst} leaves the least to others: {phrases.percent(means[worst])}."]


def _pair(runs: Runs) -> list[str]:
    """The shares of a single pair, and the delay of the incumbent."""
    newcomer, incumbent = (phrases.value(runs.values(role)[0]) for role in ROLES)
    groups = runs.by("queue", "depth")
    share = Quantity(f"share of the newcomer ({newcomer}) beside {incumbent}", _SHARE.read, phrases.percent)
    delay = Quantity(
        "mean queueing delay of the incumbent",
        criteria.mean_of("flow", "incumbent", "mean_sojourn_l4"),
        words=answering.WAIT,
    )
    return [*answering.contrast(groups, share, delay), "Other pairs were not run."]


class Coexistence(Experiment):
    """A flow (the incumbent) and one that joins it (the newcomer)."""

    name = "coexistence"
    title = "Congestion controls side by side"
    question = "Which congestion controls starve which others on a shared bottleneck, and does the queue prevent it?"
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

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        if len(runs.by("newcomer", "incumbent")) == 1:
            return _pair(runs)
        found = [_starved(runs.where("queue", queue)) for queue in runs.values("queue")]
        return [*filter(None, found[:MOST_QUEUES]), *_taker(runs)]

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
