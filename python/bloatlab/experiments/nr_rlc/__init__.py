"""Bufferbloat in the RLC buffer of a 5G cell, and CoDel in the RLC (ns-3 and 5G-LENA)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from bloatlab.errors import ParameterError
from bloatlab.experiments import answering, criteria, naming, phrases, quantities
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.base import Experiment, FileMaker, PublishedRun
from bloatlab.experiments.claim import Cases, Claim
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.nr_rlc import files, setup
from bloatlab.experiments.nr_rlc.cases import CASES, QUEUES
from bloatlab.experiments.nr_rlc.claims import CLAIMS, COMPARISON
from bloatlab.experiments.nr_rlc.findings import findings
from bloatlab.experiments.nr_rlc.parameters import PARAMETERS, USUAL
from bloatlab.experiments.nr_rlc.setup import ELEPHANT, MICE, MIXED, OTHER_SOUNDING, SOUNDING, SOURCE, UDP
from bloatlab.experiments.parameters import Parameter

if TYPE_CHECKING:
    from bloatlab.result import Result

LOADS = (15_000, 16_000, 20_000, 25_000, 30_000, 35_000, 40_000)
"""Default axis of the load, packets/s."""
BY_TCP = ("cca", "workload")
"""Parameters that can make the elephant a TCP flow, which has no rate."""

CELL_AXES = ("mcs", "ues", "gnbs")
"""Parameters that change what the cell can carry, so that the answer names the goodput first."""


def _missing(flow: str) -> answering.Read:
    """Share of a flow's packets that did not arrive before the run ended: dropped, or still in the buffer."""

    def read(metrics: Mapping[str, Any]) -> float | None:
        sent, got = (sum(criteria.values(metrics, "flow", flow, name)) for name in ("tx_packets", "rx_packets"))
        return max(0.0, 1 - got / sent) if sent else None

    return read


def _survivors(runs: Runs) -> list[str]:
    """What a mean delay leaves out, if packets of the small flow are missing."""
    shares = [share for run in runs if (share := _missing(MICE)(run.metrics)) is not None]
    if not any(shares):
        return []
    ends = dict.fromkeys((phrases.percent(min(shares)), phrases.percent(max(shares))))
    missing = " to ".join(ends)
    return [
        f"A mean delay counts only packets that arrived; {missing} of the small flow's had not when the run ended. "
        "Compare only runs with equal shares."
    ]


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
    fitted = (
        f"Fitted to these values: sounding_offset, {SOUNDING} in all runs but tail, 20k with {OTHER_SOUNDING}; 5G-LENA "
        "draws it. It decides about one packet of the elephant and a fraction of a slot of delay, as the last finding shows."
    )
    parameters: ClassVar[tuple[Parameter, ...]] = PARAMETERS

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
        lost = Quantity(
            "share of the small flow's packets that have not arrived when the run ends", _missing(MICE), phrases.percent
        )
        carried = quantities.goodput(ELEPHANT, "goodput of the large flow")
        axes = [name for name in ("buffer", "queue", "lambda") if name in runs.varying]
        rates = [
            line
            for name in CELL_AXES
            if name in runs.varying
            for line in answering.contrast(runs.by(name), carried, small)
        ]
        rest = [*_survivors(runs), *answering.only(runs, "queue")]
        if rates and not axes:
            return [*rates, *rest]
        if not axes:
            return [*answering.contrast(runs.by("queue"), small, lost, carried), *rest]
        found = [line for name in axes for line in answering.contrast(runs.by(name), small)]
        return [*found, *answering.contrast(runs.by(axes[0]), lost), *rates, *rest]

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
        """The text of the flow monitor and, if packets were recorded, the RLC's log and the capture at the UE."""
        own = {name: run.parameters[name] for name in ("lambda", "queue", "buffer", "rlc", "cca")}
        mark = naming.mark(self, run, own, usual=isinstance(own["queue"], str))
        return files.of_run(run, files.name(own, naming.number(run), mark))
