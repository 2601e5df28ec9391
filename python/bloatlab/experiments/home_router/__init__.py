"""Bufferbloat in the home router (CS244 at Stanford, COL724 at IIT Delhi): a queue of 20 packets against one of 100."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bloatlab.experiments import answering, criteria, naming, phrases, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.base import Experiment, FileMaker, PublishedRun
from bloatlab.experiments.claim import Claim
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.home_router import files, readings
from bloatlab.experiments.home_router.answers import answers
from bloatlab.experiments.home_router.cases import CASES, QUEUES, SIZES
from bloatlab.experiments.home_router.claims import CLAIMS, COMPARISON
from bloatlab.experiments.home_router.setup import BULK, PAGE, PING, PLAIN, PRESETS, SOURCE, flows, links
from bloatlab.experiments.parameters import Parameter

if TYPE_CHECKING:
    from bloatlab.result import Result

OLDER = 5
"""A further value of `maxq` in some editions."""
READINGS = "; ".join(
    f"{name}: {one.direction}, {one.segments_per_buffer} segment{'s' if one.segments_per_buffer > 1 else ''} a buffer"
    for name, one in PRESETS.items()
)


class HomeRouter(Experiment):
    """A long flow fills the router's queue, and a ping and page fetches cross it."""

    name = "home-router"
    title = "Bufferbloat in the home router"
    question = (
        "How much longer do pings and web pages take when a home router has a large queue, and which queue helps?"
    )
    summary = (
        "A server behind a fast link sends a long flow to a home computer behind a slow link. It also pings that computer, "
        "and a web page is fetched every two seconds. What does the size of the queue between the links do to both?"
    )
    source = SOURCE
    shaped: ClassVar[bool] = True
    """Whether the scenario has the shapers of the links."""
    in_linux: ClassVar[bool] = False
    """Whether the queues are the kernel's."""
    compared = ("queue", "cca")
    figures: ClassVar[tuple[str, ...]] = (
        "limit_rtt", "limit_series", "fetch_times", "replications", "time_series", "queue", "operating_point",
        "queue_distribution", "rtt_histogram",
    )  # fmt: skip
    series = ("flow_series", "link_series", "probe_series")
    replications = 5
    cases: ClassVar[Sequence[str]] = tuple(CASES)
    published: ClassVar[Mapping[str, PublishedRun]] = CASES
    claims: ClassVar[tuple[Claim, ...]] = CLAIMS
    comparison: ClassVar[tuple[Claim, ...]] = COMPARISON
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "preset", "col724", "",
            allowed=", ".join(PRESETS),
            help=f"which reading of the assignment; sets `direction` and `segments_per_buffer`: {READINGS}",
            read=read.choice(*PRESETS), published="col724",
        ),
        Parameter(
            "direction", None, "",
            allowed="same, reverse",
            help="direction of the page: `same` (through the queue that the long flow fills) or `reverse` (only "
                 "requests and ACKs cross that queue); by default, from `preset`",
            read=read.choice("same", "reverse", forward="same"), published="not stated",
        ),
        Parameter(
            "segments_per_buffer", None, "segments",
            allowed="1 to 64",
            help="segments that a host with segmentation offload puts into one buffer; the queue holds `maxq` buffers "
                 "(by default, from `preset`)",
            read=read.whole(1, 64), published="not stated",
        ),
        Parameter(
            "maxq", 100, "buffers",
            allowed="1 to 100000",
            help="buffers that the router's queue holds; 5, 20 and 100 unless set or swept",
            read=read.whole(1, 100_000), published="20 and 100",
        ),
        Parameter(
            "queue", PLAIN, "",
            allowed="a queue of `bloatlab algorithms`, a table with its `kind`, tc's words, or module:Class",
            help="queue discipline of the router; one that does not count buffers holds as many packets as `maxq` buffers; "
            f"{PLAIN}, {', '.join(QUEUES)} unless set or swept",
            read=read.algorithm("queues"), published=PLAIN,
        ),
        Parameter(
            "rate", "10Mbit/s", "bit/s",
            allowed="a rate such as 1.5Mbit/s or 100Mbit/s", help="rate of the link to the home computer, both ways",
            read=read.rate, published="10Mbit/s, in an older edition 1.5Mbit/s",
        ),
        Parameter(
            "server_rate", "1Gbit/s", "bit/s",
            allowed="a rate such as 1Gbit/s", help="rate of the server's link", read=read.rate, published="1Gbit/s",
        ),
        Parameter(
            "delay", "1ms", "s",
            allowed=shared.A_DURATION, help="propagation delay of a link, one way; a round trip has four of them",
            read=read.duration, published="1ms",
        ),
        Parameter(
            "time", "60s", "s", allowed=shared.A_DURATION, help="when the run ends", read=read.duration, published="60s",
        ),
        shared.cca("reno", f"congestion control of the long flow and of the page; {shared.AS_IN_LINUX}", "reno"),
        Parameter(
            "page", "177669B", "bytes",
            allowed="bytes such as 177669B", help="size of the web page", read=read.size, published="177669B",
        ),
        Parameter(
            "fetch_interval", "2s", "s",
            allowed=shared.A_DURATION, help="from a page to the next request (`fetch_schedule`)", read=read.duration,
            published="2s",
        ),
        Parameter(
            "fetch_schedule", "after", "",
            allowed="after, every",
            help="where `fetch_interval` starts: `after` a complete page, or `every` interval from request to request",
            read=read.choice("after", "every"), published="not stated",
        ),
        Parameter(
            "fetch_spread", 0.0, "",
            allowed="0 to 1", help="share of `fetch_interval` by which each interval is longer or shorter, drawn uniformly",
            read=read.number(0, 1), published="0",
        ),
        Parameter(
            "initial_window", 10, "segments",
            allowed="1 to 1000", help="initial window of TCP", read=read.whole(1, 1000), published="not stated",
        ),
        Parameter(
            "cached_ssthresh", False, "",
            allowed="true, false",
            help="whether a page starts with the slow-start threshold that the earlier ones left, as in Linux before 5.6",
            read=read.boolean, published="not stated",
        ),
        Parameter(
            "topology", "mininet", "",
            allowed="mininet, clean",
            help="`mininet`: all four queues hold `maxq` buffers, and they also delay packets; `clean`: only those of the "
                 "slow link hold `maxq` buffers, and the server's link delays packets by twice `delay`",
            read=read.choice("mininet", "clean"), published="mininet",
        ),
        Parameter(
            "ping_interval", "100ms", "s",
            allowed=shared.A_DURATION, help="between two pings", read=read.duration, published="100ms",
        ),
        Parameter(
            "receive_buffer", "16MB", "bytes",
            allowed="bytes such as 16MB",
            help="receive buffer that the long flow asks for (`iperf -w`); Linux reserves twice as much",
            read=read.size, published="16MB",
        ),
    )  # fmt: skip

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Its own axes: the limits with the plain queue and with the queues that may help."""
        return {"maxq": [OLDER, *SIZES], "queue": [PLAIN, *QUEUES]}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """Fills in the direction of the page and the buffers from the preset."""
        preset = PRESETS[values["preset"]]
        for name in ("direction", "segments_per_buffer"):
            if values[name] is None:
                values[name] = getattr(preset, name)
        return values

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        trip = Quantity("median RTT of the ping", criteria.mean_of("probe", PING, "p50_rtt"), words=answering.WAIT)
        page = Quantity(
            "median load time of the page", criteria.mean_of("probe", PAGE, "p50_rtt"), words=answering.WAIT
        )
        same = runs.where("queue", PLAIN) or runs
        # The size with the most queues; of several the largest.
        sizes = [runs.where("maxq", size) for size in sorted(runs.values("maxq"), reverse=True)]
        largest = max(sizes, key=lambda of: len(of.values("queue")))
        given = same.values("queue")
        found = answering.contrast(same.by("maxq"), trip, page, at=f"with {PLAIN}" if given == [PLAIN] else "")
        if "queue" in largest.varying:
            groups, at = largest.by("queue"), f"with {phrases.said('maxq', largest[0].parameters['maxq'])}"
            found += answering.contrast(groups, trip, quantities.goodput(BULK, "goodput of the long flow"), at=at)
        return [*found, *answering.only(runs, "maxq")]

    def for_engine(self, engine: str) -> Self:
        """On Linux, the engine shapes the links itself."""
        adapted = super().for_engine(engine)
        if engine.startswith("linux"):
            adapted = copy(adapted)
            adapted.shaped = False  # type: ignore[misc]  # Hides the class's.
            adapted.in_linux = engine != "linux"  # type: ignore[misc]
        return adapted

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Two links between three hosts."""
        return {
            "name": self.name,
            "duration": params["time"],
            "sample_interval": "100ms",
            "boxes": links(params, shaped=self.shaped, in_linux=self.in_linux),
            "flows": flows(params),
        }

    def readings(self, run: Result) -> dict[str, float]:
        """Numbers for the claims."""
        return readings.of_run(run)

    def answers(self, runs: Sequence[Result]) -> list[Finding]:
        """Answers to the questions of the assignment."""
        return answers(runs)

    def files(self, run: Result) -> Mapping[str, FileMaker]:
        """Window, queue, pings and fetches, in the form of the assignment's scripts."""
        own = {name: run.parameters[name] for name in ("preset", "maxq")}
        return files.of_run(run, files.name(own, naming.number(run), naming.mark(self, run, own)))
