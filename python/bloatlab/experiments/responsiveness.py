"""The responsiveness test (RPM): the load and the probes of draft-ietf-ippm-responsiveness-09."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

from bloatlab import units
from bloatlab.errors import ParameterError
from bloatlab.experiments import criteria, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import WAIT, Quantity, Runs, weighed
from bloatlab.experiments.base import Experiment, plain
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.queues import with_ecn, with_limit
from bloatlab.judges.ramp import EXPERIMENT, FOREIGN, LOAD
from bloatlab.judges.responsiveness import MINUTE_MS, VERSION, WINDOW, category

if TYPE_CHECKING:
    from bloatlab.result import Result

FOREIGN_BYTES, SELF_BYTES = 5000, 1000
"""Bytes that the draft counts for a probe on a new connection, and for one on a load-generating connection."""
SHARE = 0.05
"""Largest share of the capacity that probes may take."""
RESPONSE = "4500B"
"""Response to a foreign probe: with handshake and headers the exchange has about `FOREIGN_BYTES`."""


class Responsiveness(Experiment):
    """More and more connections fill the link, and probes measure round trips per minute."""

    name = EXPERIMENT
    title = "Responsiveness under working conditions (RPM)"
    question = "How many round trips per minute does the path allow under load, and which queue keeps them?"
    summary = (
        "One load-generating connection starts, and another one in each interval, while probes fetch a small object on new "
        "connections. How many round trips per minute does the path allow under this load?"
    )
    source = VERSION
    compared = ("queue", "cca")
    figures = (
        "delay_throughput", "comparison", "time_series", "queue", "operating_point", "queue_distribution", "rtt_histogram",
        "in_flight", "ecdf",
    )  # fmt: skip
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "queue", "fifo", "",
            allowed="a queue of `bloatlab algorithms`, a table with its `kind`, or module:Class",
            help="queue discipline in both directions; unless set or swept, fifo, codel and fq_codel are swept",
            read=read.algorithm("queues"),
        ),
        shared.ecn(),
        Parameter(
            "direction", "down", "", allowed="down, up",
            help="direction of the load; probes always fetch, so with `up` their requests cross the loaded link",
            read=read.choice("down", "up"), published="down, then up",
        ),
        Parameter(
            "rate", "20Mbit/s", "bit/s", allowed="a rate such as 20Mbit/s", help="rate of the download", read=read.rate
        ),
        Parameter("up", "5Mbit/s", "bit/s", allowed="a rate such as 5Mbit/s", help="rate of the upload", read=read.rate),
        shared.rtt("20ms"),
        shared.qlen("the limit of the queue itself"),
        shared.cca("cubic", "congestion control of the load-generating connections"),
        shared.count("connections", 16, "flows", "load-generating connections at most", low=1, high=1000),
        Parameter(
            "interval", "5s", "s", allowed=shared.A_DURATION, help="time between two connections, and between two evaluations",
            read=read.duration,
        ),
        shared.count(
            "probes", 100, "1/s",
            f"probes of each kind per second at most; at most {100 * SHARE:g} % of the loaded direction's rate", low=1,
        ),
        Parameter(
            "notsent", "5ms", "s", allowed=shared.A_DURATION,
            help="data that a sender holds unsent, as time at its rate (TCP_NOTSENT_LOWAT); a self probe waits behind it",
            read=read.duration,
        ),
        Parameter(
            "stop", None, "s", allowed=shared.A_DURATION,
            help=f"when the run ends; by default {WINDOW} intervals after the last connection", read=read.duration,
        ),
    )  # fmt: skip

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """A plain queue and two that manage their delay."""
        return {"queue": ("fifo", "codel", "fq_codel")}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """The end of the run: the whole ramp, and a window with all connections."""
        interval = units.duration(values["interval"])
        if interval <= 0:
            raise ParameterError(
                f"interval: `{values['interval']}` is not longer than 0 s (allowed: {shared.A_DURATION})"
            )
        if values["stop"] is None:
            values["stop"] = f"{interval * (values['connections'] + WINDOW):g}s"
        return values

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A link with a queue in each direction, the ramp of connections, and the clients that probe."""
        queue = params["queue"] if params["qlen"] is None else with_limit(params["queue"], params["qlen"])
        queue = with_ecn(queue, params["ecn"])
        pairs = probes_per_second(params)
        clients = math.ceil(pairs)
        return {
            "name": self.name,
            "duration": params["stop"],
            "dumbbell": {
                "rate": params["rate"], "reverse_rate": params["up"], "rtt": params["rtt"],
                "queue": queue, "reverse_queue": queue,
            },
            "flows": [
                {
                    "name": LOAD,
                    "count": params["connections"],
                    "start_interval": params["interval"],
                    "direction": "forward" if params["direction"] == "down" else "reverse",
                    "cca": params["cca"],
                    "tcp": shared.tcp(params),
                },
                {
                    "name": FOREIGN,
                    "count": clients,
                    "start_interval": f"{1e3 / pairs:.3f}ms",
                    "traffic": {
                        "kind": "fetch", "response": RESPONSE, "interval": f"{1e3 * clients / pairs:.3f}ms", "connection": "new",
                    },
                    "tcp": shared.tcp(params),
                },
            ],
        }  # fmt: skip

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs, by the fetch times over the whole test."""
        fetch = Quantity(
            "median time of a foreign probe", criteria.mean_of("probe", FOREIGN, "p50_rtt"), words=WAIT, short="time"
        )
        waits = quantities.waiting(LOAD, " of the load")
        return weighed(runs.by(*self.compared), fetch, quantities.goodput(LOAD, "goodput of the load"), bulk=waits)

    def answers(self, runs: Sequence[Result]) -> list[Finding]:
        """Responsiveness of each run, the best first, and when the test would have ended."""
        rows: list[tuple[float, tuple[str, ...]]] = []
        scores: dict[str, float] = {}
        for run in runs:
            verdict = run.verdict
            judgement, probes = verdict.judges["rpm"], verdict.evidence.exchanges
            if probes is None or judgement.value is None:
                continue
            label = f"{plain(run.parameters['queue'])}, {run.parameters['cca']}, {run.parameters['direction']}"
            scores.setdefault(label, judgement.value)
            rpms = (judgement.value, MINUTE_MS / fmean((probes.tcp_ms, probes.http_ms)), MINUTE_MS / probes.loaded_ms)
            started = round(probes.to_s / units.duration(run.parameters["interval"]))
            row = (
                label,
                *(f"{value:.0f}" for value in rpms),
                category(judgement.value),
                f"{probes.from_s:g} to {probes.to_s:g}",
                str(min(run.parameters["connections"], started)),
                "high" if probes.stable else "medium",
            )
            rows.append((-judgement.value, row))
        if not rows:
            return []
        best, worst = max(scores, key=scores.__getitem__), min(scores, key=scores.__getitem__)
        said = f"{best} allows {scores[best]:,.0f} round trips per minute ({category(scores[best])})"
        if worst != best:
            said += f", {worst} {scores[worst]:,.0f} ({category(scores[worst])})"
        return [
            Finding(
                "How many round trips per minute?", "", f"{said}.", COLUMNS, tuple(row for _, row in sorted(rows)), NOTE
            )
        ]


COLUMNS = ("run", "RPM", "foreign RPM", "loaded RPM", "class", "window (s)", "connections", "confidence")
NOTE = (
    "Foreign: on new connections, without TLS. Loaded: on the load-generating connections. Confidence is high if goodput and "
    "responsiveness became stable by the end of the window, where the test of the draft ends."
)


def probes_per_second(params: Mapping[str, Any]) -> float:
    """Probes of each kind per second: as many as asked for, as long as they take at most `SHARE` of the capacity."""
    capacity = units.rate(params["rate" if params["direction"] == "down" else "up"])
    return min(float(params["probes"]), SHARE * capacity / (8 * (FOREIGN_BYTES + SELF_BYTES)))
