"""What is published of how congestion controls behave, held against ours: response functions, windows, shares, queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab.experiments import parameters as read
from bloatlab.experiments.base import Claim, Experiment
from bloatlab.experiments.laws import response, sharing, standing
from bloatlab.experiments.parameters import Parameter

CASES = {**response.CASES, **sharing.CASES, **standing.CASES}


class CongestionControlLaws(Experiment):
    """A case for each published statement; the claims read one or several of them."""

    name = "congestion-control-laws"
    title = "Published laws of congestion controls"
    summary = (
        "Papers and RFCs say what window a loss rate leaves to Reno and CUBIC, what BBR has in flight and gets beside CUBIC, "
        "whom LEDBAT lets pass, and what queue DCTCP, Prague, Vegas and Copa keep. Each statement is a claim."
    )
    source = "RFC 9438, RFC 6817, RFC 9332, Mathis 1997, Padhye 1998 and others, a source a claim"
    compared = ("case",)
    figures = ("time_series", "operating_point", "queue_distribution")
    parameters = (
        Parameter(
            "case", next(iter(CASES)), "",
            allowed="a name that the table of claims or an error lists", help="path and flows; every one unless set or swept",
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
        """The case, named, so that each is a run of its own."""
        return {"name": params["case"], **CASES[params["case"]]}
