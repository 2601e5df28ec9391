"""Suites: experiments that are run together and ranked together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from bloatlab.errors import ParameterError
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.ranking import Contender, Observation, Ranking, placed, rank


@dataclass(frozen=True)
class Part:
    """A member with its set and swept parameters."""

    experiment: Experiment
    base: Mapping[str, Any]
    axes: Mapping[str, Sequence[Any]]


class Suite(Experiment):
    """Runs other experiments into one directory; its report is a page per experiment and an overall ranking."""

    members: ClassVar[tuple[Experiment, ...]]

    def parts(self, values: Mapping[str, Any]) -> list[Part]:
        """The parts to run, from resolved parameters."""
        raise NotImplementedError

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A suite has no scenario; its experiments have."""
        names = ", ".join(member.name for member in self.members)
        raise ParameterError(f"{self.name}: is a suite of several experiments; name one of them ({names})")


def overall(suite: Suite, rankings: Mapping[str, Ranking | None]) -> Ranking | None:
    """The ranking over all members, each with the same weight; with only one ranked member, its own ranking."""
    ranked = {name: ranking for name, ranking in rankings.items() if ranking is not None}
    if len(ranked) < 2:
        return next(iter(ranked.values()), None)
    titles = {member.name: member.title for member in suite.members}
    criteria = [
        Criterion(name, _words(name), "", "lower", name, f"score in {name}: {titles[name]}", lambda _: None, True)
        for name in ranked
    ]
    scores = {name: {row.name: row.score for row in ranking.contenders} for name, ranking in ranked.items()}
    contenders = dict.fromkeys(row.name for ranking in ranked.values() for row in ranking.contenders)
    observed = [
        Observation(contender, "", {name: of.get(contender) for name, of in scores.items()}) for contender in contenders
    ]
    found = rank(criteria, observed, suite.subject)
    beaten = _beaten_everywhere([ranking for ranking in ranked.values() if ranking.plane], found.contenders)
    within = {group: weight for ranking in ranked.values() for group, weight in ranking.groups.items()}
    return replace(found, contenders=placed(found.contenders, beaten), beaten=beaten, within=within)


def _beaten_everywhere(rankings: Sequence[Ranking], contenders: Sequence[Contender]) -> dict[str, tuple[str, ...]]:
    """Contenders that the same other ones beat in every experiment."""
    found: dict[str, tuple[str, ...]] = {}
    for row in contenders if rankings else ():
        others = set.intersection(*(set(ranking.beaten.get(row.name, ())) for ranking in rankings))
        if others:
            found[row.name] = tuple(other.name for other in contenders if other.name in others)
    return found


def _words(name: str) -> str:
    """The name of an experiment in words, such as `RTT fairness`."""
    return " ".join("RTT" if word == "rtt" else word for word in name.split("-"))
