"""Published behaviour of congestion controls compared with ours: response functions, windows, shares and queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab.experiments import parameters as read
from bloatlab.experiments.base import Claim, Experiment
from bloatlab.experiments.behaviour import response, sharing, standing
from bloatlab.experiments.parameters import Parameter

CASES = {**response.CASES, **sharing.CASES, **standing.CASES}


class CongestionControlBehaviour(Experiment):
    """One case per published statement; a claim reads one case or several."""

    name = "congestion-control-behaviour"
    title = "Published behaviour of congestion controls"
    summary = (
        "Papers and RFCs state the window of Reno and CUBIC for a loss rate, BBR's data in flight and its share beside "
        "CUBIC, to which flows LEDBAT yields, and the queues of DCTCP, Prague, Vegas and Copa. Each statement is a "
        "claim."
    )
    source = "RFC 9438, RFC 6817, RFC 9332, Mathis 1997, Padhye 1998 and others, with a source for each claim"
    compared = ("case",)
    figures = ("time_series", "operating_point", "queue_distribution")
    parameters = (
        Parameter(
            "case", next(iter(CASES)), "",
            allowed="a name that the table of claims or an error lists",
            help="path and flows; unless set or swept, every case is run",
            read=read.choice(*CASES),
        ),
    )  # fmt: skip
    cases: ClassVar[Sequence[str]] = tuple(CASES)
    claims: ClassVar[tuple[Claim, ...]] = (*response.CLAIMS, *sharing.CLAIMS, *standing.CLAIMS)
    comparison: ClassVar[tuple[Claim, ...]] = (*response.COMPARISON, *sharing.COMPARISON)

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Every case."""
        return self.published_axes()

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario of the case, with its name, so that each case is a separate run."""
        return {"name": params["case"], **CASES[params["case"]]}
