"""Bufferbloat in the RLC buffer of a 5G cell, and CoDel in the RLC (ns-3 and 5G-LENA)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from bloatlab.errors import ParameterError
from bloatlab.experiments import answering, criteria, naming, phrases, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.base import Experiment, FileMaker, PublishedRun
from bloatlab.experiments.claim import Cases, Claim
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.nr_rlc import files, setup
from bloatlab.experiments.nr_rlc.cases import CASES, QUEUES
from bloatlab.experiments.nr_rlc.claims import CLAIMS, COMPARISON
from bloatlab.experiments.nr_rlc.findings import findings
from bloatlab.experiments.nr_rlc.setup import (
    AUTHORS_CODEL,
    ELEPHANT,
    MICE,
    MIXED,
    PUBLISHED,
    SOUNDING,
    SOURCE,
    TAIL,
    UDP,
    UNBOUNDED,
)
from bloatlab.experiments.parameters import Parameter

if TYPE_CHECKING:
    from bloatlab.result import Result

LOADS = (15_000, 16_000, 20_000, 25_000, 30_000, 35_000, 40_000)
"""Default axis of the load, packets/s."""
USUAL = 20_000
HIGHEST = 1_000_000
BY_TCP = ("cca", "workload")
"""Parameters that can make the elephant a TCP flow, which has no rate."""


def _queue(value: Any) -> Any:
    """Reads tail drop or a queue of the registry."""
    return TAIL if value in (TAIL, "vanilla") else read.algorithm("queues")(value)


def _cca(value: Any) -> Any:
    """Reads UDP or a congestion control of the registry."""
    return UDP if value == UDP else read.algorithm("congestion_controls")(value)


def _missing(flow: str) -> answering.Read:
    """Share of a flow's packets that did not arrive before the run ended: dropped, or still in the buffer."""

    def read(metrics: Mapping[str, Any]) -> float | None:
        sent, got = (sum(criteria.values(metrics, "flow", flow, name)) for name in ("tx_packets", "rx_packets"))
        return max(0.0, 1 - got / sent) if sent else None

    return read


class NrRlc(Experiment):
    """Mice and an elephant through one RLC buffer."""

    name = "nr-rlc"
    title = "Bufferbloat in a 5G RLC buffer"
    question = (
        "What does a large RLC buffer in a 5G cell cost a small flow, and does a queue discipline in the buffer help?"
    )
    summary = (
        "A flow of one packet per second (mice) and one of many thousands (elephant) cross one 5G cell to one UE "
        "through the same RLC buffer. How do the elephant's rate, the buffer and a queue discipline in the RLC change "
        "the delay of both? The cell is 5G-LENA's, slot by slot."
    )
    source = SOURCE
    compared = ("queue", "rlc", "cca")
    figures: ClassVar[tuple[str, ...]] = (
        "load_delay", "load_loss", "buffer_delay", "flow_sojourn", "queue", "time_series", "operating_point",
    )  # fmt: skip
    cases: ClassVar[Sequence[str]] = tuple(CASES)
    published: ClassVar[Mapping[str, PublishedRun]] = CASES
    claims: ClassVar[tuple[Claim, ...]] = CLAIMS
    comparison: ClassVar[tuple[Claim, ...]] = COMPARISON
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "lambda", None, "packets/s",
            allowed=f"1 to {HIGHEST}",
            help=f"packets per second that the elephant sends over UDP (when not given {USUAL}); no effect over TCP",
            read=read.number(1, HIGHEST), published="15000 to 40000",
        ),
        Parameter(
            "queue", TAIL, "",
            allowed=f"{TAIL}, a queue of `bloatlab algorithms`, a table with its `kind`, or module:Class",
            help=f"queue discipline in the RLC, bounded by `buffer`; `{TAIL}` (or `vanilla`): none, `{AUTHORS_CODEL}`: the "
            "authors' "
            "CoDel",
            read=_queue, published=f"{TAIL}, {AUTHORS_CODEL}",
        ),
        Parameter(
            "buffer", UNBOUNDED, "bytes",
            allowed="bytes such as 10000000B or 10MB", help="size of the RLC's buffer; packets that do not fit are dropped",
            read=read.size, published="999999999B, 10 to 100 MB",
        ),
        Parameter(
            "rlc", "um", "", allowed="um, am", help="mode of the RLC: unacknowledged or acknowledged",
            read=read.choice("um", "am"), published="um",
        ),
        Parameter(
            "cca", UDP, "",
            allowed=f"{UDP}, a congestion control of `bloatlab algorithms`, a table with its `kind`, or module:Class",
            help=f"`{UDP}`: the elephant sends `lambda` packets per second; otherwise it is a greedy TCP flow with this "
            "congestion control. If not given, `cubic` in the mixed workload",
            read=_cca, published=UDP,
        ),
        Parameter(
            "mice", "udp", "", allowed="udp, tcp",
            help="`tcp`: the mice are also a greedy TCP flow with the congestion control `cca`, which must not be udp",
            read=read.choice("udp", "tcp"), published="udp",
        ),
        Parameter(
            "workload", PUBLISHED, "", allowed=f"{PUBLISHED}, {MIXED}",
            help=f"`{MIXED}`: besides the mice and a TCP elephant, a page of 500 kB that is fetched repeatedly, a ping "
                 "and a call",
            read=read.choice(PUBLISHED, MIXED), published=PUBLISHED,
        ),
        Parameter(
            "framing", "lena", "", allowed="lena, nr",
            help="framing of packets in transport blocks: as in ns-3's RLC and PDCP, or after TS 38.322 and 38.323",
            read=read.choice("lena", "nr"), published="lena",
        ),
        Parameter(
            "rule", "lena", "", allowed="lena, 3gpp",
            help="rule for the size of transport blocks: 5G-LENA's or TS 38.214's",
            read=read.choice("lena", "3gpp"), published="lena",
        ),
        Parameter(
            "sounding_offset", SOUNDING, "slots", allowed="0 to 79",
            help="slot of the period of 80 in which the UE sounds the channel, which takes a symbol; 5G-LENA draws it",
            read=read.whole(0, 79), published="not stated; 50 fits all runs but one, which 0 fits",
        ),
        Parameter(
            "start", "400ms", "s", allowed=shared.A_DURATION, help="when the flows start", read=read.duration, published="0.4s",
        ),
        Parameter(
            "start_jitter", "0s", "s", allowed=shared.A_DURATION,
            help="each start is delayed by a random time below this; without it, results depend on the phase of two "
                 "constant intervals",
            read=read.duration, published="0s",
        ),
        shared.stop("10s"),
    )  # fmt: skip

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Every load with every queue."""
        return {"lambda": LOADS, "queue": QUEUES}

    def all_axes(self, base: Mapping[str, Any], given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """The axes; TCP has no load to sweep."""
        axes = super().all_axes(base, given)
        is_tcp = any(name in base or name in given for name in BY_TCP)
        return {
            name: values for name, values in axes.items() if not (is_tcp and name == "lambda" and name not in given)
        }

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """Fills in the elephant's rate for UDP, or its congestion control in the mixed workload."""
        if values["workload"] == MIXED and values["cca"] == UDP:
            values["cca"] = "cubic"
        if values["cca"] != UDP:
            values["lambda"] = None
        elif values["lambda"] is None:
            values["lambda"] = float(USUAL)
        if values["mice"] == "tcp" and values["cca"] == UDP:
            raise ParameterError("mice: tcp needs a congestion control; set `cca`")
        return values

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        small = Quantity(
            "mean delay of the small flow", criteria.mean_of("flow", MICE, "mean_delay"), words=answering.WAIT
        )
        lost = Quantity("share of the small flow's packets that never arrive", _missing(MICE), phrases.percent)
        carried = quantities.goodput(ELEPHANT, "goodput of the large flow")
        axes = [name for name in ("buffer", "queue", "lambda") if name in runs.varying]
        if not axes:
            return [*answering.contrast(runs.by("queue"), small, lost, carried), *answering.only(runs, "queue")]
        found = [line for name in axes for line in answering.contrast(runs.by(name), small)]
        return [*found, *answering.contrast(runs.by(axes[0]), lost), *answering.only(runs, "queue")]

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The cell with its flows."""
        return {
            "name": self.name,
            "duration": params["stop"],
            "cell": setup.cell(params),
            "flows": setup.flows(params),
        }

    def findings(self, cases: Cases) -> list[Finding]:
        """Our runs and the published conclusions."""
        return findings(cases)

    def files(self, run: Result) -> Mapping[str, FileMaker]:
        """The text of the flow monitor and, if packets were recorded, the RLC's log."""
        own = {name: run.parameters[name] for name in ("lambda", "queue", "buffer", "rlc", "cca")}
        mark = naming.mark(self, run, own, usual=isinstance(own["queue"], str))
        return files.of_run(run, files.name(own, naming.number(run), mark))
