"""The load tests of Flent that people post: RRUL, RRUL with best effort only, and n flows in one direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from bloatlab import units
from bloatlab.experiments import criteria, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import WAIT, Quantity, Runs, every, weighed
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.claim import Metrics
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.flent.answers import answers
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.queues import with_ecn, with_limit
from bloatlab.judges import JUDGES, TITLES, collect, judge

if TYPE_CHECKING:
    from bloatlab.result import Result

CLASSES = {"be": "CS0", "bk": "CS1", "cs5": "CS5", "ef": "EF"}
"""The marks of RRUL's flows in each direction, by the name of the class."""
PINGED = {"ping_be": "CS0", "ping_bk": "CS1", "ping_ef": "EF"}
"""The marks of RRUL's UDP pings. The ping `ping` is unmarked, as ICMP is."""
MOST_URGENT = "ping_ef"
PING_MS = 200
"""Flent's step: time between two requests of a ping."""
SCORES = {one.name: one.unit for one in JUDGES if one.name in ("rpm", "qoo_conference")}
"""Scores of the unmarked ping that are columns, and their units."""
DOWN, UP = "down", "up"
"""Begin of the names of the flows in each direction."""
LOADS = {DOWN: "download", UP: "upload"}


class FlentTest(Experiment):
    """Base class: idle time, load, idle time, with pings from the beginning to the end."""

    source = "Flent (Høiland-Jørgensen, Grazia, Hurtig and Brunstrom 2017), whose tests they are named after"
    compared = ("queue", "cca")
    figures = (
        "comparison", "delay_throughput", "time_series", "queue", "operating_point", "queue_distribution", "flow_sojourn",
        "rtt_histogram", "in_flight", "ecdf",
    )  # fmt: skip
    directions: ClassVar[tuple[str, ...]]
    """The directions that carry load."""
    counted: ClassVar[int] = 1
    """Default of the parameter `n`."""
    counts: ClassVar[str]
    """What `n` counts."""

    def __init_subclass__(cls) -> None:
        """Sets the parameters and the columns."""
        super().__init_subclass__()
        cls.parameters = (
            Parameter(
                "queue", "fifo", "",
                allowed="a queue of `bloatlab algorithms`, a table with its `kind`, or module:Class",
                help="queue discipline in both directions; unless set or swept, fifo, fq_codel and cake are swept",
                read=read.algorithm("queues"),
            ),
            shared.ecn(),
            Parameter(
                "rate", "20Mbit/s", "bit/s", allowed="a rate such as 20Mbit/s", help="rate of the download", read=read.rate
            ),
            Parameter("up", "5Mbit/s", "bit/s", allowed="a rate such as 5Mbit/s", help="rate of the upload", read=read.rate),
            shared.rtt("30ms"),
            shared.qlen("the limit of the queue itself"),
            shared.cca("cubic"),
            shared.count("n", cls.counted, "flows", cls.counts, low=1, high=1000),
            Parameter(
                "length", "60s", "s", allowed=shared.A_DURATION, help="how long the load lasts", read=read.duration,
                published="60s",
            ),
            Parameter(
                "idle", "5s", "s", allowed=shared.A_DURATION, help="time without load before and after it",
                read=read.duration, published="5s",
            ),
        )  # fmt: skip
        throughput = {f"{direction}_goodput": "Mbit/s" for direction in cls.directions}
        cls.measures = {**throughput, "ping_p50": "ms", "ping_p95": "ms", **SCORES}
        cls.measure_titles = {
            **{f"{direction}_goodput": f"goodput, {LOADS[direction]}" for direction in cls.directions},
            "ping_p50": "ping RTT median",
            "ping_p95": "ping RTT p95",
            **{name: TITLES[name] for name in SCORES},
        }

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """A plain queue and two that manage their delay. `cake` sorts by marks."""
        return {"queue": ("fifo", "fq_codel", "cake")}

    def load(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The long flows: names, numbers, marks and directions."""
        return [self.flows(direction, params["n"]) for direction in self.directions]

    def flows(self, direction: str, count: int, label: str = "", dscp: str = "CS0") -> dict[str, Any]:
        """Long flows with the same mark in one direction."""
        return {
            "name": f"{direction}{label and '_'}{label}",
            "count": count,
            "dscp": dscp,
            "direction": "forward" if direction == DOWN else "reverse",
        }

    def pings(self) -> Mapping[str, str]:
        """The marks of the pings besides the unmarked one."""
        return {}

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A link with a queue in each direction, the load and the pings."""
        queue = params["queue"] if params["qlen"] is None else with_limit(params["queue"], params["qlen"])
        queue = with_ecn(queue, params["ecn"])
        begin, length = units.duration(params["idle"]), units.duration(params["length"])
        own = {"cca": params["cca"], "tcp": shared.tcp(params), "start": f"{begin:g}s", "stop": f"{begin + length:g}s"}
        ping = {"kind": "ping", "interval": f"{PING_MS}ms"}
        return {
            "name": self.name,
            "duration": f"{2 * begin + length:g}s",
            "dumbbell": {
                "rate": params["rate"], "reverse_rate": params["up"], "rtt": params["rtt"],
                "queue": queue, "reverse_queue": queue,
            },
            "flows": [
                *({**one, **own} for one in self.load(params)),
                *({"name": name, "dscp": dscp, "traffic": ping} for name, dscp in {"ping": "CS0", **self.pings()}.items()),
            ],
        }  # fmt: skip

    def measure(self, metrics: Metrics) -> dict[str, float]:
        """Goodput in each loaded direction, RTT of the unmarked ping over the whole test, and scores from it."""
        sums = {
            f"{name}_goodput": criteria.sum_of("flow", name, "mean_throughput_l7")(metrics) for name in self.directions
        }
        of_ping = metrics.get("probe_metrics", {}).get("ping", {})
        rtts = {f"ping_p{at}": of_ping.get(f"p{at}_rtt") for at in (50, 95)}
        numbers = judge(collect(metrics, intervals_ms={"ping": PING_MS})).numbers
        found = {**sums, **rtts, **{name: numbers.get(name) for name in SCORES}}
        return {name: float(value) for name, value in found.items() if value is not None}

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        marked = {name: f"ping marked {dscp}" for name, dscp in self.pings().items()}
        pings = {"ping": "unmarked ping" if marked else "ping", **marked}
        trips = [
            Quantity(
                f"95th percentile of the RTT of the {said}", criteria.mean_of("probe", name, "p95_rtt"), words=WAIT
            )
            for name, said in pings.items()
            if name in ("ping", MOST_URGENT)
        ]
        goodput = quantities.goodput(self.directions[0], "goodput")
        groups = runs.by(*self.compared)
        waits = quantities.waiting(self.directions[0], quantities.OF_TRANSFERS)
        return [*weighed(groups, trips[0], goodput, bulk=waits), *every(groups, *trips[1:])]

    def answers(self, runs: Sequence[Result]) -> list[Finding]:
        """What the load does to each ping."""
        return answers(runs, ("ping", *self.pings()))


class Rrul(FlentTest):
    """Realtime response under load: every class in both directions."""

    name = "rrul"
    title = "Realtime response under load (RRUL)"
    question = "How much longer do pings take while TCP fills the link both ways, and do their marks help?"
    summary = (
        "Four TCP flows in each direction, marked CS0 (best effort), CS1 (background), CS5 and EF, fill a link both ways. How "
        "much longer do pings take under this load than on the idle link, and do marks change that?"
    )
    directions = (DOWN, UP)
    counts = "flows of each mark in each direction"

    def load(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """One group of flows per direction and mark."""
        return [
            self.flows(direction, params["n"], label, dscp)
            for direction in self.directions
            for label, dscp in CLASSES.items()
        ]

    def pings(self) -> Mapping[str, str]:
        """UDP pings in three classes."""
        return PINGED


class RrulBe(FlentTest):
    """RRUL without marks."""

    name = "rrul_be"
    title = "Realtime response under load, best effort only"
    question = "How much longer does a ping take while TCP fills the link both ways?"
    summary = (
        "As RRUL, with four TCP flows in each direction that are all best effort. What does the load do to a ping if no "
        "queue can sort by marks?"
    )
    directions = (DOWN, UP)
    counted = 4
    counts = "flows in each direction"


class TcpNup(FlentTest):
    """Uploads only."""

    name = "tcp_nup"
    title = "n uploads and a ping"
    question = "How much longer does a ping take while uploads fill the link?"
    summary = "n TCP flows fill the upload. How much longer does a ping take, and how does that grow with n?"
    directions = (UP,)
    counted = 4
    counts = "uploads"


class TcpNdown(FlentTest):
    """Downloads only."""

    name = "tcp_ndown"
    title = "n downloads and a ping"
    question = "How much longer does a ping take while downloads fill the link?"
    summary = "n TCP flows fill the download. How much longer does a ping take, and how does that grow with n?"
    directions = (DOWN,)
    counted = 4
    counts = "downloads"


def _rtt_of(ping: str) -> Callable[[Metrics], float | None]:
    """Reads the RTT of one ping. The names of the others begin alike."""
    return lambda metrics: metrics.get("probe_metrics", {}).get(ping, {}).get("p95_rtt")
