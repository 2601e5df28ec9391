"""Published behaviour of congestion controls compared with ours: response functions, windows, shares and queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab.experiments import parameters as read
from bloatlab.experiments import phrases
from bloatlab.experiments.answering import Runs
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.behaviour import response, sharing, standing
from bloatlab.experiments.claim import Claim
from bloatlab.experiments.parameters import Parameter

CASES = {**response.CASES, **sharing.CASES, **standing.CASES}


class CongestionControlBehaviour(Experiment):
    """One case per published statement; a claim reads one case or several."""

    name = "congestion-control-behaviour"
    title = "Published behaviour of congestion controls"
    question = "Do our congestion controls behave as their papers and RFCs say?"
    summary = (
        "Papers and RFCs state the window of Reno and CUBIC for a loss rate, BBR's data in flight and its share beside "
        "CUBIC, to which flows LEDBAT yields, and the queues of DCTCP, Prague, Vegas and Copa. The runs measure each of "
        "these values."
    )
    source = (
        "RFC 5348, 6817, 9332 and 9438, Alizadeh 2010, Arun 2018, Ware 2019 and others, with the place at each claim"
    )
    compared = ("case",)
    graded = False
    figures = ("published", "time_series", "operating_point", "queue_distribution")
    parameters = (
        Parameter(
            "case", next(iter(CASES)), "",
            allowed="a name that the table of published values or an error lists",
            help="the path and the flows that a published statement is about; all are run unless set or swept",
            read=read.choice(*CASES),
        ),
    )  # fmt: skip
    cases: ClassVar[Sequence[str]] = tuple(CASES)
    claims: ClassVar[tuple[Claim, ...]] = (*response.CLAIMS, *sharing.CLAIMS, *standing.CLAIMS)
    comparison: ClassVar[tuple[Claim, ...]] = (*response.COMPARISON, *sharing.COMPARISON)

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Every case."""
        return self.published_axes()

    def answer(self, runs: Runs) -> list[str]:
        """Counts the published values that hold, and names the one that differs most."""
        verdicts = self.verdicts({run.parameters["case"]: run.metrics for run in runs})
        judged = [
            (one.claim, one.measured, one.holds)
            for one in verdicts
            if one.measured is not None and one.holds is not None
        ]
        if not judged:
            return []
        agree = sum(holds for *_, holds in judged)
        found = [f"{agree} of {phrases.plural(len(judged), 'published value')} agree with these runs."]
        failed = [(claim, measured) for claim, measured, holds in judged if not holds]
        if failed:
            claim, measured = max(failed, key=lambda one: abs(one[1] - one[0].published) / (abs(one[0].published) or 1))
            found.append(
                f"The largest difference is in `{claim.name}`: {phrases.with_unit(measured, claim.unit)} here, "
                f"{phrases.with_unit(claim.published, claim.unit)} in the source."
            )
        missing = sum(claim.tolerance is not None for claim in self.claims) - len(judged)
        return [*found, *([f"{missing} more need runs that are not here."] if missing else [])]

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario of the case, with its name, so that each case is a separate run."""
        return {"name": params["case"], **CASES[params["case"]]}
