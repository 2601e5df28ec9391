"""The letter of the public bufferbloat tests: how much longer a round trip takes under load."""

from __future__ import annotations

from bloatlab.judges.base import Evidence, Input, Judge, Missing, Score, short

EDGES = ((5.0, "A+"), (30.0, "A"), (60.0, "B"), (200.0, "C"), (400.0, "D"))
"""Mean RTT increase under load in ms, below which a run has the grade (DSLReports' speed test; LibreQoS has the same)."""
WORST = "F"
MEANING = (
    "Grades by the mean increase of the RTT under load: "
    + ", ".join(f"{letter} below {edge:g} ms" for edge, letter in EDGES)
    + f", else {WORST}."
)
"""The edges in one sentence."""


def grade(increase_ms: float | None) -> str:
    """The grade of a mean RTT increase in ms, from `A+` to `F`. Empty without a value."""
    if increase_ms is None:
        return ""
    return next((letter for edge, letter in EDGES if increase_ms < edge), WORST)


def _score(evidence: Evidence) -> Score | Missing:
    increase, ping = evidence.graded_ms, evidence.loaded
    if increase is None:
        return Missing("a long flow that measures RTTs, such as a TCP download, or a ping beside flows")
    text = f"{grade(increase)} (+{short(increase)} ms)"
    if evidence.increase_ms is None and ping is not None:
        times = (("mean RTT under load", ping.mean_ms), (f"RTT {ping.base}", ping.base_ms))
        inputs = tuple(Input(name, value, "ms") for name, value in times)
        return Score(increase, text, inputs, f"from the ping `{ping.name}`, because no long flow measured an RTT")
    count = len(evidence.flows)
    whose = f"the flow `{evidence.flows[0]}`" if count == 1 else f"{count} long flows"
    return Score(
        increase,
        text,
        (Input("mean RTT increase", increase, "ms"),),
        f"mean smoothed RTT of {whose} through the bottleneck, less propagation",
    )


JUDGE = Judge("grade", "Bufferbloat grade", "DSLReports' edges", "ms", MEANING, _score)
