"""FIFO, PIE and FQ-CoDel on a 60 GHz link (Srivastava, Fund and Panwar 2020): four queues, four link scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from bloatlab.experiments import answering, criteria, naming, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Group, Quantity, Runs
from bloatlab.experiments.base import Experiment, FileMaker, PublishedRun
from bloatlab.experiments.claim import Cases, Claim, Metrics, Verdict
from bloatlab.experiments.mmwave import files, readings, reasons, traffic
from bloatlab.experiments.mmwave.claims import CLAIMS, COMPARISON
from bloatlab.experiments.mmwave.setup import (
    CASES,
    FINELY,
    FLOW,
    OF_2019,
    OFFLOADS,
    OFTEN,
    PIE_OF_2019,
    PING,
    QUEUES,
    SCENARIOS,
    SOURCE,
    TCP_OF_2019,
    TODAY,
)
from bloatlab.experiments.parameters import Parameter

if TYPE_CHECKING:
    from bloatlab.result import Result


PING_RTT = Quantity(
    "95th percentile of the RTT of the ping", criteria.mean_of("probe", PING, "p95_rtt"), words=answering.WAIT
)


def _queue(value: Any) -> Any:
    """A queue of the source by its name, or another queue."""
    return value if isinstance(value, str) and value in QUEUES else read.algorithm("queues")(value)


class MmwaveAqm(Experiment):
    """Ten CUBIC flows and a ping through a bottleneck that follows a measured or a generated rate."""

    name = "mmwave-aqm"
    title = "FIFO, PIE and FQ-CoDel on a 60 GHz link"
    question = "Which queue keeps the RTT short on a 60 GHz link whose rate dips, and what throughput does it cost?"
    summary = (
        "Ten CUBIC flows and a ping cross a link with the rate of a 60 GHz link with people in its path. How do a large "
        "FIFO (`largefifo`, 7.5 MB), a small FIFO (`smallfifo`, 1.875 MB), PIE and FQ-CoDel react to its dips? There are "
        "four scenarios: nobody moves (`sl`), a person crosses the path (`sb`), a person stands in it (`lb`), or the "
        "receiver walks while people cross (`mobb`). The source changed the rate of a shaper step by step; here the link has a "
        "varying rate."
    )
    source = SOURCE
    compared = ("queue",)
    columns: ClassVar[tuple[str, ...]] = ("sRTT (ms)",)
    figures: ClassVar[tuple[str, ...]] = (
        "srtt_grid", "delay_throughput", "time_series", "queue", "queue_distribution", "operating_point",
    )  # fmt: skip
    series = ("flow_series", "link_series")
    data = ("traces", "player")
    cases: ClassVar[Sequence[str]] = tuple(CASES)
    published: ClassVar[Mapping[str, PublishedRun]] = CASES
    claims: ClassVar[tuple[Claim, ...]] = CLAIMS
    comparison: ClassVar[tuple[Claim, ...]] = COMPARISON
    fitted = (
        "Nothing was fitted to the figure, but samples count from 2 s on, because it does not show the start. Runs without "
        "`traces` draw the rate from a generator that was fitted to statistics of the authors' traces (mean rate; number, length "
        "and depth of dips)."
    )
    measures: ClassVar[Mapping[str, str]] = {name: one.unit for name, one in traffic.MEASURES.items()}
    measure_titles: ClassVar[Mapping[str, str]] = {name: one.title for name, one in traffic.MEASURES.items()}
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "queue", next(iter(QUEUES)), "",
            allowed=f"{', '.join(QUEUES)} as in the source, or any queue of `bloatlab algorithms`, a table with its `kind`, or "
            "module:Class",
            help="queue discipline of the bottleneck: `largefifo` of 7.5 MB, `smallfifo` of 1.875 MB, `pie` and `fq_codel` with "
            "limit 5000p and target 10ms; these four unless set or swept",
            read=_queue, published=", ".join(QUEUES),
        ),
        Parameter(
            "scenario", next(iter(SCENARIOS)), "",
            allowed=", ".join(SCENARIOS),
            help="what happens to the link: static (`sl`), a person crosses (`sb`), a person stands in the path (`lb`), walking "
            "and crossings (`mobb`); these four unless set or swept",
            read=read.choice(*SCENARIOS), published=", ".join(SCENARIOS),
        ),
        Parameter(
            "traces", None, "",
            allowed="a directory with sl-tput.csv, sb-tput.csv, lb-tput.csv and mobb-tput.csv",
            help="the authors' traces, which have no licence and are not shipped; by default the rate is generated with "
            "their statistics",
            read=str, published="measured traces",
        ),
        Parameter(
            "player", "authors", "",
            allowed="authors, exact",
            help="how the rate is set; `authors`: with the quirks of the authors' player (a rate of 0 keeps the "
                 "previous rate; in traces, an interval also loses its last digit, and a last line without a newline "
                 "is skipped); `exact`: as drawn or written, and 0 is an outage",
            read=read.choice("authors", "exact"), published="authors",
        ),
        Parameter(
            "traffic", traffic.BULK, "",
            allowed=", ".join(traffic.KINDS), help=traffic.HELP, read=read.choice(*traffic.KINDS),
            published=f"{traffic.BULK}; others are future work",
        ),
        shared.count("flows", 10, "flows", "number of long TCP flows, as iperf3 -P, or of clients", low=1, high=1000),
        shared.cca("cubic", f"congestion control of the flows; {shared.AS_IN_LINUX}", "cubic"),
        Parameter(
            "offload", next(iter(OFFLOADS)), "",
            allowed=", ".join(OFFLOADS),
            help="segmentation offload of the hosts; `both`: buffers as Linux makes them, with one ACK per buffer; "
                 "`receive`: segments that leave together get one ACK; `none`: one ACK per two segments",
            read=read.choice(*OFFLOADS), published="not stated, on by default",
        ),
        Parameter(
            "kernel", TODAY, "",
            allowed=f"{TODAY}, {OF_2019}",
            help=f"which Linux hosts and shaper are; `{OF_2019}`, when the source measured: `pie` computes its delay from the "
                 "departure rate (timestamps came with 5.5), and offload buffers are not larger for short RTTs (5.18)",
            read=read.choice(TODAY, OF_2019), published="not stated; 2019 by its date",
        ),
        shared.rtt("500us", published="below 1ms"),
        Parameter(
            "sample_interval", OFTEN, "",
            allowed=f"{OFTEN}, {FINELY}",
            help="time between two samples of the connections and of the queue",
            read=read.choice(OFTEN, FINELY), published="0.1 s and the time that ss takes",
        ),
        shared.stop("120s"),
        shared.warmup("0s"),
    )  # fmt: skip

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """The four queues in the four scenarios."""
        return {"scenario": list(SCENARIOS), "queue": list(QUEUES)}

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        found = []
        for kind in runs.values("traffic"):
            groups = runs.where("traffic", kind).by(*self.compared)
            told = _of_clients(groups, kind) if traffic.KINDS.get(kind) else _of_flows(groups)
            lead = f"With traffic {kind}: " if "traffic" in runs.varying else ""
            found += [f"{lead}{line}" for line in told]
        return [*found, *answering.only(runs, "queue")]

    def measure(self, metrics: Metrics) -> dict[str, float]:
        """What users of web pages, videos and downloads see; nothing of long flows."""
        return traffic.measured(metrics)

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A dumbbell whose rate varies, a shaper as in Linux: Ethernet's header counts in the queue and on the wire."""
        queue, of_2019 = params["queue"], params["kernel"] == OF_2019
        named = {**QUEUES, "pie": PIE_OF_2019} if of_2019 else QUEUES
        hosts = {
            "cca": shared.as_in_linux(params["cca"]),
            "tcp": {**OFFLOADS[params["offload"]], **(TCP_OF_2019 if of_2019 else {})},
        }
        return {
            "name": self.name,
            "duration": params["stop"],
            "warmup": params["warmup"],
            "sample_interval": params["sample_interval"],
            "dumbbell": {
                "rate": SCENARIOS[params["scenario"]],
                "rtt": params["rtt"],
                "queue": named.get(queue, queue) if isinstance(queue, str) else queue,
                "header": 14,
                "shaper": True,
                "vary": {"rate": _rate(params)},
            },
            "flows": [*traffic.flows(params["traffic"], params["flows"], hosts), shared.ping()],
        }

    def verdicts(self, metrics: Cases, parameters: Mapping[str, Any] | None = None) -> list[Verdict]:
        """Compares the claims. The note of one that does not hold says why, from the runs."""
        return reasons.told(super().verdicts(metrics, parameters), metrics)

    def readings(self, run: Result) -> dict[str, float]:
        """Numbers for the claims."""
        return readings.of_run(run)

    def files(self, run: Result) -> Mapping[str, FileMaker]:
        """What ping, ss, tc and iperf3 printed, and the tables that the authors made from it."""
        own = {name: run.parameters[name] for name in ("queue", "scenario")}
        mark = naming.mark(self, run, own, usual=naming.is_plain(own["queue"]))
        return files.of_run(run, files.name(own["scenario"], own["queue"], naming.number(run), mark))


def _of_flows(groups: Sequence[Group]) -> list[str]:
    """What the queues do to long flows and to a ping."""
    trip = Quantity(
        "95th percentile of the RTT of the TCP flows",
        criteria.mean_of("flow", FLOW, "p95_rtt_l4"),
        words=answering.WAIT,
        short="RTT",
    )
    found = [*answering.weighed(groups, trip, quantities.goodput(FLOW)), *answering.contrast(groups, PING_RTT)]
    return answering.said_once(groups, found)


def _of_clients(groups: Sequence[Group], kind: str) -> list[str]:
    """What the queues do to pages, videos, downloads and a ping."""
    told = [quantity for client in traffic.KINDS[kind] for quantity in traffic.SAID[client]]
    return answering.every(groups, *told, PING_RTT)


def _rate(params: Mapping[str, Any]) -> dict[str, Any]:
    """The rate over time: the preset of the generator, or the trace of that name."""
    quirks = params["player"] == "authors"
    if params["traces"] is None:
        return {"kind": "mmwave", "preset": params["scenario"], "zero_keeps_rate": quirks}
    return {
        "kind": "file",
        "file": f"{params['traces'].rstrip('/')}/{params['scenario']}-tput.csv",
        "format": "rate_interval",
        **dict.fromkeys(("zero_keeps_rate", "interval_loses_digit", "skips_unfinished_line"), quirks),
    }
