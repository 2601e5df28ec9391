"""Published behaviour of congestion controls compared with ours: response functions, windows, shares and queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from bloatlab.experiments import parameters as read
from bloatlab.experiments import phrases
from bloatlab.experiments.answering import Runs
from bloatlab.experiments.base import Experiment, PublishedRun
from bloatlab.experiments.behaviour import bbr, copa, ledbat, response, standing
from bloatlab.experiments.behaviour.parts import OURS, SEEDS, Combined, Reading, run_key, span
from bloatlab.experiments.claim import Cases, Claim, Verdict, judge
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.parameters import Parameter

if TYPE_CHECKING:
    from bloatlab.result import Result

CASES = {**response.CASES, **bbr.CASES, **ledbat.CASES, **standing.CASES, **copa.CASES}
REASONS = {**response.REASONS, **bbr.REASONS, **ledbat.REASONS, **copa.REASONS}
"""Why a claim does not hold, by its name, computed from the runs."""
RUNS = {
    run_key(case, seed): PublishedRun({"case": case}, seed)
    for case in CASES
    for seed in (SEEDS[:1] if case in response.SINGLE else SEEDS)
}


class CongestionControlBehaviour(Experiment):
    """One case per published statement, in several seeds; a claim reads one case or several."""

    name = "congestion-control-behaviour"
    title = "Published behaviour of congestion controls"
    question = "Do our congestion controls behave as their papers and RFCs say?"
    summary = (
        "Papers and RFCs state the window of Reno and CUBIC for a loss rate, BBR's data in flight and its share beside "
        "CUBIC, to which flows LEDBAT yields, and the queues of DCTCP, Prague, Vegas and Copa. The runs measure each of "
        f"these values. Where anything is random, the measured value is the mean of {len(SEEDS)} seeds."
    )
    source = (
        "RFC 5348, 6817, 9332 and 9438, Alizadeh 2010, Arun 2018, Ware 2019 and others, with the place at each claim"
    )
    fitted = (
        "Chosen after the first results: the tolerance of BBR's window and of the data in flight of two flows (5 %), the bound "
        "of LEDBAT's share (0.05), the lower bound of Prague's queue (half of the step), Vegas's tolerance of one packet, "
        "Linux's CUBIC beside BBR (RFC 9438's gives BBR a smaller share in the largest buffer; shown, not judged), and Copa's "
        "buffer of one BDP (an infinite buffer gives queues of thousands of packets; shown, not judged). Not read in full: "
        "Copa's paper and Ware 2019 are known from quotations, the papers on latecomers of LEDBAT from their abstracts, and "
        "sections 4.2 and 4.4 of the LEDBAT++ draft from descriptions. RFC 9438 was read as a draft."
    )
    compared = ("case",)
    graded = False
    replications = len(SEEDS)
    reproduce_seed = SEEDS[0]
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
    published: ClassVar[Mapping[str, PublishedRun]] = RUNS
    claims: ClassVar[tuple[Claim, ...]] = (
        *response.CLAIMS, *bbr.CLAIMS, *ledbat.CLAIMS, *standing.CLAIMS, *copa.CLAIMS,
    )  # fmt: skip
    comparison: ClassVar[tuple[Claim, ...]] = (*response.COMPARISON, *bbr.COMPARISON, *copa.COMPARISON)

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Every case."""
        return self.published_axes()

    def verdicts(self, metrics: Cases, parameters: Mapping[str, Any] | None = None) -> list[Verdict]:
        """Compares the claims with the means of the seeds. The notes get the range of the seeds and why a claim fails."""
        return [_told(verdict, metrics) for verdict in super().verdicts(metrics, parameters)]

    def findings(self, cases: Cases) -> list[Finding]:
        """What the variants of BBR and of Copa show."""
        return [bbr.beside_cubic(cases), bbr.model_in_parts(cases), copa.crowded(cases)]

    def readings(self, run: Result) -> dict[str, float]:
        """The readings of BBR's and of Copa's cases that explain a difference."""
        case = run.parameters["case"]
        if case in bbr.READ:
            return bbr.of_run(run)
        return copa.of_run(run) if case in copa.READ else {}

    def answer(self, runs: Runs) -> list[str]:
        """Counts the published values that hold, and names the one that differs most."""
        found = {run_key(run.parameters["case"], place): run.metrics for place, run in enumerate(runs)}
        verdicts = super().verdicts(found)
        judged = [
            (one.claim, one.measured, one.holds)
            for one in verdicts
            if one.measured is not None and one.holds is not None
        ]
        if not judged:
            return []
        agree = sum(holds for *_, holds in judged)
        said = [f"{agree} of {phrases.plural(len(judged), 'published value')} agree with these runs."]
        failed = [(claim, measured) for claim, measured, holds in judged if not holds]
        if failed:
            claim, measured = max(failed, key=lambda one: abs(one[1] - one[0].published) / (abs(one[0].published) or 1))
            published = phrases.with_unit(claim.published, claim.unit)
            there = f"our bound is {published}" if claim.note.startswith(OURS) else f"{published} in the source"
            said.append(
                f"The largest difference is in `{claim.name}`: {phrases.with_unit(measured, claim.unit)} here, {there}."
            )
        missing = sum(claim.tolerance is not None for claim in self.claims) - len(judged)
        return [*said, *([f"{missing} more need runs that are not here."] if missing else [])]

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario of the case, with its name, so that each case is a separate run."""
        return {"name": params["case"], **CASES[params["case"]]}


def _told(verdict: Verdict, cases: Cases) -> Verdict:
    """The verdict with the range of the seeds and, unless the claim holds, with its reason."""
    claim, reason = verdict.claim, REASONS.get(verdict.claim.name)
    if verdict.measured is None:
        return verdict
    also = response.NOTES.get(claim.name)
    notes = [
        claim.note,
        _seeds(claim, cases),
        also(cases) if also else "",
        reason(cases) if reason and not verdict.holds else "",
    ]
    return replace(verdict, claim=replace(claim, note="; ".join(filter(None, notes))))


def _seeds(claim: Claim, cases: Cases) -> str:
    """The range of a claim's values over the seeds, and with how many seeds it holds if not with all or none."""
    values = claim.metric.each(cases) if isinstance(claim.metric, Reading | Combined) else []
    if len(values) < 2:
        return ""
    hold = sum(bool(judge(replace(claim, metric="value"), {"": {"value": value}}).holds) for value in values)
    mixed = f", which holds with {hold} of them" if 0 < hold < len(values) else ""
    return f"{len(values)} seeds: {span(values)}{mixed}"
