"""All judges of a run, and the verdict that they make together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.judges import grade, qoo, responsiveness, voice
from bloatlab.judges.base import Evidence, Judge, Judgement, short

JUDGES: tuple[Judge, ...] = (grade.JUDGE, responsiveness.JUDGE, *qoo.JUDGES, voice.JUDGE)
"""Every judge, in the order in which tables show them."""
TITLES: Mapping[str, str] = {**{judge.name: judge.title for judge in JUDGES}, grade.JUDGE.name: "RTT increase"}
"""What tables of numbers call each score. The number of the grade is the RTT increase."""
MEANINGS: Mapping[str, str] = {judge.name: judge.meaning for judge in JUDGES}
"""How to read each score."""


@dataclass(frozen=True)
class Verdict:
    """What all judges say of a run."""

    judges: Mapping[str, Judgement]
    """Every judgement by name, such as `grade`, `rpm`, `qoo_conference` and `voice_mos`."""
    evidence: Evidence
    """What they rest on."""

    @property
    def grade(self) -> str:
        """The bufferbloat grade, from `A+` to `F`. Empty if neither a long flow nor a ping under load measured an RTT."""
        return grade.grade(self.evidence.graded_ms)

    @property
    def numbers(self) -> dict[str, float]:
        """Every score by the name of its judge; the grade as the RTT increase in ms. Missing scores are absent."""
        return {name: one.value for name, one in self.judges.items() if one.value is not None}

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        increase, ping = self.evidence.graded_ms, self.evidence.loaded
        if increase is None:
            head = "No grade, because no long flow measured an RTT"
        else:
            head = f"Grade {self.grade}: under load, a round trip takes {short(increase)} ms longer"
            if self.evidence.increase_ms is None and ping is not None:
                head += f" (from the ping `{ping.name}`)"
        return "; ".join(filter(None, [head, line_of(self)])) + "."

    def described(self) -> dict[str, Any]:
        """Every judgement for JSON, by name."""
        return {name: one.described() for name, one in self.judges.items()}

    def __repr__(self) -> str:
        return f"Verdict({self.sentence})"


def judge(evidence: Evidence) -> Verdict:
    """Asks every judge."""
    return Verdict({one.name: one.judge(evidence) for one in JUDGES}, evidence)


def line_of(verdict: Verdict) -> str:
    """The scores in one line for the terminal, without the grade, which the headline has. Empty if there is none."""
    scored = {name: one for name, one in verdict.judges.items() if one.value is not None and name != grade.JUDGE.name}
    outcomes = [
        f"{name.removeprefix(qoo.PREFIX)} {one.value:.0f}"
        for name, one in scored.items()
        if name.startswith(qoo.PREFIX)
    ]
    texts = [one.text for name, one in scored.items() if not name.startswith(qoo.PREFIX)]
    if outcomes:
        texts.insert(1, f"QoO of 100: {', '.join(outcomes)}")
    return "; ".join(texts)
