"""Runs `aqm-survey` with other starts and other TCPs, and writes the table of set-ups in docs/experiments.md.

    python tests/parity/ns2_survey_setups.py

900 runs, half a minute on two cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import fsum, sqrt
from typing import Any

import bloatlab
from bloatlab.experiments import get
from bloatlab.experiments.aqm_survey import ns2
from bloatlab.experiments.aqm_survey.cases import REPLICATIONS, SEED, Point
from bloatlab.experiments.aqm_survey.claims import IN_NS2
from bloatlab.experiments.aqm_survey.measures import MEASURES, measure
from bloatlab.experiments.aqm_survey.published import RERUN, SLIDE_15
from bloatlab.experiments.aqm_survey.setup import LEDBAT, QUEUES
from ns2_survey_docs import DEPTH, table, written

MOST = 3.0
"""Largest distance of a value, in tolerances."""
HEADING = (
    "set-up",
    "QLEN",
    "DROP",
    "F_TCP",
    "TCP%",
    "SFQ: TCP%, F_CCP",
    "DRR: TCP%",
    "RED: TCP%",
    "CoDel: TCP%",
    "distance",
)
SETUPS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    # Parameters, and what differs in the TCP of every flow.
    "Reno starts within 0.1 s, the others join at 5 s (chosen)": ({}, {}),
    "the same, without the 0.1 s": ({"start_jitter": "0s"}, {}),
    **{f"the others join at {start} s": ({"ccp_start": f"{start}s"}, {}) for start in (1, 2, 3, 4, 6, 10)},
    "all start at 0": ({"ccp_start": "0s", "start_jitter": "0s"}, {}),
    "all start within 0.2 s": ({"ccp_start": "0s", "start_jitter": "200ms"}, {}),
    "RFC 6298's timeout": ({}, {"timeout": "rfc6298"}),
    "delays of 2 to 10 ms (`delays=fair`)": ({"delays": "fair"}, {}),
    "LEDBAT's target 100 ms": ({"ccp": {**LEDBAT, "target": "100ms"}}, {}),
    "RFC 6817's filter of four delays, `min_window` 2": ({"ccp": {**LEDBAT, "current_filter": 4, "min_window": 2}}, {}),
    "delayed ACKs": ({}, {"ack_every": 2}),
}
Values = Mapping[str, Mapping[str, float]]
"""The metrics of each queue."""


def values(given: Mapping[str, Any], tcp: Mapping[str, Any], pool: ThreadPoolExecutor) -> Values:
    """The means over the runs of a set-up."""
    experiment = get("aqm-survey")
    scenarios = {queue: experiment.scenario(experiment.resolve({"queue": queue, **given})) for queue in QUEUES}
    for scenario in scenarios.values():
        scenario["flows"] = [{**flow, "tcp": {**flow["tcp"], **tcp}} for flow in scenario["flows"]]
    jobs = [(queue, SEED + place) for queue in QUEUES for place in range(REPLICATIONS)]
    found = list(pool.map(lambda job: measure(_metrics(scenarios[job[0]], job[1])), jobs))
    return {
        queue: {
            name: fsum(one[name] for (own, _), one in zip(jobs, found, strict=True) if own == queue) / REPLICATIONS
            for name in MEASURES
        }
        for queue in QUEUES
    }


def _metrics(scenario: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    result = bloatlab.run(dict(scenario), seed=seed)
    return {"link_metrics": result.link_metrics, "flow_metrics": result.flow_metrics}


def distance(found: Values) -> float:
    """The root mean square of the differences from slide 15, each in units of its tolerance."""
    squares = []
    for queue, row in SLIDE_15.items():
        for name, (absolute, relative) in IN_NS2.items():
            tolerance = absolute if relative is None else relative * row[name]
            squares.append(min(MOST, abs(found[queue][name] - row[name]) / (tolerance or 1)) ** 2)
    return sqrt(fsum(squares) / len(squares))


def _row(called: str, found: Values, apart: str = "") -> Sequence[str]:
    fifo, sfq = found["fifo"], found["sfq"]
    others = [f"{found[queue]['tcp_share']:.1f}" for queue in ("drr", "red", "codel")]
    own = (f"{fifo['qlen']:.0f}", f"{fifo['drop']:.2f}", f"{fifo['fair_tcp']:.0f}", f"{fifo['tcp_share']:.1f}")
    return (called, *own, f"{sfq['tcp_share']:.1f}, {sfq['fair_ccp']:.1f}", *others, apart)


def rows() -> Iterator[Sequence[str]]:
    """The slides, both runs of ns-2, and the set-ups."""
    yield _row("slide 15", SLIDE_15)
    yield _row("ns-2, run again (from earlier notes)", RERUN)
    again = {queue: ns2.metrics(Point(queue)) for queue in QUEUES}
    yield _row("ns-2 2.35, our runs with the chosen starts", again, f"{distance(again):.2f}")
    with ThreadPoolExecutor(2) as pool:
        for called, (given, tcp) in SETUPS.items():
            found = values(given, tcp, pool)
            yield _row(called, found, f"{distance(found):.2f}")


if __name__ == "__main__":
    found = table(HEADING, rows())
    DEPTH.write_text(written(DEPTH.read_text(), found))
