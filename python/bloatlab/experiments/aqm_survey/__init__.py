"""Six queues and three low-priority congestion controls on one bottleneck (ns-2), with published or equal limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab.errors import ParameterError
from bloatlab.experiments import answering, phrases, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.aqm_survey import setup
from bloatlab.experiments.aqm_survey.cases import RUNS, TABLES
from bloatlab.experiments.aqm_survey.claims import CLAIMS, COMPARISON
from bloatlab.experiments.aqm_survey.findings import findings
from bloatlab.experiments.aqm_survey.measures import HEADINGS, LINK, MEASURES, measure
from bloatlab.experiments.aqm_survey.reasons import remarked
from bloatlab.experiments.aqm_survey.setup import EQUAL, FAIR, FIX, PUBLISHED, QUEUES, SOURCE
from bloatlab.experiments.base import Experiment, PublishedRun
from bloatlab.experiments.claim import Cases, Claim, Metrics, Verdict
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.parameters import Parameter


def _queue(value: Any) -> Any:
    """A queue of the source or of the registry."""
    own = setup.kind(value)
    return own if isinstance(own, str) and own in QUEUES else read.algorithm("queues")(value)


def _ccp(value: Any) -> Any:
    """A congestion control of the source or of the registry."""
    own = setup.low_priority(value)
    return own if isinstance(own, str) and own in setup.CCPS else read.algorithm("congestion_controls")(value)


def _packets(value: Any) -> int:
    """An integer number of packets, `400` or `400p`."""
    found: int = read.whole(2, 100_000)(value.strip().removesuffix("p") if isinstance(value, str) else value)
    return found


def _rate(value: Any) -> str:
    """A rate in canonical form, so that a point does not depend on the way of writing."""
    from bloatlab import units

    found = units.rate(value)
    if found < 1:
        raise ParameterError(f"`{value}` is not a rate of at least 1bit/s")
    return f"{found / 1e6:.12g}Mbit/s"


def _of_survey(name: str, factor: float = 1.0) -> answering.Read:
    """A metric of the survey, from the store or computed."""

    def read(metrics: Metrics) -> float | None:
        known = metrics.get("experiment_metrics") or (measure(metrics) if LINK in metrics["link_metrics"] else {})
        found = known.get(name)
        return None if found is None else factor * float(found)

    return read


class AqmSurvey(Experiment):
    """Reno and a low-priority congestion control, ten flows together, through each queue."""

    name = "aqm-survey"
    title = "A survey of queues against bufferbloat"
    question = (
        "Which queue should one choose: for a short delay, for equal shares, or to keep low-priority flows behind Reno?"
    )
    summary = (
        "Ten flows share a bottleneck: some are TCP Reno, the others LEDBAT, TCP-LP or TCP-NICE, which should use only "
        "what Reno leaves. The survey has six queues, eight capacities, four buffers and ten mixtures. A queue affects "
        "not only the delay: it also decides whether low priority stays low."
    )
    source = SOURCE
    compared = ("queue", "ccp", "mode")
    replications = 10
    measures: ClassVar[Mapping[str, str]] = MEASURES
    measure_titles: ClassVar[Mapping[str, str]] = HEADINGS
    figures: ClassVar[tuple[str, ...]] = (
        "survey_base", "survey_scores", "survey_shares", "survey_drop_tail", "survey_capacity", "survey_buffer",
        "survey_workload", "survey_mixtures", "queue", "time_series",
    )  # fmt: skip
    cases: ClassVar[Sequence[str]] = tuple(RUNS)
    published: ClassVar[Mapping[str, PublishedRun]] = RUNS
    claims: ClassVar[tuple[Claim, ...]] = CLAIMS
    comparison: ClassVar[tuple[Claim, ...]] = COMPARISON
    fitted = (
        "Fitted to slide 15: packets of 1500 bytes, a base RTT of 52 ms, LEDBAT's target of 25 ms, RED's byte mode, "
        "SFQ's 40 "
        "packets in 16 buckets, DRR's 25 kB, quantum of 250 bytes and one pair of flows that share a queue, CHOKe's "
        "thresholds, the start of the low-priority flows at 5 s, and the distances at which queues share a rank. "
        "So the values of slide 15 and the published ranks do not confirm these. A finding counts these claims apart."
    )
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "queue", "fifo", "",
            allowed=f"{', '.join(QUEUES.values())}, a queue of `bloatlab algorithms`, a table with its `kind`, or module:Class",
            help="queue discipline of the bottleneck; names of the source's six queues have the parameters of `mode`; "
                 "any other queue, or a table, has the limit `buf` unless it sets a limit",
            read=_queue, published=", ".join(QUEUES.values()),
        ),
        Parameter(
            "ccp", "ledbat", "",
            allowed=f"{', '.join(setup.CCPS.values())}, a congestion control of `bloatlab algorithms`, a table with its `kind`, "
            "or module:Class",
            help="congestion control of the low-priority flows; names mean ns-2's variants: `ledbat` with a target of "
                 "25 ms, no slow start, windows down to one segment and no delay filter, `lp` with its variant `ns2`; "
                 "a table such as `{kind=\"ledbat\"}` means the standard's",
            read=_ccp, published=", ".join(setup.CCPS.values()),
        ),
        Parameter(
            "buf", 400, "packets",
            allowed="2 to 100000, such as 400 or 400p", help="limit of the bottleneck's queue", read=_packets,
            published="100, 200, 300, 400",
        ),
        Parameter(
            "cap", "4Mbit/s", "bit/s",
            allowed="a rate such as 4Mbit/s", help="rate of the bottleneck", read=_rate, published="0.25 to 10 Mbit/s",
        ),
        Parameter(
            "wld", 5, "flows",
            allowed=f"0 to {setup.FLOWS}", help="number of TCP Reno flows among the ten", read=read.whole(0, setup.FLOWS),
            published="1 to 10",
        ),
        Parameter(
            "delays", FIX, "",
            allowed=f"{FIX}, {FAIR}",
            help=f"propagation of the five pairs' access links: `{FIX}` 6 ms each, `{FAIR}` 2, 4, 6, 8 and 10 ms; the bottleneck "
            f"adds {setup.BOTTLENECK_MS} ms",
            read=read.choice(FIX, FAIR), published=f"{FIX}, {FAIR}",
        ),
        Parameter(
            "mode", PUBLISHED, "",
            allowed=f"{PUBLISHED}, {EQUAL}",
            help=f"`{PUBLISHED}`: ns-2's parameters of each queue (SFQ holds 40 packets and DRR 25 kB whatever `buf`); "
            f"`{EQUAL}`: every queue holds `buf`",
            read=read.choice(PUBLISHED, EQUAL), published=PUBLISHED,
        ),
        Parameter(
            "ccp_start", None, "s",
            allowed=shared.A_DURATION,
            help=f"start of the low-priority flows; Reno flows start at once [default: {setup.CCP_START}, which with 1 to "
                 "6 s is nearest to slide 15; 0s with `ccp=reno`, so that all flows are alike]",
            read=read.duration, published="not stated",
        ),
        Parameter(
            "start_jitter", "100ms", "s",
            allowed=shared.A_DURATION,
            help="each start is delayed by a random time below this; up to 0.1 s fits slide 15",
            read=read.duration, published="not stated",
        ),
        Parameter("time", "60s", "s", allowed=shared.A_DURATION, help="length of the run", read=read.duration, published="60s"),
    )  # fmt: skip

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """Low-priority flows join later, but flows of Reno are all alike."""
        if values["ccp_start"] is None:
            values["ccp_start"] = "0s" if setup.is_reno(values["ccp"]) else setup.CCP_START
        return values

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """The six queues, at the base point."""
        return {"queue": list(QUEUES)}

    def measure(self, metrics: Metrics) -> dict[str, float]:
        """Computes the metrics of the source."""
        return measure(metrics)

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        low = [ccp for ccp in runs.values("ccp") if not setup.is_reno(ccp)]
        if 0 < len(low) < len(runs.values("ccp")):
            # Without low-priority flows there are no two classes to compare.
            runs = runs.among("ccp", low)
        named = [queue for queue in runs.values("queue") if queue not in TABLES.values()]
        if named:
            runs = runs.among("queue", named)
        groups = runs.by(*self.compared)
        queue = Quantity("mean queue", _of_survey("qlen"), phrases.packets, answering.WAIT)
        fair = Quantity("fairness of all flows by Jain's index", _of_survey("fair", 0.01), phrases.index)
        reno = Quantity("share of the Reno flows", _of_survey("tcp_share", 0.01), phrases.percent)
        return [*answering.every(groups, queue, fair, reno), *answering.only(runs, "queue")]

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """One bottleneck with ten flows."""
        return setup.scenario(params)

    def verdicts(self, metrics: Cases, parameters: Mapping[str, Any] | None = None) -> list[Verdict]:
        """Compares the claims with the runs, which also give the reasons of those that do not hold."""
        return remarked(super().verdicts(metrics, parameters), metrics)

    def findings(self, cases: Cases) -> list[Finding]:
        """Our runs and the conclusions of the source."""
        return findings(cases)
